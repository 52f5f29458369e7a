//! Plans: the work of the controller on one row for one or more host requests.
//!
//! A plan has at most [`STEPS_MAX`] steps, in a reused arena. A step is a slice of operations, or a parity computation, and
//! starts when the previous step is complete. A mark records the step after which hosts are acknowledged.

use stripewise_base::Nanos;

use crate::dispatch::{Link, Queued};
use crate::geometry::Place;
use crate::ids::{NONE, PlanId};
use crate::operation::{Operation, Timing};
use crate::read::ReadPath;
use crate::row_locks::RowLock;
use crate::update::Decision;

/// The largest number of steps of a plan.
pub const STEPS_MAX: usize = 8;

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

/// One step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Operations `first..first + count` of the plan, all in parallel.
    Operations {
        /// First of the plan's operations.
        first: u16,
        /// Number of operations.
        count: u16,
    },
    /// A parity computation (or decoding) over this number of pages.
    Compute {
        /// The number of pages combined.
        pages: u16,
    },
    /// A wait until the redo journal durably has all content that the following steps write.
    Journal,
}

/// How a decoding read of the log verifies its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The decoded content must match the chunk's checksum.
    #[default]
    Result,
    /// It did not match: the summary is read, which has the checksums of the whole stripe.
    Asks,
    /// All columns that it decodes from must match their checksums too.
    Sources,
    /// Even those checksums did not lead to a matching result.
    Nothing,
}

/// A slot of the plan arena.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The row, or the first slot of the stripe.
    pub row: u64,
    /// The place of the row on the members.
    pub place: Place,
    /// What the plan is for.
    pub purpose: Purpose,
    /// Whether the plan is taken and not finished.
    pub is_under_way: bool,
    /// The row lock that it takes.
    pub lock: RowLock,
    /// The order in which plans took or awaited their row locks.
    pub turn: u64,
    /// For an update of parity that waits: the writes of its row that came before it and are not over.
    pub ahead: u32,
    /// Data columns that hosts read or write.
    pub wanted: u64,
    /// Of those written: the columns that are covered only in part.
    pub partial: u64,
    /// Columns that returned an error in this plan, besides those on failed members.
    pub lost: u64,
    /// In a resync: columns that returned an error once. In a plan that reads a summary: columns whose copies did.
    pub unread_once: u64,
    /// Columns that the steps do not use: those that were lost when the steps were built.
    pub missing: u64,
    /// Data columns that are written and that parity does not cover: memory has their new content.
    pub dirty: u64,
    /// Columns whose covered content is in memory: deferred ones, and those in the write cache.
    pub kept: u64,
    /// Of `wanted`: the columns that were written before the steps were built.
    pub written: u64,
    /// Columns whose members keep old versions for the writes of this plan.
    pub pinned: u64,
    /// Whether the plan writes data and defers its parity.
    pub defers: bool,
    /// For a chunk that is written in part: its stream.
    pub stream: u8,
    /// Columns that the plan writes from the write cache; 0 if hosts wait for its writes.
    pub carried: u64,
    /// Over zones: columns to which the plan's writes move pages.
    pub moves: u64,
    /// Over zones: data columns that the row's parity takes for zeros once the plan has ended.
    pub blank: u64,
    /// Whether the parity that the plan computes stays in persistent memory.
    pub keeps_parity: bool,
    /// For writes from the write cache: the unit with which they leave the cache.
    pub unit: u32,
    /// Whether the plan's data goes into the write cache, with the parity that it computes.
    pub absorbs: bool,
    /// Columns for which the cache has reserved room for the plan.
    pub reserved: u64,
    /// For a read: columns whose cached content it has recorded.
    pub overlaid: u64,
    /// For a read: how it gets its chunks.
    pub path: Path,
    /// The slot of the log for its deltas, or [`NONE`].
    pub delta: u32,
    /// Its reads of deltas: the first of them among its operations, and their number.
    pub delta_first: u16,
    /// The number of its reads of deltas.
    pub delta_reads: u16,
    /// Whether the plan ends without having done its work.
    pub gave_up: bool,
    /// The record of the redo journal with its changes, or 0.
    pub record: u64,
    /// The first record of the redo journal with deferred content of its row that it is to cover, or 0.
    pub covers: u64,
    /// Whether the plan read, without the row lock, content that does not match the row's checksums: a write may have
    /// intervened.
    pub doubts: bool,
    /// How decoded content is verified.
    pub trust: Trust,
    /// Whether the result of its computation requires its steps to be built again.
    pub build_again: bool,
    /// The routine of a parity update, and the reason.
    pub decision: Decision,
    /// Whether the decision was reported to the driver.
    pub told: bool,
    steps: [Step; STEPS_MAX],
    step_count: u8,
    /// The current step.
    pub current: u8,
    /// Hosts are acknowledged when this step is complete.
    pub ack_after: u8,
    /// Number of operations of the current step that have not completed.
    pub outstanding: u16,
    /// Number of operations in the plan's slice of the arena.
    pub operations: u16,
    /// Whether columns with errors were read again, because too much of the row seemed lost.
    pub looked_again: bool,
    /// Whether an operation of the current step failed.
    pub trouble: bool,
    /// Hosts to acknowledge: a list of [`Attachment`]s.
    pub first_request: u32,
    /// The number of the host request that it was created for, as in [`crate::Operation::request`].
    pub request: u32,
    /// The next plan that waits for the same row, or the next free plan.
    pub next: PlanId,
    /// The time when the plan got its row, or [`NOT_STARTED`].
    pub begun_at: Nanos,
    /// The time when the current step began, or when the plan began to wait for its row.
    pub step_begun_at: Nanos,
    /// Time of waiting for the row after the plan had begun: for a read that had to decode.
    pub rewait_ns: Nanos,
    /// The time breakdown of its pre-reads, for each step by the operation that ended it.
    pub pre_read: PreReadTimes,
    /// The time of its parity computations.
    pub parity_ns: Nanos,
    /// The operation that ended its last step of operations.
    pub last: LastOperation,
}

/// The time breakdown of a plan's pre-reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreReadTimes {
    /// All their time: waiting, transfers and cell time.
    pub all_ns: Nanos,
    /// Their transfers.
    pub bus_ns: Nanos,
    /// Their cell time.
    pub cell_ns: Nanos,
}

impl PreReadTimes {
    /// The last step of operations was not the last after all: others follow it.
    #[inline]
    pub fn add(&mut self, last: &LastOperation) {
        self.all_ns += last.step_ns;
        self.bus_ns += last.timing.bus_ns;
        self.cell_ns += last.timing.cell_ns;
    }
}

/// How a read gets its chunks: by choice without some members, or on two ways of which the faster counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// Counts the uses of this slot of the arena.
    pub life: u32,
    /// Whether the read path was chosen: it is chosen only once.
    pub is_chosen: bool,
    /// The columns that it decodes by choice, with the expected time of decoding and of the direct read.
    pub around: Option<ReadPath>,
    /// The state of its race, if it has one.
    pub race: Race,
    /// In a race: columns whose direct reads have completed.
    pub returned: u64,
    /// Columns that its second side decodes.
    pub hedged: u64,
    /// Columns that its second side does not read: those, and lost or slow ones.
    pub without: u64,
    /// The first operation of the second side, and the number of its operations.
    pub second_first: u16,
    /// The number of operations of the second side.
    pub second_count: u16,
    /// Number of operations of the two sides that have not completed.
    pub first_left: u16,
    /// The same for the second side.
    pub second_left: u16,
    /// Whether an operation of a side failed.
    pub is_first_spoilt: bool,
    /// The same for the second side.
    pub is_second_spoilt: bool,
    /// Whether the second side finished first.
    pub is_second_first: bool,
    /// The time when the second side began, and when it had read everything.
    pub second_at: Nanos,
    /// The time when the second side had read everything.
    pub second_read_at: Nanos,
    /// The time breakdown of its last operation.
    pub second_last: LastOperation,
}

/// State of the race of a hedged read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Race {
    /// There is no race.
    #[default]
    None,
    /// The second side starts if the direct read takes long.
    Armed,
    /// The other members are asked.
    Running,
    /// The second side is decoding.
    Computing,
    /// One side has won; the operations of the other are awaited.
    Decided,
}

impl Path {
    /// Columns that it decodes by choice.
    #[inline]
    pub fn avoided(&self) -> u64 {
        self.around.map_or(0, |way| way.avoided)
    }

    /// Whether operation `nth` of the plan belongs to the second side.
    #[inline]
    pub fn is_second(&self, nth: u32) -> bool {
        nth.wrapping_sub(self.second_first.into()) < u32::from(self.second_count)
    }
}

/// The time breakdown of the operation that ended the last step of operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastOperation {
    /// The time from the beginning of the step to the end of the operation.
    pub step_ns: Nanos,
    /// Its wait in the queue of its member.
    pub queue_ns: Nanos,
    /// The rest, as its member reports it.
    pub timing: Timing,
}

impl Plan {
    /// A free slot; `next` is the next free one.
    pub fn vacant(next: PlanId) -> Self {
        Self {
            row: 0,
            place: Place::default(),
            purpose: Purpose::Read,
            is_under_way: false,
            lock: RowLock::None,
            turn: 0,
            ahead: 0,
            wanted: 0,
            partial: 0,
            lost: 0,
            unread_once: 0,
            missing: 0,
            dirty: 0,
            kept: 0,
            written: 0,
            pinned: 0,
            defers: false,
            stream: 0,
            carried: 0,
            moves: 0,
            blank: 0,
            keeps_parity: false,
            unit: NONE,
            absorbs: false,
            reserved: 0,
            overlaid: 0,
            path: Path::default(),
            delta: NONE,
            delta_first: 0,
            delta_reads: 0,
            gave_up: false,
            record: 0,
            covers: 0,
            doubts: false,
            trust: Trust::Result,
            build_again: false,
            decision: Decision::default(),
            told: false,
            steps: [Step::Compute { pages: 0 }; STEPS_MAX],
            step_count: 0,
            current: 0,
            ack_after: 0,
            outstanding: 0,
            operations: 0,
            looked_again: false,
            trouble: false,
            first_request: NONE,
            request: 0,
            next,
            begun_at: 0,
            step_begun_at: 0,
            rewait_ns: 0,
            pre_read: PreReadTimes::default(),
            parity_ns: 0,
            last: LastOperation::default(),
        }
    }

    /// Clears all steps.
    #[inline]
    pub fn clear_steps(&mut self) {
        self.step_count = 0;
        self.ack_after = 0;
        self.current = 0;
        self.operations = 0;
        self.delta_reads = 0;
        self.trouble = false;
    }

    /// Appends `step`.
    #[inline]
    pub fn push_step(&mut self, step: Step) {
        self.steps[self.step_count as usize] = step;
        self.step_count += 1;
    }

    /// Adds the operation after the existing ones to the last step.
    #[inline]
    pub fn add_to_step(&mut self) {
        self.operations += 1;
        if let Step::Operations { count, .. } = &mut self.steps[self.step_count as usize - 1] {
            *count += 1;
        }
    }

    /// Removes the last step from the sequence of steps and returns its operations: first and count.
    pub fn take_step(&mut self) -> (u16, u16) {
        self.step_count -= 1;
        match self.steps[self.step_count as usize] {
            Step::Operations { first, count } => (first, count),
            Step::Compute { .. } | Step::Journal => (self.operations, 0),
        }
    }

    /// The current step; `None` at the end.
    #[inline]
    pub fn step(&self) -> Option<Step> {
        (self.current < self.step_count).then(|| self.steps[self.current as usize])
    }

    /// All steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps[..self.step_count as usize]
    }

    /// The steps that have begun.
    pub fn steps_begun(&self) -> &[Step] {
        &self.steps[..(self.current + 1).min(self.step_count) as usize]
    }

    /// Whether no step follows the current one.
    #[inline]
    pub fn is_at_last_step(&self) -> bool {
        self.current + 1 >= self.step_count
    }

    /// Whether content that does not match the row may be due to a concurrent write, because the plan has no row lock.
    #[inline]
    pub fn may_doubt(&self) -> bool {
        self.lock == RowLock::None && self.path.race <= Race::Armed
    }

    /// The plan no longer needs the checksums of its whole stripe.
    #[inline]
    pub fn end_asking(&mut self) {
        if self.trust == Trust::Asks {
            self.trust = Trust::Result;
        }
    }

    /// Drops the steps after the current one.
    pub fn end_here(&mut self) {
        self.step_count = self.current + 1;
        self.acknowledge_last();
    }

    /// Hosts that are not acknowledged yet are acknowledged after the last step.
    pub fn acknowledge_last(&mut self) {
        if self.current <= self.ack_after {
            self.ack_after = self.step_count - 1;
        }
    }

    /// Hosts are acknowledged after the step that was pushed last.
    #[inline]
    pub fn acknowledge_here(&mut self) {
        self.ack_after = self.step_count - 1;
    }
}

/// A slot of the operation arena.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// The operation.
    pub operation: Operation,
    /// Its place in the queue of its member.
    pub link: Link,
    /// The time when it entered that queue.
    pub queued_at: Nanos,
    /// The time when the operation was started; [`NOT_STARTED`] while it waits in its member's queue, [`OVER`] once it has
    /// completed.
    pub started_at: Nanos,
    /// The member's clock of garbage collection when the operation was queued; while the operation is in flight, the time that
    /// it waited for garbage collection in the queue.
    pub gc_ns: Nanos,
    /// Whether it stays in the queue until an earlier write of its page is over.
    pub is_held: bool,
}

/// Marks an operation that has not started.
pub const NOT_STARTED: Nanos = Nanos::MAX;

/// The mark of an operation that has completed.
pub const OVER: Nanos = Nanos::MAX - 1;

impl AsMut<Link> for Slot {
    #[inline]
    fn as_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl Queued for Slot {
    #[inline]
    fn page(&self) -> u32 {
        self.operation.page
    }
}

/// One host request that waits for one plan.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The slot of the request.
    pub request: u32,
    /// The next attachment of the plan, or [`NONE`].
    pub next: u32,
}

/// A plan as observers and `stripewise explain` see it.
#[derive(Clone, Copy, Debug)]
pub struct PlanView<'a> {
    /// The plan's slot in the arena.
    pub id: PlanId,
    /// The plan's row; under the elastic placement, the first slot of its stripe.
    pub row: u64,
    /// Its purpose.
    pub purpose: Purpose,
    /// Its row lock.
    pub lock: RowLock,
    /// Data columns read or written for hosts.
    pub wanted: u64,
    /// Data columns that are written, that parity does not cover, and that this plan makes it cover.
    pub dirty: u64,
    /// Columns that cannot be used.
    pub lost: u64,
    /// Columns that are decoded although they could be read, because their members are expected to take longer.
    pub around: u64,
    /// The expected time of the read without them, and of the direct read, in ns.
    pub around_ns: (Nanos, Nanos),
    /// In a hedged read whose other members are asked: the columns that those replace.
    pub hedged: u64,
    /// The routine of a parity update, and the reason.
    pub decision: Decision,
    /// Whether the plan works on a stripe of the log of the elastic placement.
    pub is_stripe: bool,
    /// Whether the plan destages content of the write cache, for which no host waits.
    pub destages: bool,
    /// Whether the plan's data goes into the write cache, with the parity that it computes.
    pub absorbs: bool,
    /// The step after which hosts are acknowledged.
    pub ack_after: u8,
    steps: &'a [Step],
    second: Step,
    slots: &'a [Slot],
}

impl<'a> PlanView<'a> {
    /// The view of `plan`, whose operations are `slots`.
    pub fn new(id: PlanId, plan: &'a Plan, slots: &'a [Slot], is_stripe: bool) -> Self {
        Self {
            id,
            row: plan.row,
            purpose: plan.purpose,
            lock: plan.lock,
            wanted: plan.wanted,
            dirty: plan.dirty,
            lost: plan.missing & !plan.path.avoided(),
            around: plan.path.avoided(),
            around_ns: plan.path.around.map_or((0, 0), |way| (way.cost, way.direct)),
            hedged: plan.path.hedged,
            decision: plan.decision,
            is_stripe,
            destages: plan.carried != 0,
            absorbs: plan.absorbs,
            ack_after: plan.ack_after,
            steps: &plan.steps[..plan.step_count as usize],
            second: Step::Operations { first: plan.path.second_first, count: plan.path.second_count },
            slots,
        }
    }

    /// The steps in order.
    pub fn steps(&self) -> &'a [Step] {
        self.steps
    }

    /// The reads of a hedged read that run beside its step; none unless other members are asked.
    pub fn beside(&self) -> impl Iterator<Item = Operation> + 'a {
        self.operations(self.second)
    }

    /// The operations of a step; none for a computation.
    pub fn operations(&self, step: Step) -> impl Iterator<Item = Operation> + 'a {
        let range = match step {
            Step::Operations { first, count } => first as usize..(first + count) as usize,
            Step::Compute { .. } | Step::Journal => 0..0,
        };
        self.slots[range].iter().map(|slot| slot.operation)
    }
}
