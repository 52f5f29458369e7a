//! Tables for a terminal: columns with their units, split over as many tables as the width requires.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle, presets};

/// A column with the runs' values, ready to print.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// Columns of one group stay in one table where possible.
    pub(super) group: usize,
    pub(super) header: &'static str,
    pub(super) unit: &'static str,
    pub(super) cells: Vec<String>,
}

/// The columns as one table below the other, none wider than `width` if a column fits.
pub(super) fn tables(mut columns: &[Shown], schemes: &[&str], width: usize, text: &mut String) {
    while !columns.is_empty() {
        let (now, then) = columns.split_at(fitting(columns, schemes, width));
        columns = then;
        if !text.is_empty() && !text.ends_with(":\n") {
            text.push('\n');
        }
        text.push_str(&table(now, schemes).trim_fmt());
        text.push('\n');
    }
}

/// The number of columns that fit into a table of that width, at least one; whole groups where a group fits.
fn fitting(columns: &[Shown], schemes: &[&str], width: usize) -> usize {
    // Each column has a space before and one after it.
    let mut used = 2 + widest(schemes.iter().copied().chain(["scheme"]));
    let fits = |column: &&Shown| {
        let words = column.header.split(' ').chain([column.unit]);
        used += 2 + widest(column.cells.iter().map(String::as_str).chain(words));
        used <= width
    };
    let fitting = columns.iter().take_while(fits).count().max(1);
    if fitting == columns.len() {
        return fitting;
    }
    let starts_group = |&index: &usize| columns[index].group != columns[index - 1].group;
    (1..=fitting).rev().find(starts_group).unwrap_or(fitting)
}

fn table(columns: &[Shown], schemes: &[&str]) -> Table {
    let lines = TableStyle { row_separator: presets::NOTHING.row_separator, ..presets::UTF8_HORIZONTAL_ONLY };
    let mut table = Table::new();
    table.load_style(lines).set_content_arrangement(ContentArrangement::Disabled);
    // The titles end on one line, with the units below.
    let words = columns.iter().map(|column| column.header.split(' ').count()).max().unwrap_or(1);
    let header = |column: &Shown| {
        let above = "\n".repeat(words - column.header.split(' ').count());
        format!("{above}{}\n{}", column.header.replace(' ', "\n"), column.unit)
    };
    table.set_header(
        [format!("{}scheme", "\n".repeat(words - 1))].into_iter().chain(columns.iter().map(header)),
    );
    for (index, scheme) in schemes.iter().enumerate() {
        let cells = columns.iter().map(|column| column.cells[index].as_str());
        table.add_row([*scheme].into_iter().chain(cells));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        // The style adds its own space after the cell.
        column.set_padding((1, 0));
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
}

/// Adds `text` in lines of at most `width` columns, broken at spaces, each ending in a line feed.
pub(super) fn wrap(text: &str, width: usize, into: &mut String) {
    let mut used = 0;
    for word in text.split(' ') {
        let wide = word.chars().count();
        if used > 0 && used + 1 + wide > width {
            into.push('\n');
            used = 0;
        }
        if used > 0 {
            into.push(' ');
            used += 1;
        }
        into.push_str(word);
        used += wide;
    }
    into.push('\n');
}

fn widest<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}
