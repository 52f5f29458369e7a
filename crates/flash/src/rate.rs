//! Transfer rates, exact: a time for a number of bytes, such as `"25ns/B"` or `"0.2384us/512B"`.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use stripewise_base::Nanos;
use stripewise_base::units::{self, UnitError};

/// Femtoseconds in each unit of time that a rate may use.
const TIMES: [(&str, u64); 5] =
    [("fs", 1), ("ps", 1_000), ("ns", 1_000_000), ("us", 1_000_000_000), ("ms", 1_000_000_000_000)];

/// Transfer time of a bus or a link: `femtoseconds` for every `bytes`.
///
/// The unit is femtoseconds because interfaces are often specified per sector only ("0.2384 us for 512 B").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Time, in units of 10^-15 s.
    pub femtoseconds: u64,
    /// Number of bytes that are transferred in that time.
    pub bytes: u64,
}

/// Why a rate could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// Not of the form TIME/SIZE.
    #[error("expected a time per size such as `25ns/B` or `0.2384us/512B`, found `{0}`")]
    Form(String),
    /// The time is not a whole number of femtoseconds, or is too large.
    #[error("`{0}` is not a whole number of femtoseconds below 10^18")]
    NotExact(String),
    /// The size could not be read.
    #[error(transparent)]
    Size(#[from] UnitError),
}

impl Rate {
    /// The rate at which transfers take no time.
    pub const INSTANT: Self = Self { femtoseconds: 0, bytes: 1 };

    /// Time of `bytes` bytes, to the nearest nanosecond (halves up).
    pub fn time_of(self, bytes: u64) -> Nanos {
        let divisor = u128::from(self.bytes) * 1_000_000;
        ((u128::from(bytes) * u128::from(self.femtoseconds) + divisor / 2) / divisor) as Nanos
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self::INSTANT
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let form = || RateError::Form(text.to_owned());
        let (time, size) = text.split_once('/').ok_or_else(form)?;
        let time = time.trim();
        let end = time.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(form)?;
        let (number, unit) = time.split_at(end);
        let scale = TIMES.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(form)?.1;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') {
            return Err(form());
        }
        let inexact = || RateError::NotExact(text.to_owned());
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| inexact())?;
        let places = 10u128.checked_pow(fraction.len() as u32).ok_or_else(inexact)?;
        let scaled = digits.checked_mul(u128::from(scale)).ok_or_else(inexact)?;
        if scaled % places != 0 || scaled / places >= 1_000_000_000_000_000_000 {
            return Err(inexact());
        }
        let size = size.trim();
        let size =
            if size.starts_with(|c: char| c.is_ascii_digit()) { size.to_owned() } else { format!("1{size}") };
        let bytes = units::parse_bytes(&size)?;
        if bytes == 0 {
            return Err(form());
        }
        Ok(Self { femtoseconds: (scaled / places) as u64, bytes })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole_in = |scale: &u64| self.femtoseconds.is_multiple_of(*scale);
        let unit = TIMES[..4].iter().rev().find(|(_, scale)| whole_in(scale)).unwrap_or(&TIMES[0]);
        let (name, scale) = if self.femtoseconds == 0 { TIMES[2] } else { *unit };
        let size = units::Bytes(self.bytes).to_string();
        let size = if self.bytes == 1 { "B" } else { &size };
        write!(f, "{}{name}/{size}", self.femtoseconds / scale)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn rates_are_exact() {
        assert_eq!(rate("25ns/B").time_of(4224), 105_600);
        assert_eq!(rate("5ns/B").time_of(8192), 40_960);
        assert_eq!(rate("0.2384us/512B").time_of(4096), 1_907); // 8 x 238.4 = 1907.2
        assert_eq!(rate("0.25ns/B").time_of(3), 1);
        assert_eq!(rate("3ns/B"), Rate { femtoseconds: 3_000_000, bytes: 1 });
        assert_eq!(rate("3003 ps / B").time_of(1_000_000), 3_003_000);
        assert_eq!(rate("0ns/B").time_of(1 << 40), 0);
    }

    #[test]
    fn rates_print_what_they_read() {
        for text in ["25ns/B", "238400ps/512B", "250ps/B", "1us/4KiB", "0ns/B", "7fs/B"] {
            assert_eq!(rate(text).to_string(), text);
            assert_eq!(rate(&rate(text).to_string()), rate(text));
        }
    }

    #[test]
    fn what_is_no_rate_is_refused_with_the_form_that_is_one() {
        for text in
            ["", "25ns", "25/B", "ns/B", "1.2.3ns/B", "25ns/", "25ns/0B", "-1ns/B", "0.1fs/B", "9999999ms/B"]
        {
            let error = text.parse::<Rate>().expect_err(text).to_string();
            assert!(error.contains('`'), "{text}: {error}");
        }
    }
}
