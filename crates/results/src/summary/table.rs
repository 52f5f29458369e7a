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
    /// Whether a brief text leaves it out.
    pub(super) is_detail: bool,
}

/// The columns as one table below the other, none wider than `width` if a column fits. Long names of schemes are wrapped.
pub(super) fn tables(mut columns: &[Shown], schemes: &[&str], width: usize, text: &mut String) {
    let limit = (width / NAMES_SHARE).max(NAMES_LEAST);
    let wrapped: Vec<String> = schemes.iter().map(|name| wrapped(name, limit)).collect();
    let schemes: Vec<&str> = wrapped.iter().map(String::as_str).collect();
    let schemes = &schemes[..];
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
    let mut used = 2 + widest(schemes.iter().flat_map(|name| name.lines()).chain(["scheme"]));
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

/// Names of schemes take this part of the width, or this number of columns if that is more.
const NAMES_SHARE: usize = 4;
const NAMES_LEAST: usize = 20;

/// A name in lines of at most `limit` characters, broken behind commas, spaces and slashes where there are some, the later lines
/// indented by two.
fn wrapped(name: &str, limit: usize) -> String {
    let (mut text, mut used) = (String::new(), 0);
    for part in name.split_inclusive([',', ' ', '/']) {
        let mut part: Vec<char> = part.chars().collect();
        if used > 2 && used + part.iter().collect::<String>().trim_end().chars().count() > limit {
            text.truncate(text.trim_end().len());
            text.push_str("\n  ");
            used = 2;
        }
        while used + part.len() > limit && part[limit - used..].iter().any(|c| *c != ' ') {
            text.extend(part.drain(..limit - used));
            text.push_str("\n  ");
            used = 2;
        }
        used += part.len();
        text.extend(part);
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_broken_where_its_parts_end_and_loses_nothing() {
        assert_eq!(wrapped("paper000-baseline", 20), "paper000-baseline");
        assert_eq!(
            wrapped("baseline,update.tie=rcw,geometry.chunk=16KiB", 24),
            "baseline,update.tie=rcw,\n  geometry.chunk=16KiB"
        );
        assert_eq!(wrapped("first scheme (closed:4)", 14), "first scheme\n  (closed:4)");
        assert_eq!(wrapped(&"x".repeat(25), 10), "xxxxxxxxxx\n  xxxxxxxx\n  xxxxxxx");
    }

    proptest::proptest! {
        #[test]
        fn no_line_of_a_name_is_wider_than_the_limit(name in "[a-z=,/ .]{0,80}", limit in 8usize..30) {
            let text = wrapped(&name, limit);
            proptest::prop_assert!(text.lines().all(|line| line.trim_end().chars().count() <= limit), "{text}");
            let kept = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            proptest::prop_assert_eq!(kept(&text), kept(&name));
        }
    }
}
