//! The files of the tree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::File;
use crate::idioms::{self, Idioms};
use crate::words::{self, Words};
use crate::{
    Complaint, circles, contract, examples, functions, guides, layers, markdown, placements, source,
    structures,
};

/// Folders without source files of this tree.
const SKIPPED: [&str; 5] = ["target", "runs", "__pycache__", "proptest-regressions", "node_modules"];

/// The root of the tree that contains this crate.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the crate stands in `crates/` of the tree").to_path_buf()
}

/// All source files, documents and scripts below `root`, in order of their paths.
///
/// # Errors
/// Errors of the operating system.
pub fn files(root: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    collect(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        let hidden = name.starts_with('.') && !matches!(name.as_str(), ".ci" | ".github");
        if kind.is_dir() && !hidden && !SKIPPED.contains(&name.as_str()) {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file()
            && is_text(&path)
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
    Ok(())
}

fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "rs" | "md" | "toml" | "py" | "pyi" | "sh" | "yml" | "yaml")
        || name == "Makefile"
        || matches!(path, idioms::LIST | words::LIST)
        || path.starts_with(".ci/")
}

/// Folders of presets, whose comments and descriptions are prose.
const PRESETS: [&str; 3] = ["presets/schemes/", "presets/devices/", "presets/profiles/"];

/// Applies every rule to every file that it covers.
pub fn check(root: &Path, files: &[File]) -> Vec<Complaint> {
    let mut complaints = examples::placement_is_contained(files);
    complaints.extend(circles::none_is_large(files));
    complaints.extend(guides::names_are_their_own(files));
    complaints.extend(contract::rows_have_tests(files));
    complaints.extend(placements::few_files_name_one(files));
    let list = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let idioms = Idioms::parse(list(idioms::LIST)).unwrap_or_else(|bad| panic!("{bad}"));
    let words = Words::parse(list(words::LIST)).unwrap_or_else(|bad| panic!("{bad}"));
    for File { path, text } in files {
        complaints.extend(source::banned_words(path, text));
        if path.ends_with(".rs") {
            complaints.extend(source::size(path, text));
            complaints.extend(functions::functions_stay_short(path, text));
            complaints.extend(structures::structures_stay_small(path, text));
            complaints.extend(structures::plans_belong_to_the_executor(path, text));
            complaints.extend(source::line_length(path, text));
            complaints.extend(source::unsafe_is_argued(path, text));
            complaints.extend(source::policy_cites_its_source(path, text));
            complaints.extend(words.in_names(path, text));
            complaints.extend(idioms.in_comments(path, text));
            complaints.extend(idioms.in_messages(path, text));
            complaints.extend(layers::stays_pure(path, text));
            complaints.extend(layers::rooms_keep_apart(path, text));
            complaints.extend(layers::floats_are_portable(path, text));
        }
        if path.ends_with("Cargo.toml") {
            complaints.extend(layers::arrows(path, text));
        }
        if path.ends_with(".py") || path.ends_with(".pyi") {
            complaints.extend(idioms.in_python(path, text));
        }
        if PRESETS.iter().any(|folder| path.starts_with(folder)) {
            complaints.extend(idioms.in_preset(path, text));
        }
        if path.ends_with(".md") {
            complaints.extend(idioms.in_document(path, text));
            complaints.extend(markdown::one_title(path, text));
            complaints.extend(guides::packages_are_named(path, text));
            complaints.extend(markdown::links_resolve(path, text, &|target| root.join(target).exists()));
            complaints.extend(examples::listed_files_exist(path, text, &|file| root.join(file).exists()));
        }
        if path == "CHANGELOG.md" {
            complaints.extend(markdown::changelog_form(path, text));
        }
    }
    complaints.sort();
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_documents_and_scripts_are_text_and_data_is_not() {
        for path in ["a/src/lib.rs", "README.md", "Makefile", ".ci/run", "presets/schemes/x.toml"] {
            assert!(is_text(path), "{path}");
        }
        for path in ["trace.csv", "a/b.parquet", "LICENSE-MIT", "Cargo.lock"] {
            assert!(!is_text(path), "{path}");
        }
    }

    #[test]
    fn the_list_of_banned_words_is_applied_to_names() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files =
            [file(words::LIST, "said # use reported\n"), file("crates/sim/src/x.rs", "fn is_said() {}\n")];
        let complaints = check(&root(), &files);
        assert!(complaints.iter().any(|complaint| complaint.text.contains("use reported")), "{complaints:?}");
    }

    #[test]
    fn every_rule_is_applied() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let bad = [
            file("crates/base/Cargo.toml", "[dependencies]\nstripewise-array.workspace = true\n"),
            file("crates/base/src/clock.rs", "use std::time::Instant;\n"),
            file("crates/policy/src/update/mine.rs", "//! A policy.\n"),
            file("crates/flash/src/long.rs", &"//\n".repeat(source::FILE_LINES_MAX + 1)),
            file("crates/flash/src/wide.rs", &format!("// {}\n", "x".repeat(source::LINE_CHARACTERS_MAX))),
            file("crates/flash/src/log.rs", "fn f(x: f64) -> f64 { x.ln() }\n"),
            file("crates/sim/src/u.rs", "fn f() { unsafe { g() } }\n"),
            file("crates/sim/src/w.rs", concat!("// TO", "DO later\n")),
            file("crates/sim/src/p.rs", "const P: PlacementPolicy = PlacementPolicy::Elastic;\n"),
            file("crates/exec/src/executor.rs", "pub struct Executor;\n"),
            file("docs/untitled.md", "No title.\n"),
            file("docs/how-to/x.md", "# T\n\n```sh\nnbdcopy a b\n```\n"),
            file(examples::PAGE, "# T\n\n| `nowhere/at/all.rs` | x |\n"),
            file("docs/link.md", "# T\n\n[x](nowhere/at/all.md)\n"),
            file("CHANGELOG.md", "# Changelog\n\nStuff.\n"),
        ];
        for file in &bad {
            let complaints = check(&root(), std::slice::from_ref(file));
            assert!(
                !complaints.is_empty() && complaints.iter().all(|complaint| complaint.path == file.path),
                "{}",
                file.path
            );
        }
    }
}
