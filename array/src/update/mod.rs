//! Update policies: by which routine a parity update pre-reads.
//!
//! One file for each published scheme. A new one is a new file, a variant of [`Update`] and a line in [`MEMBERS`].

mod always_rcw;
mod always_rmw;
mod baseline;

use serde::{Deserialize, Serialize};

use crate::geometry::{Geometry, Place};
use crate::loads::Loads;

pub use baseline::Tie;

/// The routines of a parity update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routine {
    /// No parity to update.
    #[default]
    Plain,
    /// Nothing to pre-read: the update covers the row.
    FullStripe,
    /// Read-modify-write: old data and old parity.
    Rmw,
    /// Read-construct-write: the data that is not updated.
    Rcw,
    /// Everything that is left, to decode what an update needs of a lost member.
    Reconstruct,
}

impl Routine {
    /// The name that plans and tables print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::FullStripe => "full stripe",
            Self::Rmw => "RMW",
            Self::Rcw => "RCW",
            Self::Reconstruct => "reconstruct",
        }
    }
}

/// Why a routine was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// There was no choice: no parity.
    #[default]
    NoParity,
    /// There was no choice: parity is lost.
    ParityLost,
    /// There was no choice: the update covers every data chunk.
    NothingToRead,
    /// There was no choice: the other routine needs a lost member.
    OtherNeedsLost,
    /// There was no choice: an update of a part of a lost chunk needs that chunk.
    PartOfLost,
    /// It pre-reads fewer pages.
    FewerPreReads,
    /// Both pre-read equally many; the policy's rule for ties.
    Tie,
    /// The policy knows only this one.
    Always,
}

impl Reason {
    /// A sentence for [`crate::explain`].
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoParity => "the geometry has no parity",
            Self::ParityLost => "the row's parity is lost, so only data is written",
            Self::NothingToRead => "the update covers every data chunk of the row: nothing to pre-read",
            Self::OtherNeedsLost => "the other routine would read a lost member",
            Self::PartOfLost => "a part of a lost chunk is updated: its old content is decoded first",
            Self::FewerPreReads => "it pre-reads fewer pages",
            Self::Tie => "both routines pre-read equally many pages; the policy's tie rule decides",
            Self::Always => "the policy always takes this routine",
        }
    }
}

/// A choice that an update policy makes: pre-read the members of one mask or of the other.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// Members that RMW pre-reads: old data of the updated chunks and old parity.
    pub rmw: u64,
    /// Members that RCW pre-reads: the chunks that are not updated, or not wholly.
    pub rcw: u64,
    /// The array's geometry, and the row's place in it: they name the element of each member.
    pub geometry: &'a Geometry,
    /// Where the row lies.
    pub place: Place,
    /// Operations queued and in flight on every element.
    pub loads: &'a Loads,
}

/// What was chosen and why, with the terms that decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The routine.
    pub routine: Routine,
    /// Why.
    pub reason: Reason,
    /// Pages that RMW would pre-read.
    pub rmw_reads: u8,
    /// Pages that RCW would pre-read.
    pub rcw_reads: u8,
}

/// The update policy of a scheme, chosen once a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// Fewest pre-reads.
    Baseline {
        /// What an equal number of pre-reads means.
        #[serde(default)]
        tie: Tie,
    },
    /// Read-modify-write whenever it is possible.
    AlwaysRmw {},
    /// Read-construct-write whenever it is possible.
    AlwaysRcw {},
}

/// The members of this axis: name in a scheme, and what it does.
pub const MEMBERS: &[(&str, &str)] = &[
    ("baseline", "the routine with fewest pre-reads (paper 000, section II-B)"),
    ("always-rmw", "read-modify-write whenever it is possible"),
    ("always-rcw", "read-construct-write whenever it is possible"),
];

impl Update {
    /// Chooses between RMW and RCW where both are possible and both must read.
    #[inline]
    pub fn choose(&self, choice: &Choice<'_>) -> Decision {
        let (routine, reason) = match self {
            Self::Baseline { tie } => baseline::choose(choice, *tie),
            Self::AlwaysRmw {} => always_rmw::choose(),
            Self::AlwaysRcw {} => always_rcw::choose(),
        };
        Decision {
            routine,
            reason,
            rmw_reads: choice.rmw.count_ones() as u8,
            rcw_reads: choice.rcw.count_ones() as u8,
        }
    }
}
