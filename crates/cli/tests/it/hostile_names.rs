//! Names on media are foreign text: the terminal must obey none of their content, and a name must not start new
//! lines.

use std::fs;
use std::path::Path;

use stripewise_array::format::{Copy, SUPERBLOCK_BYTES, Superblock};

use crate::support::{Ended, Sandbox};

/// A title, a cleared screen, a sequence in C1, a carriage return, a line of its own, and a reversed direction.
const HOSTILE: &str = "x\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}2J\r\n  clean\u{202e}";
const SHOWN: &str = "x\\u{1b}]0;t\\u{7}\\u{1b}[2J\\u{9b}2J\\r\\n  clean\\u{202e}";

/// Gives the array and its scheme that name in every superblock of the file.
fn rename(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let mut renamed = 0;
    for page in bytes.chunks_exact_mut(SUPERBLOCK_BYTES) {
        let (Some(copy), Ok(mut block)) = (Copy::of(page), Superblock::parse(page)) else { continue };
        block.name = HOSTILE.into();
        block.scheme = HOSTILE.into();
        block.encode(copy, page);
        renamed += 1;
    }
    assert!(renamed >= 2, "a copy at the front and one at the back");
    fs::write(path, bytes).unwrap();
}

#[track_caller]
fn is_harmless(ended: &Ended) {
    for text in [&ended.stdout, &ended.stderr] {
        let is_layout = |c: char| matches!(c, '\n' | '\t');
        let obeyed = |c: char| (c.is_control() && !is_layout(c)) || c == '\u{202e}';
        assert!(!text.contains(obeyed), "{text:?}");
        // `check` reports a clean array in a line of its own, without the leading spaces of the one in the name.
        assert!(!text.lines().any(|line| line.starts_with("  clean")), "{text}");
    }
}

#[test]
fn names_on_media_are_shown_and_never_obeyed() {
    let sandbox = Sandbox::new();
    sandbox.run("create pool --files pool --size 8MiB").success();
    for nth in 0..5 {
        rename(&sandbox.path().join(format!("pool/member-{nth}")));
    }
    // The file gets the name too, as far as a folder accepts it.
    let file = sandbox.path().join("pool").join(HOSTILE);
    fs::rename(sandbox.path().join("pool/member-4"), &file).unwrap();
    fs::write(sandbox.path().join("other"), "").unwrap();
    let settings = sandbox.run("scheme show durable-was").success();
    let scheme = sandbox.write("scheme.toml", &settings);
    let scheme = scheme.display();
    for line in [
        "scan pool",
        "scan pool --json",
        "dump pool",
        "dump pool --json",
        &format!("check pool --scheme {scheme}"),
        "check pool",
        "serve other --files pool --scheme nonsense",
        "create next pool/member-0 pool/member-1 pool/member-2",
    ] {
        let ended = sandbox.run(line);
        is_harmless(&ended);
        let output = format!("{}{}", ended.stdout, ended.stderr);
        let is_json = line.ends_with("--json");
        let expected = if is_json { "\\u001b[2J\\u009b2J" } else { "\\u{1b}[2J\\u{9b}2J" };
        assert!(line.contains("nonsense") || output.contains(expected), "{line}: {output}");
        if is_json {
            serde_json::from_str::<serde_json::Value>(&ended.stdout).expect("it is JSON still");
        }
    }
    assert!(sandbox.run("scan pool").stdout.contains(&format!("called \"{SHOWN}\"")));
    let ended = sandbox.command().arg("scan").arg(&file).output().unwrap();
    assert!(String::from_utf8(ended.stdout).unwrap().contains(SHOWN), "the file by its name");
}

#[test]
fn no_array_is_created_with_such_a_name() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run_words(["create", HOSTILE, "--files", "pool", "--size", "8MiB"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    let text = sandbox.run("scheme show durable-was").success();
    let named = text.replacen("name = \"durable-was\"", "name = \"a\\u001b[2J\"", 1);
    assert_ne!(named, text);
    let path = sandbox.write("scheme.toml", &named);
    let ended = sandbox.run(&format!("create pool --files pool --size 8MiB --scheme {}", path.display()));
    is_harmless(&ended);
    assert!(ended.code != 0 && ended.stderr.contains("\"a\\u{1b}[2J\" has control characters"), "{ended:?}");
    assert!(!sandbox.path().join("pool/member-0").exists());
}
