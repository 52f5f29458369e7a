//! Plans: the work of the controller on one row for one or more host requests.
//!
//! A plan has at most [`STEPS_MAX`] steps, in a reused arena. A step is a slice of operations, or a parity computation, and
//! starts when the previous step is complete. A mark records the step after which hosts are acknowledged. What only one
//! placement keeps with a plan is a job of that placement, in an arena of its own.

mod path;
mod slot;
mod steps;
mod times;
mod view;

use stripewise_core::geometry::Place;
use stripewise_core::ids::{NONE, PlanId, RowNo};
use stripewise_policy::update::Decision;

use crate::row_locks::RowLock;

pub use path::{Path, Race};
pub use slot::{Attachment, NOT_STARTED, OVER, Slot};
pub use steps::{STEPS_MAX, Step, Steps};
pub use times::{LastOperation, NEVER, PreReadTimes, Times};
pub use view::PlanView;

/// The purpose of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Read chunks of a row.
    #[default]
    Read,
    /// Update chunks of a row, with its parity updated or deferred.
    Write,
    /// Update the deferred parity of a row, or commit its deltas.
    Parity,
    /// Notify members that a row is unused.
    Trim,
    /// Notify members that a row of a free segment of the log is unused.
    Discard,
    /// Make completed writes durable on all members.
    Flush,
    /// Write a stripe of chunks from controller memory to the log.
    Append,
    /// Write a page from the write cache that parity covers already.
    Destage,
    /// Read a chunk of the log that is written in part.
    Merge,
    /// Read chunks of a segment that is collected.
    Collect,
    /// Make the parity of a row match its data after a loss of power.
    Resync,
    /// Rebuild the chunk of a stripe of the log, or of a row, on a member that is being rebuilt.
    Rebuild,
    /// Rewrite a copy of a summary from another copy.
    RepairSummary,
    /// Read a summary of the log, during a walk over its segments.
    ReadSummary,
    /// Read a whole stripe of the log, and move it if a column is bad; or read a row, and repair it.
    Scrub,
    /// Write the summary of a batch of stripes of the log.
    Summary,
    /// Write metadata, or flush, to make the log durable.
    Commit,
    /// Repeat an update that a loss of power interrupted, from persistent memory.
    Redo,
    /// Write a record of the redo journal.
    JournalWrite,
    /// Free records of the redo journal.
    JournalReclaim,
    /// Write superblocks that record an event of a member of an array in place.
    WriteSuperblocks,
    /// Read a copy of metadata, to scrub it.
    Inspect,
}

/// A slot of the plan arena.
///
/// The order of the fields is their order in memory. The first 64 bytes, one line of a processor's cache, are what every
/// operation of every plan uses. What only redirected and hedged reads use comes last, and other schemes do not touch it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Plan {
    /// The row, or the first slot of the stripe.
    pub row: RowNo,
    /// The place of the row on the members.
    pub place: Place,
    /// Data columns that hosts read or write.
    pub wanted: u64,
    /// Columns that returned an error in this plan, besides those on failed members.
    pub lost: u64,
    /// Columns that the steps do not use: those that were lost when the steps were built.
    pub missing: u64,
    /// Hosts to acknowledge: a list of [`Attachment`]s.
    pub first_request: u32,
    /// The number of the host request that it was created for, as in [`stripewise_core::operation::Operation::request`].
    pub request: u32,
    /// The next plan that waits for the same row, or the next free plan.
    pub next: PlanId,
    /// What the plan is for.
    pub purpose: Purpose,
    /// The row lock that it takes.
    pub lock: RowLock,
    /// Whether the plan is taken and not finished.
    pub is_under_way: bool,
    /// Whether the plan ends without having done its work.
    pub is_abandoned: bool,
    /// Its steps, after how far it is.
    pub steps: Steps,
    /// Its reads of deltas.
    pub deltas: DeltaReads,
    /// Whether nothing follows its one step but the acknowledgement: see `Executor::begin_straight`.
    pub is_straight: bool,
    /// Whether the plan writes data and defers its parity.
    pub defers: bool,
    /// Whether hosts are acknowledged from controller memory, after its latency.
    pub ends_in_memory: bool,
    /// Whether the plan read, without the row lock, content that does not match the row's checksums: a write may have
    /// intervened.
    pub doubts: bool,
    /// Whether the result of its computation requires its steps to be built again.
    pub build_again: bool,
    /// Whether columns with errors were read again, because too much of the row seemed lost.
    pub looked_again: bool,
    /// The routine of a parity update, and the reason.
    pub decision: Decision,
    /// The order in which plans took or awaited their row locks.
    pub turn: u64,
    /// Data columns that are written and that parity does not cover: memory has their new content.
    pub dirty: u64,
    /// Columns whose members keep old versions for the writes of this plan.
    pub pinned: u64,
    /// For a read: columns whose cached content it has recorded.
    pub overlaid: u64,
    /// Where its time went.
    pub times: Times,
    /// For an update of parity that waits: the writes of its row that came before it and are not over.
    pub ahead: u32,
    /// For a read: how it gets its chunks.
    pub path: Path,
}

/// What every operation uses is in the first line of the cache.
const _: () = assert!(std::mem::offset_of!(Plan, steps) + Steps::PROGRESS_BYTES == 64);

/// The operations of a plan that read deltas: the first of them, and their number.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeltaReads {
    /// The first of them among the plan's operations.
    pub first: u16,
    /// Their number.
    pub count: u16,
}

impl Plan {
    /// A free slot; `next` is the next free one.
    pub fn vacant(next: PlanId) -> Self {
        Self {
            row: RowNo::new(0),
            place: Place::default(),
            purpose: Purpose::Read,
            is_under_way: false,
            lock: RowLock::None,
            turn: 0,
            ahead: 0,
            wanted: 0,
            lost: 0,
            missing: 0,
            dirty: 0,
            pinned: 0,
            is_straight: false,
            defers: false,
            overlaid: 0,
            ends_in_memory: false,
            path: Path::default(),
            deltas: DeltaReads::default(),
            is_abandoned: false,
            doubts: false,
            build_again: false,
            looked_again: false,
            decision: Decision::default(),
            steps: Steps::default(),
            first_request: NONE,
            request: 0,
            next,
            times: Times::default(),
        }
    }

    /// Takes the slot for work on a row at its place.
    #[inline]
    pub fn take(&mut self, row: RowNo, place: Place, purpose: Purpose) {
        self.row = row;
        self.place = place;
        self.purpose = purpose;
        self.is_under_way = true;
        self.lock = RowLock::None;
        self.wanted = 0;
        self.lost = 0;
        self.missing = 0;
        self.dirty = 0;
        self.pinned = 0;
        self.overlaid = 0;
        self.ends_in_memory = false;
        self.is_straight = false;
        self.is_abandoned = false;
        self.doubts = false;
        self.build_again = false;
        self.looked_again = false;
        self.decision = Decision::default();
        self.clear_steps();
        self.first_request = NONE;
        self.request = 0;
        self.next = PlanId::NONE;
        self.times = Times::default();
    }

    /// For a plan of a log: the first slot of its stripe, or the slot of its copy of a summary.
    #[inline]
    pub fn first_slot(&self) -> u64 {
        self.row.number()
    }

    /// Clears all steps.
    #[inline]
    pub fn clear_steps(&mut self) {
        self.steps.clear();
        self.deltas.count = 0;
    }

    /// Whether content that does not match the row may be due to a concurrent write, because the plan has no row lock.
    #[inline]
    pub fn may_doubt(&self) -> bool {
        self.lock == RowLock::None && self.path.race <= Race::Armed
    }
}
