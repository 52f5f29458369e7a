//! A damaged hint of an array's paths: named members need none. The real program from end to end.

use std::fs;
use std::path::Path;

use crate::support::Sandbox;
use crate::support::served::Served;

/// Puts something that is no hint at the path of a hint. Returns whether it can be replaced by a file.
fn spoil(path: &Path, how: &str) -> bool {
    let whole = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    match how {
        "empty" => fs::write(path, "").unwrap(),
        "garbage" => fs::write(path, [0xff; 300]).unwrap(),
        "truncated" => fs::write(path, &whole[..whole.len() / 2]).unwrap(),
        "of another shape" => fs::write(path, "{\"array\": [1, 2]}").unwrap(),
        "of no scheme" => {
            let mut hint: serde_json::Value = serde_json::from_slice(&whole).unwrap();
            hint["scheme"] = "what = {".into();
            fs::write(path, hint.to_string()).unwrap();
        }
        "unreadable" => std::os::unix::fs::symlink(path, path).unwrap(),
        _ => fs::create_dir(path).unwrap(),
    }
    how != "a folder"
}

#[test]
fn a_hint_that_cannot_be_read_keeps_no_command_from_working_on_named_members() {
    let kinds =
        ["empty", "garbage", "truncated", "of another shape", "of no scheme", "unreadable", "a folder"];
    for how in kinds {
        let sandbox = Sandbox::new();
        sandbox.run("create pool --files pool --size 16MiB").success();
        let path = sandbox.path().join("state/pool.json");
        let is_replaced = spoil(&path, how);
        if how != "of no scheme" {
            let output = sandbox.run("serve pool").failure(1);
            assert!(output.contains("name the files"), "{how}: {output}");
            let output = sandbox.run("scan").success();
            assert!(!output.contains("pool"), "{how}: {output}");
        }
        sandbox.run("check pool/").success();
        sandbox.run("events pool").success();
        let served = Served::start(&sandbox, "pool", "--files pool");
        // With the folder in the place of the hint, nothing is remembered.
        sandbox.run("fail pool 1").success();
        sandbox.run("replace pool 1 pool/new --wait").success();
        sandbox.run("stop pool").success();
        assert_eq!(served.wait(), 0, "{how}");
        if is_replaced {
            let served = Served::start(&sandbox, "pool", "");
            sandbox.run("stop pool").success();
            assert_eq!(served.wait(), 0, "{how}: it is remembered again");
        }
        spoil_again(&path);
        sandbox.run("create pool --files other --size 16MiB").success();
    }
}

/// Leaves garbage at `path`, whatever is there.
fn spoil_again(path: &Path) {
    let _ = fs::remove_dir(path);
    fs::write(path, "{").unwrap();
}
