//! Regression tests of fuzzing: every file of `fuzz/corpus` that this crate reads goes through its check.

#![allow(unreachable_pub, reason = "the checks are a library elsewhere")]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/format.rs"]
mod format;
#[path = "../../../fuzz/src/scheme.rs"]
mod scheme;

#[test]
fn schemes_hold() {
    each("scheme", scheme::check);
}

#[test]
fn structures_on_the_members_hold() {
    for structure in ["superblock", "summary", "commit", "checkpoint", "journal", "checksums", "intent"] {
        each(structure, |bytes| format::check(structure, bytes));
    }
}

fn each(folder: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(folder);
    let files: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
    assert!(!files.is_empty());
    for file in files {
        let path = file.expect("an entry").path();
        println!("{}", path.display());
        check(&fs::read(path).expect("a file of the corpus"));
    }
}
