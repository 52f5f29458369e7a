//! What an update policy decides on, and what it decides.
//!
//! Source: RMW and RCW, and the terms of their cost, are those of paper 000, sections II-B and III.

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;
use stripewise_core::geometry::{Geometry, Place};
use stripewise_core::ids::RowNo;
use stripewise_core::loads::Loads;
use stripewise_core::times::CellTimes;

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
    /// Old data only: parity stays as it is and its change goes to the parity log.
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
    /// There was no choice: RMW would read a page that was free.
    FreePages,
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
    /// A sentence for `stripewise explain`.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoParity => "the geometry has no parity",
            Self::ParityLost => "the row's parity is lost, so only data is written",
            Self::NothingToRead => "the update covers every data chunk of the row: nothing to pre-read",
            Self::FreePages => "RMW would read what a free page of the zone had before",
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
    pub row: RowNo,
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
    pub row: RowNo,
    /// Data chunks that it updates.
    pub dirty: u32,
    /// The routine, Baseline's, and the terms of both.
    pub decision: Decision,
}
