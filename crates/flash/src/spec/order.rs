//! The order in which consecutive pages visit the parts of a device.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// The order in which consecutive pages visit channels (C), ways (W: the chips of a channel), dies (D) and planes
/// (P). The first letter varies fastest. There are 24 orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order(pub(crate) [u8; 4]);

const LETTERS: &[u8; 4] = b"CWDP";

/// The text is not an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the letters C, W, D and P once each, such as `CWDP`, found `{0}`")]
pub struct OrderError(String);

impl Default for Order {
    fn default() -> Self {
        Self([0, 1, 2, 3])
    }
}

impl FromStr for Order {
    type Err = OrderError;

    fn from_str(text: &str) -> Result<Self, OrderError> {
        let error = || OrderError(text.to_owned());
        let digit = |letter: u8| LETTERS.iter().position(|known| *known == letter.to_ascii_uppercase());
        let digits: Option<Vec<u8>> =
            text.bytes().map(|letter| digit(letter).map(|digit| digit as u8)).collect();
        let digits: [u8; 4] = digits.and_then(|digits| digits.try_into().ok()).ok_or_else(error)?;
        let each_once = (0..4).all(|digit| digits.contains(&digit));
        if each_once { Ok(Self(digits)) } else { Err(error()) }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|digit| write!(f, "{}", char::from(LETTERS[usize::from(*digit)])))
    }
}

impl<'de> Deserialize<'de> for Order {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Order {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_order_is_refused() {
        for text in ["", "CWD", "CWDPP", "CCDP", "CWDX"] {
            assert!(text.parse::<Order>().is_err(), "{text}");
        }
        assert_eq!("pdwc".parse::<Order>().expect("an order").to_string(), "PDWC");
    }
}
