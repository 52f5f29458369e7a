//! The findings and the seeds of fuzzing, as a test: every file of `fuzz/corpus` through the check of its target.

#![allow(unreachable_pub, reason = "the checks are a library elsewhere")]

use std::fs;
use std::path::{Path, PathBuf};

use stripewise_trace::format::{BINARY_FORMATS, FORMATS};

#[path = "../../../../fuzz/src/columns.rs"]
mod columns;
#[path = "../../../../fuzz/src/detect.rs"]
mod detect;
#[path = "../../../../fuzz/src/info.rs"]
mod info;
#[path = "../../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../../fuzz/src/packed.rs"]
mod packed;
#[cfg(feature = "parquet")]
#[path = "../../../../fuzz/src/parquet.rs"]
mod parquet;
#[path = "../../../../fuzz/src/profile.rs"]
mod profile;
#[path = "../../../../fuzz/src/reader.rs"]
mod reader;
#[path = "../../../../fuzz/src/settings.rs"]
mod settings;

/// Passes every file of a target's corpus to `check`; the corpus must not be empty.
fn replay(target: &str, check: impl Fn(&[u8])) {
    let mut files: Vec<PathBuf> = fs::read_dir(fuzz().join("corpus").join(target))
        .unwrap_or_else(|error| panic!("fuzz/corpus/{target}: {error}"))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "fuzz/corpus/{target} is empty");
    for file in files {
        println!("{}", file.display());
        check(&fs::read(&file).expect("a file of the corpus"));
    }
}

/// The names of all formats.
fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name).chain(BINARY_FORMATS.iter().map(|format| format.name))
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

#[test]
fn every_format_has_a_target_and_a_corpus_that_holds() {
    let targets = fs::read_to_string(fuzz().join("Cargo.toml")).expect("the list of targets");
    for name in names() {
        assert!(
            targets.contains(&format!("{{ name = \"{name}\", path = \"targets/reader.rs\" }}")),
            "fuzz/Cargo.toml lists no target for the format {name}"
        );
        replay(name, |bytes| reader::check(name, bytes));
    }
}

#[test]
fn detection_holds_on_its_corpus_and_on_that_of_every_format() {
    replay("detect", detect::check);
    for name in names() {
        replay(name, detect::check);
    }
}

#[test]
fn texts_of_named_columns_hold() {
    replay("columns", columns::check);
}

#[test]
fn compressed_files_hold() {
    replay("packed", packed::check);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_hold() {
    replay("parquet", parquet::check);
}

#[test]
fn statistics_hold() {
    replay("info", info::check);
}

#[test]
fn profiles_hold() {
    replay("profile", profile::check);
}

#[test]
fn settings_hold() {
    replay("settings", settings::check);
}

#[test]
fn mutated_inputs_hold() {
    use mutate::Target;

    let readers: Vec<_> =
        names().map(|name| (name, move |bytes: &[u8]| reader::check(name, bytes))).collect();
    let reader =
        |(name, check)| if name == "blktrace" { Target::long(name, check) } else { Target::new(name, check) };
    let mut targets: Vec<Target<'_>> =
        readers.iter().map(|(name, check)| reader((*name, check as _))).collect();
    targets.extend([
        Target::new("columns", &columns::check),
        Target::long("detect", &detect::check),
        Target::long("packed", &packed::check),
        Target::long("info", &info::check),
        Target::new("profile", &profile::check),
        Target::new("settings", &settings::check),
    ]);
    #[cfg(feature = "parquet")]
    targets.push(Target::long("parquet", &parquet::check));
    mutate::run(&fuzz().join("corpus"), &targets);
}
