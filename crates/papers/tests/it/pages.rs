//! The pages of the papers' evaluations: short, and with every claim as the paper's file prints it.

use stripewise_papers::Verdict;
use stripewise_runs::bibliography;

use crate::figures::{page_at, papers};

/// The largest page of a paper, in bytes: the full tables are files that the command writes.
const BYTES_MAX: usize = 8192;

#[test]
fn the_page_of_a_paper_is_short_and_names_the_paper() {
    for paper in papers() {
        let number = paper.number();
        let text = std::fs::read_to_string(page_at(&format!("paper-{number}.md"))).unwrap();
        // Markers for the tests of pages are not shown.
        let shown = text.lines().filter(|line| !line.starts_with("<!--")).map(|line| line.len() + 1);
        let bytes: usize = shown.sum();
        assert!(bytes <= BYTES_MAX, "paper-{number}.md has {bytes} bytes, at most {BYTES_MAX}");
        let work = bibliography::paper(number).unwrap();
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&work.title), "paper-{number}.md does not name the title: {}", work.title);
        assert!(flat.contains(&format!("stripewise paper {number}")), "paper-{number}.md has no command");
    }
}

#[test]
fn the_page_has_every_claim_with_what_the_paper_printed_and_a_verdict() {
    use Verdict::{Agrees, Contradicts, Differs, Fitted, SameDirection, Unknown};
    let verdicts =
        [Agrees, SameDirection, Differs, Fitted, Contradicts, Unknown].map(|word| word.to_string());
    for paper in papers() {
        let number = paper.number();
        let text = std::fs::read_to_string(page_at(&format!("paper-{number}.md"))).unwrap();
        let found = crate::support::exact(&paper, &paper.claims(), &[], &crate::support::of_all());
        let claims = found.unwrap_or_else(|error| panic!("{error}")).claims;
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("| "))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        for claim in claims {
            let row = rows.iter().find(|row| row[0] == claim.id);
            let row = row.unwrap_or_else(|| panic!("paper-{number}.md has no row {}", claim.id));
            let at = format!("paper-{number}.md, row {}", claim.id);
            assert_eq!(row[2], claim.printed, "{at}: not what the paper's file prints");
            let verdict = row.last().unwrap();
            let is_known = verdict.starts_with("agrees in ") || verdicts.contains(&(*verdict).to_owned());
            assert!(is_known, "{at}: {row:?}");
        }
    }
}
