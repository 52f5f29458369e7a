//! Tables: aligned text for people, JSON for programs.

use serde_json::{Map, Value};

use crate::context::{Context, width};
use crate::failure::Outcome;
use crate::wrap::wrap;

/// A table of texts and numbers. The columns' names are those of the JSON keys.
pub(crate) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row with a value for each column.
    pub(crate) fn row(&mut self, values: impl IntoIterator<Item = Value>) {
        let values: Vec<Value> = values.into_iter().collect();
        assert_eq!(values.len(), self.columns.len(), "a row has a value for each column");
        self.rows.push(values);
    }

    /// Prints the table.
    pub(crate) fn print(&self, context: &mut Context<'_>, json: bool) -> Outcome {
        if !json {
            return Ok(context.out.write_all(self.text(width()).as_bytes())?);
        }
        let object = |row: &Vec<Value>| {
            let fields = self.columns.iter().cloned().zip(row.iter().cloned());
            Value::Object(fields.collect::<Map<_, _>>())
        };
        context.json(&self.rows.iter().map(object).collect::<Vec<_>>())
    }

    /// The columns side by side, numbers to the right, the last column wrapped to fit `width`.
    pub(crate) fn text(&self, width: usize) -> String {
        let heads = self.columns.iter().map(|name| name.replace('_', " ").to_uppercase());
        let mut cells = vec![heads.collect::<Vec<_>>()];
        cells.extend(self.rows.iter().map(|row| row.iter().map(cell).collect()));
        let widest = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let is_number = |column: usize| self.rows.iter().all(|row| row[column].is_number());
        let numbers: Vec<bool> = (0..self.columns.len()).map(is_number).collect();
        let mut text = String::new();
        for row in &cells {
            let mut line = String::new();
            for ((cell, &width), &number) in row.iter().zip(&widths).zip(&numbers) {
                let aligned = if number { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
                line.push_str(&aligned);
                line.push_str("  ");
            }
            let last = widths[..widths.len() - 1].iter().map(|width| width + 2).sum();
            wrap(line.trim_end(), last, width.max(last + 20), &mut text);
        }
        text
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), crate::human::count),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["name", "pages", "what_it_is"]);
        table.row(["a".into(), 12_345.into(), "first".into()]);
        table.row(["longer".into(), 7.into(), "second".into()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_numbers_stand_to_the_right() {
        let expected = "\
NAME     PAGES  WHAT IT IS
a       12,345  first
longer       7  second
";
        assert_eq!(sample().text(100), expected);
    }

    #[test]
    fn json_has_an_object_a_row() {
        let mut out = Vec::new();
        sample().print(&mut Context::new(&mut out, true), true).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value[1]["what_it_is"], "second");
        assert_eq!(value[0]["pages"], 12_345);
    }
}
