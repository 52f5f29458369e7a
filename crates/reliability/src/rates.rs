//! Years, and rates in their usual notation: `0.25/y`, `1e4/y`, `2/d`.

use std::str::FromStr;

use stripewise_base::units::parse_duration;

/// A year in nanoseconds: 365.25 days.
pub const YEAR_NS: u64 = 31_557_600 * 1_000_000_000;

/// A span of nanoseconds in years.
pub fn years(ns: u64) -> f64 {
    ns as f64 / YEAR_NS as f64
}

/// Events a year. As text a number, a slash and a unit of time.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

/// Why a text is no rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a rate such as `0.25/y` or `1e4/y`, found `{found}`: {reason}")]
pub struct RateError {
    found: String,
    reason: String,
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let refuse = |reason: String| RateError { found: text.to_owned(), reason };
        let (number, unit) =
            text.split_once('/').ok_or_else(|| refuse("there is no `/` and unit of time".to_owned()))?;
        let number: f64 = number.trim().parse().map_err(|_| refuse(format!("`{number}` is no number")))?;
        let ns = parse_duration(&format!("1{}", unit.trim())).map_err(|error| refuse(error.to_string()))?;
        let rate = number / years(ns);
        if !(rate.is_finite() && rate > 0.0) {
            return Err(refuse("it must be above 0 and finite".to_owned()));
        }
        Ok(Self(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_over_a_unit_of_time() {
        assert_eq!("0.25/y".parse(), Ok(Rate(0.25)));
        assert_eq!("1e4 / y".parse(), Ok(Rate(1e4)));
        let daily: Rate = "2/d".parse().unwrap();
        assert!((daily.0 - 730.5).abs() < 1e-9, "{daily:?}");
    }

    #[test]
    fn what_is_no_rate_is_reported_with_its_reason() {
        for (text, says) in [
            ("0.25", "no `/` and unit"),
            ("x/y", "`x` is no number"),
            ("1/parsec", "unknown unit"),
            ("1/", "has no unit"),
            ("0/y", "above 0"),
            ("-1/y", "above 0"),
            ("inf/y", "finite"),
            ("nan/y", "finite"),
        ] {
            let error = text.parse::<Rate>().expect_err(text).to_string();
            assert!(error.contains(says), "`{error}` should contain `{says}`");
        }
    }
}
