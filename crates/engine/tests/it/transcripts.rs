//! Transcripts may come from any source: whatever a transcript contains, its replay ends with a result or with an error
//! that names the transcript.

#![allow(unreachable_pub, reason = "the checks are a library elsewhere")]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use stripewise_engine::transcript::Head;

#[path = "../../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/src/transcript.rs"]
mod transcript;

use transcript::{check, replayed, sealed, written};

/// A file with this head and the events of a real one.
fn with_head(head: &Head) -> Vec<u8> {
    let body = postcard::to_extend(head, Vec::new()).unwrap();
    sealed(&body.into_iter().chain(written().1.concat()).collect::<Vec<u8>>())
}

#[test]
fn a_head_that_no_engine_writes_is_refused_by_what_is_wrong_with_it() {
    let real = &written().0;
    let result = replayed(&with_head(real)).expect("a real one replays");
    assert!(result.difference.is_none() && result.requests > 40, "{result:?}");
    let refused = |what: &str, change: &dyn Fn(&mut Head)| {
        let mut head = real.clone();
        change(&mut head);
        let error = replayed(&with_head(&head)).expect_err(what);
        assert!(error.contains(what) && error.contains("expected"), "{error}");
    };
    for bytes in [0, 1, 511, 513, 64 << 10, u32::MAX] {
        refused("page size", &|head| head.pages.1 = bytes);
        refused("page size of a member offered", &|head| head.offered[1].1 = bytes);
    }
    refused("pages of a member 0", &|head| head.pages.0 = 0);
    refused("pages of a member offered 0", &|head| head.offered[0].0 = 0);
    for members in [0, 65, u32::MAX] {
        refused("members", &|head| head.members = members);
    }
    refused("members offered", &|head| head.offered = vec![(1, 512); 1 << 16]);
    refused("bytes of the array's name", &|head| head.name = "x".repeat(65));
    refused("bytes of the version", &|head| head.version = "x".repeat(65));
    let mut head = real.clone();
    head.scheme = "name = 7".into();
    assert!(replayed(&with_head(&head)).is_err());
}

/// Numbers at the edges of the allowed ranges, and any others.
fn edges() -> impl Strategy<Value = u32> {
    let edge =
        prop::sample::select(vec![0, 1, 2, 4, 64, 65, 511, 512, 4096, 32 << 10, 1 << 16, 1 << 31, u32::MAX]);
    prop_oneof![3 => edge, 1 => any::<u32>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn heads_of_any_numbers_do_no_harm(
        pages in prop::option::of(edges()),
        page_bytes in prop::option::of(edges()),
        members in prop::option::of(edges()),
        offered in prop::option::of(prop::collection::vec((edges(), edges()), 0..6)),
        (read_only, force, discard) in any::<(bool, bool, bool)>(),
        name in "\\PC{0,40}",
    ) {
        let mut head = written().0.clone();
        head.pages = (pages.unwrap_or(head.pages.0), page_bytes.unwrap_or(head.pages.1));
        head.members = members.unwrap_or(head.members);
        head.offered = offered.unwrap_or(head.offered);
        (head.opening, head.discard, head.name) = ((read_only, force), discard, name);
        let _ = replayed(&with_head(&head));
    }

    #[test]
    fn values_and_changes_of_any_kind_do_no_harm(way: u8, bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        check(&[&[way][..], &bytes].concat());
    }
}

#[test]
fn what_fuzzing_began_with_and_found_does_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/transcript");
    let files: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
    assert!(!files.is_empty());
    for file in files {
        let path = file.expect("an entry").path();
        println!("{}", path.display());
        check(&fs::read(path).expect("a file of the corpus"));
    }
}

#[test]
fn mutated_inputs_hold() {
    mutate::run(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"),
        &[mutate::Target::new("transcript", &check)],
    );
}
