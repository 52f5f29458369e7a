//! Numbers as text for people.

/// A whole number with a comma at every third digit.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate, such as a number a second, to three digits, in thousands if it is large.
pub fn rate(value: f64) -> String {
    scaled(value, 1000.0, &["", "k", "M", "G"]).replace(' ', "")
}

/// A size, to three digits and in the largest unit that leaves a whole part.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// A time in nanoseconds, to three digits and in the largest unit that leaves a whole part.
pub fn time(ns: u64) -> String {
    const MINUTE: u64 = 60_000_000_000;
    match ns {
        0 => "0 s".to_owned(),
        _ if ns >= 1440 * MINUTE => scaled(ns as f64 / (1440 * MINUTE) as f64, f64::INFINITY, &["d"]),
        _ if ns >= 60 * MINUTE => scaled(ns as f64 / (60 * MINUTE) as f64, f64::INFINITY, &["h"]),
        _ if ns >= 2 * MINUTE => scaled(ns as f64 / MINUTE as f64, f64::INFINITY, &["min"]),
        _ => scaled(ns as f64, 1000.0, &["ns", "us", "ms", "s"]),
    }
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    // A value that rounds up to a whole step belongs to the next unit.
    while value >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", digits(value), units[unit])
}

/// Three digits, without zeros at the end.
fn digits(value: f64) -> String {
    let places = match value {
        _ if value >= 99.95 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (3_993_316, "3,993,316")] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn sizes_and_times_keep_three_digits_and_never_print_a_whole_step() {
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (8192, "8 KiB"),
            (1_048_575, "1 MiB"),
            (1 << 30, "1 GiB"),
            (12_884_901_888, "12 GiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        for (ns, text) in [
            (0, "0 s"),
            (7, "7 ns"),
            (1234, "1.23 us"),
            (999_999, "1 ms"),
            (45_600_000, "45.6 ms"),
            (119_000_000_000, "119 s"),
            (150_000_000_000, "2.5 min"),
            (7_200_000_000_000, "2 h"),
            (604_800_000_000_000, "7 d"),
        ] {
            assert_eq!(time(ns), text);
        }
    }
}
