//! A case: everything that determines the life of an array, from its creation through every power loss.

use serde::{Deserialize, Serialize};
use stripewise_array::MemberNo;
use stripewise_base::suggest::{ConfigError, read_toml};

use super::corruption::Corruption;
use super::faults::NewFault;
use super::members::Wrong;
use super::monitor::Policy;
use super::shape::Shape;
use super::survival::Survival;
use crate::case::Ask;

/// A fault of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strike {
    /// Before this event of its era.
    pub event: u64,
    /// The member.
    #[serde(alias = "element")]
    pub member: MemberNo,
    /// The kind of fault.
    pub wrong: Wrong,
    /// Determines the place of the fault, as far as it is open.
    pub choice: u64,
}

/// The return of a member to an array that serves without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comeback {
    /// Before this event of its era, or as soon as the array can accept it.
    pub event: u64,
    /// The member.
    #[serde(alias = "element")]
    pub member: MemberNo,
    /// Whether a replacement comes instead, with arbitrary content.
    pub is_another: bool,
    /// Whether it returns with its content of an earlier time, if one was saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_older: bool,
}

/// A snapshot of a member's content, for a later rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Before this event of its era.
    pub event: u64,
    /// The member.
    #[serde(alias = "element")]
    pub member: MemberNo,
}

/// A member is rolled back to an earlier snapshot while the array is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutBack {
    /// The member.
    #[serde(alias = "element")]
    pub member: MemberNo,
    /// Determines the snapshot.
    pub choice: u64,
}

/// An assembly during which power is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Number of writes and flushes before the power loss.
    pub after: u64,
    /// Which of them survive.
    pub keep: Survival,
    /// Whether all members are offered, even if some are absent when the era begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_whole: bool,
}

/// The time from one successful assembly to the next power loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Era {
    /// Events until power is lost; `None`: power is lost when every request is answered. An event is the end of an
    /// operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<u64>,
    /// Whether the era ends with a clean stop instead, when every request is answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops: bool,
    /// Whether the clean stop leaves rebuilds and scrubs where they are, as the serving program does; otherwise they end before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub halts: bool,
    /// Which writes without a flush survive.
    pub keep: Survival,
    /// The largest number of requests in flight at once.
    pub depth: u32,
    /// Whether power is lost again after everything was read and before any request, and the array is assembled
    /// again.
    #[serde(default)]
    pub twice: bool,
    /// Members that are not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<MemberNo>,
    /// Members that are rolled back to an earlier snapshot before the era.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub older: Vec<PutBack>,
    /// Snapshots that are saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
    /// Earlier assemblies during which power was lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
    /// Faults of members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strikes: Vec<Strike>,
    /// Members that return, or are replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comebacks: Vec<Comeback>,
    /// Events from which on the oracle looks at the array as soon as no request is in flight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audits: Vec<u64>,
    /// Events before which a scrub begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scrubs: Vec<u64>,
    /// The requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
}

impl Era {
    /// An era without requests and faults.
    pub(crate) fn calm() -> Self {
        Self {
            crash: None,
            stops: false,
            halts: false,
            keep: Survival::Nothing,
            depth: 1,
            twice: false,
            absent: Vec::new(),
            older: Vec::new(),
            moments: Vec::new(),
            cuts: Vec::new(),
            strikes: Vec::new(),
            comebacks: Vec::new(),
            audits: Vec::new(),
            scrubs: Vec::new(),
            asks: Vec::new(),
        }
    }
}

/// The life of an array. After its last era the array is assembled once more, and read with any tolerable set of
/// members removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrashCase {
    /// Seed of the order in which operations end and members are offered.
    pub seed: u64,
    /// The array.
    pub shape: Shape,
    /// The eras of its life.
    pub eras: Vec<Era>,
    /// Whether all missing members return, or are replaced, before the last read.
    #[serde(default)]
    pub mends: bool,
    /// Final corruption beyond the tolerance of parity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "ruin")]
    pub corruption: Option<Corruption>,
    /// A fault of the array's redundancy at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<NewFault>,
    /// What the serving program does about members with errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

impl CrashCase {
    /// A life without eras.
    pub(crate) fn new(seed: u64, shape: Shape) -> Self {
        Self { seed, shape, eras: Vec::new(), mends: false, corruption: None, fault: None, policy: None }
    }

    /// Reads a case from `text`, the contents of `file`.
    ///
    /// # Errors
    /// The error in the text, and its place.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ConfigError> {
        read_toml(file, text)
    }

    /// The case as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a case holds nothing that TOML cannot say")
    }
}
