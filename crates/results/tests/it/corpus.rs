//! The findings and the seeds of fuzzing, as a test: every file of `fuzz/corpus/tables` through its check.

#![allow(unreachable_pub, reason = "the checks are a library elsewhere")]

use std::fs;
use std::path::Path;

use stripewise_base::prng::Prng;

#[path = "../../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/src/tables.rs"]
mod tables;

#[test]
fn damaged_tables_are_read_as_they_were_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tables");
    let files: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
    assert!(!files.is_empty());
    for file in files {
        let path = file.expect("an entry").path();
        println!("{}", path.display());
        tables::check(&fs::read(path).expect("a file of the corpus"));
    }
}

#[test]
fn random_damage_to_tables_is_noticed_or_without_effect() {
    without_panics_of_the_library();
    let mut prng = Prng::new(26);
    for length in 0..1_000 {
        let mut bytes = vec![prng.next_u64() as u8];
        // A few changes reach deeper than many.
        bytes.extend((0..1 + length % 40).map(|_| prng.next_u64() as u8));
        tables::check(&bytes);
    }
}

/// The library also reports its panics, which these tests do not need.
fn without_panics_of_the_library() {
    std::panic::set_hook(Box::new(|panic| {
        let is_of_library = panic.location().is_some_and(|place| place.file().contains("/parquet-"));
        let _ = (!is_of_library).then(|| eprintln!("{panic}"));
    }));
}

#[test]
fn mutated_inputs_hold() {
    without_panics_of_the_library();
    mutate::run(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"),
        &[mutate::Target::long("tables", &tables::check)],
    );
}
