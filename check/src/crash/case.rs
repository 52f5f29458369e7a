//! A case: all that decides the life of an array, from its creation through every loss of power.

use serde::{Deserialize, Serialize};
use stripewise_base::suggest::{ConfigError, read_toml};

use super::corruption::Corruption;
use super::keep::Keep;
use super::members::Wrong;
use super::shape::Shape;
use crate::case::Ask;

/// A member goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strike {
    /// Before this event of its era.
    pub event: u64,
    /// Which member.
    #[serde(rename = "element")]
    pub member: u16,
    /// How.
    pub wrong: Wrong,
    /// Decides where, as far as that is open.
    pub choice: u64,
}

/// A member comes back into the array that serves without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comeback {
    /// Before this event of its era, or as soon as the array can take it.
    pub event: u64,
    /// Which member.
    #[serde(rename = "element")]
    pub member: u16,
    /// Whether another one comes in its place, with whatever is on it.
    pub is_another: bool,
    /// Whether it has what it had at an earlier moment, if one was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_older: bool,
}

/// What a member has is kept, to be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Before this event of its era.
    pub event: u64,
    /// Which member.
    #[serde(rename = "element")]
    pub member: u16,
}

/// A member is put back to an earlier moment while the array is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutBack {
    /// Which member.
    #[serde(rename = "element")]
    pub member: u16,
    /// Decides to which moment.
    pub choice: u64,
}

/// An opening in which power is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Writes and flushes that it comes to.
    pub after: u64,
    /// What is left of them.
    pub keep: Keep,
    /// Whether all members are offered, though some are absent when the era begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_whole: bool,
}

/// From one opening that succeeds to the next loss of power.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Era {
    /// Events after which power is lost; none: when everything that was asked is answered. An event is an operation that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<u64>,
    /// Whether it ends with a clean stop instead, when everything that was asked is answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops: bool,
    /// What is left of writes that no flush has covered.
    pub keep: Keep,
    /// Requests under way at once, at most.
    pub depth: u32,
    /// Whether power is lost once more when everything was read, before anything is asked, and it is opened again.
    #[serde(default)]
    pub twice: bool,
    /// Members that are not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<u16>,
    /// Members that are put back to an earlier moment before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub older: Vec<PutBack>,
    /// Moments that are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
    /// Openings before, in which power was lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
    /// Members that go wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strikes: Vec<Strike>,
    /// Members that come back, or are replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comebacks: Vec<Comeback>,
    /// Events before which a scrub begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scrubs: Vec<u64>,
    /// What is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
}

impl Era {
    /// An era in which nothing is asked and nothing happens.
    pub(crate) fn calm() -> Self {
        Self {
            crash: None,
            stops: false,
            keep: Keep::Nothing,
            depth: 1,
            twice: false,
            absent: Vec::new(),
            older: Vec::new(),
            moments: Vec::new(),
            cuts: Vec::new(),
            strikes: Vec::new(),
            comebacks: Vec::new(),
            scrubs: Vec::new(),
            asks: Vec::new(),
        }
    }
}

/// The life of an array. After its last era it is opened once more, and read with any members taken away that it can do without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Decides in which order operations end and members are offered.
    pub seed: u64,
    /// The array.
    pub shape: Shape,
    /// What happens to it.
    pub eras: Vec<Era>,
    /// Whether all that it is without come back, or are replaced, before it is read for the last time.
    #[serde(default)]
    pub mends: bool,
    /// What is destroyed in the end, beyond what parity tolerates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "ruin")]
    pub corruption: Option<Corruption>,
}

impl Case {
    /// A life without an era.
    pub(crate) fn new(seed: u64, shape: Shape) -> Self {
        Self { seed, shape, eras: Vec::new(), mends: false, corruption: None }
    }

    /// Reads a case from `text`, the contents of `file`.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ConfigError> {
        read_toml(file, text)
    }

    /// The case as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a case holds nothing that TOML cannot say")
    }
}
