//! Files whose size is no multiple of the page, as partitions of disks with 512-byte sectors have it: the size is rounded
//! down. And files that grow. The real program from end to end.

use std::fs::OpenOptions;

use serde_json::Value;

use crate::support::Sandbox;
use crate::support::served::{Served, status, wait_until};

const MIB: u64 = 1 << 20;

fn set_size(sandbox: &Sandbox, name: &str, bytes: u64) {
    let path = sandbox.path().join(name);
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
    file.set_len(bytes).unwrap();
}

#[test]
fn sizes_that_are_no_multiple_of_the_page_are_rounded_down_by_every_command() {
    let sandbox = Sandbox::new();
    let names = ["a", "b", "c", "d", "e"];
    (0..).zip(names).for_each(|(nth, name)| set_size(&sandbox, name, 16 * MIB + 512 * (nth + 1)));
    let output = sandbox.run(&format!("create pool {}", names.join(" "))).success();
    assert!(output.contains("5 members of 16MiB"), "{output}");
    let served = Served::start(&sandbox, "pool", "");
    let mut disk = served.disk();
    (0..300).for_each(|chunk| disk.write(chunk * 4096, &[chunk as u8 | 1; 4096]));
    disk.flush();
    set_size(&sandbox, "spare", 16 * MIB + 1536);
    sandbox.run("spare pool spare").success();
    sandbox.run("fail pool 1").success();
    wait_until(&sandbox, |status| status["rebuild"] == Value::Null && status["health"] == "clean");
    set_size(&sandbox, "new", 16 * MIB + 1023);
    sandbox.run("fail pool 2").success();
    sandbox.run("replace pool 2 new --wait").success();
    sandbox.run("fail pool 3").success();
    sandbox.run("replace pool 3 d --wait").success();
    sandbox.run("scrub pool --wait").success();
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
    let served = Served::start(&sandbox, "pool", "");
    assert_eq!(status(&sandbox)["health"], "clean");
    assert_eq!(served.disk().read(7 * 4096, 4096), [7; 4096]);
    // New files have whole pages.
    sandbox.run("create other --files other --size 16777999B").success();
    assert_eq!(sandbox.path().join("other/member-0").metadata().unwrap().len(), 16 * MIB);
}

#[test]
fn members_that_grow_while_they_serve_and_between_two_servings_are_not_damaged() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 16MiB").success();
    let served = Served::start(&sandbox, "pool", "");
    served.disk().write(0, &[7; 4096]);
    set_size(&sandbox, "pool/member-1", 20 * MIB);
    // The server looks at superblocks each second, and reports damage after two looks.
    std::thread::sleep(std::time::Duration::from_secs(4));
    let output = status(&sandbox);
    assert_eq!(
        (&output["health"], &output["members"][1]["damaged_superblocks"]),
        (&"clean".into(), &0.into()),
        "{output}"
    );
    let scrubbed = sandbox.run("scrub pool --wait").success();
    assert!(
        scrubbed.contains("0 damaged, 0 repaired, 0 lost") && !scrubbed.contains("metadata"),
        "{scrubbed}"
    );
    sandbox.run("stop pool").success();
    assert_eq!(served.wait(), 0);
    (0..5).for_each(|member| set_size(&sandbox, &format!("pool/member-{member}"), 24 * MIB));
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
    let served = Served::start(&sandbox, "pool", "");
    assert_eq!(served.disk().read(0, 4096), [7; 4096]);
    sandbox.run("stop pool").success();
    served.wait();
    assert!(sandbox.run("check pool").success().ends_with("clean\n"));
}
