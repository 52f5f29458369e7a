//! The page in `docs/` matches these checks, and its references resolve.

use std::path::{Path, PathBuf};

use stripewise_validate::{ORACLES, checks, heading, oracles};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/evidence/validation.md"))
        .expect("docs/evidence/validation.md is there")
}

const REMEDY: &str = "run `cargo run --release -p stripewise-validate -- --write`";

#[test]
fn the_page_shows_every_check_as_it_is_now_and_in_order() {
    let page = page();
    let mut rest = page.as_str();
    for check in checks() {
        let at = rest.find(&heading(check));
        let at = at.unwrap_or_else(|| {
            panic!("docs/evidence/validation.md lacks {}, or has another: {REMEDY}", check.name)
        });
        rest = &rest[at..];
    }
    assert!(rest.contains(&oracles()), "the list of tests elsewhere is another: {REMEDY}");
    let sections = page.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(
        sections,
        checks().len() + 1,
        "docs/evidence/validation.md has checks that are no more: {REMEDY}"
    );
}

#[test]
fn no_figure_of_the_page_differs() {
    let page = page();
    let differing: Vec<&str> = page.lines().filter(|line| line.contains("DIFFERS")).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn tests_that_the_page_names_are_there() {
    for oracle in ORACLES {
        let path = root().join(oracle.file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", oracle.file));
        let test = format!(
            "#[test]\n{}fn {}()",
            if text.contains("mod tests {") { "    " } else { "" },
            oracle.test
        );
        assert!(text.contains(&test), "{} has no test {}", oracle.file, oracle.test);
    }
}

#[test]
fn nothing_but_validation_draws_service_times() {
    let folders = [root(), root().join("crates")];
    let folders = folders.map(|folder| std::fs::read_dir(folder).expect("the folder is there"));
    let crates = folders.into_iter().flatten().filter_map(Result::ok);
    let manifests = crates.filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path().join("Cargo.toml")).ok()?;
        Some((entry.file_name().to_string_lossy().into_owned(), text))
    });
    let mut asking: Vec<String> =
        manifests.filter(|(_, text)| text.contains("service-override\"")).map(|(name, _)| name).collect();
    asking.sort_unstable();
    // The Python package only as the tests build it, which draws none.
    assert_eq!(asking, ["python", "validate"]);
}

#[test]
fn names_of_checks_are_theirs_alone() {
    let mut names: Vec<&str> = checks().iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), checks().len());
}
