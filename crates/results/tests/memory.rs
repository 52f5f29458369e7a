//! Alone in its file, so that no other test's memory is counted.

mod common;

use std::fs;
use stripewise_base::prng::Prng;
use stripewise_results::parquet::TableWriter;
use stripewise_sim::tables::RequestRow;

/// Resident memory of this process; none where the system does not report it.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[test]
fn ten_times_the_rows_take_no_more_memory() {
    const FEW: usize = 600_000;
    let mut prng = Prng::new(3);
    // Random values take the most memory. There are as many as a page has rows, so no page takes more than another.
    let prepared = common::rows(65_537, &mut prng, common::request);
    let mut writer =
        TableWriter::<RequestRow, _>::new(std::io::sink(), "requests", &common::inputs(1)).unwrap();
    let mut write = |rows: std::ops::Range<usize>| {
        let mut most = 0;
        for at in rows {
            writer.push(&prepared[at % prepared.len()]);
            if at % 1000 == 0 {
                most = most.max(writer.memory_bytes());
            }
        }
        (most, resident_bytes())
    };
    let (held, resident) = write(0..FEW);
    let (held_then, resident_then) = write(FEW..10 * FEW);
    assert!(held_then <= held, "{held} bytes held at {FEW} rows, {held_then} later");
    match (resident, resident_then) {
        (Some(resident), Some(then)) => {
            assert!(then < resident + (4 << 20), "resident memory grew from {resident} to {then} bytes");
        }
        _ => println!("skipped: the system does not tell the memory of a process"),
    }
}
