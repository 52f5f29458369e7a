//! The page `docs/validation.md`: the checks and their results.

use std::fmt::Write;

use crate::check::{Check, Expected, Row, Unit, Verdict};
use crate::oracles::ORACLES;

/// A check with its results.
pub type Finding<'a> = (&'a Check, Vec<Row>);

impl Unit {
    /// A figure in this unit.
    pub fn show(self, figure: f64) -> String {
        match self {
            Self::Ns => format!("{:.3} us", figure / 1000.0),
            Self::Count if figure.fract() == 0.0 => format!("{figure:.0}"),
            Self::Count => format!("{figure:.1}"),
            Self::Ratio => format!("{figure:.4}"),
            Self::PerSecond => format!("{figure:.0}/s"),
        }
    }
}

impl Verdict {
    /// The name of the unit.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "DIFFERS",
            Self::Skipped => "skipped",
        }
    }
}

impl Row {
    /// The prediction of theory or of the peer, and the tolerance.
    pub fn expectation(&self) -> String {
        let show = |figure| self.unit.show(figure);
        match self.expected {
            Expected::About { value, give: 0.0 } => show(value),
            Expected::About { value: 0.0, give } => format!("0 ± {}", show(give)),
            Expected::About { value, give } => format!("{} ± {:.2} %", show(value), 100.0 * give / value),
            Expected::Between(low, high) => format!("{} to {}", show(low), show(high)),
            Expected::AtMost(bound) => format!("at most {}", show(bound)),
            Expected::Nothing => "–".into(),
        }
    }

    /// The difference between the measured figure and the prediction.
    pub fn difference(&self) -> String {
        let percent = |from: f64, to: f64| format!("{:+.2} %", 100.0 * (to / from - 1.0));
        match (self.expected, self.measured) {
            (_, None) | (Expected::Nothing, _) => "–".into(),
            (Expected::About { value, .. }, Some(measured)) if value == measured => "none".into(),
            (Expected::About { value, .. }, Some(measured)) if value != 0.0 => percent(value, measured),
            (Expected::About { .. }, Some(measured)) => self.unit.show(measured),
            (Expected::Between(low, _), Some(measured)) if measured < low => percent(low, measured),
            (Expected::Between(_, high), Some(measured)) if measured > high => percent(high, measured),
            (Expected::Between(..), Some(_)) => "inside".into(),
            (Expected::AtMost(bound), Some(measured)) => percent(bound, measured),
        }
    }

    /// The measured figure.
    pub fn result(&self) -> String {
        self.measured.map_or("–".into(), |measured| self.unit.show(measured))
    }
}

/// The command that runs one check.
pub fn command(check: &Check) -> String {
    format!("cargo run --release -p stripewise-validate -- {}", check.name)
}

/// The part of the page about `check` above its table: it changes only with the check itself.
pub fn heading(check: &Check) -> String {
    let flaws: Vec<&str> = check.bends.iter().map(|bend| bend.name()).collect();
    format!(
        "## {}\n\n{}\n\nMust find: {}. Made by `{}`.\n",
        check.title,
        wrap(check.about),
        flaws.join("; "),
        command(check)
    )
}

/// The page's list of cases that tests of other crates check.
pub fn oracles() -> String {
    let mut text =
        "## Worked out by hand, held by tests elsewhere\n\n| case | test |\n| --- | --- |\n".to_owned();
    for oracle in ORACLES {
        let _ = writeln!(text, "| {} | [`{}`](../{}) |", oracle.case, oracle.test, oracle.file);
    }
    text
}

/// The whole page.
pub fn render(findings: &[Finding<'_>], seed: u64) -> String {
    let mut text = wrap(
        "The simulator is held against theory where theory has an answer, and against independent simulators where it \
         has not. No constant is tuned to land a figure; each follows from its parts. The tests of `validate/` carry \
         out every check in a quick form, and prove for each that it finds a flaw put into the model on purpose.",
    );
    text.insert_str(0, "# Validation\n\n");
    let _ = write!(
        text,
        "\n\nThis page is made by `cargo run --release -p stripewise-validate -- --write` (seed {seed}).\n\n\
         | check | cases | agree | differ | skipped |\n| --- | --: | --: | --: | --: |\n"
    );
    for (check, rows) in findings {
        let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
        let [agree, differ, skipped] = [Verdict::Agrees, Verdict::Differs, Verdict::Skipped].map(count);
        let _ = writeln!(text, "| {} | {} | {agree} | {differ} | {skipped} |", check.title, rows.len());
    }
    for (check, rows) in findings {
        let _ = write!(text, "\n{}\n{}", heading(check), table(rows));
    }
    let _ = write!(text, "\n{}", oracles());
    text
}

fn table(rows: &[Row]) -> String {
    let noted = rows.iter().any(|row| !row.note.is_empty());
    let mut text = format!(
        "| case | theory or peer | measured | difference | verdict |{}\n| --- | --: | --: | --: | --- |{}\n",
        if noted { " |" } else { "" },
        if noted { " --- |" } else { "" }
    );
    for row in rows {
        let (expected, result, difference) = (row.expectation(), row.result(), row.difference());
        let verdict = row.verdict().word();
        let _ = write!(text, "| {} | {expected} | {result} | {difference} | {verdict} |", row.case);
        let _ = if noted { writeln!(text, " {} |", row.note) } else { writeln!(text) };
    }
    text
}

/// Prose in lines of at most 120 characters.
fn wrap(prose: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    for word in prose.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 120 {
            text.push('\n');
            width = 0;
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_far_off_it_is() {
        let row = Row::within("x", Unit::Ns, 1000.0, 0.02, 1010.0);
        assert_eq!(
            (row.expectation(), row.result(), row.difference()),
            ("1.000 us ± 2.00 %".into(), "1.010 us".into(), "+1.00 %".into())
        );
        assert_eq!(Row::exact("x", Unit::Count, 3.0, 3.0).difference(), "none");
        assert_eq!(Row::exact("x", Unit::Count, 0.0, 3.0).difference(), "3");
        assert_eq!(Row::between("x", Unit::Ratio, 2.0, 3.0, 2.5).difference(), "inside");
        assert_eq!(Row::between("x", Unit::Ratio, 2.0, 3.0, 3.3).difference(), "+10.00 %");
        assert_eq!(Row::skipped("x", "no trace").difference(), "–");
    }

    #[test]
    fn prose_is_wrapped_at_words() {
        let wrapped = wrap(&"word ".repeat(100));
        assert!(wrapped.lines().all(|line| line.chars().count() <= 120));
        assert_eq!(wrapped.split_whitespace().count(), 100);
    }
}
