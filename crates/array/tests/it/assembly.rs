//! Regression tests of fuzzing of assembly: its initial inputs, its findings and some more of their kind. See
//! `fuzz/src/assembly.rs`.

#![allow(unreachable_pub, reason = "the checks are a library elsewhere")]

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[path = "../../../../fuzz/src/assembly.rs"]
pub(crate) mod images;

#[test]
fn images_that_fuzzing_changed_end_with_an_answer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/assembly");
    let files: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
    assert!(!files.is_empty());
    for file in files {
        let path = file.expect("an entry").path();
        println!("{}", path.display());
        images::check(&fs::read(path).expect("a file of the corpus"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 8,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn images_changed_anywhere_end_with_an_answer(bytes in prop::collection::vec(any::<u8>(), 2..40)) {
        images::check(&bytes);
    }
}
