//! Memory of large arrays.

#![cfg(target_os = "linux")]

use stripewise_base::huge::Huge;

/// Bytes of this process that are in memory now.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux shows a process to itself");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number of KiB") * 1024
}

#[test]
fn a_large_array_takes_memory_only_where_it_is_touched() {
    let before = resident_bytes();
    let mut array = Huge::<u32>::zeroed(256 << 20);
    assert!(array.is_mapped());
    assert_eq!(array.bytes(), 1 << 30);
    assert!(resident_bytes() < before + (16 << 20));
    for at in (0..array.len()).step_by(64 << 20) {
        array[at] = 1;
    }
    assert!(resident_bytes() < before + (32 << 20));
}
