//! The fault contract: each of its rows names tests, and these tests exist.

use crate::Complaint;
use crate::file::File;

const PAGE: &str = "docs/design/fault-contract.md";

/// The headers of the table of faults and of the table of tests.
const FAULTS: &str = "| row | fault |";
const TESTS: &str = "| row | test |";

/// Checks that each row of the contract has a test, by the table of tests, and that the tests which the table names exist.
pub fn rows_have_tests(files: &[File]) -> Vec<Complaint> {
    let Some(File { text, .. }) = files.iter().find(|file| file.path == PAGE) else { return Vec::new() };
    let tests = rows(text, TESTS);
    let is_tested = |row: &str| tests.iter().any(|(_, its, _)| *its == row);
    let untested = rows(text, FAULTS).into_iter().filter(|(_, row, _)| !is_tested(row));
    let mut complaints: Vec<Complaint> = untested
        .map(|(line, row, _)| {
            Complaint::new(PAGE, line, format!("row {row} has no test; add it to `{TESTS}`"))
        })
        .collect();
    for (line, row, cell) in &tests {
        let (mut file, mut count) = ("", 0);
        for name in cell.split('`').skip(1).step_by(2) {
            if name.contains('/') {
                file = name;
                continue;
            }
            count += 1;
            let source = files.iter().find(|one| one.path == file).map_or("", |one| &one.text);
            if !source.contains(&format!("fn {name}()")) {
                complaints.push(Complaint::new(
                    PAGE,
                    *line,
                    format!("there is no test `{name}` in `{file}`"),
                ));
            }
        }
        if count == 0 {
            complaints.push(Complaint::new(PAGE, *line, format!("row {row} names no test")));
        }
    }
    complaints
}

/// The rows of the table with this header: their lines, and their first and second cells.
fn rows<'a>(text: &'a str, header: &str) -> Vec<(usize, &'a str, &'a str)> {
    let lines = (1..).zip(text.lines()).skip_while(|(_, line)| !line.starts_with(header)).skip(2);
    let table = lines.take_while(|(_, line)| line.starts_with('|'));
    let cells = table.filter_map(|(line, row)| {
        let mut cells = row.split(" | ");
        let first = cells.next()?.trim_start_matches("| ");
        Some((line, first, cells.next().unwrap_or("").trim_end_matches(" |")))
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(tests: &str) -> Vec<String> {
        let text = format!(
            "{FAULTS} log |\n| --- | --- | --- |\n| `lost` | gone | x |\n| `rot` | worn | x |\n\n{TESTS}\n| --- | --- |\n{tests}"
        );
        let page = File { path: PAGE.into(), text };
        let source = File { path: "a/b.rs".into(), text: "fn it_holds() {}".into() };
        rows_have_tests(&[page, source]).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn a_row_without_a_test_is_found_and_a_test_that_does_not_exist_too() {
        let lost = "| `lost` | `a/b.rs`: `it_holds` |\n";
        assert!(complaints(&format!("{lost}| `rot` | `a/b.rs`: `it_holds` |\n")).is_empty());
        assert_eq!(complaints(lost), ["row `rot` has no test; add it to `| row | test |`"]);
        let found = complaints(&format!("{lost}| `rot` | `a/b.rs`: `it_holds`, `it_is_gone` |\n"));
        assert_eq!(found, ["there is no test `it_is_gone` in `a/b.rs`"]);
        assert_eq!(complaints(&format!("{lost}| `rot` | by hand |\n")), ["row `rot` names no test"]);
    }
}
