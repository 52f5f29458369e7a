//! What a gap between a printed and a measured result is made of: what a claim becomes by one change at a time.
//!
//! A column of a paper's file that names its `change` differs from another in that alone. Changes are not a sum: two of them
//! together may do more, or less, than each.

use minijinja::value::{Value, ValueKind};
use serde_json::{Value as Json, json};
use stripewise_base::suggest::unknown;

use crate::change::ChangeOf;
use crate::document::{Claim, Column, Text};
use crate::error::Error;
use crate::language::{NOTHING, items, number};
use crate::names::Names;
use crate::paper::Paper;
use crate::point::{Measured, More};
use crate::text::table;

/// A claim in one column.
#[derive(Clone, Debug)]
pub struct Change {
    /// The column.
    pub title: String,
    /// What it changes; none in a column that others change.
    pub of: Option<ChangeOf>,
    /// The column that it changes.
    pub from: Option<String>,
    /// What was measured, with its interval over several seeds.
    pub measured: String,
    /// By which share it takes each number nearer to the printed one: 1 closes the gap, more passes it, less than 0 widens it.
    /// None where there is no printed number, no gap or nothing measured.
    pub of_gap: Vec<Option<f64>>,
}

/// What a claim becomes by one change at a time.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Which claim: `0b`.
    pub id: String,
    /// What it says.
    pub what: String,
    /// What the paper printed.
    pub printed: String,
    /// How many seeds measured it.
    pub seeds: usize,
    /// Each column that others change, followed by those that change it.
    pub rows: Vec<Change>,
}

impl Paper {
    /// The columns that change one thing for a claim, each with the column that it changes.
    fn changes(&self, claim: &Claim) -> Vec<(&Column, &Column)> {
        let all = &self.document.column;
        let base = |change: &Column| {
            let named = |column: &&Column| change.from.as_ref().is_some_and(|key| **key == *column.key);
            all.iter().find(named).unwrap_or(&all[0])
        };
        let changes = all.iter().filter(|column| column.change.is_some() && claim.is_measured_in(column));
        changes.map(|change| (change, base(change))).collect()
    }

    /// The columns that explain a claim: what is changed, and what changes it.
    pub(crate) fn explaining(&self, claim: &Claim) -> Vec<&Column> {
        let changes = self.changes(claim);
        let is_part = |column: &&Column| {
            changes.iter().any(|(change, base)| *change.key == *column.key || *base.key == *column.key)
        };
        self.document.column.iter().filter(is_part).collect()
    }

    /// The ids of the claims that can be explained.
    pub fn explained(&self) -> Vec<String> {
        let claims = self.document.claim.iter().filter(|claim| !self.changes(claim).is_empty());
        claims.map(|claim| claim.id.to_string()).collect()
    }

    /// What the claim `id` becomes by one change at a time, as several seeds measured it.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn explanation(
        &self,
        id: &str,
        seeds: &[&[Measured]],
        more: &More<'_>,
    ) -> Result<Explanation, Error> {
        let claim = self.document.claim.iter().find(|claim| *claim.id == *id);
        let claim = claim.ok_or_else(|| {
            let known: Vec<&str> = self.document.claim.iter().map(|claim| &*claim.id).collect();
            Error::Unknown(unknown("claim", id, &known))
        })?;
        let columns = self.explaining(claim);
        let expected: Vec<Option<&Column>> = columns.iter().map(|column| Some(*column)).collect();
        let taken = self.take(claim, &expected, seeds, more)?;
        let names = Names::value("name", taken.names().clone());
        let printed = match &claim.printed_value {
            Some(text) => self.language.expression(text, &names)?,
            None => Value::from(()),
        };
        let at = |column: &Column| columns.iter().position(|one| *one.key == *column.key).unwrap_or(0);
        let row = |column: &Column| Change {
            title: column.title.to_string(),
            of: None,
            from: None,
            measured: taken.measured[at(column)].clone(),
            of_gap: Vec::new(),
        };
        let changes = self.changes(claim);
        let mut rows = Vec::new();
        for base in &columns {
            let its = changes.iter().filter(|(_, from)| *from.key == *base.key);
            for (first, (change, _)) in its.enumerate().map(|(index, pair)| (index == 0, pair)) {
                if first {
                    rows.push(row(base));
                }
                rows.push(Change {
                    of: change.change,
                    from: Some(base.title.to_string()),
                    of_gap: if taken.measured[at(change)] == NOTHING {
                        Vec::new()
                    } else {
                        closed(&printed, &taken.typical(at(base)), &taken.typical(at(change)))
                    },
                    ..row(change)
                });
            }
        }
        let text = |text: &Option<Text>| {
            text.as_ref().map_or(Ok(String::new()), |text| self.language.line(text, &names))
        };
        Ok(Explanation {
            id: claim.id.to_string(),
            what: text(&claim.what)?,
            printed: text(&claim.printed)?,
            seeds: seeds.len(),
            rows,
        })
    }
}

/// By which share a change from `base` to `value` takes each number nearer to the printed one.
fn closed(printed: &Value, base: &Value, value: &Value) -> Vec<Option<f64>> {
    let numbers = |value: &Value| -> Vec<Option<f64>> {
        match value.kind() {
            ValueKind::Number => vec![number(value).ok().flatten()],
            ValueKind::Seq | ValueKind::Iterable => {
                items(value).iter().map(|one| number(one).ok().flatten()).collect()
            }
            _ => Vec::new(),
        }
    };
    let (printed, base, value) = (numbers(printed), numbers(base), numbers(value));
    let share = |((printed, base), value): ((&Option<f64>, &Option<f64>), &Option<f64>)| {
        let (printed, base, value) = ((*printed)?, (*base)?, (*value)?);
        (printed != base).then(|| (value - base) / (printed - base))
    };
    printed.iter().zip(&base).zip(&value).map(share).collect()
}

impl Explanation {
    /// The table, as Markdown that a terminal shows well too.
    pub fn markdown(&self) -> String {
        let mut rows = table(&["column", "changes", "measured", "of the gap"]);
        for Change { title, of, measured, of_gap, .. } in &self.rows {
            let share = |share: &Option<f64>| {
                // Adding 0 takes the sign from a zero.
                let percent = |share: f64| format!("{:+.0} %", (share * 100.0).round() + 0.0);
                share.map_or_else(|| NOTHING.to_owned(), percent)
            };
            let shares: Vec<String> = of_gap.iter().map(share).collect();
            let title = if of.is_some() { format!("  {title}") } else { title.clone() };
            rows.add_row([title.as_str(), of.map_or("", ChangeOf::name), measured, &shares.join(" / ")]);
        }
        let seeds = match self.seeds {
            0 | 1 => "One seed says nothing of chance: repeat with --seeds 5.".to_owned(),
            seeds => format!("Typical values over {seeds} seeds, with 95 % intervals."),
        };
        format!(
            "{}: {}; printed {}\n\n{rows}\n\nAn indented line differs in that change alone from the last line above it that is \
             not indented. Changes do not add up. {seeds}\n",
            self.id, self.what, self.printed
        )
    }

    /// The same for programs.
    pub fn json(&self) -> Json {
        let change = |change: &Change| {
            json!({
                "column": change.title,
                "changes": change.of.map(ChangeOf::name),
                "from": change.from,
                "measured": change.measured,
                "of_gap": change.of_gap,
            })
        };
        let changes: Vec<Json> = self.rows.iter().map(change).collect();
        json!({
            "row": self.id, "result": self.what, "printed": self.printed, "seeds": self.seeds, "changes": changes
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::of_json;

    #[test]
    fn a_change_closes_the_share_of_the_gap_by_which_it_comes_nearer() {
        let of = |printed: Json, base: Json, value: Json| {
            closed(&of_json(&printed), &of_json(&base), &of_json(&value))
        };
        assert_eq!(of(json!(0.5), json!(0.25), json!(0.375)), [Some(0.5)]);
        assert_eq!(of(json!([0.5, 0.5]), json!([0.25, 0.5]), json!([0.0, 0.0])), [Some(-1.0), None]);
        assert_eq!(of(json!(0.5), json!(null), json!(0.5)), []);
        assert!(of(json!(null), json!(0.25), json!(0.5)).is_empty());
    }
}
