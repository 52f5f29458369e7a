//! How evaluations write tables and figures.

use comfy_table::{CellAlignment, Table, presets};
use stripewise_results::{Figure, Figures};

/// An empty table.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header.iter().copied());
    table
}

/// Aligns the first `texts` columns of a table left and the others right.
pub(crate) fn align(table: &mut Table, texts: usize) {
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if index < texts { CellAlignment::Left } else { CellAlignment::Right });
    }
}

/// A time to four digits.
pub(crate) fn time(ns: f64) -> String {
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let (unit, size) = units.into_iter().find(|(_, size)| ns >= *size).unwrap_or(("ns", 1.0));
    let value = ns / size;
    let decimals = if value < 10.0 {
        3
    } else if value < 100.0 {
        2
    } else {
        1
    };
    format!("{value:.decimals$} {unit}")
}

/// A total of a run, 0 where it has none of that name.
pub(crate) fn total(totals: &Figures, name: &str) -> f64 {
    match totals.get(name) {
        Some(Figure::Count(count)) => count as f64,
        Some(Figure::Real(real)) => real,
        None => 0.0,
    }
}

/// The mean of some values.
pub(crate) fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The least and the largest of some values.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_four_digits_and_the_unit_that_fits() {
        let texts = [0.0, 999.0, 1_234.0, 45_678.9, 7.5e8, 2.5e9].map(time);
        assert_eq!(texts, ["0.000 ns", "999.0 ns", "1.234 us", "45.68 us", "750.0 ms", "2.500 s"]);
    }
}
