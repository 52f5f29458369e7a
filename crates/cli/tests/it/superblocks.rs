//! Members that lose their superblocks while served: scrub and stop repair them, and `serve --force` recovers them.
//! The real program from end to end.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Sandbox;
use crate::support::served::{Served, status};

const CHUNKS: u64 = 300;

/// A sandbox with an array called `pool` over files of 16 MiB, and a server of it with some data.
fn served(scheme: &str) -> (Sandbox, Served) {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("create pool --files pool --size 16MiB --scheme {scheme}")).success();
    // The zeroed range holds more than superblocks, and a member with ten damaged copies would be degrading.
    let served = Served::start(&sandbox, "pool", "--error-limit 1000");
    let mut disk = served.disk();
    for chunk in 0..CHUNKS {
        disk.write(chunk * 4096, &content(chunk));
    }
    disk.flush();
    (sandbox, served)
}

/// Pages that all differ.
fn content(chunk: u64) -> [u8; 4096] {
    let mut page = [chunk as u8 | 1; 4096];
    page[..8].copy_from_slice(&(chunk + 1).to_le_bytes());
    page
}

fn verify(served: &Served) {
    let mut disk = served.disk();
    for chunk in 0..CHUNKS {
        assert_eq!(disk.read(chunk * 4096, 4096), content(chunk), "chunk {chunk}");
    }
}

/// Zeroes the first and the last 64 KiB of a member.
fn wipe(sandbox: &Sandbox, member: u32) {
    let path = sandbox.path().join(format!("pool/member-{member}"));
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let end = file.metadata().unwrap().len();
    for at in [0, end - (64 << 10)] {
        file.write_all_at(&[0; 64 << 10], at).unwrap();
    }
}

fn is_wiped(sandbox: &Sandbox, member: u32) -> bool {
    let file = File::open(sandbox.path().join(format!("pool/member-{member}"))).unwrap();
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes == [0; 8]
}

/// Members are zeroed in turn, each scrubbed before the next; the server ends; and the next server finds them all.
fn repairs_what_was_zeroed(scheme: &str, ends: impl FnOnce(&Sandbox, Served)) {
    let (sandbox, served) = served(scheme);
    for member in [1, 3] {
        wipe(&sandbox, member);
        let scrubbed = sandbox.run("scrub pool --wait").success();
        assert!(
            scrubbed.contains("copies of metadata: ") && !scrubbed.contains(" 0 repaired\n"),
            "{scheme}: {scrubbed}"
        );
        assert!(!is_wiped(&sandbox, member), "{scheme}");
    }
    assert_eq!(status(&sandbox)["last_scrub"]["lost"], 0, "{scheme}");
    ends(&sandbox, served);
    let served = Served::start(&sandbox, "pool", "");
    assert_eq!(status(&sandbox)["health"], "clean", "{scheme}");
    verify(&served);
}

/// Waits until the array has this health.
#[track_caller]
fn wait_for(sandbox: &Sandbox, health: &str) {
    let until = Instant::now() + Duration::from_secs(10);
    while status(sandbox)["health"] != health {
        assert!(Instant::now() < until, "{}", status(sandbox));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Events of a kind.
fn events(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    let text = sandbox.run("events pool --json").success();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|event| event["kind"] == kind).collect()
}

#[test]
fn status_shows_superblocks_that_were_zeroed_within_seconds_until_a_scrub_repairs_them() {
    for scheme in ["durable-was", "durable-raid5"] {
        let (sandbox, served) = served(scheme);
        // The members are seen whole before they are damaged.
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(status(&sandbox)["health"], "clean", "{scheme}");
        wipe(&sandbox, 1);
        wait_for(&sandbox, "degrading");
        let output = sandbox.run("status pool");
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stdout.contains("SUPERBLOCK: 2 of 2 copies are damaged"), "{output:?}");
        let found = events(&sandbox, "damage-found");
        assert_eq!(
            (&found[0]["member"], &found[0]["damaged_superblocks"]),
            (&Value::from(1), &Value::from(2)),
            "{found:?}"
        );
        sandbox.run("scrub pool --wait").success();
        let ended = events(&sandbox, "scrub-ended").pop().unwrap();
        let damaged = ended["damaged_metadata"].as_u64().unwrap();
        assert!(damaged >= 2 && ended["repaired_metadata"] == damaged, "{ended}");
        assert!(ended["message"].as_str().unwrap().contains("copies of metadata"), "{ended}");
        let repaired = events(&sandbox, "damage-repaired");
        assert!(!repaired.is_empty(), "{scheme}");
        let sum: u64 =
            events(&sandbox, "damage-found").iter().flat_map(|found| found["checksum_errors"].as_u64()).sum();
        assert!(sum >= 2, "the scrub found them too");
        wait_for(&sandbox, "clean");
        verify(&served);
    }
}

#[test]
fn a_scrub_repairs_what_was_zeroed_of_members_in_turn_and_the_next_start_has_all_of_them() {
    for scheme in ["durable-was", "durable-raid5"] {
        repairs_what_was_zeroed(scheme, |_, served| served.kill());
        repairs_what_was_zeroed(scheme, |sandbox, served| {
            sandbox.run("stop pool").success();
            assert_eq!(served.wait(), 0);
            assert!(sandbox.run("check pool").success().contains("clean"), "{scheme}");
        });
    }
}

#[test]
fn stop_repairs_superblocks_that_were_zeroed() {
    let (sandbox, served) = served("durable-was");
    (0..5).for_each(|member| wipe(&sandbox, member));
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    assert!((0..5).all(|member| !is_wiped(&sandbox, member)));
    let served = Served::start(&sandbox, "pool", "");
    verify(&served);
    is_in_doubt_until_a_scrub(&sandbox);
}

/// What overwrote superblocks may have overwritten more.
fn is_in_doubt_until_a_scrub(sandbox: &Sandbox) {
    assert_eq!(status(sandbox)["health"], "impaired");
    sandbox.run("scrub pool --wait").success();
    wait_for(sandbox, "clean");
}

#[test]
fn members_without_superblocks_are_recognized_by_force() {
    let (sandbox, served) = served("durable-was");
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    wipe(&sandbox, 0);
    wipe(&sandbox, 2);
    let refused = sandbox.run("serve pool").failure(1);
    assert!(refused.contains("too few members"), "{refused}");
    let (served, log) = Served::start_logged(&sandbox, "pool", "--force");
    verify(&served);
    is_in_doubt_until_a_scrub(&sandbox);
    let log = std::fs::read_to_string(log).unwrap();
    for member in [0, 2] {
        let line =
            log.lines().find(|line| line.contains(&format!("pool/member-{member}` had no superblock: ")));
        let line = line.unwrap_or_else(|| panic!("{log}"));
        assert!(line.contains(&format!("it is member {member}: ")), "{line}");
        assert!(line.contains("its superblocks are reconstructed"), "{line}");
    }
    let output = events(&sandbox, "superblock-reconstructed");
    assert_eq!(output.iter().map(|event| event["member"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 2]);
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    let served = Served::start(&sandbox, "pool", "");
    assert_eq!(status(&sandbox)["health"], "clean");
    verify(&served);
}

#[test]
fn the_user_names_members_where_nothing_proves_them() {
    let sandbox = Sandbox::new();
    let scheme = "name = \"marked\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[journal]\npolicy = \"intent-bitmap\"\n";
    std::fs::write(sandbox.path().join("marked.toml"), scheme).unwrap();
    sandbox.run("create pool --files pool --size 16MiB --scheme marked.toml").success();
    wipe(&sandbox, 0);
    wipe(&sandbox, 2);
    let refused = sandbox.run("serve pool --force").failure(1);
    assert!(refused.contains("name it"), "{refused}");
    let refused = sandbox.run("serve pool --force --member 0=pool/member-1").failure(1);
    assert!(refused.contains("has a superblock"), "{refused}");
    let _served =
        Served::start(&sandbox, "pool", "--force --member 0=pool/member-0 --member 2=pool/member-2");
    let status = status(&sandbox);
    assert_eq!(
        status["health"], "degraded",
        "one of them is trusted, and the other can be made from the rest: {status}"
    );
}

#[test]
fn a_member_that_was_cut_short_is_failed_by_a_scrub() {
    let (sandbox, served) = served("durable-was");
    let path = sandbox.path().join("pool/member-2");
    OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    sandbox.run("scrub pool --wait").success();
    let status = status(&sandbox);
    assert_eq!(status["health"], "degraded");
    let reason = status["members"][2]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("1048576 bytes") && reason.contains("cut short"), "{reason}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20, "nothing makes it longer");
    verify(&served);
}
