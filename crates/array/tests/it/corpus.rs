//! Regression tests of fuzzing: every file of `fuzz/corpus` that this crate reads goes through its check.

#![allow(unreachable_pub, reason = "the checks are a library elsewhere")]

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/src/format.rs"]
mod format;
#[path = "../../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/src/scheme.rs"]
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

#[test]
fn mutated_inputs_hold() {
    const STRUCTURES: [&str; 7] =
        ["superblock", "summary", "commit", "checkpoint", "journal", "checksums", "intent"];
    let checks = STRUCTURES.map(|structure| (structure, move |bytes: &[u8]| format::check(structure, bytes)));
    let mut targets: Vec<_> = checks.iter().map(|(name, check)| mutate::Target::new(name, check)).collect();
    targets.push(mutate::Target::new("scheme", &scheme::check));
    targets.push(mutate::Target::new("assembly", &crate::assembly::images::check));
    mutate::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"), &targets);
}

fn each(folder: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(folder);
    let files: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
    assert!(!files.is_empty());
    for file in files {
        let path = file.expect("an entry").path();
        println!("{}", path.display());
        check(&fs::read(path).expect("a file of the corpus"));
    }
}
