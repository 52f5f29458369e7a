//! The start of a run that is not counted.

use std::fmt;
use std::str::FromStr;

use stripewise_base::units;

/// The start of a run that is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// This many requests.
    Requests(u64),
    /// The requests before the response times are steady. A run is made twice: once to find them, and once without them.
    Auto,
}

impl Default for WarmUp {
    fn default() -> Self {
        Self::Requests(0)
    }
}

impl FromStr for WarmUp {
    type Err = String;

    /// `auto`, or a count.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let count: Result<units::Count, _> = text.parse();
        count.map(|count| Self::Requests(count.0)).map_err(|error| format!("{error}, or `auto`"))
    }
}

impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requests(requests) => requests.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}
