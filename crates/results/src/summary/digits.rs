//! Numbers for comparison by people: three significant digits, commas, aligned points.

/// Most digits after the point.
const MOST_DECIMALS: usize = 12;

/// Three significant digits, with a comma at every third digit before the point.
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounded first, since 9.996 becomes 10.0.
    let scientific = format!("{value:.2e}");
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    let decimals = usize::try_from(2 - exponent.unwrap_or(2)).unwrap_or(0);
    grouped(scientific.parse().unwrap_or(value), decimals.min(MOST_DECIMALS))
}

/// As [`significant`], but a whole number has no digits after the point.
pub(super) fn significant_count(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e3 { format!("{value}") } else { significant(value) }
}

/// The number, rounded to the displayed decimals.
pub(super) fn rounded(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Appends spaces to the numbers, so that their points are aligned when the numbers are aligned to the right.
pub(super) fn align(cells: &mut [String]) {
    let fraction = |cell: &str| cell.find('.').map_or(0, |point| cell.len() - point);
    let widest = cells.iter().map(|cell| fraction(cell)).max().unwrap_or(0);
    for cell in cells {
        let missing = widest - fraction(cell);
        cell.extend(std::iter::repeat_n(' ', missing));
    }
}

/// A number with a comma at every third digit before the point.
fn grouped(value: f64, decimals: usize) -> String {
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_three_significant_digits() {
        let shown = [3.174, 9019.68, 0.125, 99.96, 999.6, 0.000_012_34, 812.345, -4.0].map(significant);
        assert_eq!(shown, ["3.17", "9,020", "0.125", "100", "1,000", "0.0000123", "812", "-4.00"]);
        assert_eq!([0.0, 7.0, 12.4, 1234.0].map(significant_count), ["0", "7", "12.4", "1,230"]);
    }

    #[test]
    fn points_stand_below_each_other() {
        let mut cells = ["9,020", "3.17", "-", "0.125"].map(str::to_owned);
        align(&mut cells);
        assert_eq!(cells, ["9,020    ", "3.17 ", "-    ", "0.125"]);
    }
}
