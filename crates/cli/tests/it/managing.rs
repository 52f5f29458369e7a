//! Reports, remembered paths and refusals while an array is managed: the real program from end to end.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::served::{Served, status, wait_until};

/// A sandbox with an array called `pool` over files of 16 MiB, a server of it with `options`, and some data.
fn served(options: &str) -> (Sandbox, Served) {
    served_as("durable-was", options)
}

/// [`served`] with this scheme.
fn served_as(scheme: &str, options: &str) -> (Sandbox, Served) {
    let sandbox = Sandbox::new();
    sandbox.run(&format!("create pool --files pool --size 16MiB --scheme {scheme}")).success();
    let served = Served::start(&sandbox, "pool", options);
    let mut disk = served.disk();
    for chunk in 0..300 {
        disk.write(chunk * 4096, &[chunk as u8 | 1; 4096]);
    }
    disk.flush();
    (sandbox, served)
}

fn remembered(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&std::fs::read(sandbox.path().join("state/pool.json")).unwrap()).unwrap()
}

fn spares(output: &Value) -> Vec<&Path> {
    output["spares"].as_array().unwrap().iter().map(|path| Path::new(path.as_str().unwrap())).collect()
}

#[test]
fn what_is_refused_as_a_member_is_left_as_it_was() {
    let (sandbox, _served) = served("--rate 1KiB");
    let there = |name: &str| sandbox.path().join("pool").join(name);
    std::fs::write(there("small"), vec![1; 8 << 20]).unwrap();
    std::fs::write(there("holds"), vec![1; 16 << 20]).unwrap();
    sandbox.run("fail pool 2").success();
    let before = remembered(&sandbox);
    for command in ["replace pool 2 pool/small --force", "spare pool pool/small --force"] {
        let refused = sandbox.run(command).failure(1);
        assert!(refused.contains("use a larger one"), "{refused}");
    }
    for command in ["replace pool 2 /dev/stripewise-none", "spare pool /dev/stripewise-none"] {
        let refused = sandbox.run(command).failure(1);
        assert!(refused.contains("there is no device `/dev/stripewise-none`"), "{refused}");
    }
    assert!(!Path::new("/dev/stripewise-none").exists());
    assert_eq!(remembered(&sandbox), before, "what is refused is forgotten");
    sandbox.run("replace pool 2 pool/new").success();
    assert_eq!(status(&sandbox)["health"], "rebuilding");
    sandbox.run("fail pool 1 --force").success();
    // The rebuild is halted until member 1 returns: it may have what the rebuild needs.
    let refused = sandbox.run("replace pool 1 pool/newer").failure(1);
    assert!(refused.contains("more members of group 0 failed than its parity tolerates"), "{refused}");
    for name in ["small", "holds"] {
        assert!(std::fs::read(there(name)).unwrap().iter().all(|&byte| byte == 1), "{name} was cleared");
    }
}

#[test]
fn a_spare_is_one_again_when_the_array_is_served_again_until_it_is_used() {
    let (sandbox, served) = served("");
    for name in ["one", "two", "three"] {
        sandbox.run(&format!("spare pool pool/{name}")).success();
    }
    served.kill();
    let [one, two, three] = ["one", "two", "three"].map(|name| sandbox.path().join("pool").join(name));
    std::fs::write(&two, vec![1; 16 << 20]).unwrap();
    std::fs::remove_file(&three).unwrap();
    let served = Served::start(&sandbox, "pool", "");
    assert_eq!(spares(&status(&sandbox)), [&one]);
    assert!(std::fs::read(&two).unwrap().iter().all(|&byte| byte == 1), "what it holds now is somebody's");
    assert!(!three.exists(), "no spare is made where one was");
    assert_eq!(spares(&remembered(&sandbox)), [&one, &three], "one that is away may come again");
    sandbox.run("fail pool 4").success();
    wait_until(&sandbox, |status| status["health"] == "clean");
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    let served = Served::start(&sandbox, "pool", "");
    let output = status(&sandbox);
    assert_eq!((&output["health"], spares(&output).len()), (&Value::from("clean"), 0), "{output}");
    assert_eq!(output["members"][4]["path"], one.to_str().unwrap());
    assert_eq!(spares(&remembered(&sandbox)), [&three]);
    assert_eq!(served.disk().read(299 * 4096, 4096), [299u32 as u8 | 1; 4096]);
}

#[test]
fn where_a_member_was_is_remembered_while_it_is_away() {
    let (sandbox, served) = served("");
    let in_pool = |name: &str| sandbox.path().join("pool").join(name);
    let knows = |name: &str| remembered(&sandbox)["paths"].to_string().contains(&format!("/{name}\""));
    let serve = |options: &str| {
        let served = Served::start(&sandbox, "pool", options);
        let health = status(&sandbox)["health"].as_str().unwrap().to_owned();
        sandbox.run("stop pool").success();
        assert_eq!(served.wait(), 0);
        health
    };
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    std::fs::rename(in_pool("member-1"), in_pool("away")).unwrap();
    // Nothing is written meanwhile, so the member can serve at once when it returns.
    assert_eq!(serve("--read-only"), "degraded");
    std::fs::rename(in_pool("away"), in_pool("member-1")).unwrap();
    assert_eq!(serve(""), "clean");
    // A replaced member has no place in the array, wherever it is.
    std::fs::remove_file(in_pool("member-1")).unwrap();
    let served = Served::start(&sandbox, "pool", "");
    sandbox.run("replace pool 1 pool/new --wait").success();
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    assert!(knows("member-1") && knows("new"));
    assert_eq!(serve(""), "clean");
    assert!(!knows("member-1") && knows("new"));
}

#[test]
fn a_member_of_several_names_is_found_once() {
    let (sandbox, served) = served("");
    std::os::unix::fs::symlink("member-0", sandbox.path().join("pool/by-id")).unwrap();
    sandbox.run("fail pool 0").success();
    sandbox.run("replace pool 0 pool/by-id --wait").success();
    assert!(remembered(&sandbox)["paths"].to_string().contains("by-id"), "both names are remembered");
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    let _served = Served::start(&sandbox, "pool", "");
    assert_eq!(status(&sandbox)["health"], "clean");
}

#[test]
fn waiting_for_a_rebuild_or_a_scrub_reports_how_it_ended() {
    let (sandbox, _served) = served("--rate 1KiB");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| sandbox.run("scrub pool --wait").failure(1));
        wait_until(&sandbox, |status| !status["scrub"].is_null());
        sandbox.run("scrub pool --stop").success();
        let output = waiting.join().unwrap();
        assert!(output.contains("the scrub was ended before it was done"), "{output}");
    });
    assert_eq!(status(&sandbox)["last_scrub"]["complete"], false);
    sandbox.run("rate pool unlimited").success();
    let output = sandbox.run("scrub pool --wait").success();
    assert!(output.ends_with(" 0 damaged, 0 repaired, 0 lost\n"), "{output}");
    let complete = status(&sandbox)["last_scrub"].clone();
    assert_eq!(complete["complete"], true);
    sandbox.run("rate pool 1KiB").success();
    sandbox.run("scrub pool").success();
    let output = status(&sandbox);
    assert!(
        !output["scrub"].is_null() && output["last_scrub"] == complete,
        "the last one that ended: {output}"
    );
    sandbox.run("scrub pool --stop").success();
    sandbox.run("fail pool 2").success();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| sandbox.run("replace pool 2 pool/new --wait").failure(1));
        wait_until(&sandbox, |status| status["health"] == "rebuilding");
        sandbox.run("fail pool 2").success();
        let output = waiting.join().unwrap();
        assert!(output.contains("member 2 is failed again: it was taken out of service"), "{output}");
    });
}

#[test]
fn waiting_for_a_halted_rebuild_reports_the_halt() {
    let (sandbox, served) = served_as("durable-raid5", "--rate 1KiB");
    sandbox.run("fail pool 1").success();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| sandbox.run("replace pool 1 pool/new --wait").failure(1));
        wait_until(&sandbox, |status| status["health"] == "rebuilding");
        sandbox.run("fail pool 2 --force").success();
        sandbox.run("fail pool 3 --force").success();
        let output = waiting.join().unwrap();
        let halted = "the rebuild is halted: more members of group 0 failed than its parity tolerates\n  \
            it continues when a failed member returns";
        assert!(output.contains(halted), "{output}");
    });
    let output = sandbox.run("status pool");
    assert!(
        output.code == 2 && output.stdout.contains("\n  rebuild HALTED: more members of group 0"),
        "{output:?}"
    );
    // The array continues with the failed member, as announced.
    served.kill();
    let served = Served::start(&sandbox, "pool", "");
    wait_until(&sandbox, |status| status["health"] == "clean");
    assert_eq!(status(&sandbox)["rebuild_halted"], Value::Null);
    let mut disk = served.disk();
    for chunk in 0..300 {
        assert_eq!(disk.read(chunk * 4096, 4096), [chunk as u8 | 1; 4096]);
    }
}

/// Answers a client at the array's control socket, with one answer a request.
fn answer(sandbox: &Sandbox, answers: Vec<Result<Value, i64>>) {
    let listener = UnixListener::bind(sandbox.path().join("run/pool.ctl")).unwrap();
    let (mut client, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
    for answer in answers {
        let request: Value = serde_json::from_str(&lines.next().expect("it asks").unwrap()).unwrap();
        let (id, error) = (&request["id"], |code| json!({ "code": code, "message": "for a test" }));
        let output = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(code) => json!({ "jsonrpc": "2.0", "id": id, "error": error(code) }),
        };
        client.write_all(format!("{output}\n").as_bytes()).unwrap();
    }
}

#[test]
fn a_server_that_is_busy_is_polled_again_and_one_that_is_gone_is_not() {
    let (sandbox, server) = served("--rate 1KiB");
    let idle = status(&sandbox);
    let running = thread::scope(|scope| {
        let waiting = scope.spawn(|| sandbox.run("scrub pool --wait").failure(1));
        wait_until(&sandbox, |status| !status["scrub"].is_null());
        let running = status(&sandbox);
        server.kill();
        let output = waiting.join().unwrap();
        assert!(
            output.contains("the scrub cannot be waited for: ") && output.contains("begins again"),
            "{output}"
        );
        running
    });
    let wait_for = |answers| {
        thread::scope(|scope| {
            let path = sandbox.path().join("run/pool.ctl");
            let _ = std::fs::remove_file(&path);
            scope.spawn(|| answer(&sandbox, answers));
            while !path.exists() {
                thread::yield_now();
            }
            sandbox.run("scrub pool --wait")
        })
    };
    let (busy, ends, refused) = (Err(2), Err(3), Err(1));
    wait_for(vec![Ok(Value::Null), busy.clone(), Ok(running.clone()), busy, Ok(idle)]).success();
    for error in [ends, refused] {
        let output = wait_for(vec![Ok(Value::Null), Ok(running.clone()), error]).failure(1);
        assert!(output.contains("the scrub cannot be waited for: for a test"), "{output}");
    }
}

#[test]
fn an_array_that_lost_something_is_not_clean() {
    let (sandbox, _served) = served("");
    // More damage than parity tolerates, in the same stripes.
    for member in ["member-0", "member-1"] {
        let path = sandbox.path().join("pool").join(member);
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(&vec![0xdb; 512 << 10], 128 << 10).unwrap();
    }
    let output = sandbox.run("scrub pool --wait").failure(1);
    assert!(output.contains("chunks are lost: reads of them fail until they are written again"), "{output}");
    let output = sandbox.run("status pool");
    assert!(output.code == 1 && output.stdout.starts_with("pool: IMPAIRED"), "{output:?}");
}
