//! The bibliography: every source that a scheme or a policy cites is in it, every entry is cited, and the page shows it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use stripewise_array::PRESETS;
use stripewise_runs::bibliography::{Work, bibliography, cited};

/// A path of the tree.
fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// The paragraphs of a file's comments that begin with `Source:`, or contain it, each as one line.
fn source_comments(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines() {
        match line.trim().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim()) {
            Some(words) if !words.is_empty() => {
                let last = paragraphs.last_mut().unwrap();
                last.push_str(words);
                last.push(' ');
            }
            _ => paragraphs.push(String::new()),
        }
    }
    paragraphs.retain(|paragraph| paragraph.contains("Source:"));
    paragraphs
}

/// Citations by number, or by the abbreviation and year of a conference, in a text: `paper 003`, `FAST 2005`.
fn citations(text: &str) -> Vec<String> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_number =
        |word: &str, digits: usize| word.len() == digits && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_venue = |word: &str| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_year = |word: &str| is_number(word, 4) && (word.starts_with("19") || word.starts_with("20"));
    let pairs = words.windows(2).filter(|pair| {
        pair[0].eq_ignore_ascii_case("paper") && is_number(pair[1], 3)
            || is_venue(pair[0]) && is_year(pair[1])
    });
    // What `CMU 2008` belongs to is cited by its title.
    let pairs = pairs.filter(|pair| pair[0] != "CMU");
    pairs.map(|pair| format!("{} {}", pair[0], pair[1]).replace("Paper ", "paper ")).collect()
}

fn has(works: &[&Work], citation: &str) -> bool {
    works.iter().any(|work| work.cited_as.iter().any(|name| name == citation))
}

#[test]
fn every_citation_of_a_scheme_or_a_source_is_in_the_list_and_every_work_is_cited() {
    let mut used = BTreeSet::new();
    for (name, text) in PRESETS {
        let found = cited(text);
        for citation in citations(&text.replace("\n#", " ")) {
            assert!(
                has(&found, &citation),
                "presets/schemes/{name}.toml cites {citation}, which no work of the list has"
            );
        }
        used.extend(found.iter().map(|work| &work.key));
    }
    for folder in [
        "crates/core/src",
        "crates/format/src",
        "crates/policy/src",
        "crates/scheme/src",
        "crates/exec/src",
        "crates/array/src",
        "crates/code/src",
        "crates/reliability/src",
    ] {
        for file in sources(&tree(folder)) {
            for paragraph in source_comments(&read(&file)) {
                let found = cited(&format!("# {paragraph}"));
                for citation in citations(&paragraph) {
                    let file = file.display();
                    assert!(has(&found, &citation), "{file} cites {citation}, which no work of the list has");
                }
                used.extend(found.iter().map(|work| &work.key));
            }
        }
    }
    for work in bibliography() {
        assert!(used.contains(&work.key), "{}: neither a scheme nor a source cites it; remove it", work.key);
    }
}

#[test]
fn a_scheme_that_names_a_source_has_it_in_the_list() {
    // These are of Linux md's code, of this project, or of no work.
    let own = ["linux-md", "durable-raid5", "durable-raid6", "least-finish"];
    let without = PRESETS.iter().filter(|(_, text)| cited(text).is_empty()).map(|(name, _)| *name);
    assert_eq!(without.collect::<Vec<_>>(), own);
}

/// The page: papers first, then the others by their first author.
fn page() -> String {
    let mut text = "# Bibliography\n\n\
        The works that schemes, codes and models are taken from. `stripewise scheme show` prints the sources of a scheme, and\n\
        `stripewise paper list` the papers. The schemes of an entry are those whose files cite it. Formats of traces have their\n\
        sources in [traces.md](../reference/traces.md). A test makes this page from `crates/runs/data/bibliography.toml`:\n\
        `STRIPEWISE_BLESS=1 cargo test -p stripewise-runs --test it bibliography`.\n"
        .to_owned();
    let (papers, mut others): (Vec<&Work>, Vec<&Work>) =
        bibliography().iter().partition(|work| work.paper.is_some());
    others.sort_by_key(|work| {
        let first = work.authors.first().map_or("", |name| name.rsplit(' ').next().unwrap_or_default());
        (first.to_owned(), work.year)
    });
    text.push_str("\n## Papers whose evaluations are repeated\n\n");
    papers.iter().for_each(|work| text.push_str(&entry(work)));
    text.push_str("\n## Sources of schemes, codes and models\n\n");
    others.iter().for_each(|work| text.push_str(&entry(work)));
    text
}

fn entry(work: &Work) -> String {
    let mut line = match &work.paper {
        Some(number) => format!("- [Paper {number}](paper-{number}.md). "),
        None => format!("- `{}`. ", work.key),
    };
    if let Some(names) = work.names() {
        write!(line, "{}. ", names.trim_end_matches('.')).unwrap();
    }
    write!(line, "*{}*.", work.title).unwrap();
    if let Some(place) = work.place() {
        write!(line, " {place}.").unwrap();
    }
    if let Some(address) = work.address() {
        write!(line, " <{address}>").unwrap();
    }
    let schemes = PRESETS.iter().filter(|(_, text)| cited(text).iter().any(|one| one.key == work.key));
    let schemes: Vec<String> = schemes.map(|(name, _)| format!("`{name}`")).collect();
    if !schemes.is_empty() {
        write!(line, " Schemes: {}.", schemes.join(", ")).unwrap();
    }
    if let Some(unknown) = &work.unknown {
        write!(line, " Not certain: {unknown}").unwrap();
    }
    wrapped(&line)
}

/// A list item, wrapped as the pages are.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > 120 {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text + "\n"
}

#[test]
fn the_page_shows_the_list() {
    let path = tree("docs/evidence/bibliography.md");
    let expected = page();
    if std::env::var_os("STRIPEWISE_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is out of date: run this test with STRIPEWISE_BLESS=1", path.display());
}

#[test]
fn the_citation_file_has_the_version_of_the_workspace() {
    let text = read(&tree("CITATION.cff"));
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("CITATION.cff has no `{name}`")).trim().to_owned()
    };
    assert_eq!(
        field("version:"),
        env!("CARGO_PKG_VERSION"),
        "CITATION.cff: give it the version of Cargo.toml"
    );
    assert_eq!(field("cff-version:"), "1.2.0");
    let page = read(&tree("docs/develop/citing.md"));
    assert!(
        page.contains(&format!("version = {{{}}}", env!("CARGO_PKG_VERSION"))),
        "docs/develop/citing.md: its version"
    );
}
