//! Servers in the background, servers that do not answer, and options that a server refuses before it opens anything.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::Sandbox;
use crate::support::disk::Disk;
use crate::support::served::Served;

#[test]
fn a_server_that_is_detached_serves_when_the_command_returns() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let said = sandbox.run("serve pool --detach").success();
    let socket = said.trim().rsplit_once("unix:").expect("it says where").1.to_owned();
    assert!(said.starts_with("serving \"pool\" at unix:") && !said.contains('\u{6}'), "{said:?}");
    Disk::connect(sandbox.path().join(socket).as_path(), "pool").write(0, &[7; 4096]);
    sandbox.run("status pool").success();
    // A second server finds the first, and the caller gets the error.
    let why = sandbox.run("serve pool --detach");
    assert!(why.code == 1 && why.stderr.contains("error: "), "{why:?}");
    sandbox.run("stop pool").success();
    let log = std::fs::read_to_string(sandbox.path().join("state/pool.server.log")).unwrap();
    assert!(log.contains("serving") && log.contains("serving ended"), "{log}");
}

#[test]
fn what_keeps_a_detached_server_from_serving_reaches_the_caller() {
    let sandbox = Sandbox::new();
    let why = sandbox.run("serve pool --detach").failure(1);
    assert!(why.contains("no array called \"pool\" is remembered"), "{why}");
    sandbox.run("serve pool --detach --on-event /no/such/program").failure(2);
}

#[test]
fn a_server_that_is_stopped_does_not_hang_status() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "");
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &served.pid().to_string()]).status().unwrap().success());
    };
    signal("-STOP");
    let begun = Instant::now();
    let output = sandbox.run("status pool --timeout 100ms");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(output.code, 2);
    assert!(output.stdout.starts_with("pool: no answer: no answer within 0.1 s"), "{output:?}");
    let json = sandbox.run("status pool --timeout 100ms --json").stdout;
    assert!(json.contains("\"no-answer\""), "{json}");
    signal("-CONT");
    sandbox.run("status pool").success();
}

#[test]
fn metrics_that_other_machines_reach_must_be_requested() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let why = sandbox.run("serve pool --metrics 0.0.0.0:0").failure(2);
    assert!(why.contains("--metrics-public") && why.contains("127.0.0.1"), "{why}");
    let served = Served::start(&sandbox, "pool", "--metrics 0.0.0.0:0 --metrics-public");
    assert!(served.said.iter().any(|line| line.contains("http://0.0.0.0:")), "{:?}", served.said);
}

#[test]
fn folders_of_state_and_sockets_are_their_users_alone() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let state = sandbox.path().join("state");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    let served = Served::start(&sandbox, "pool", "");
    assert_eq!(mode(&sandbox.path().join("run")), 0o700);
    // Another thread than the serving one writes the file.
    let events = state.join("pool.events.jsonl");
    let begun = Instant::now();
    while !events.exists() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(mode(&events), 0o600);
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    for folder in ["state", "run"] {
        let path = sandbox.path().join(folder);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let why = sandbox.run("serve pool").failure(1);
        assert!(why.contains(folder) && why.contains("chmod go-w"), "{why}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
}

/// A copy of a member took the member's place once, and both are remembered: the one that served last is the member.
#[test]
fn a_copy_of_a_member_does_not_keep_the_array_from_being_served() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let pool = |name: &str| sandbox.path().join("pool").join(name);
    std::fs::copy(pool("member-2"), pool("copy")).unwrap();
    let hint = sandbox.path().join("state/pool.json");
    let text = std::fs::read_to_string(&hint).unwrap();
    let last = pool("member-4").display().to_string();
    let both = text.replace(&last, &format!("{last}\", \"{}", pool("copy").display()));
    assert_ne!(both, text, "{text}");
    std::fs::write(&hint, both).unwrap();
    // If both are named explicitly, two files of one member are refused as before.
    let why = sandbox.run("serve pool --files pool").failure(1);
    assert!(why.contains("are both"), "{why}");
    let served = Served::start(&sandbox, "pool", "");
    served.disk().write(0, &[7; 4096]);
    let status = sandbox.run("status pool").success();
    assert!(status.contains("pool/member-2") && !status.contains("pool/copy"), "{status}");
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    // Writes in the meantime make the member newer than its copy, in whatever order they are remembered.
    let text = std::fs::read_to_string(&hint).unwrap();
    let (first, copy) = (pool("member-0").display().to_string(), pool("copy").display().to_string());
    std::fs::write(&hint, text.replace(&first, &format!("{copy}\", \"{first}"))).unwrap();
    let served = Served::start(&sandbox, "pool", "");
    let status = sandbox.run("status pool").success();
    assert!(status.contains("pool/member-2") && !status.contains("pool/copy"), "{status}");
    assert_eq!(served.disk().read(0, 4096), [7; 4096]);
}
