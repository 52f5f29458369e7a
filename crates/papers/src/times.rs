//! The times of a table: all in one unit, which stands in the heads of their columns.

use stripewise_results::summary::Unit;

/// What stands on both sides of a time in nanoseconds, until the unit of its table is known.
const MARK: char = '\u{1}';

/// A time of a table whose unit is not known yet.
pub(crate) fn pending(ns: f64) -> String {
    format!("{MARK}{ns}{MARK}")
}

/// Shows the times of a table. A column of times alone has the unit in its head; beside other text or numbers a time has it
/// itself.
pub(crate) fn show(head: &mut [String], rows: &mut [Vec<String>]) {
    let unit = Unit::of_times(rows.iter().flatten().flat_map(|cell| times(cell)));
    for (at, head) in head.iter_mut().enumerate() {
        let mut cells = rows.iter().filter_map(|row| row.get(at));
        let is_timed = cells.clone().any(|cell| cell.contains(MARK));
        let are_alone = cells.all(|cell| is_alone(cell));
        if is_timed && are_alone {
            *head = format!("{head} ({})", unit.name);
        }
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(at)) {
            let behind = if are_alone { String::new() } else { format!(" {}", unit.name) };
            let parts = cell.split(MARK).enumerate().map(|(at, part)| match part.parse::<f64>() {
                Ok(ns) if at % 2 == 1 => four(ns / unit.size) + &behind,
                _ => part.to_owned(),
            });
            *cell = parts.collect();
        }
    }
}

fn times(cell: &str) -> impl Iterator<Item = f64> {
    cell.split(MARK).skip(1).step_by(2).filter_map(|ns| ns.parse().ok())
}

/// Whether a cell is one time, or says that there is none.
fn is_alone(cell: &str) -> bool {
    match times(cell).count() {
        0 => !cell.contains(|letter: char| letter.is_ascii_digit()),
        1 => cell.starts_with(MARK) && cell.ends_with(MARK),
        _ => false,
    }
}

/// A number to four digits, whole ones in full.
fn four(value: f64) -> String {
    let decimals = match value {
        _ if value == 0.0 => 0,
        _ if value < 1.0 => (3 - libm::log10(value).floor() as i32).clamp(0, 12) as usize,
        _ if value < 10.0 => 3,
        _ if value < 100.0 => 2,
        _ if value < 1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_one_unit_of_time_in_its_heads_or_beside_text() {
        let mut head = ["scheme", "mean", "least to most", "erases", "metric"].map(str::to_owned);
        let both = format!("{} to {}", pending(999.0), pending(2e6));
        let mut rows = [
            ["a", &pending(45_678.9), &both, "7", &pending(1.5e5)].map(str::to_owned),
            ["b", "–", &pending(0.0), "9", "1234"].map(str::to_owned),
        ]
        .map(Vec::from);
        show(&mut head, &mut rows);
        assert_eq!(head, ["scheme", "mean (us)", "least to most", "erases", "metric"]);
        assert_eq!(rows[0], ["a", "45.68", "0.9990 us to 2000 us", "7", "150.0 us"]);
        assert_eq!(rows[1], ["b", "–", "0 us", "9", "1234"]);
    }

    #[test]
    fn numbers_have_four_digits() {
        let shown = [0.0, 0.033_74, 0.9, 1.234_5, 45.678, 812.345, 123_456.0].map(four);
        assert_eq!(shown, ["0", "0.03374", "0.9000", "1.234", "45.68", "812.3", "123456"]);
    }
}
