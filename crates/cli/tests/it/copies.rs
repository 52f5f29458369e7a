//! Two copies of an array that were served separately, and mixed: the real program from end to end.

use std::fs;

use serde_json::Value;

use crate::support::Sandbox;
use crate::support::served::Served;

const CHUNKS: u64 = 200;

fn content(chunk: u64, round: u64) -> Vec<u8> {
    [chunk + 1, round].map(u64::to_le_bytes).concat().repeat(256)
}

/// Serves the members in `folder`, writes them in `round`, and stops or kills the server.
fn serve_and_write(sandbox: &Sandbox, folder: &str, round: u64, stops: bool) {
    let served = Served::start(sandbox, "pool", &format!("--files {folder}"));
    let mut disk = served.disk();
    (0..CHUNKS).for_each(|chunk| disk.write(chunk * 4096, &content(chunk, round)));
    disk.flush();
    if !stops {
        return served.kill();
    }
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
}

#[test]
fn a_member_of_another_copy_is_left_out_and_two_of_them_are_refused_by_name() {
    for (scheme, stops) in [("durable-was", true), ("durable-was", false), ("durable-raid5", false)] {
        let sandbox = Sandbox::new();
        let file = |folder: &str, number: u32| sandbox.path().join(format!("{folder}/member-{number}"));
        sandbox.run(&format!("create pool --files pool --size 16MiB --scheme {scheme}")).success();
        serve_and_write(&sandbox, "pool", 1, true);
        fs::create_dir(sandbox.path().join("clone")).unwrap();
        for number in 0..5 {
            fs::copy(file("pool", number), file("clone", number)).unwrap();
        }
        serve_and_write(&sandbox, "pool", 2, stops);
        serve_and_write(&sandbox, "clone", 3, stops);

        let text = sandbox.run("scan pool clone").success();
        assert!(text.contains("COPY 1, update") && text.contains("COPY 2, update"), "{text}");
        let found: Value = serde_json::from_str(&sandbox.run("scan pool clone --json").success()).unwrap();
        for copy in found[0]["copies"].as_array().unwrap() {
            let paths: Vec<&str> = copy["members"]
                .as_array()
                .unwrap()
                .iter()
                .map(|member| member["path"].as_str().unwrap())
                .collect();
            let of = |folder: &str| {
                paths.iter().filter(|path| path.contains(&format!("{folder}/member-"))).count()
            };
            assert!(paths.len() == 5 && [0, 5].contains(&of("pool")), "{paths:?}");
        }

        fs::copy(file("clone", 4), file("pool", 4)).unwrap();
        let served = Served::start(&sandbox, "pool", "--files pool");
        let mut disk = served.disk();
        let status = sandbox.run("status pool --json").stdout;
        let status: Value = serde_json::from_str(&status).unwrap();
        assert_eq!(status[0]["health"], "degraded", "{scheme}: {status}");
        (0..CHUNKS)
            .for_each(|chunk| assert_eq!(disk.read(chunk * 4096, 4096), content(chunk, 2), "chunk {chunk}"));
        served.kill();

        fs::copy(file("clone", 3), file("pool", 3)).unwrap();
        let refused = sandbox.run("serve pool --files pool").failure(1);
        assert!(refused.contains("too few members: 2 of a group of 5"), "{scheme}: {refused}");
    }
}
