//! Arrays that lose more members than parity tolerates, and logs that are full and damaged: clients are answered, members
//! return without a restart, and `stop` ends.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::support::Sandbox;
use crate::support::disk::Disk;
use crate::support::served::{Served, status};

const MIB: u64 = 1 << 20;

/// Whether the next answer is a success.
fn succeeds(disk: &mut Disk) -> bool {
    disk.answer().expect("the server answers").outcome.is_ok()
}

fn flush(disk: &mut Disk) -> bool {
    disk.client.flush();
    succeeds(disk)
}

/// A served log of RAID-5 with some data, of which two members are then taken away.
fn outage(options: &str) -> (Sandbox, Served, [Disk; 2]) {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 64MiB --scheme durable-was").success();
    let served = Served::start(&sandbox, "pool", options);
    let mut disks = [served.disk(), served.disk()];
    for (nth, disk) in disks.iter_mut().enumerate() {
        (0..20).for_each(|mib| disk.write((20 * nth as u64 + mib) * MIB, &vec![mib as u8 | 1; MIB as usize]));
        disk.flush();
    }
    disks[0].write(100 * MIB, &vec![77; MIB as usize]);
    sandbox.run("fail pool 0").success();
    sandbox.run("fail pool 1 --force").success();
    (sandbox, served, disks)
}

#[test]
fn beyond_parity_writes_fail_at_once_and_the_array_stops() {
    let (sandbox, served, [mut disk, _other]) = outage("");
    let began = Instant::now();
    for nth in 0..200 {
        disk.client.write(nth % 150 * MIB, &vec![9; MIB as usize], false);
        assert!(!succeeds(&mut disk), "write {nth}");
        disk.client.read(nth % 150 * MIB, 4096);
        disk.answer().expect("reads are answered");
    }
    assert!(!flush(&mut disk));
    let output = sandbox.run("status pool");
    assert!(
        output.code == 2 && output.stdout.contains("FAILED") && output.stdout.contains("BEYOND PARITY"),
        "{output:?}"
    );
    assert_eq!(status(&sandbox)["beyond_parity"], true);
    let stopped = sandbox.run("stop pool").failure(1);
    assert!(!stopped.contains("panicked"), "{stopped}");
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert_eq!(served.wait(), 1, "the server ends by itself");
}

#[test]
fn members_return_without_a_restart_and_one_flush_of_each_client_fails() {
    let (sandbox, served, mut disks) = outage("");
    for member in [1, 0] {
        sandbox.run(&format!("replace pool {member} pool/member-{member} --wait"));
    }
    assert_eq!(status(&sandbox)["beyond_parity"], false);
    let mut newer = served.disk();
    newer.write(120 * MIB, &vec![5; MIB as usize]);
    for disk in &mut disks {
        assert!(!flush(disk), "what the client wrote may be lost");
        assert!(flush(disk), "it was told once");
    }
    assert!(flush(&mut newer), "a client that came later lost nothing");
    assert!(disks[0].read(100 * MIB, MIB as u32).iter().all(|&byte| byte == 77));
    drop((disks, newer));
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
}

#[test]
fn a_scrub_of_a_full_log_with_a_damaged_member_ends_and_writes_and_stop_continue() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --count 6 --size 32MiB --scheme durable-raid6-was").success();
    // The limit would fail the member first.
    let served = Served::start(&sandbox, "pool", "--error-limit 0");
    let mut disk = served.disk();
    let pages = status(&sandbox)["capacity_bytes"].as_u64().expect("a number") / 4096;
    let mut values = vec![0; pages as usize];
    for nth in 0..pages + 3000 {
        let page = if nth < pages { nth } else { ((nth * 2_654_435_761) >> 7) % pages };
        let value = (nth % 251) as u8 + 1;
        disk.write(page * 4096, &[value; 4096]);
        values[page as usize] = value;
    }
    disk.flush();
    let member = File::options().write(true).open(sandbox.path().join("pool/member-2")).unwrap();
    for page in 1024..6144 {
        member.write_all_at(&[0xa5; 4096], page * 4096).unwrap();
    }
    let began = Instant::now();
    sandbox.run("scrub pool --wait");
    disk.write(0, &[1; 4096]);
    values[0] = 1;
    disk.flush();
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(status(&sandbox)["members"][2]["state"], "active");
    for (page, &value) in (0..).zip(&values) {
        assert!(disk.read(page * 4096, 4096).iter().all(|&byte| byte == value), "page {page}");
    }
    drop(disk);
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    sandbox.run("check pool").success();
}
