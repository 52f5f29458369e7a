//! A figure: its drawings, its legend, and the values of its drawings.

use stripewise_results::summary;

use crate::chart::{Drawing, Look, Unit, figure};

/// One figure of a report.
pub(crate) struct Figure {
    /// Its anchor in the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The quantity, the measurement, and its place in the paper.
    pub(crate) about: String,
    pub(crate) legend: Vec<Key>,
    pub(crate) panels: Vec<Panel>,
    /// Notes on missing data.
    pub(crate) notes: Vec<String>,
    /// The values of its drawings.
    pub(crate) data: Data,
}

/// One entry of a legend.
pub(crate) struct Key {
    pub(crate) look: Look,
    pub(crate) name: String,
    pub(crate) is_line: bool,
}

/// One drawing of a figure.
pub(crate) struct Panel {
    pub(crate) title: String,
    /// The drawing, or why there is none: a note of a figure that has others. A figure without any drawing is left
    /// out.
    pub(crate) body: Result<Drawing, String>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A text, or a number that is not a time.
    Text(String),
    /// A time in nanoseconds, with what stands before it.
    Time(&'static str, f64),
    /// The length of what was simulated, in nanoseconds: it takes the unit of the other times, and does not decide it.
    Length(f64),
}

impl Cell {
    pub(crate) fn time(ns: f64) -> Self {
        Self::Time("", ns)
    }

    /// A time, or `-` where there is none.
    pub(crate) fn time_or_none(ns: Option<f64>) -> Self {
        ns.map_or_else(|| "-".into(), Self::time)
    }

    /// What it says without a unit; nothing of a time.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    fn shown(&self, unit: Unit) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Time(before, ns) => format!("{before}{}", figure(ns / unit.size)),
            Self::Length(ns) => figure(ns / unit.size),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

#[cfg(test)]
impl PartialEq<str> for Cell {
    fn eq(&self, other: &str) -> bool {
        matches!(self, Self::Text(text) if text == other)
    }
}

/// The unit in which times stand together.
pub(crate) fn unit_of(times: impl IntoIterator<Item = f64>) -> Unit {
    let summary::Unit { name, size } = summary::Unit::of_times(times);
    Unit { name: if name == "us" { "µs" } else { name }, size }
}

/// The head of a column of times.
pub(crate) fn in_unit(head: &str, unit: Unit) -> String {
    format!("{head} ({})", unit.name)
}

/// A table of texts; columns after the first `texts` are numbers. All its times have one unit, which stands in the heads.
#[derive(Default)]
pub(crate) struct Data {
    pub(crate) head: Vec<String>,
    pub(crate) texts: usize,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Data {
    pub(super) fn new(texts: &[&str], numbers: &[&str]) -> Self {
        let head = texts.iter().chain(numbers).map(|&name| name.to_owned()).collect();
        Self { head, texts: texts.len(), rows: Vec::new() }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [impl Into<Cell>; N]) {
        self.rows.push(cells.map(Into::into).into());
    }

    /// Its heads and rows as the page shows them.
    pub(crate) fn shown(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let cells = || self.rows.iter().flatten();
        let times = |cell: &Cell| if let Cell::Time(_, ns) = *cell { Some(ns) } else { None };
        let lengths = |cell: &Cell| if let Cell::Length(ns) = *cell { Some(ns) } else { None };
        let unit = match cells().any(|cell| times(cell).is_some()) {
            true => unit_of(cells().filter_map(times)),
            false => unit_of(cells().filter_map(lengths)),
        };
        let is_time = |at: usize| self.rows.iter().any(|row| !matches!(row[at], Cell::Text(_)));
        let heads = self.head.iter().enumerate();
        let heads = heads.map(|(at, head)| if is_time(at) { in_unit(head, unit) } else { head.clone() });
        let row = |row: &Vec<Cell>| row.iter().map(|cell| cell.shown(unit)).collect();
        (heads.collect(), self.rows.iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_table_have_one_unit_which_stands_in_the_heads() {
        let mut data = Data::new(&["scheme"], &["mean", "largest", "reads", "simulated"]);
        data.row(["a".into(), Cell::time(33_700.0), Cell::time(2e6), "7".into(), Cell::Length(3e11)]);
        data.row([
            "b".into(),
            Cell::Time("±", 812.0),
            Cell::time_or_none(None),
            "8".into(),
            Cell::Length(0.0),
        ]);
        let (heads, rows) = data.shown();
        assert_eq!(heads, ["scheme", "mean (µs)", "largest (µs)", "reads", "simulated (µs)"]);
        assert_eq!(rows[0], ["a", "33.7", "2,000", "7", "300,000,000"]);
        assert_eq!(rows[1], ["b", "±0.812", "-", "8", "0"]);
        let mut lengths = Data::new(&[], &["slice"]);
        lengths.row([Cell::Length(2e7)]);
        assert_eq!(lengths.shown(), (vec!["slice (ms)".to_owned()], vec![vec!["20.0".to_owned()]]));
    }
}
