//! A figure: its drawings, its legend, and the values of its drawings.

use crate::chart::{Drawing, Look};

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

/// A table of texts; columns after the first `texts` are numbers.
#[derive(Default)]
pub(crate) struct Data {
    pub(crate) head: Vec<String>,
    pub(crate) texts: usize,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Data {
    pub(super) fn new(texts: &[&str], numbers: &[&str]) -> Self {
        let head = texts.iter().chain(numbers).map(|&name| name.to_owned()).collect();
        Self { head, texts: texts.len(), rows: Vec::new() }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }
}
