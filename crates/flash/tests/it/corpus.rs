//! Regression test over the fuzzing corpus: runs every file of `fuzz/corpus/device` through its check.

#![allow(unreachable_pub, reason = "the checks are a library elsewhere")]

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/src/device.rs"]
mod device;
#[path = "../../../../fuzz/src/mutate.rs"]
mod mutate;

#[test]
fn devices_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/device");
    let files: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
    assert!(!files.is_empty());
    for file in files {
        let path = file.expect("an entry").path();
        println!("{}", path.display());
        device::check(&fs::read(path).expect("a file of the corpus"));
    }
}

#[test]
fn mutated_inputs_hold() {
    mutate::run(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"),
        &[mutate::Target::new("device", &device::check)],
    );
}
