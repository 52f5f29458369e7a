//! Results of a paper beside what was measured.

use serde_json::{Map, Value, json};

use crate::text::table;
use crate::verdict::Verdict;

/// One result.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which: `0a`.
    pub row: &'static str,
    /// What it says.
    pub what: &'static str,
    /// What the paper printed.
    pub printed: &'static str,
    /// What was measured, a text for each column; the verdict is on the first.
    pub measured: Vec<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The likely reason, with the figures that speak for it.
    pub reason: String,
}

/// A column of what was measured.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its title in a table.
    pub title: &'static str,
    /// Its name for programs.
    pub key: &'static str,
}

/// All results that were asked for.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The columns of what was measured.
    pub columns: &'static [Column],
    /// In the paper's order.
    pub rows: Vec<Finding>,
}

impl Findings {
    /// A table, and below it the reasons, as Markdown that a terminal shows well too.
    pub(crate) fn markdown(&self) -> String {
        let mut head = vec!["", "result", "printed"];
        head.extend(self.columns.iter().map(|column| column.title));
        head.push("verdict");
        let mut rows = table(&head);
        for row in &self.rows {
            let mut cells = vec![row.row, row.what, row.printed];
            cells.extend(row.measured.iter().map(String::as_str));
            let verdict = row.verdict.to_string();
            cells.push(&verdict);
            rows.add_row(cells);
        }
        let reasons = self.rows.iter().map(|row| format!("- {}: {}\n", row.row, row.reason));
        format!("{rows}\n\n{}", reasons.collect::<String>())
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> Value {
        let row = |row: &Finding| {
            let mut value = Map::new();
            let mut set = |key: &str, text: &str| _ = value.insert(key.to_owned(), json!(text));
            set("row", row.row);
            set("result", row.what);
            set("printed", row.printed);
            for (column, text) in self.columns.iter().zip(&row.measured) {
                set(column.key, text);
            }
            set("verdict", &row.verdict.to_string());
            set("reason", &row.reason);
            Value::Object(value)
        };
        self.rows.iter().map(row).collect()
    }
}
