//! The figures and tables of the papers: none is forgotten, each claim comes from one, and the page shows them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use stripewise_papers::{Paper, PrintedFigure};
use stripewise_runs::bibliography;

/// A page of the evidence.
pub(crate) fn page_at(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence").join(name)
}

pub(crate) fn papers() -> Vec<Paper> {
    Paper::shipped().map(|number| Paper::find(number).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// The numbers of figures of that kind: `Fig. 4(a)` has 4.
fn numbers(figures: &[PrintedFigure], kind: &str) -> Vec<u32> {
    let ids = figures.iter().filter_map(|figure| figure.id.strip_prefix(kind));
    let mut numbers: Vec<u32> = ids
        .map(|id| {
            let id = id.split('(').next().unwrap_or_default();
            let roman = ["I", "II", "III", "IV"].iter().position(|one| *one == id).map(|at| at as u32 + 1);
            roman.or_else(|| id.parse().ok()).unwrap_or(0)
        })
        .collect();
    numbers.dedup();
    numbers
}

#[test]
fn every_figure_and_table_of_the_papers_is_in_the_list_in_order() {
    // Figures and tables that each paper's text numbers; paper 000 has a table A.2 too, shown here as 0.
    let printed = [
        ("000", 14, vec![1, 2, 3, 4, 0]),
        ("001", 13, vec![1, 2]),
        ("002", 14, vec![1, 2]),
        ("003", 5, vec![1]),
        ("004", 8, vec![1, 2]),
    ];
    for (paper, (number, count, tables)) in papers().iter().zip(printed) {
        assert_eq!(paper.number(), number);
        let figures = paper.figures();
        assert_eq!(numbers(&figures, "Fig. "), (1..=count).collect::<Vec<_>>(), "paper {number}");
        assert_eq!(numbers(&figures, "Table "), tables, "paper {number}");
    }
}

#[test]
fn every_claim_comes_from_a_figure_a_table_or_a_named_part_of_the_text() {
    for paper in papers() {
        let figures = paper.figures();
        for claim in paper.claims() {
            assert!(figures.iter().any(|figure| figure.claims.contains(&claim)), "{claim}: in no figure");
        }
        for figure in figures {
            assert!(figure.command.is_some() != figure.why.is_some(), "{} {}", paper.number(), figure.id);
        }
    }
}

fn page() -> String {
    let mut text = "# Figures and tables of the papers\n\n\
        What each figure and table of a paper shows, the [claims](../../crates/papers/README.md#claims) that are taken from it,\n\
        and the command that shows the same here. The claims of a paper with their verdicts are on the page of the paper.\n\
        `stripewise paper` writes the figures to `report.html` and the full tables to `tables.html`, in its directory of\n\
        results; add `--quick` for a part of each workload. A test makes this page from `crates/papers/data/`:\n\
        `STRIPEWISE_BLESS=1 cargo test -p stripewise-papers --test it figures`.\n"
        .to_owned();
    for paper in papers() {
        let number = paper.number().to_owned();
        let title = bibliography::paper(&number).map_or("", |work| &work.title);
        write!(text, "\n## [Paper {number}](paper-{number}.md): {title}\n\n").unwrap();
        text.push_str("| | shows | claims | command | in |\n| --- | --- | --- | --- | --- |\n");
        for PrintedFigure { id, shows, claims, files, command, why } in paper.figures() {
            let claims = if claims.is_empty() { "–".to_owned() } else { claims.join(", ") };
            let command = match (command, why) {
                (Some(command), _) => format!("`{command}`"),
                (None, why) => format!("not drawn: {}", why.unwrap_or_default()),
            };
            let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
            let files = if files.is_empty() { "–".to_owned() } else { files.join(", ") };
            writeln!(text, "| {id} | {shows} | {claims} | {command} | {files} |").unwrap();
        }
    }
    text
}

#[test]
fn the_page_shows_the_figures_of_the_papers() {
    let path = page_at("figures.md");
    let expected = page();
    if std::env::var_os("STRIPEWISE_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is out of date: run this test with STRIPEWISE_BLESS=1", path.display());
}
