//! Events of a served array, in their file, in the log, and at the operator's program; and members that degrade. The
//! real program from end to end.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Sandbox;
use crate::support::served::{Served, status};

const MIB: u64 = 1 << 20;

/// The events so far.
fn events(sandbox: &Sandbox) -> Vec<Value> {
    let text = sandbox.run("events pool --json").success();
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

/// Waits for the first event of a kind.
#[track_caller]
fn event(sandbox: &Sandbox, kind: &str) -> Value {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let events = events(sandbox);
        if let Some(event) = events.iter().find(|event| event["kind"] == kind) {
            return event.clone();
        }
        assert!(Instant::now() < until, "no {kind}: {events:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A program that records its arguments and its input.
fn program(sandbox: &Sandbox) -> (PathBuf, PathBuf) {
    let (program, said) = (sandbox.path().join("tell"), sandbox.path().join("said"));
    std::fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> {}\n", said.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (program, said)
}

#[test]
fn what_happens_to_a_member_is_in_the_file_and_reaches_the_program() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    assert_eq!(kinds(&events(&sandbox)), ["array-created"], "nothing else happened yet");
    let (program, said) = program(&sandbox);
    let served = Served::start(&sandbox, "pool", &format!("--on-event {}", program.display()));
    let mut disk = served.disk();
    (0..300).for_each(|chunk| disk.write(chunk * 4096, &[chunk as u8 | 1; 4096]));
    disk.flush();
    sandbox.run("fail pool 2").success();
    sandbox.run("replace pool 2 pool/new-2 --wait").success();
    sandbox.run("spare pool pool/spare").success();
    sandbox.run("fail pool 3").success();
    while status(&sandbox)["rebuild"] != Value::Null || status(&sandbox)["health"] != "clean" {
        std::thread::sleep(Duration::from_millis(20));
    }
    sandbox.run("scrub pool --wait").success();
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    // The server has ended.
    let mut found = events(&sandbox);
    let array = found.remove(0)["uuid"].clone();
    assert!(array.is_string() && found.iter().all(|event| event["uuid"] == array), "{found:?}");
    let expected = [
        "serving-began",
        "member-failed",
        "member-replaced",
        "rebuild-began",
        "rebuild-ended",
        "member-failed",
        "spare-took-over",
        "rebuild-began",
        "rebuild-ended",
        "scrub-ended",
        "serving-ended",
    ];
    assert_eq!(kinds(&found), expected);
    let failed = &found[1];
    assert_eq!((&failed["member"], &failed["severity"]), (&Value::from(2), &Value::from("error")));
    assert!(failed["path"].as_str().unwrap().ends_with("pool/member-2"), "{failed}");
    assert_eq!(failed["reason"], "it was taken out of service");
    assert!(found[2]["path"].as_str().unwrap().ends_with("pool/new-2"), "{}", found[2]);
    assert_eq!(found[6]["spares_left"], 0);
    assert!(found[9]["read_bytes"].as_u64().unwrap() > 0 && found[9]["complete"] == true, "{}", found[9]);
    let mut times: Vec<&str> = found.iter().map(|event| event["time"].as_str().unwrap()).collect();
    assert!(times.iter().all(|time| time.ends_with('Z')) && times.is_sorted(), "{times:?}");
    times.dedup();
    let said = std::fs::read_to_string(said).unwrap();
    let started: Vec<&str> = said.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(started, expected, "one after the other, in order");
    assert!(said.lines().nth(1).unwrap().starts_with("member-failed pool /"), "{said}");
    let shown = sandbox.run("events pool -n 2").success();
    assert_eq!(shown.lines().count(), 2);
    assert!(shown.contains("  info     scrub-ended") && shown.contains("0 lost"), "{shown}");
    sandbox.run("events nothing").failure(1);
}

#[test]
fn damage_that_a_scrub_finds_and_repairs_is_reported_and_makes_its_member_degrade() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    (0..1000).for_each(|chunk| disk.write(chunk * 4096, &[chunk as u8 | 1; 4096]));
    disk.flush();
    let file = OpenOptions::new().write(true).open(sandbox.path().join("pool/member-1")).unwrap();
    file.write_all_at(&vec![0xdb; 256 << 10], 256 << 10).unwrap();
    sandbox.run("scrub pool --wait").success();
    // The event is reported at once; later events are reported before the end of the scrub.
    event(&sandbox, "scrub-ended");
    let all = events(&sandbox);
    let of = |kind: &str| -> Vec<&Value> { all.iter().filter(|event| event["kind"] == kind).collect() };
    let sum = |kind, field: &str| of(kind).iter().map(|event| event[field].as_u64().unwrap()).sum::<u64>();
    assert!(
        kinds(&all).ends_with(&["scrub-ended"]) || kinds(&all).ends_with(&["member-degrading"]),
        "{all:?}"
    );
    for found in of("damage-found") {
        assert_eq!(found["member"], 1);
        let at = found["last_offset_bytes"].as_u64().unwrap();
        assert!((256 << 10..512 << 10).contains(&at), "{found}");
    }
    assert!(sum("damage-found", "checksum_errors") > 10, "{all:?}");
    assert!(sum("damage-repaired", "repaired_pages") > 10, "{all:?}");
    assert_eq!(event(&sandbox, "member-degrading")["member"], 1);
    let output = sandbox.run("status pool");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.starts_with("pool: DEGRADING,"), "{output:?}");
    assert!(
        output.stdout.contains("DEGRADING: recently") && output.stdout.contains("checksum errors"),
        "{output:?}"
    );
    // The errors are in one spot: the member stays.
    let status = status(&sandbox);
    assert_eq!(status["members"][1]["state"], "active");
    assert!(status["members"][1]["recent_errors"]["checksum"].as_u64().unwrap() > 10, "{status}");
    assert_eq!(status["members"][0]["degrading"], false);
}

/// A server of a log over files of 64 MiB, with 100 MiB written. Member 2 is truncated while the array is served, again
/// before each read: repairs make its file longer.
fn dying(scheme: &str, options: &str, prepare: impl FnOnce(&Sandbox)) -> (Sandbox, Served) {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("create pool --files pool --size 64MiB --scheme {scheme}")).success();
    let served = Served::start(&sandbox, "pool", options);
    let mut disk = served.disk();
    (0..100).for_each(|mib| disk.write(mib * MIB, &vec![mib as u8 | 1; MIB as usize]));
    disk.flush();
    prepare(&sandbox);
    let member = OpenOptions::new().write(true).open(sandbox.path().join("pool/member-2")).unwrap();
    for mib in 0..100 {
        member.set_len(128 << 10).unwrap();
        assert!(disk.read(mib * MIB, MIB as u32).iter().all(|&byte| byte == mib as u8 | 1), "{mib}");
    }
    (sandbox, served)
}

#[test]
fn a_member_with_more_errors_than_the_limit_is_failed() {
    let spare = |sandbox: &Sandbox| sandbox.run("spare pool pool/spare").success();
    let (sandbox, _served) = dying("durable-was", "", |sandbox| drop(spare(sandbox)));
    let reached = event(&sandbox, "error-limit-reached");
    assert_eq!((&reached["member"], &reached["limit"]), (&Value::from(2), &Value::from(20)));
    assert_eq!(reached["kept_because"], Value::Null);
    let failed = event(&sandbox, "member-failed");
    assert!(failed["reason"].as_str().unwrap().contains("more than the limit of 20"), "{failed}");
    assert_eq!(event(&sandbox, "spare-took-over")["member"], 2);
}

#[test]
fn without_a_spare_a_member_beyond_the_limit_stays() {
    let (sandbox, _served) = dying("durable-was", "", |_| {});
    let reached = event(&sandbox, "error-limit-reached");
    assert_eq!(reached["kept_because"], "no spare waits to take its place");
    let output = sandbox.run("status pool");
    assert!(output.code == 1 && output.stdout.starts_with("pool: DEGRADING"), "{output:?}");
    assert_eq!(status(&sandbox)["members"][2]["state"], "active");
}

#[test]
fn without_a_limit_a_member_with_errors_degrades_and_stays() {
    let (sandbox, _served) = dying("durable-was", "--error-limit 0", |_| {});
    let degrading = event(&sandbox, "member-degrading");
    assert!(degrading["read_errors"].as_u64().unwrap() >= 10, "{degrading}");
    let output = sandbox.run("status pool");
    assert!(output.code == 1 && output.stdout.starts_with("pool: DEGRADING"), "{output:?}");
    assert_eq!(status(&sandbox)["members"][2]["state"], "active");
    assert!(!kinds(&events(&sandbox)).contains(&"member-failed"));
}

#[test]
fn a_member_that_a_rebuild_depends_on_is_kept_though_it_is_beyond_the_limit() {
    let rebuild = |sandbox: &Sandbox| {
        sandbox.run("fail pool 1").success();
        sandbox.run("replace pool 1 pool/new").success();
    };
    let (sandbox, _served) = dying("durable-raid6-was", "--rate 64KiB", rebuild);
    let reached = event(&sandbox, "error-limit-reached");
    assert_eq!(reached["kept_because"], "the rebuild of member 1 depends on it");
    assert_eq!(status(&sandbox)["members"][2]["state"], "active");
}

#[test]
fn a_member_whose_file_is_deleted_is_noticed() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let _served = Served::start(&sandbox, "pool", "");
    // The server checks the path of the member before this.
    std::thread::sleep(Duration::from_millis(200));
    std::fs::remove_file(sandbox.path().join("pool/member-4")).unwrap();
    assert_eq!(event(&sandbox, "member-unlinked")["member"], 4);
    let output = sandbox.run("status pool");
    assert!(output.code == 1 && output.stdout.starts_with("pool: DEGRADING"), "{output:?}");
    assert!(output.stdout.contains("UNLINKED: its path"), "{output:?}");
}

#[test]
fn a_new_array_of_an_old_name_starts_with_none_of_its_events() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "");
    sandbox.run("fail pool 0").success();
    sandbox.run("stop pool").success();
    served.wait();
    assert_eq!(
        kinds(&events(&sandbox)),
        ["array-created", "serving-began", "member-failed", "serving-ended"]
    );
    sandbox.run("create pool --files other --size 16MiB --force").success();
    assert_eq!(kinds(&events(&sandbox)), ["array-created"]);
    let served = Served::start(&sandbox, "pool", "");
    sandbox.run("stop pool").success();
    served.wait();
    assert_eq!(kinds(&events(&sandbox)), ["array-created", "serving-began", "serving-ended"]);
}

#[test]
fn events_are_followed_as_they_come() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let _served = Served::start(&sandbox, "pool", "");
    let mut follow = sandbox.command();
    follow.args(["events", "pool", "--follow", "--json"]).stdout(std::process::Stdio::piped());
    let mut follow = follow.spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(follow.stdout.take().unwrap()));
    assert!(lines.next().unwrap().unwrap().contains("\"array-created\""));
    assert!(lines.next().unwrap().unwrap().contains("\"serving-began\""));
    sandbox.run("fail pool 0").success();
    assert!(lines.next().unwrap().unwrap().contains("\"member-failed\""));
    follow.kill().unwrap();
    follow.wait().unwrap();
}

#[test]
fn a_log_of_json_has_an_object_a_line_with_the_kinds_of_events() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let (served, log) = Served::start_logged(&sandbox, "pool", "--log json");
    sandbox.run("fail pool 0").success();
    event(&sandbox, "member-failed");
    sandbox.run("stop pool").success();
    served.wait();
    let text = std::fs::read_to_string(log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(lines.iter().any(|line| line["event"] == "member-failed"), "{text}");
    let refused = sandbox.run("serve pool --log xml").failure(2);
    assert!(refused.contains("text, json"), "{refused}");
}
