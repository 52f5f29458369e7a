//! Few files name a placement: the others ask for facts about it (`crates/scheme/src/placement/facts.rs`).

use crate::Complaint;
use crate::file::File;
use crate::layers::shipped_lines;

/// The table of facts.
const TABLE: &str = "crates/scheme/src/placement/facts.rs";

/// The enum of placements, whose values a file names after it.
const ENUM: &str = "PlacementPolicy";

/// Folders that belong to placements.
const FOLDERS: [&str; 3] =
    ["crates/scheme/src/placement/", "crates/array/src/in_place/", "crates/array/src/log/"];

/// The other files that may name a placement: each constructs or chooses one. The list is the limit: a new placement changes its
/// row in the table, and not these files.
const CHOOSERS: [&str; 5] = [
    "crates/array/src/array/mod.rs",
    "crates/check/src/crash/shape.rs",
    "crates/check/src/stress.rs",
    "crates/check/src/stress/elastic.rs",
    "crates/check/src/stress/zones.rs",
];

/// Checks that no other production file names a placement, and that each listed file does.
pub fn few_files_name_one(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for File { path, text } in files.iter().filter(|file| is_production(&file.path)) {
        let names = shipped_lines(text).find(|(_, code)| names_one(code));
        match (names, CHOOSERS.contains(&path.as_str())) {
            (Some((line, _)), false) => {
                let text = format!("names a placement; ask for a fact of it instead (see {TABLE})");
                complaints.push(Complaint::new(path, line, text));
            }
            (None, true) => {
                let text = "names no placement; take it off the list in crates/tidy/src/placements.rs";
                complaints.push(Complaint::new(path, 1, text));
            }
            _ => {}
        }
    }
    complaints
}

/// Whether the file is a source file of a crate, and neither a test nor a part of a placement.
fn is_production(path: &str) -> bool {
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs") || path.starts_with("fuzz/");
    let is_source = path.ends_with(".rs") && path.contains("/src/");
    is_source && !is_test && !FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether a line of code names a value of the enum, imports its values, or gives the enum another name.
fn names_one(code: &str) -> bool {
    code.match_indices(ENUM).any(|(at, _)| {
        let after = &code[at + ENUM.len()..];
        after.starts_with(" as ")
            || after.strip_prefix("::").is_some_and(|value| {
                value.starts_with(|c: char| c.is_ascii_uppercase() || matches!(c, '{' | '*'))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<usize> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        few_files_name_one(&[file]).into_iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn a_file_that_names_a_placement_is_complained_of() {
        let path = "crates/sim/src/x.rs";
        assert_eq!(complaints(path, "fn f() {}\nlet is_log = policy == PlacementPolicy::Elastic;\n"), [2]);
        assert_eq!(complaints(path, "use a::PlacementPolicy::{self, Elastic};\n"), [1]);
        assert_eq!(complaints(path, "use a::PlacementPolicy::*;\n"), [1]);
        assert_eq!(complaints(path, "use a::{PlacementPolicy as Policy};\n"), [1]);
        assert_eq!(complaints("python/src/x.rs", "PlacementPolicy::McRais => {}\n"), [1]);
    }

    #[test]
    fn facts_comments_tests_and_placements_may_be_named() {
        let named = "PlacementPolicy::Elastic\n";
        let asks = "PlacementPolicy::default().facts() // not PlacementPolicy::Elastic\n";
        assert_eq!(complaints("crates/sim/src/x.rs", asks), []);
        let test = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{named}}}\n");
        assert_eq!(complaints("crates/sim/src/x.rs", &test), []);
        for path in ["crates/check/tests/it/x.rs", "fuzz/src/x.rs", "crates/sim/src/x/tests.rs", TABLE] {
            assert_eq!(complaints(path, named), [], "{path}");
        }
        assert_eq!(complaints("crates/array/src/log/x.rs", named), []);
    }

    #[test]
    fn a_listed_file_names_a_placement() {
        for path in CHOOSERS {
            assert_eq!(complaints(path, "policy = PlacementPolicy::Elastic;\n"), []);
            assert_eq!(complaints(path, "policy.facts()\n"), [1]);
        }
    }
}
