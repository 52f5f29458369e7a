//! Import circles: more than three files of a crate that all need each other.
//!
//! An arrow leads from a file to each file with an item that it names, by `use` or by a path in its code. A re-export
//! counts for the file that defines the item, and a path to a module for the items that are named through it. Items
//! below `#[cfg(test)]` do not count.

mod parse;
mod resolve;

pub(crate) use parse::tokens;

use std::collections::{BTreeMap, BTreeSet};

use crate::Complaint;
use crate::file::File;
use resolve::Crate;

/// Most files that may need each other.
const CIRCLE_FILES_MAX: usize = 3;

/// The files of a crate, each with the files that it names.
type Arrows<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Checks that the files of each crate form no large import circles.
pub fn none_is_large(files: &[File]) -> Vec<Complaint> {
    let mut owners: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files {
        if let Some((owner, name)) = file.path.split_once("/src/")
            && name.ends_with(".rs")
        {
            owners.entry(owner).or_default().push(file);
        }
    }
    owners.into_iter().flat_map(|(owner, files)| complaints(owner, &files)).collect()
}

fn complaints(owner: &str, files: &[&File]) -> Vec<Complaint> {
    let arrows = Crate::read(owner, files).arrows();
    let mut large = groups(&arrows);
    large.retain(|group| group.len() > CIRCLE_FILES_MAX);
    let complaint = |group: &BTreeSet<&str>| {
        let first = group.first().copied().unwrap_or_default();
        let names: Vec<&str> = group.iter().copied().collect();
        let text = format!(
            "{} files import each other (at most {CIRCLE_FILES_MAX}): {}; one circle: {}",
            names.len(),
            names.join(", "),
            circle(&arrows, first).join(" -> ")
        );
        Complaint::new(first, 1, text)
    };
    large.iter().map(complaint).collect()
}

/// The files that `from` needs, directly and through others.
fn reached<'a>(arrows: &Arrows<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&str> = arrows[from].iter().copied().collect();
    while let Some(file) = waiting.pop() {
        if found.insert(file) {
            waiting.extend(&arrows[file]);
        }
    }
    found
}

/// The groups of files that need each other.
fn groups<'a>(arrows: &Arrows<'a>) -> Vec<BTreeSet<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (*file, reached(arrows, file))).collect();
    let group = |file: &str| -> BTreeSet<&'a str> {
        reached[file].iter().copied().filter(|other| reached[other].contains(file)).collect()
    };
    let groups: BTreeSet<BTreeSet<&str>> = arrows.keys().map(|file| group(file)).collect();
    groups.into_iter().filter(|group| !group.is_empty()).collect()
}

/// A shortest circle through `start`, which begins and ends with it.
fn circle<'a>(arrows: &Arrows<'a>, start: &'a str) -> Vec<&'a str> {
    let mut paths = vec![vec![start]];
    let mut seen = BTreeSet::new();
    let mut next = 0;
    while next < paths.len() {
        let path = paths[next].clone();
        next += 1;
        for file in &arrows[path[path.len() - 1]] {
            let longer = [path.as_slice(), &[*file]].concat();
            if *file == start {
                return longer;
            }
            if seen.insert(*file) {
                paths.push(longer);
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tree;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file =
            |(path, text): &(&str, &str)| File { path: format!("x/src/{path}"), text: (*text).to_owned() };
        let files: Vec<File> = files.iter().map(file).collect();
        none_is_large(&files).iter().map(ToString::to_string).collect()
    }

    /// Four files of which each names the next by another kind of path.
    const CIRCLE: [(&str, &str); 6] = [
        ("lib.rs", "mod a; mod b;\n"),
        ("a.rs", "use crate::b::{C, self};\npub struct A(C);\n"),
        ("b/mod.rs", "mod c; mod d; mod e;\npub use c::C;\npub use d::D as F;\n"),
        ("b/c.rs", "pub struct C(super::F);\n"),
        ("b/d.rs", "use super::e;\npub struct D(e::E);\n"),
        ("b/e.rs", "pub type E = Option<Box<crate::a::A>>;\n"),
    ];

    fn with(name: &str, text: &'static str) -> Vec<(&'static str, &'static str)> {
        CIRCLE.iter().map(|(path, old)| (*path, if *path == name { text } else { *old })).collect()
    }

    #[test]
    fn a_circle_of_four_files_is_refused_with_its_files() {
        let text = "x/src/a.rs:1: 4 files import each other (at most 3): x/src/a.rs, x/src/b/c.rs, x/src/b/d.rs, \
                    x/src/b/e.rs; one circle: x/src/a.rs -> x/src/b/c.rs -> x/src/b/d.rs -> x/src/b/e.rs -> x/src/a.rs";
        assert_eq!(found(&CIRCLE), [text]);
    }

    #[test]
    fn the_rule_is_one_of_those_of_the_tree() {
        let file =
            |(path, text): &(&str, &str)| File { path: format!("x/src/{path}"), text: (*text).to_owned() };
        let files: Vec<File> = CIRCLE.iter().map(file).collect();
        let complaints = tree::check(Path::new("."), &files);
        assert!(complaints.iter().any(|one| one.text.contains("import each other")));
    }

    #[test]
    fn a_circle_of_three_files_is_allowed() {
        assert_eq!(found(&with("b/c.rs", "pub struct C(super::e::E);\n")), [""; 0]);
    }

    #[test]
    fn comments_strings_tests_and_other_crates_name_nothing() {
        for text in [
            "// crate::a::A\n/// [`crate::a::A`]\n/* crate::a::A /* */ crate::a::A */ pub struct E;\n",
            "pub struct E;\nconst X: &str = \"crate::a::A\"; const Y: &str = r#\"\"crate::a::A\"#;\n",
            "pub struct E<'a>(&'a char, other::a::A);\nconst Q: char = '\"';\n",
            "pub struct E;\n#[cfg(test)]\nmod tests {\n    fn f(_: crate::a::A) {}\n}\n",
            "pub struct E;\n#[cfg(test)]\nuse crate::a::A;\n",
            "pub struct E;\n#[cfg(all(test, unix))]\n#[derive(Debug)]\nstruct F(crate::a::A);\n",
        ] {
            assert_eq!(found(&with("b/e.rs", text)), [""; 0], "{text}");
        }
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        for text in [
            "pub struct E;\nfn f() { call(vec![$crate::a::A::new()]) }\n",
            "pub struct E;\nimpl crate::a::A { const X: char = '\"'; }\n",
            "pub struct E;\nmod inner { use super::super::super::a; fn f<'a>() -> &'a a::A {} }\n",
            "pub struct E;\nfn f() { use crate::{x, a::{A as B, x}}; }\n",
            "pub struct E;\nuse crate::a::*;\n",
        ] {
            assert_eq!(found(&with("b/e.rs", text)).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_module_that_only_tests_have_names_nothing() {
        let mut files =
            with("b/e.rs", "pub struct E;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub mod samples;\n");
        files.push(("b/e/tests.rs", "use crate::a::A;\nuse super::E;\n"));
        files.push(("b/e/samples.rs", "pub struct S(crate::a::A, super::E);\n"));
        assert_eq!(found(&files), [""; 0]);
    }
}
