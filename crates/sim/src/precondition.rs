//! The state of the devices before the first request, as a setting.

use std::fmt;
use std::str::FromStr;

use stripewise_flash::{Flash, Media, Share, State};

/// The state of the devices before the first request: `fresh`, or `sequential:70%`, `steady:70%`, `written:70%` with
/// the share of their pages that holds data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// No page has been written.
    #[default]
    Fresh,
    /// This share of the pages was written, and left in this state.
    Filled(State, Share),
}

impl Precondition {
    /// Brings fresh `flash` to this state.
    pub fn apply<M: Media>(self, flash: &mut Flash<M>, seed: u64) {
        if let Self::Filled(state, share) = self {
            flash.precondition(state, share, seed);
        }
    }

    /// Runs [`Precondition::apply`] while `may_continue` returns true. Returns whether it finished.
    pub fn apply_while<M: Media>(
        self,
        flash: &mut Flash<M>,
        seed: u64,
        may_continue: &mut dyn FnMut() -> bool,
    ) -> bool {
        match self {
            Self::Fresh => true,
            Self::Filled(state, share) => flash.precondition_while(state, share, seed, may_continue),
        }
    }

    /// The number of pages with data in an array of `pages` pages.
    pub fn pages(self, pages: u64) -> u64 {
        match self {
            Self::Fresh => 0,
            Self::Filled(_, share) => share.of(pages),
        }
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh => f.write_str("fresh"),
            Self::Filled(State::Sequential, share) => write!(f, "sequential:{share}"),
            Self::Filled(State::Steady, share) => write!(f, "steady:{share}"),
            Self::Filled(State::Written, share) => write!(f, "written:{share}"),
        }
    }
}

impl FromStr for Precondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            "expected `fresh`, `sequential:SHARE`, `steady:SHARE` or `written:SHARE`, as in `steady:70%`";
        let (state, share) = text.split_once(':').unwrap_or((text, "100%"));
        let state = match state {
            "fresh" if !text.contains(':') => return Ok(Self::Fresh),
            "sequential" => State::Sequential,
            "steady" => State::Steady,
            "written" => State::Written,
            _ => return Err(format!("`{text}`: no such state; {expected}")),
        };
        let share: Share = share.parse().map_err(|error| format!("`{text}`: {error}"))?;
        if share > Share::ALL {
            return Err(format!("`{text}`: more than all cannot be filled; {expected}"));
        }
        Ok(Self::Filled(state, share))
    }
}

impl serde::Serialize for Precondition {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Precondition {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_is_printed() {
        for text in ["fresh", "sequential:100%", "steady:70%", "written:12.5%"] {
            let state: Precondition = text.parse().unwrap();
            assert_eq!(state.to_string().parse::<Precondition>().unwrap(), state);
        }
    }

    #[test]
    fn what_is_no_state_is_refused_with_the_forms_that_are() {
        for text in ["full", "steady:170%", "steady:much", "fresh:10%"] {
            let error = text.parse::<Precondition>().unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }
}
