//! The new faults: the ways in which an array has lost redundancy without saying so. A fault strikes at the end of a life,
//! when all members are back and a scrub is over. Each has a file, which says what the array must do.

mod beyond;
mod copies;
mod damage;
mod members;
mod stage;
mod strike;

use serde::{Deserialize, Serialize};

use super::shape::Kind;

/// A fault of the redundancy of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A member is failed because of damage found on it, and returns with its own content.
    ReturnsAfterDamage,
    /// Sound members return stale, while hosts write.
    ReturnsStale,
    /// During a rebuild further sound members are out for a moment: more than parity tolerates.
    OutDuringRebuild,
    /// Pages that no longer count are rotten when another member is replaced.
    DeadRot,
    /// More members than parity tolerates are rotten, each in other stripes.
    RotApart,
    /// More members are lost than parity tolerates, while hosts write until the array is full.
    BeyondUnderLoad,
    /// A scrub of a full array repairs a lot of damage.
    FullScrub,
    /// Pages anywhere on members, metadata included, cannot be read.
    Unreadable,
    /// Members become larger, while the array serves or while it is stopped.
    Resized,
    /// Members of two copies of the array, which were both served, are used together.
    MixedCopies,
}

/// A new fault at the end of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewFault {
    /// The fault.
    pub kind: Fault,
    /// Determines its members, pages and times.
    pub choice: u64,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 10] = [
        Self::ReturnsAfterDamage,
        Self::ReturnsStale,
        Self::OutDuringRebuild,
        Self::DeadRot,
        Self::RotApart,
        Self::BeyondUnderLoad,
        Self::FullScrub,
        Self::Unreadable,
        Self::Resized,
        Self::MixedCopies,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReturnsAfterDamage => "returns-after-damage",
            Self::ReturnsStale => "returns-stale",
            Self::OutDuringRebuild => "out-during-rebuild",
            Self::DeadRot => "dead-rot",
            Self::RotApart => "rot-apart",
            Self::BeyondUnderLoad => "beyond-under-load",
            Self::FullScrub => "full-scrub",
            Self::Unreadable => "unreadable",
            Self::Resized => "resized",
            Self::MixedCopies => "mixed-copies",
        }
    }

    /// Whether it can strike an array of this kind.
    pub(super) fn strikes(self, kind: Kind) -> bool {
        match self {
            Self::ReturnsAfterDamage
            | Self::ReturnsStale
            | Self::OutDuringRebuild
            | Self::Unreadable
            | Self::Resized
            | Self::BeyondUnderLoad => true,
            Self::DeadRot | Self::RotApart | Self::MixedCopies => kind.has_checksums(),
            Self::FullScrub => !kind.is_in_place(),
        }
    }
}

impl std::str::FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::ALL.iter().map(|fault| fault.name()).collect();
        let found = Self::ALL.into_iter().find(|fault| fault.name() == text);
        found.ok_or_else(|| format!("no such fault; there are {}", names.join(", ")))
    }
}
