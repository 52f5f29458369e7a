//! The jobs of RAID in place, and what it keeps with a plan besides.

use stripewise_core::memory::Memory;
use stripewise_exec::AfterErrors;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Purpose;

use crate::job::{BuildResult, Cx, Job, jobs};

jobs! {
    Facts:
    /// Writes zeros on vacant pages of the redo journal.
    ClearVacant => Facts::of(Purpose::JournalWrite);
    /// Writes a page from the write cache that parity covers already.
    Destage => Facts::of(Purpose::Destage);
    /// A flush of the members for a host: the executor takes the plan, so it has the default job.
    Flush => Facts::of(Purpose::Flush);
    /// Frees records of the redo journal: writes the table of checksums, and flushes the members.
    FreeRecords => Facts::of(Purpose::JournalReclaim);
    /// Reads chunks of a row for a host.
    Read => Facts::of(Purpose::Read);
    /// Rebuilds the chunk of a row on a member, for the rebuild of this turn.
    RebuildRow { turn: u32 } => Facts::of(Purpose::Rebuild);
    /// Repeats an update that a loss of power interrupted, from persistent memory.
    RedoUpdate => Facts::of(Purpose::Redo);
    /// Makes the parity of a row match its data after a loss of power. Columns in `unread` returned an error once.
    ResyncRow { unread: u64 } => Facts::of(Purpose::Resync);
    /// Reads a row, and repairs it; or reads it again after the repair.
    ScrubRow { is_again: bool } => Facts::of(Purpose::Scrub);
    /// Notifies the members that a row is unused.
    Trim => Facts::of(Purpose::Trim);
    /// Updates the deferred parity of a row, or commits its deltas.
    UpdateParity => Facts::of_update(Purpose::Parity);
    /// Updates chunks of a row, with its parity or to update that later.
    Write => Facts::of_update(Purpose::Write);
    /// Writes the bitmap.
    WriteIntent => Facts::of(Purpose::JournalWrite);
    /// Writes a record of the redo journal.
    WriteRecord => Facts::of(Purpose::JournalWrite);
    /// Writes superblocks, or content of the journal that a member lacks.
    WriteSuperblocks => Facts::of(Purpose::WriteSuperblocks);
}

impl Default for AnyJob {
    fn default() -> Self {
        Flush.into()
    }
}

/// What RAID in place asks about a job.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The purpose of its plans.
    pub(crate) purpose: Purpose,
    /// Whether its plans update the row: its data, its parity, or both.
    pub(crate) is_update: bool,
}

impl Facts {
    /// The facts of a job that updates a row.
    pub(crate) const fn of_update(purpose: Purpose) -> Self {
        Self { purpose, is_update: true }
    }

    /// The facts of any other job.
    pub(crate) const fn of(purpose: Purpose) -> Self {
        Self { purpose, is_update: false }
    }
}

/// What RAID in place keeps with a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlanState {
    /// What the plan does.
    pub(crate) job: AnyJob,
    /// Of the columns that the plan writes: those that are covered only in part.
    pub(crate) partial: u64,
    /// Columns whose covered content is in memory: deferred ones, and those in the write cache.
    pub(crate) kept: u64,
    /// Of the columns that the plan writes: those that were written before its steps were built.
    pub(crate) written: u64,
    /// Columns that the plan writes from the write cache; 0 if hosts wait for its writes.
    pub(crate) carried: u64,
    /// Columns for which the write cache has reserved room for the plan.
    pub(crate) reserved: u64,
    /// The unit with which the content of the plan leaves the write cache.
    pub(crate) unit: u32,
    /// Over zones: columns to which the plan's writes move pages.
    pub(crate) moves: u64,
    /// Over zones: data columns that the row's parity takes for zeros once the plan has ended.
    pub(crate) blank: u64,
    /// Whether the parity that the plan computes stays in persistent memory.
    pub(crate) keeps_parity: bool,
    /// The slot of the parity log for the plan's deltas.
    pub(crate) delta: Option<u32>,
    /// The record of the redo journal with the plan's changes, or 0.
    pub(crate) record: u64,
    /// The first record of the redo journal with deferred content of the row that the plan is to cover, or 0.
    pub(crate) covers: u64,
    /// Whether the decision of the plan was reported to the driver.
    pub(crate) is_reported: bool,
}
