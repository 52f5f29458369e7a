//! The findings and the seeds of fuzzing, checked again: every file of `fuzz/corpus` for this crate, through its check.

#![allow(unreachable_pub, reason = "the checks are a library elsewhere")]

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/src/nbd.rs"]
mod nbd;

#[test]
fn either_side_holds_whatever_the_other_sends() {
    for (folder, check) in [("nbd-server", nbd::check_server as fn(&[u8])), ("nbd-client", nbd::check_client)]
    {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(folder);
        let files: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
        assert!(!files.is_empty());
        for file in files {
            let path = file.expect("an entry").path();
            println!("{}", path.display());
            check(&fs::read(path).expect("a file of the corpus"));
        }
    }
}

#[test]
fn mutated_inputs_hold() {
    let targets = [
        mutate::Target::new("nbd-server", &nbd::check_server),
        mutate::Target::new("nbd-client", &nbd::check_client),
    ];
    mutate::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"), &targets);
}
