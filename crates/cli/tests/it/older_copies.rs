//! A member that returns with the content of an earlier time, as an operator may cause it: the real program from end
//! to end.

use std::fs;

use serde_json::Value;

use crate::support::Sandbox;
use crate::support::served::Served;

const CHUNKS: u64 = 300;

/// Pages that all differ, in each of several rounds of writing.
fn content(chunk: u64, round: u64) -> Vec<u8> {
    [chunk + 1, round].map(u64::to_le_bytes).concat().repeat(256)
}

fn write(served: &Served, round: u64) {
    let mut disk = served.disk();
    for chunk in 0..CHUNKS {
        disk.write(chunk * 4096, &content(chunk, round));
    }
    disk.flush();
}

#[track_caller]
fn verify(served: &Served, round: u64) {
    let mut disk = served.disk();
    for chunk in 0..CHUNKS {
        assert_eq!(disk.read(chunk * 4096, 4096), content(chunk, round), "chunk {chunk}");
    }
}

#[track_caller]
fn stop(sandbox: &Sandbox, served: Served) {
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
}

fn health(sandbox: &Sandbox) -> Value {
    let output = sandbox.run("status pool --json").stdout;
    serde_json::from_str::<Value>(&output).unwrap()[0]["health"].clone()
}

/// A member's file is copied while the array is stopped; the array is served and overwritten; the member fails and
/// returns with its old content: as the copy, or with the copy put in its place. An array that reports itself
/// redundant may lose any member.
fn an_older_copy_returns(scheme: &str, is_in_place: bool) {
    let sandbox = Sandbox::new();
    let member = |number: u32| sandbox.path().join(format!("members/member-{number}"));
    sandbox.run(&format!("create pool --files members --size 16MiB --scheme {scheme}")).success();
    let served = Served::start(&sandbox, "pool", "");
    write(&served, 1);
    stop(&sandbox, served);
    fs::copy(member(2), sandbox.path().join("copy")).unwrap();

    let served = Served::start(&sandbox, "pool", "");
    write(&served, 2);
    sandbox.run("fail pool 2").success();
    if is_in_place {
        fs::rename(sandbox.path().join("copy"), member(2)).unwrap();
        sandbox.run("replace pool 2 members/member-2 --wait").success();
    } else {
        sandbox.run("replace pool 2 copy --wait").success();
    }
    assert_eq!(health(&sandbox), "clean");
    verify(&served, 2);
    stop(&sandbox, served);
    let checked = sandbox.run("check pool").success();
    assert!(checked.contains("clean"), "{checked}");

    fs::rename(member(3), sandbox.path().join("lost")).unwrap();
    let served = Served::start(&sandbox, "pool", "");
    assert_eq!(health(&sandbox), "degraded");
    verify(&served, 2);
}

#[test]
fn an_older_copy_that_returns_to_a_log_leaves_it_as_redundant_as_it_says() {
    an_older_copy_returns("durable-was", false);
    an_older_copy_returns("durable-was", true);
}

#[test]
fn an_older_copy_that_returns_to_an_array_with_a_journal_leaves_it_as_redundant_as_it_says() {
    an_older_copy_returns("durable-raid5", false);
    an_older_copy_returns("durable-raid5", true);
}

#[test]
fn an_older_copy_that_returns_to_an_array_with_two_parities_leaves_it_as_redundant_as_it_says() {
    an_older_copy_returns("durable-raid6-was", false);
    an_older_copy_returns("durable-raid6", true);
}
