//! Two hosts and one array, and arrays of the previous version: the real program from end to end. The hosts are one
//! machine with two identifiers. What the other host does while both run, the test writes to the page of the owner
//! itself.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use stripewise_array::format::{Owner, SUPERBLOCK_BYTES, Superblock, Uuid, crc32c};

use crate::support::Sandbox;
use crate::support::served::Served;

const A: &str = "--host-id 0000000000000000000000000000000a --heartbeat 20ms";
const B: &str = "--host-id 0000000000000000000000000000000b --heartbeat 20ms";

fn created() -> Sandbox {
    let sandbox = Sandbox::new();
    let line = "create pool --files pool --size 16MiB --host-id 0000000000000000000000000000000a";
    sandbox.run(line).success();
    sandbox
}

/// The page of the owner on each member.
struct Pages {
    files: Vec<File>,
    at: u64,
    bytes: usize,
}

impl Pages {
    fn of(sandbox: &Sandbox) -> Self {
        let path = |nth: u32| -> PathBuf { sandbox.path().join(format!("pool/member-{nth}")) };
        let open = |nth| File::options().read(true).write(true).open(path(nth)).unwrap();
        let files: Vec<File> = (0..5).map(open).collect();
        let mut bytes = [0; 4096];
        files[0].read_exact_at(&mut bytes, 0).unwrap();
        let block = Superblock::parse(&bytes).unwrap();
        assert_eq!((block.version, block.owner.pages), (2, 1));
        let bytes = block.page_bytes as usize;
        Self { files, at: u64::from(block.owner.first) * bytes as u64, bytes }
    }

    fn owner(&self) -> Owner {
        let mut page = vec![0; self.bytes];
        self.files[0].read_exact_at(&mut page, self.at).unwrap();
        Owner::parse(&page).unwrap()
    }

    fn put(&self, owner: &Owner) {
        let mut page = vec![0; self.bytes];
        owner.encode(&mut page);
        self.files.iter().for_each(|file| file.write_all_at(&page, self.at).unwrap());
    }
}

fn scanned(sandbox: &Sandbox) -> Value {
    let output = sandbox.run("scan pool --json").success();
    serde_json::from_str::<Value>(&output).unwrap()[0]["owner"].clone()
}

#[test]
fn a_second_host_is_refused_until_the_first_one_gives_the_array_back_or_is_gone_for_long() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", A);
    served.disk().write(0, &[7; 4096]);
    let status = sandbox.run("status pool").stdout;
    assert!(status.contains("owned by host") && status.contains("0000000a)"), "{status}");
    served.kill();
    let owner = scanned(&sandbox);
    assert_eq!(
        (&owner["released"], &owner["interval_ms"]),
        (&Value::Bool(false), &Value::from(20)),
        "{owner}"
    );
    // The first server was killed, so it released nothing.
    let refused = sandbox.run(&format!("serve pool {B}")).failure(1);
    assert!(refused.contains("owns the array since") && refused.contains("--takeover"), "{refused}");
    assert!(refused.contains("0000000a"), "{refused}");
    // The first host needs no permission.
    let served = Served::start(&sandbox, "pool", A);
    served.kill();
    // Checks and dumps claim nothing.
    sandbox.run("check pool").success();
    assert!(sandbox.run("dump pool").stdout.contains("owned by host"));
    let served = Served::start(&sandbox, "pool", &format!("{B} --takeover"));
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    let owner = scanned(&sandbox);
    assert_eq!(owner["released"], true, "{owner}");
    assert!(owner["id"].as_str().unwrap().ends_with("0b"), "{owner}");
    // After the release any host may serve the array.
    let served = Served::start(&sandbox, "pool", A);
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
}

#[test]
fn a_host_whose_heartbeat_moves_is_not_taken_over() {
    let sandbox = created();
    Served::start(&sandbox, "pool", A).kill();
    let pages = Pages::of(&sandbox);
    let owner = pages.owner();
    let refused = thread::scope(|scope| {
        let attempt = scope.spawn(|| sandbox.run(&format!("serve pool {B} --takeover")));
        let mut sequence = owner.sequence;
        while !attempt.is_finished() {
            sequence += 1;
            pages.put(&Owner { sequence, ..owner.clone() });
            thread::sleep(Duration::from_millis(10));
        }
        attempt.join().unwrap()
    });
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("is serving the array now"), "{refused:?}");
}

#[test]
fn a_server_whose_array_was_taken_over_ends_with_an_error_and_writes_nothing_more() {
    let sandbox = created();
    let served = Served::start(&sandbox, "pool", A);
    let mut disk = served.disk();
    disk.write(0, &[7; 4096]);
    disk.flush();
    let pages = Pages::of(&sandbox);
    // All heartbeats read the page within an interval. A heartbeat in flight overwrites the claim, so the claim is
    // written again.
    let theirs = Owner { host: Uuid([0xb; 16]), session: Uuid([0xb; 16]), ..pages.owner() };
    let began = Instant::now();
    let claim = Owner { sequence: theirs.sequence + 1000, name: "other".into(), ..theirs };
    pages.put(&claim);
    let code = served.wait();
    assert_eq!(code, 1);
    let output = sandbox.run("events pool --json").success();
    assert!(output.contains("\"kind\":\"array-taken-over\""), "{output}");
    assert!(began.elapsed() < Duration::from_secs(5));
    pages.put(&claim);
    // The other host reads what the first one flushed.
    let last = scanned(&sandbox);
    assert_eq!(last["host"], "other", "{last}");
    let served = Served::start(&sandbox, "pool", &format!("{A} --takeover"));
    let mut disk = served.disk();
    assert_eq!(disk.read(0, 4096), [7; 4096]);
    drop(disk);
    sandbox.run("stop pool").success();
    served.wait();
}

/// Members of the program before version 2, from the fixture of the array's tests.
fn of_version_1(sandbox: &Sandbox) {
    let text = include_str!("../../../array/tests/fixtures/format-1-bitmap.txt");
    std::fs::create_dir(sandbox.path().join("old")).unwrap();
    let files: Vec<File> = (0..3)
        .map(|nth| {
            let file = File::create_new(sandbox.path().join(format!("old/member-{nth}"))).unwrap();
            file.set_len(160 << 10).unwrap();
            file
        })
        .collect();
    for line in text.lines() {
        let [member, page, digits] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let byte = |nth: usize| u8::from_str_radix(&digits[nth..nth + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        let at = page.parse::<u64>().unwrap() * 512;
        files[member.parse::<usize>().unwrap()].write_all_at(&bytes, at).unwrap();
    }
}

#[test]
fn an_array_of_version_1_is_served_as_it_is_and_upgraded_when_that_is_requested() {
    let sandbox = Sandbox::new();
    of_version_1(&sandbox);
    let served = Served::start(&sandbox, "pb", &format!("--files old {A}"));
    assert!(sandbox.run("status pb").stdout.contains("NO OWNER"));
    let refused = sandbox.run("upgrade pb").failure(1);
    assert!(refused.contains("stripewise stop NAME"), "{refused}");
    assert_eq!(served.disk().read(512, 512), [2; 512]);
    sandbox.run("stop pb").success();
    served.wait();
    let output = sandbox.run("upgrade pb --dry-run").success();
    assert!(
        output.contains("would upgrade") && output.contains("from version 1 of the format to 2"),
        "{output}"
    );
    assert!(output.contains("owner: page 310"), "{output}");
    let output = sandbox.run("upgrade pb").success();
    assert!(output.starts_with("upgraded array"), "{output}");
    assert!(sandbox.run("upgrade pb").success().contains("has version 2 of the format already"));
    let served =
        Served::start(&sandbox, "pb", &format!("--files old {}", A.split(" --heartbeat").next().unwrap()));
    assert!(sandbox.run("status pb").stdout.contains("owned by host"));
    assert_eq!(served.disk().read(512, 512), [2; 512]);
    sandbox.run("stop pb").success();
    served.wait();
    assert!(sandbox.run("check pb").success().contains("clean"));
}

#[test]
fn an_array_that_is_degraded_is_not_upgraded() {
    let sandbox = Sandbox::new();
    of_version_1(&sandbox);
    let refused = sandbox.run("upgrade old/member-0 old/member-1").failure(1);
    assert!(refused.contains("member 2 is missing") && refused.contains("offer it too"), "{refused}");
}

/// Gives every superblock of the file the next version of the format, as a program of that version may write it.
fn make_newer(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let mut changed = 0;
    for page in bytes.chunks_exact_mut(SUPERBLOCK_BYTES).filter(|page| page.starts_with(b"STRIPEWS")) {
        page[8..10].copy_from_slice(&3u16.to_le_bytes());
        page[SUPERBLOCK_BYTES - 4..].fill(0);
        let checksum = crc32c(page);
        page[SUPERBLOCK_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        changed += 1;
    }
    assert_eq!(changed, 2, "a front and a back copy");
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn an_array_of_a_newer_version_is_refused_by_name_and_left_as_it_is() {
    let sandbox = created();
    let refused = |line: &str| {
        let ended = sandbox.run(line);
        assert_ne!(ended.code, 0, "{line}");
        ended.stderr
    };
    let member = |nth: u32| sandbox.path().join(format!("pool/member-{nth}"));
    make_newer(&member(3));
    // One member was upgraded and four were not: the array may be of the newer version.
    for line in ["serve pool", "check pool/member-0 pool/member-3", "dump pool"] {
        let refused = refused(line);
        assert!(
            refused.contains("member-3") && refused.contains("has version 3 of the format"),
            "{line}: {refused}"
        );
    }
    for nth in [0, 1, 2, 4] {
        make_newer(&member(nth));
    }
    let before: Vec<Vec<u8>> = (0..5).map(|nth| std::fs::read(member(nth)).unwrap()).collect();
    for line in ["serve pool", "scan pool", "check pool", "dump pool", "upgrade pool"] {
        let refused = refused(line);
        assert!(
            refused.contains("has version 3 of the format") && refused.contains("newer program"),
            "{line}: {refused}"
        );
    }
    assert!((0..5).all(|nth| std::fs::read(member(nth)).unwrap() == before[nth as usize]));
}
