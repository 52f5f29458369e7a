//! Numbers and dates as text, read and written.

use super::super::decimal::push_number;

/// The most digits of a number that count: 20 whole ones and nine decimals of a 64-bit time.
const MOST_DIGITS: u32 = 29;
/// The most of an exponent; larger ones are no number of 64 bits.
const MOST_EXPONENT: i32 = 60;

const NS_PER_S: u64 = 1_000_000_000;
const S_PER_DAY: u64 = 86_400;

/// A number that is not negative: `mantissa * 10^exponent`, and less than a unit of the last digit more.
#[derive(Clone, Copy)]
struct Number {
    mantissa: u128,
    exponent: i32,
    is_exact: bool,
}

/// Reads `12`, `12.`, `12.034`, `1.2e-5` or `0x1f`, with `point` before the decimals.
fn number(text: &[u8], point: u8) -> Option<Number> {
    if let [b'0', b'x' | b'X', digits @ ..] = text {
        return hexadecimal(digits);
    }
    let (whole, rest) = digits(text);
    if whole.is_empty() {
        return None;
    }
    let mut number = Number { mantissa: 0, exponent: 0, is_exact: true };
    let mut count = 0;
    for digit in whole {
        number.mantissa = number.mantissa * 10 + u128::from(digit - b'0');
        count += u32::from(number.mantissa > 0);
        if count > MOST_DIGITS {
            return None;
        }
    }
    let Some((&mark, rest)) = rest.split_first() else { return Some(number) };
    let mut rest = (mark, rest);
    if mark == point {
        let (decimals, behind) = digits(rest.1);
        for digit in decimals {
            if count == MOST_DIGITS {
                number.is_exact &= *digit == b'0';
                continue;
            }
            number.mantissa = number.mantissa * 10 + u128::from(digit - b'0');
            number.exponent -= 1;
            count += u32::from(number.mantissa > 0);
            if number.exponent < -MOST_EXPONENT {
                return None;
            }
        }
        let Some((&mark, behind)) = behind.split_first() else { return Some(number) };
        rest = (mark, behind);
    }
    let (b'e' | b'E', exponent) = rest else { return None };
    let (negative, exponent) = match exponent {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let (exponent, behind) = digits(exponent);
    if exponent.is_empty() || exponent.len() > 3 || !behind.is_empty() {
        return None;
    }
    let value = exponent.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'));
    number.exponent += if negative { -value } else { value };
    Some(number)
}

/// The digits at the beginning of `text`, and the rest.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

fn hexadecimal(digits: &[u8]) -> Option<Number> {
    let mut mantissa = 0u64;
    for &digit in digits {
        let digit = char::from(digit).to_digit(16)?;
        mantissa = mantissa.checked_mul(16)? + u64::from(digit);
    }
    (!digits.is_empty()).then_some(Number { mantissa: u128::from(mantissa), exponent: 0, is_exact: true })
}

/// Ten to the power of `exponent`, if it has 128 bits.
fn power(exponent: u32) -> Option<u128> {
    10u128.checked_pow(exponent)
}

impl Number {
    /// The number times `factor`, and whether nothing was dropped.
    fn times(self, factor: u128) -> Option<(u64, bool)> {
        let product = self.mantissa.checked_mul(factor)?;
        if product == 0 {
            return Some((0, self.is_exact));
        }
        let (value, rest) = match u32::try_from(self.exponent) {
            Ok(exponent) => (product.checked_mul(power(exponent)?)?, 0),
            Err(_) => match power(self.exponent.unsigned_abs()) {
                Some(divisor) => (product / divisor, product % divisor),
                None => (0, product),
            },
        };
        Some((u64::try_from(value).ok()?, rest == 0 && self.is_exact))
    }
}

/// A whole number of bytes: `text` times `unit`.
pub(super) fn bytes(text: &[u8], unit: u64, point: u8) -> Option<u64> {
    // The common case: nothing but digits, which 64 bits hold.
    if text.len() < 20 && !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
        let value = text.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
        return value.checked_mul(unit);
    }
    let (value, is_exact) = number(text, point)?.times(u128::from(unit))?;
    is_exact.then_some(value)
}

/// A time: `text` times `10^places`; what is below a unit of that is dropped.
pub(super) fn decimal(text: &[u8], places: u8, point: u8) -> Option<u64> {
    number(text, point)?.times(power(u32::from(places))?).map(|(value, _)| value)
}

/// A date as ISO 8601 writes it, in nanoseconds since 1970: `2024-05-01T12:00:00.123456Z`, with a blank for the `T`, a
/// comma for the point, and `+02:00` for the `Z`. Without either it is UTC. What is below a nanosecond is dropped.
pub(super) fn date(text: &[u8]) -> Option<u64> {
    let (day, rest) = text.split_at_checked(10)?;
    let [y0, y1, y2, y3, b'-' | b'/', m0, m1, b'-' | b'/', d0, d1] = *day else { return None };
    let [b'T' | b't' | b' ' | b'_', h0, h1, b':', i0, i1, b':', s0, s1, rest @ ..] = rest else {
        return None;
    };
    let century = two(y0, y1)?;
    let days = days_of(century * 100 + two(y2, y3)?, two(m0, m1)?, two(d0, d1)?)?;
    let (hour, minute, second) = (two(*h0, *h1)?, two(*i0, *i1)?, two(*s0, *s1)?);
    // A leap second is the first of the next minute, as Unix counts.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = (days * 24 + hour) * 60 * 60 + minute * 60 + second;
    let (fraction, zone) = match rest {
        [b'.' | b',', decimals @ ..] => digits(decimals),
        _ => (&[][..], rest),
    };
    if zone.len() < rest.len() && fraction.is_empty() {
        return None;
    }
    let (mut nanoseconds, mut unit) = (0, NS_PER_S);
    for digit in fraction {
        unit /= 10;
        nanoseconds += u64::from(digit - b'0') * unit;
    }
    let east = zone_seconds(zone)?;
    let seconds = seconds.checked_add_signed(-east)?;
    seconds.checked_mul(NS_PER_S)?.checked_add(nanoseconds)
}

fn two(tens: u8, ones: u8) -> Option<u64> {
    let both = tens.is_ascii_digit() && ones.is_ascii_digit();
    both.then(|| u64::from(tens - b'0') * 10 + u64::from(ones - b'0'))
}

/// Seconds by which the clock of a zone is ahead of UTC: `Z`, `+02`, `+0200`, `-02:30`, or nothing.
fn zone_seconds(zone: &[u8]) -> Option<i64> {
    let zone = zone.trim_ascii_start();
    let (hours, minutes) = match *zone {
        [] | [b'Z' | b'z'] => return Some(0),
        [b'+' | b'-', h0, h1] => (two(h0, h1)?, 0),
        [b'+' | b'-', h0, h1, m0, m1] | [b'+' | b'-', h0, h1, b':', m0, m1] => (two(h0, h1)?, two(m0, m1)?),
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = (hours * 60 + minutes) as i64 * 60;
    Some(if zone[0] == b'-' { -seconds } else { seconds })
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1 January 1970 to the first day of `year`.
fn days_before(year: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
}

/// Days from 1 January 1970 to a date that exists and is not before.
fn days_of(year: u64, month: u64, day: u64) -> Option<u64> {
    let exists = year >= 1970 && (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day);
    let before = |month: u64| (1..month).map(|month| days_of_month(year, month)).sum::<u64>();
    exists.then(|| days_before(year) + before(month) + day - 1)
}

/// Appends the date `ns` nanoseconds after the beginning of 1970.
pub(super) fn push_date(line: &mut Vec<u8>, ns: u64) {
    let (seconds, fraction) = (ns / NS_PER_S, ns % NS_PER_S);
    let mut days = seconds / S_PER_DAY;
    let mut year = 1970 + days / 366;
    while days_before(year + 1) <= days {
        year += 1;
    }
    days -= days_before(year);
    let mut month = 1;
    while days_of_month(year, month) <= days {
        days -= days_of_month(year, month);
        month += 1;
    }
    push_number(line, year);
    let clock = seconds % S_PER_DAY;
    for (mark, value) in
        [(b'-', month), (b'-', days + 1), (b'T', clock / 3600), (b':', clock / 60 % 60), (b':', clock % 60)]
    {
        line.extend([mark, b'0' + (value / 10) as u8, b'0' + (value % 10) as u8]);
    }
    line.push(b'.');
    let mut unit = NS_PER_S;
    while unit > 1 {
        unit /= 10;
        line.push(b'0' + (fraction / unit % 10) as u8);
    }
    line.push(b'Z');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const POINT: u8 = b'.';

    #[test]
    fn numbers_are_exact_in_each_form() {
        for (text, unit, value) in [
            ("12", 512, Some(6_144)),
            ("0x1F", 1, Some(31)),
            ("0X1f", 512, Some(31 * 512)),
            ("4096.0", 1, Some(4_096)),
            ("1.5", 1_024, Some(1_536)),
            ("1.5", 1, None),
            ("4e3", 1, Some(4_000)),
            ("2.5E+1", 1, Some(25)),
            ("18446744073709551615", 1, Some(u64::MAX)),
            ("18446744073709551616", 1, None),
            ("0e999", 1, Some(0)),
            ("1e999", 1, None),
            ("1e20", 1, None),
            ("0x", 1, None),
            ("0x1ffffffffffffffff", 1, None),
            ("", 1, None),
            ("-1", 1, None),
            ("1e", 1, None),
            ("1 2", 1, None),
            (".5", 2, None),
        ] {
            assert_eq!(bytes(text.as_bytes(), unit, POINT), value, "{text}");
        }
    }

    #[test]
    fn times_keep_their_nanoseconds_and_drop_what_is_below() {
        for (text, places, value) in [
            ("18446744073.709551615", 9, Some(u64::MAX)),
            ("0.0000000019", 9, Some(1)),
            ("1.25e-05", 9, Some(12_500)),
            ("1e-70", 9, Some(0)),
            ("0.12345678901234567890123456789012345678901", 9, Some(123_456_789)),
            ("18446744074", 9, None),
            ("5,5", 9, None),
        ] {
            assert_eq!(decimal(text.as_bytes(), places, POINT), value, "{text}");
        }
        assert_eq!(decimal(b"5,5", 3, b','), Some(5_500));
    }

    #[test]
    fn dates_are_nanoseconds_since_1970() {
        let noon = 1_714_564_800 * NS_PER_S;
        for (text, value) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2024-05-01T12:00:00.123456Z", Some(noon + 123_456_000)),
            ("2024-05-01 12:00:00", Some(noon)),
            ("2024/05/01 12:00:00,5", Some(noon + NS_PER_S / 2)),
            ("2024-05-01T14:00:00+02:00", Some(noon)),
            ("2024-05-01T06:30:00-0530", Some(noon)),
            ("2024-05-01T13:00:00 +01", Some(noon)),
            ("2024-05-01T11:59:60Z", Some(noon)),
            ("2024-02-29T00:00:00.0000000019Z", Some(1_709_164_800 * NS_PER_S + 1)),
            ("2023-02-29T00:00:00Z", None),
            ("1969-12-31T23:59:59Z", None),
            ("1970-01-01T00:00:00+01:00", None),
            ("2600-01-01T00:00:00Z", None),
            ("2024-05-01T24:00:00Z", None),
            ("2024-05-01T12:00:00.Z", None),
            ("2024-05-01", None),
            ("2024-13-01T12:00:00Z", None),
        ] {
            assert_eq!(date(text.as_bytes()), value, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_date_that_was_written_reads_as_it_was(ns in any::<u64>()) {
            let mut line = Vec::new();
            push_date(&mut line, ns);
            prop_assert_eq!(date(&line), Some(ns), "{}", line.escape_ascii());
        }

        #[test]
        fn any_bytes_are_a_value_or_none(text in proptest::collection::vec(any::<u8>(), 0..40), unit in any::<u64>()) {
            bytes(&text, unit, POINT);
            decimal(&text, 9, b',');
            date(&text);
        }
    }
}
