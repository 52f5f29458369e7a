//! Shares of a whole, exact to a millionth: `"12.7%"` or `0.127`.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// A share of a whole, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub u32);

/// Not a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a share from 0 to 1 with at most 6 decimals, such as `0.127` or `12.7%`, found `{0}`")]
pub struct ShareError(String);

impl Share {
    /// No part of it.
    pub const NONE: Self = Self(0);
    /// All of it.
    pub const ALL: Self = Self(1_000_000);

    /// The share of `whole`, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0) / 1_000_000) as u64
    }
}

impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let error = || ShareError(text.to_owned());
        let body = text.trim();
        let (number, places) = match body.strip_suffix('%') {
            Some(number) => (number.trim_end(), 4),
            None => (body, 6),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit());
        if whole.is_empty()
            || whole.len() > 9
            || fraction.len() > places
            || !digits(whole)
            || !digits(fraction)
        {
            return Err(error());
        }
        let millionths: u64 = format!("{whole}{fraction:0<places$}").parse().map_err(|_| error())?;
        if millionths > 1_000_000 {
            return Err(error());
        }
        Ok(Self(millionths as u32))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 10_000, self.0 % 10_000);
        let text = format!("{whole}.{rest:04}");
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Share;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a share such as `0.127` or `12.7%`")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Share, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Share, E> {
        // The shortest decimal that reads back as this number is the number that was written.
        number.to_string().parse().map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Share, E> {
        number.to_string().parse().map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Share, E> {
        number.to_string().parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_and_print_what_they_read() {
        for (text, millionths) in [
            ("0.127", 127_000),
            ("12.7%", 127_000),
            ("0", 0),
            ("1", 1_000_000),
            ("100%", 1_000_000),
            ("5 %", 50_000),
        ] {
            let share: Share = text.parse().unwrap();
            assert_eq!(share, Share(millionths), "{text}");
            assert_eq!(share.to_string().parse(), Ok(share));
        }
        assert_eq!(Share(127_000).of(256), 32);
        assert_eq!(Share(127_000).to_string(), "12.7%");
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["", "1.1", "101%", "-0.1", "0.1234567", "0.12345%%", "half", ".5", "1e-3"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_of_toml_are_shares_too() {
        #[derive(Debug, serde::Deserialize)]
        struct Table {
            share: Share,
        }
        for (text, millionths) in
            [("share = 0.127", 127_000), ("share = \"7%\"", 70_000), ("share = 1", 1_000_000)]
        {
            assert_eq!(toml::from_str::<Table>(text).unwrap().share, Share(millionths), "{text}");
        }
        assert!(toml::from_str::<Table>("share = 1.5").unwrap_err().to_string().contains("12.7%"));
    }
}
