//! The exit codes and remarks of `status` for a monitor: the real program over arrays with problems.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use stripewise_nbd::Fault;

use crate::support::disk::Disk;
use crate::support::served::Served;
use crate::support::{Ended, Sandbox};

const CHUNK: u64 = 4096;

fn content(chunk: u64) -> Vec<u8> {
    vec![chunk as u8 | 1; CHUNK as usize]
}

/// Writes chunk after chunk, from `from` on, until one is refused as out of space, and returns that chunk.
#[track_caller]
fn fill(disk: &mut Disk, from: u64) -> u64 {
    for chunk in from.. {
        disk.client.write(chunk * CHUNK, &content(chunk), false);
        match disk.answer().expect("the server answers").outcome {
            Ok(_) => {}
            Err((fault, _)) => {
                assert_eq!(fault, Fault::NoSpace, "chunk {chunk}");
                return chunk;
            }
        }
    }
    unreachable!("some chunk is the last one")
}

#[track_caller]
fn assert_status(ended: &Ended, code: i32, health: &str, line: &str) {
    let is_right = ended.code == code && ended.stdout.starts_with(&format!("pool: {health},"));
    assert!(is_right && ended.stdout.contains(line), "{ended:?}");
}

/// A file system in memory that may grow, unmounted when this value is dropped.
struct Small(PathBuf);

impl Small {
    /// None where such a file system cannot be mounted.
    fn new(at: PathBuf, mib: u32) -> Option<Self> {
        std::fs::create_dir(&at).unwrap();
        mount(&["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"], &at).then_some(Self(at))
    }

    #[track_caller]
    fn grow(&self, mib: u32) {
        assert!(mount(&["-o", &format!("remount,size={mib}m")], &self.0));
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    let output = Command::new("mount").args(arguments).arg(at).output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn members_without_space_are_a_warning_until_they_have_some() {
    let sandbox = Sandbox::new();
    let Some(small) = Small::new(sandbox.path().join("pool"), 24) else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    sandbox.run("create pool --files pool --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    let taken = fill(&mut disk, 0);
    assert!(taken > 1000, "{taken}");
    let no_space = "  NO SPACE on members: writes are refused";
    assert_status(&sandbox.run("status pool"), 1, "IMPAIRED", no_space);
    small.grow(200);
    let until = Instant::now() + Duration::from_secs(20);
    let ended = loop {
        let ended = sandbox.run("status pool");
        if ended.code == 0 || Instant::now() > until {
            break ended;
        }
    };
    assert_status(&ended, 0, "CLEAN", "");
    assert!(!ended.stdout.contains(no_space), "{ended:?}");
    disk.write(taken * CHUNK, &content(taken));
    disk.flush();
    drop(disk);
    // The server must end before its files disappear.
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
}

/// Only missing members let a log run out of space, so the exit code is the same without it: the test checks the
/// text.
#[test]
fn a_full_log_is_reported_until_something_is_trimmed() {
    let sandbox = Sandbox::new();
    let scheme = "durable-was,elastic.room_for_lost=0";
    sandbox.run(&format!("create pool --files pool --count 4 --size 16MiB --scheme {scheme}")).success();
    let served = Served::start(&sandbox, "pool", "");
    sandbox.run("fail pool 1").success();
    let mut disk = served.disk();
    // Data that waits in memory reserves more room than it takes when it leaves.
    let mut taken = 0;
    while let refused = fill(&mut disk, taken)
        && refused > taken
    {
        taken = refused;
        disk.flush();
    }
    assert_status(&sandbox.run("status pool"), 1, "DEGRADED", "  FULL: writes are refused");
    disk.trim(0, (taken * CHUNK) as u32);
    disk.write(0, &content(0));
    disk.flush();
    let ended = sandbox.run("status pool");
    assert_status(&ended, 1, "DEGRADED", "");
    assert!(!ended.stdout.contains("FULL"), "{ended:?}");
}

#[test]
fn a_rebuild_that_lost_something_is_a_warning_until_one_has_lost_nothing() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    (0..300).for_each(|chunk| disk.write(chunk * CHUNK, &content(chunk)));
    disk.flush();
    // With the replaced member, more damage than parity tolerates, in the same stripes.
    let file = std::fs::OpenOptions::new().write(true).open(sandbox.path().join("pool/member-0")).unwrap();
    file.write_all_at(&vec![0xdb; 512 << 10], 128 << 10).unwrap();
    sandbox.run("fail pool 1").success();
    let output = sandbox.run("replace pool 1 pool/new --wait").failure(1);
    assert!(output.contains(" stripes lost data, as other members lost their parts of them"), "{output}");
    assert_status(&sandbox.run("status pool"), 1, "IMPAIRED", " stripes LOST data\n");
    // After a rewrite all data is readable.
    (0..300).for_each(|chunk| disk.write(chunk * CHUNK, &content(chunk)));
    disk.flush();
    sandbox.run("scrub pool --wait").success();
    sandbox.run("fail pool 1").success();
    sandbox.run("replace pool 1 pool/newer --wait").success();
    // The damage may have made member 0 a degrading one by now.
    let output = sandbox.run("status pool").stdout;
    assert!(!output.contains("IMPAIRED") && !output.contains("LOST"), "{output}");
}

#[test]
fn an_array_that_lacks_too_much_or_is_not_served_is_critical() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "");
    sandbox.run("fail pool 1").success();
    assert_status(&sandbox.run("status pool"), 1, "DEGRADED", "");
    sandbox.run("fail pool 2 --force").success();
    assert_status(&sandbox.run("status pool"), 2, "FAILED", "");
    served.kill();
    let ended = sandbox.run("status pool");
    assert!(ended.code == 2 && ended.stdout.starts_with("pool: not served: "), "{ended:?}");
}

#[test]
fn the_alert_rules_of_the_documentation_use_metrics_that_the_server_exports() {
    let rules = include_str!("../../../../docs/how-to/alerts.yml");
    let words = rules.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let names: BTreeSet<&str> = words.filter(|word| word.starts_with("stripewise_")).collect();
    assert!(names.len() > 8, "{names:?}");

    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --count 3 --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "--metrics 127.0.0.1:0");
    // The results of a scrub are exported once there was one.
    sandbox.run("scrub pool --wait").success();
    let address = served.said.iter().find_map(|line| line.split_once("http://")?.1.split_once('/'));
    let mut stream = TcpStream::connect(address.expect("it says where").0).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).unwrap();
    for name in names {
        let family = name.trim_end_matches("_total").trim_end_matches("_bucket");
        assert!(metrics.contains(&format!("# TYPE {family} ")), "{name} is not in\n{metrics}");
    }
}
