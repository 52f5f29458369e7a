//! Quantities as people write them: sizes (`"4KiB"`), spans of time (`"25us"`) and counts (`"3M"`).
//!
//! Arithmetic is exact in integers. `"1.5KiB"` is 1536 bytes; `"0.3B"` is refused rather than rounded. A bare number is
//! refused for sizes and times, because a reader cannot distinguish KiB from pages or us from ms afterwards; only zero
//! needs no unit.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::suggest;

/// Why a quantity could not be read. Every message includes the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Nothing, or no digit where a number should begin.
    #[error("expected {expected}, found `{found}`")]
    NotANumber {
        /// An example of a valid quantity.
        expected: &'static str,
        /// The text found.
        found: String,
    },
    /// A number without a unit.
    #[error("`{found}` has no unit; write for example `{found}{example}` (units: {units})")]
    NoUnit {
        /// The number.
        found: String,
        /// The smallest unit.
        example: &'static str,
        /// All units.
        units: String,
    },
    /// A unit that does not exist.
    #[error("unknown unit in `{found}`; {remedy}")]
    UnknownUnit {
        /// The whole quantity.
        found: String,
        /// The nearest unit, or all of them.
        remedy: String,
    },
    /// A fraction that is no whole number of the smallest unit.
    #[error("`{found}` is not a whole number of {smallest}; use a finer unit or fewer decimals")]
    NotExact {
        /// The whole quantity.
        found: String,
        /// The smallest unit.
        smallest: &'static str,
    },
    /// More than 2^64 - 1 of the smallest unit.
    #[error("`{found}` is too large; the largest is {largest}")]
    TooLarge {
        /// The whole quantity.
        found: String,
        /// The largest value.
        largest: String,
    },
}

/// One kind of quantity: its units, smallest first, and its wording in messages.
struct Kind {
    expected: &'static str,
    smallest: &'static str,
    units: &'static [(&'static str, u64)],
    /// Units that are read but never printed.
    aliases: &'static [(&'static str, u64)],
    /// Whether a number without a unit has a meaning.
    bare: bool,
}

const BYTES: Kind = Kind {
    expected: "a size such as `4KiB`",
    smallest: "bytes",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
        ("TB", 1_000_000_000_000),
        ("TiB", 1 << 40),
        ("PB", 1_000_000_000_000_000),
        ("PiB", 1 << 50),
    ],
    aliases: &[],
    bare: false,
};

const NANOS: u64 = 1;
const SECOND: u64 = 1_000_000_000;

const SPAN: Kind = Kind {
    expected: "a time such as `25us`",
    smallest: "nanoseconds",
    units: &[
        ("ns", NANOS),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", SECOND),
        ("min", 60 * SECOND),
        ("h", 3_600 * SECOND),
        ("d", 86_400 * SECOND),
        // Of 365.25 days.
        ("y", 31_557_600 * SECOND),
    ],
    aliases: &[("µs", 1_000), ("μs", 1_000)],
    bare: false,
};

const COUNT: Kind = Kind {
    expected: "a count such as `3M` or `3000000`",
    smallest: "items",
    units: &[("", 1), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000), ("T", 1_000_000_000_000)],
    aliases: &[],
    bare: true,
};

impl Kind {
    fn names(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|unit| unit.0).filter(|name| !name.is_empty()).collect();
        names.join(", ")
    }

    /// The scale of an exponent, as in the `e6` of `1e6`, where numbers without a unit have a meaning: none if `unit` is no
    /// exponent, and none inside if no number is that large.
    fn power_of_ten(&self, unit: &str) -> Option<Option<u128>> {
        let digits = unit.strip_prefix(['e', 'E']).filter(|_| self.bare)?;
        let digits = digits.strip_prefix('+').unwrap_or(digits);
        let is_exponent = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_exponent.then(|| digits.parse().ok().and_then(|power| 10u128.checked_pow(power)))
    }

    /// Reads `text` exactly: digits, perhaps a point and more digits, perhaps one space, then a unit.
    fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let found = || text.to_owned();
        let body = text.trim();
        let end = body.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len());
        let (number, rest) = body.split_at(end);
        let unit = rest.trim_start();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let pointless = !number.contains('.');
        if whole.is_empty() || (fraction.is_empty() && !pointless) || fraction.contains('.') {
            return Err(UnitError::NotANumber { expected: self.expected, found: found() });
        }
        let fraction = fraction.trim_end_matches('0');
        let zero = fraction.is_empty() && whole.bytes().all(|digit| digit == b'0');
        let scale = if unit.is_empty() && (self.bare || zero) {
            1
        } else if let Some(power) = self.power_of_ten(unit) {
            power.ok_or_else(|| UnitError::TooLarge { found: found(), largest: self.print(u64::MAX) })?
        } else if unit.is_empty() {
            let example = self.units[0].0;
            return Err(UnitError::NoUnit { found: number.to_owned(), example, units: self.names() });
        } else {
            let known = self.units.iter().chain(self.aliases);
            known.clone().find(|(name, _)| *name == unit).map(|&(_, scale)| scale.into()).ok_or_else(
                || {
                    let nearest = suggest::nearest(unit, known.map(|unit| unit.0));
                    let remedy = match nearest {
                        Some(near) => format!("did you mean `{number}{near}`? (units: {})", self.names()),
                        None => format!("units are {}", self.names()),
                    };
                    UnitError::UnknownUnit { found: found(), remedy }
                },
            )?
        };
        let too_large = || UnitError::TooLarge { found: found(), largest: self.print(u64::MAX) };
        // The digits without their point, times the unit, over ten to the number of decimals.
        let digits = whole.bytes().chain(fraction.bytes()).map(|digit| u128::from(digit - b'0'));
        let mantissa =
            digits.into_iter().try_fold(0u128, |sum, digit| sum.checked_mul(10)?.checked_add(digit));
        let numerator = mantissa.and_then(|mantissa| mantissa.checked_mul(scale));
        let divisor = u32::try_from(fraction.len()).ok().and_then(|places| 10u128.checked_pow(places));
        let Some(divisor) = divisor else {
            // 38 decimals or more: no unit is that small.
            return Err(UnitError::NotExact { found: found(), smallest: self.smallest });
        };
        let numerator = numerator.ok_or_else(too_large)?;
        if numerator % divisor != 0 {
            return Err(UnitError::NotExact { found: found(), smallest: self.smallest });
        }
        u64::try_from(numerator / divisor).map_err(|_| too_large())
    }

    /// The shortest text that reads back as exactly `value`; among equally short ones, the largest unit.
    fn print(&self, value: u64) -> String {
        if value == 0 {
            return if self.bare { "0".to_owned() } else { format!("0{}", self.units[0].0) };
        }
        let mut best = format!("{value}{}", self.units[0].0);
        for &(name, scale) in self.units[1..].iter().take_while(|unit| unit.1 <= value) {
            let mut text = (value / scale).to_string();
            let mut rest = u128::from(value % scale);
            let scale = u128::from(scale);
            if rest > 0 {
                text.push('.');
            }
            while rest > 0 && text.len() + name.len() < best.len() {
                rest *= 10;
                text.push(char::from(b'0' + (rest / scale) as u8));
                rest %= scale;
            }
            text.push_str(name);
            if rest == 0 && text.len() <= best.len() {
                best = text;
            }
        }
        best
    }
}

/// Reads a size such as `"4KiB"`, `"1.5GiB"` or `"480GB"` in bytes. `kB`, `MB` … are powers of ten, `KiB`,
/// `MiB` … powers of two.
///
/// # Errors
/// A bare number other than zero, an unknown unit, a fraction of a byte, or 2^64 bytes and more.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    BYTES.parse(text)
}

/// Reads a span of time such as `"25us"`, `"3.5ms"` or `"1h"` in nanoseconds.
///
/// # Errors
/// A bare number other than zero, an unknown unit, a fraction of a nanosecond, or 2^64 ns and more.
pub fn parse_duration(text: &str) -> Result<u64, UnitError> {
    SPAN.parse(text)
}

/// Reads a count such as `"3M"`, `"250k"`, `"3e6"` or `"3000000"`.
///
/// # Errors
/// An unknown suffix, a fraction of one, or 2^64 and more.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    COUNT.parse(text)
}

struct Reader(&'static Kind);

impl Visitor<'_> for Reader {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<u64, E> {
        self.0.parse(text).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<u64, E> {
        self.0.parse(&number.to_string()).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom(format!("expected {}, found `{number}`", self.0.expected))),
        }
    }
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&$kind.print(self.0))
            }
        }

        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                $kind.parse(text).map(Self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Reader(&$kind)).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl From<$name> for u64 {
            fn from(quantity: $name) -> u64 {
                quantity.0
            }
        }
    };
}

quantity! {
    /// A size in bytes. In TOML a string with a unit: `"4KiB"`. Prints the shortest exact form.
    Bytes, BYTES
}

quantity! {
    /// A span of time in nanoseconds. In TOML a string with a unit: `"25us"`. Prints the shortest exact form.
    Span, SPAN
}

quantity! {
    /// A number of things. In TOML an integer or a string such as `"3M"` (millions). Prints the shortest
    /// exact form.
    Count, COUNT
}
