//! The oracle of redundancy: whether what an array says about its redundancy is true. The reads of the scenario show whether
//! data is right; the oracle asks what would happen if the array were taken at its word.
//!
//! The oracle knows the faults that the scenario injected ([`Suspects`]), what the array says ([`Claims`]), and which members
//! the array charges with errors ([`Charge`]). It judges when no request is in flight, at any time of a scenario.

mod charge;
mod charges;
mod claims;
mod redundancy;
mod restart;
mod suspects;

pub(crate) use charge::{Charge, Offence};
pub(crate) use claims::Claims;
pub(crate) use suspects::Suspects;

/// A question of the oracle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// While an array is CLEAN, any members that parity tolerates can be removed from a copy of the media, and all durable
    /// sectors can be read.
    Redundancy,
    /// Only members on which a fault was injected are charged with errors or failed, and what a scrub finds is charged.
    Charges,
    /// A restart does not change what the array says about its redundancy.
    Restart,
    /// After a complete scrub, and without new faults, the array is CLEAN.
    Recovery,
    /// With a redo journal too, what a scrub repaired is durable after the next flush.
    Repairs,
}

impl Question {
    /// All questions.
    pub const ALL: [Self; 5] =
        [Self::Redundancy, Self::Charges, Self::Restart, Self::Recovery, Self::Repairs];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Redundancy => "redundancy",
            Self::Charges => "charges",
            Self::Restart => "restart",
            Self::Recovery => "recovery",
            Self::Repairs => "repairs",
        }
    }
}

impl std::str::FromStr for Question {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| format!("no such question; there are {}", names.join(", ")))
    }
}

/// A set of questions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Questions(u8);

impl Questions {
    pub(crate) fn has(self, question: Question) -> bool {
        self.0 & 1 << question as u8 != 0
    }
}

impl FromIterator<Question> for Questions {
    fn from_iter<T: IntoIterator<Item = Question>>(all: T) -> Self {
        Self(all.into_iter().fold(0, |mask, question| mask | 1 << question as u8))
    }
}
