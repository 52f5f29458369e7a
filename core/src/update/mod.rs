//! Update policies: which routine a parity update uses to pre-read.
//!
//! One file for each published scheme. A new scheme needs a new file, a variant of [`Update`] and a line in [`MEMBERS`].

mod adaptive;
mod always_rcw;
mod always_rmw;
mod baseline;
mod bpu;
mod custom;
mod rmw_vs_reconstruct;

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;
use stripewise_base::share::Share;

use crate::geometry::{Geometry, Place};
use crate::loads::Loads;
pub use crate::member_load::MemberLoad;
use crate::times::CellTimes;

pub use crate::bits::columns;
pub use adaptive::Tgc;
pub use baseline::Tie;
pub use bpu::Weights;

/// The routines of a parity update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routine {
    /// No parity to update.
    #[default]
    Plain,
    /// Nothing to pre-read: the update covers the row.
    FullStripe,
    /// Nothing to pre-read: the first write of a row, with fewer chunks than it has room for.
    ShortStripe,
    /// Read-modify-write: old data and old parity.
    Rmw,
    /// Read-construct-write: the data that is not updated.
    Rcw,
    /// Old data only: parity stays as it is and its change goes to the log.
    Log,
    /// All remaining columns, to decode the part of a lost column that an update needs.
    Reconstruct,
}

impl Routine {
    /// The name that plans and tables print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::FullStripe => "full stripe",
            Self::ShortStripe => "short stripe",
            Self::Rmw => "RMW",
            Self::Rcw => "RCW",
            Self::Log => "log",
            Self::Reconstruct => "reconstruct",
        }
    }
}

/// The reason why a routine was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// There was no choice: no parity.
    #[default]
    NoParity,
    /// There was no choice: parity is lost.
    ParityLost,
    /// There was no choice: the update covers every data chunk.
    NothingToRead,
    /// There was no choice: the row was never written before.
    FirstWrite,
    /// There was no choice: the other routine needs a lost column.
    OtherNeedsLost,
    /// There was no choice: parity is deferred.
    Late,
    /// There was no choice: the change of parity goes to the log.
    Logged,
    /// There was no choice: parity covers everything already.
    NothingLate,
    /// There was no choice: either routine needs a lost column.
    BothNeedLost,
    /// The routine pre-reads fewer pages.
    FewerPreReads,
    /// Both routines pre-read the same number of pages; the policy's rule for ties.
    Tie,
    /// The policy always uses this routine.
    Always,
    /// BPU: the array is so loaded that the routine with fewer pre-reads is taken, regardless of balance.
    Overloaded,
    /// BPU: the most loaded member that the routine reads is less loaded than that of the other routine.
    LighterLoad,
    /// RMW vs. reconstruct: fewer disks are touched than the policy's share of the group.
    FewTouched,
    /// RMW vs. reconstruct: as many disks are touched as the policy's share of the group, or more.
    ManyTouched,
    /// Adaptive: its pre-reads cost less time.
    LowerCost,
    /// Adaptive: both routines cost the same, which means RMW.
    EqualCost,
    /// The driver of the controller chose it.
    Custom,
    /// There was no choice: after a loss of power, parity is not reliable.
    Unclean,
}

impl Reason {
    /// A sentence for [`crate::explain`].
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoParity => "the geometry has no parity",
            Self::ParityLost => "the row's parity is lost, so only data is written",
            Self::NothingToRead => "the update covers every data chunk of the row: nothing to pre-read",
            Self::OtherNeedsLost => "the other routine would read what is lost",
            Self::FirstWrite => "the row was never written before: nothing to pre-read",
            Self::Late => "the row's parity is updated when the window comes round to it",
            Self::Logged => "it covers a part of the row, and the log has room for the change of parity",
            Self::NothingLate => "the row's parity covers everything already",
            Self::BothNeedLost => "both routines would read what is lost: its old content is decoded first",
            Self::FewerPreReads => "it pre-reads fewer pages",
            Self::Tie => "both routines pre-read equally many pages; the policy's tie rule decides",
            Self::Always => "the policy always takes this routine",
            Self::Overloaded => "the array is overloaded: fewer pre-reads, and RCW if they are equal",
            Self::LighterLoad => "its most loaded member is less loaded",
            Self::FewTouched => "it touches fewer disks than the policy's share of the group",
            Self::ManyTouched => "it touches as many disks as the policy's share of the group, or more",
            Self::LowerCost => "its cost is lower",
            Self::EqualCost => "both routines cost the same, which means RMW",
            Self::Custom => "the user's policy chose it",
            Self::Unclean => "power was lost, and parity may not be that of its data",
        }
    }
}

/// A choice that an update policy makes: pre-read the columns of one mask or of the other.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The current time.
    pub now: Nanos,
    /// The row.
    pub row: u64,
    /// Data columns that are updated, wholly or in part.
    pub updated: u64,
    /// Columns that RMW pre-reads: old data of the updated chunks and old parity, unless memory has them.
    pub rmw: u64,
    /// Columns that RCW pre-reads: the chunks that are not updated, or only in part.
    pub rcw: u64,
    /// Of the columns that RMW pre-reads: those whose pinned old version is read.
    pub old: u64,
    /// The array's geometry; with the row's place, it determines the member of each column.
    pub geometry: &'a Geometry,
    /// The location of the row.
    pub place: Place,
    /// Bytes of a page, the unit of an operation.
    pub page_bytes: u32,
    /// Operations queued and in flight on every member.
    pub loads: &'a Loads,
    /// Recent times of reads and writes.
    pub times: &'a CellTimes,
}

/// The terms of a routine's cost, as defined by its policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Adaptive: the longest wait for one of its pre-reads, in ns. BPU: the heaviest weighted load of a member that
    /// it reads.
    pub update: u64,
    /// Adaptive: the time by which its pre-reads delay queued writes, in ns. BPU: the mean weighted load.
    pub delay: u64,
}

impl Cost {
    /// The sum of both terms (paper 000, Eq. 8 and 9).
    pub fn sum(self) -> u64 {
        self.update + self.delay
    }
}

/// The chosen routine and the reason, with the terms that decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The routine.
    pub routine: Routine,
    /// The reason.
    pub reason: Reason,
    /// The routine that Baseline would have taken.
    pub baseline: Routine,
    /// Pages that RMW would pre-read.
    pub rmw_reads: u8,
    /// Pages that RCW would pre-read.
    pub rcw_reads: u8,
    /// The cost of RMW; zeros if the policy does not compute it.
    pub rmw: Cost,
    /// The cost of RCW.
    pub rcw: Cost,
}

impl Decision {
    /// A decision without a choice.
    pub fn forced(routine: Routine, reason: Reason) -> Self {
        Self { routine, reason, baseline: routine, ..Self::default() }
    }

    /// Whether Baseline would have taken another routine (paper 000, Fig. 6).
    pub fn is_adjusted(&self) -> bool {
        self.routine != self.baseline
    }
}

/// A parity update whose routine was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParityUpdate {
    /// The time of the decision.
    pub at: Nanos,
    /// Its row.
    pub row: u64,
    /// Data chunks that it updates.
    pub dirty: u32,
    /// The routine, Baseline's, and the terms of both.
    pub decision: Decision,
}

/// The update policy of a scheme, chosen once a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// Fewest pre-reads.
    Baseline {
        /// The routine for an equal number of pre-reads.
        #[serde(default)]
        tie: Tie,
    },
    /// Balanced parity update.
    Bpu {
        /// The weights of queued reads and writes.
        #[serde(default)]
        weights: Weights,
    },
    /// The lower cost in time.
    Adaptive {
        /// The cost of a garbage collection that delays a pre-read.
        #[serde(default)]
        tgc: Tgc,
    },
    /// By the number of disks that are touched.
    RmwVsReconstruct {
        /// RMW below this share of the group.
        #[serde(default = "default_point")]
        point: Share,
    },
    /// Read-modify-write whenever possible.
    AlwaysRmw {},
    /// Read-construct-write whenever possible.
    AlwaysRcw {},
    /// The driver chooses.
    Custom {},
}

fn default_point() -> Share {
    rmw_vs_reconstruct::POINT
}

/// The update policies: name in a scheme, and description.
pub const MEMBERS: &[(&str, &str)] = &[
    ("baseline", "the routine with fewest pre-reads (paper 000, section II-B)"),
    ("bpu", "the routine whose most loaded member is less loaded (BPU, ICPADS 2016)"),
    ("adaptive", "the routine that costs less time, queues and collections counted (paper 000, section III)"),
    ("rmw-vs-reconstruct", "read-modify-write where few disks of the group are touched (DiskSim)"),
    ("always-rmw", "read-modify-write whenever it is possible"),
    ("always-rcw", "read-construct-write whenever it is possible"),
    ("custom", "a policy of the user's own; Baseline where none is given"),
];

impl Update {
    /// Chooses between RMW and RCW where both are possible and both must read. `chosen` is the driver's choice, for
    /// [`Update::Custom`].
    #[inline]
    pub fn choose(&self, choice: &Choice<'_>, state: &impl MemberLoad, chosen: Option<Routine>) -> Decision {
        let free = |(routine, reason)| (routine, reason, Cost::default(), Cost::default());
        let (routine, reason, rmw, rcw) = match self {
            Self::Baseline { tie } => free(baseline::choose(choice, *tie)),
            Self::Bpu { weights } => bpu::choose(choice, *weights),
            Self::Adaptive { tgc } => adaptive::choose(choice, *tgc, state),
            Self::RmwVsReconstruct { point } => free(rmw_vs_reconstruct::choose(choice, *point)),
            Self::AlwaysRmw {} => free(always_rmw::choose()),
            Self::AlwaysRcw {} => free(always_rcw::choose()),
            Self::Custom {} => free(custom::choose(choice, chosen)),
        };
        let tie = if let Self::Baseline { tie } = self { *tie } else { Tie::Rmw };
        Decision {
            routine,
            reason,
            baseline: baseline::choose(choice, tie).0,
            rmw_reads: choice.rmw.count_ones() as u8,
            rcw_reads: choice.rcw.count_ones() as u8,
            rmw,
            rcw,
        }
    }

    /// Whether the policy needs recent times of reads and writes.
    pub fn asks_times(&self) -> bool {
        matches!(self, Self::Adaptive { .. } | Self::Bpu { weights: Weights::Scaled } | Self::Custom {})
    }
}

#[cfg(test)]
pub mod tests;
