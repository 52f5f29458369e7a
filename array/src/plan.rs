//! Plans: what the controller does with one row for one or more host requests.
//!
//! A plan is at most [`STEPS_MAX`] steps in a reused arena. A step is a slice of operations, or a parity computation,
//! and starts when the one before it is complete. One mark says after which step hosts are acknowledged.

use stripewise_base::Nanos;

use crate::dispatch::Link;
use crate::geometry::Place;
use crate::ids::NONE;
use crate::operation::{Operation, Timing};
use crate::read::Way;
use crate::row_locks::RowLock;
use crate::update::Decision;

/// The most steps of a plan.
pub const STEPS_MAX: usize = 8;

/// What a plan is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Reading chunks of a row.
    #[default]
    Read,
    /// Updating chunks of a row, parity included or left late.
    Write,
    /// Updating the late parity of a row, or committing its deltas.
    Parity,
    /// Telling members that a row is unused.
    Trim,
    /// Telling members that a row of a free segment of the log is unused.
    Discard,
    /// Making completed writes durable on all members.
    Flush,
    /// Writing a stripe of chunks from controller memory to the log.
    Append,
    /// Writing a page from the write cache that parity covers already.
    Destage,
    /// Reading a chunk of the log of which a part is written.
    Merge,
    /// Reading chunks of a segment that is collected.
    Collect,
    /// Making the parity of a row that of its data after a loss of power.
    Resync,
    /// Making what a stripe of the log, or a row, has on a member that is being rebuilt.
    Rebuild,
    /// Writing a copy of a summary anew, from another.
    RepairSummary,
    /// Reading a summary of the log, during a walk over its segments.
    ReadSummary,
    /// Reading a whole stripe of the log, and moving it if a part of it is bad; or a row, and repairing it.
    Scrub,
    /// Writing the summary of a batch of stripes of the log.
    Summary,
    /// Writing metadata, or flushing, to make the log durable.
    Commit,
    /// Doing once more what a loss of power interrupted, from persistent memory.
    Redo,
    /// Writing a record of the redo journal.
    JournalWrite,
    /// Freeing records of the redo journal.
    JournalReclaim,
    /// Writing superblocks that tell of a member of an array in place.
    WriteSuperblocks,
    /// Reading a copy of metadata, to scrub it.
    Inspect,
}

/// One step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Operations `first..first + count` of the plan, all at once.
    Operations {
        /// First of the plan's operations.
        first: u16,
        /// How many.
        count: u16,
    },
    /// A parity computation (or decoding) over so many pages.
    Compute {
        /// Pages combined.
        pages: u16,
    },
    /// A wait until the redo journal has, for good, all that the steps behind it write.
    Journal,
}

/// What a read of the log goes by that decodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// What it decodes has to have the chunk's checksum.
    #[default]
    Result,
    /// That was not so: the summary is read, which tells the checksums of the whole stripe.
    Asks,
    /// All that it decodes from has to have its checksum too.
    Sources,
    /// Even that did not help.
    Nothing,
}

/// A slot of the plan arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) row: u64,
    pub(crate) place: Place,
    pub(crate) purpose: Purpose,
    /// Whether it is taken, and not finished.
    pub(crate) is_under_way: bool,
    pub(crate) lock: RowLock,
    /// Data members that hosts read or write.
    pub(crate) wanted: u64,
    /// Of those written: the ones that are covered only in part.
    pub(crate) partial: u64,
    /// Members that gave an error in this plan, beside those on failed members.
    pub(crate) lost: u64,
    /// Of a resync: members that gave an error once; of who reads a summary, those whose copies did.
    pub(crate) unread_once: u64,
    /// Members that the steps do without: those that were lost when the steps were made.
    pub(crate) missing: u64,
    /// Data members that parity does not cover though they are written: of them memory has the new content.
    pub(crate) dirty: u64,
    /// Members of which memory has the content that parity covers: late ones, and what the write cache has.
    pub(crate) kept: u64,
    /// Of `wanted`: the ones that were written before the steps were made.
    pub(crate) written: u64,
    /// Members whose old versions its writes have their members keep.
    pub(crate) pinned: u64,
    /// Whether it writes data and leaves parity late.
    pub(crate) defers: bool,
    /// Of a chunk that is written in part: the stream that it belongs to.
    pub(crate) stream: u8,
    /// Members that it writes from the write cache; 0 if hosts wait for what it writes.
    pub(crate) carried: u64,
    /// Over zones: members that pages move to by what it writes.
    pub(crate) moves: u64,
    /// Of those: what they leave the cache together with.
    pub(crate) unit: u32,
    /// Whether what it writes goes into the write cache, with the parity that it makes.
    pub(crate) absorbs: bool,
    /// Members that the cache has promised it room for.
    pub(crate) reserved: u64,
    /// Of a read: members of which it has noted what the write cache has.
    pub(crate) overlaid: u64,
    /// Of a read: how it gets at its chunks.
    pub(crate) path: Path,
    /// The slot of the log that its deltas go to, or [`NONE`].
    pub(crate) delta: u32,
    /// Its reads of deltas: the first of them among its operations, and how many there are.
    pub(crate) delta_first: u16,
    pub(crate) delta_reads: u16,
    /// Whether it ends without having done its work.
    pub(crate) gave_up: bool,
    /// The record of the redo journal that has what it writes, or 0.
    pub(crate) record: u64,
    /// The first record of the redo journal with what was late of its row and it is to cover, or 0.
    pub(crate) covers: u64,
    /// Whether it read, without holding its row, what is not the row's content by its checksum: a write may have come between.
    pub(crate) doubts: bool,
    pub(crate) trust: Trust,
    /// Whether what it computed shows that its steps must be made anew.
    pub(crate) anew: bool,
    pub(crate) decision: Decision,
    /// Whether the driver was told of the decision.
    pub(crate) told: bool,
    steps: [Step; STEPS_MAX],
    step_count: u8,
    pub(crate) current: u8,
    /// Hosts are acknowledged when this step is complete.
    pub(crate) ack_after: u8,
    /// Operations of the current step that are not back yet.
    pub(crate) outstanding: u16,
    /// Operations in the plan's slice of the arena.
    pub(crate) operations: u16,
    /// Whether it read anew what had given errors, because too much of the row seemed lost.
    pub(crate) looked_again: bool,
    /// Whether an operation of the current step failed.
    pub(crate) trouble: bool,
    /// Hosts to acknowledge: a list of [`Attachment`]s.
    pub(crate) first_request: u32,
    /// The number of the host request that it was made for, as [`crate::Operation::request`] has it.
    pub(crate) request: u32,
    /// Next plan that waits for the same row, or next free plan.
    pub(crate) next: u32,
    pub(crate) begun_at: Nanos,
    /// When the current step began, or when the plan began to wait for its row.
    pub(crate) step_begun_at: Nanos,
    /// Waiting for the row after it had begun: a read that found it must decode.
    pub(crate) rewait_ns: Nanos,
    /// Where the time of its pre-reads went, each step's by the operation that ended it.
    pub(crate) pre_read: PreReadTimes,
    pub(crate) parity_ns: Nanos,
    pub(crate) last: LastOperation,
}

/// Where the time of a plan's pre-reads went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PreReadTimes {
    pub(crate) all_ns: Nanos,
    pub(crate) bus_ns: Nanos,
    pub(crate) cell_ns: Nanos,
}

impl PreReadTimes {
    /// What was the last step of operations was not the last after all: others follow it.
    #[inline]
    pub(crate) fn add(&mut self, last: &LastOperation) {
        self.all_ns += last.step_ns;
        self.bus_ns += last.timing.bus_ns;
        self.cell_ns += last.timing.cell_ns;
    }
}

/// How a read gets at its chunks: by choice around some members, or by two ways of which the faster counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    /// Counts the uses of this slot of the arena.
    pub(crate) life: u32,
    /// Whether its way was chosen: only once.
    pub(crate) is_chosen: bool,
    /// Members that it decodes by choice, what that is expected to take, and what the direct way would.
    pub(crate) around: Option<Way>,
    pub(crate) race: Race,
    /// Of a race: members whose direct reads are back.
    pub(crate) returned: u64,
    /// Members that its second side decodes.
    pub(crate) hedged: u64,
    /// Members that its second side does without: those, and what is lost or slow.
    pub(crate) without: u64,
    /// The first operation of the second side, and how many it has.
    pub(crate) second_first: u16,
    pub(crate) second_count: u16,
    /// Operations of the two sides that are not back.
    pub(crate) first_left: u16,
    pub(crate) second_left: u16,
    /// Whether an operation of a side failed.
    pub(crate) is_first_spoilt: bool,
    pub(crate) is_second_spoilt: bool,
    /// Whether the second side was first.
    pub(crate) is_second_first: bool,
    /// When the second side began, and when it had read everything.
    pub(crate) second_at: Nanos,
    pub(crate) second_read_at: Nanos,
    /// Where the time of its last operation went.
    pub(crate) second_last: LastOperation,
}

/// Where the race of a hedged read stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Race {
    /// There is none.
    #[default]
    None,
    /// The other members are asked if the direct read takes long.
    Armed,
    /// They are asked.
    Running,
    /// Their content is decoded.
    Computing,
    /// One side has won; the other's operations are awaited.
    Decided,
}

impl Path {
    /// Members that it decodes by choice.
    #[inline]
    pub(crate) fn avoided(&self) -> u64 {
        self.around.map_or(0, |way| way.avoided)
    }

    /// Whether operation `nth` of the plan belongs to the second side.
    #[inline]
    pub(crate) fn is_second(&self, nth: u32) -> bool {
        nth.wrapping_sub(self.second_first.into()) < u32::from(self.second_count)
    }
}

/// Where the time of the operation went that ended the last step of operations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastOperation {
    pub(crate) step_ns: Nanos,
    pub(crate) queue_ns: Nanos,
    pub(crate) timing: Timing,
}

impl Plan {
    pub(crate) fn vacant(next: u32) -> Self {
        Self {
            row: 0,
            place: Place::default(),
            purpose: Purpose::Read,
            is_under_way: false,
            lock: RowLock::None,
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
            anew: false,
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

    /// Forgets all steps.
    #[inline]
    pub(crate) fn clear_steps(&mut self) {
        self.step_count = 0;
        self.ack_after = 0;
        self.current = 0;
        self.operations = 0;
        self.delta_reads = 0;
        self.trouble = false;
    }

    #[inline]
    pub(crate) fn push_step(&mut self, step: Step) {
        self.steps[self.step_count as usize] = step;
        self.step_count += 1;
    }

    /// The operation behind those that it has belongs to its last step.
    #[inline]
    pub(crate) fn add_to_step(&mut self) {
        self.operations += 1;
        if let Step::Operations { count, .. } = &mut self.steps[self.step_count as usize - 1] {
            *count += 1;
        }
    }

    /// Takes the operations of the last step out of the order of steps: first and count.
    pub(crate) fn take_step(&mut self) -> (u16, u16) {
        self.step_count -= 1;
        match self.steps[self.step_count as usize] {
            Step::Operations { first, count } => (first, count),
            Step::Compute { .. } | Step::Journal => (self.operations, 0),
        }
    }

    #[inline]
    pub(crate) fn step(&self) -> Option<Step> {
        (self.current < self.step_count).then(|| self.steps[self.current as usize])
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps[..self.step_count as usize]
    }

    /// The steps that were begun.
    pub(crate) fn steps_begun(&self) -> &[Step] {
        &self.steps[..(self.current + 1).min(self.step_count) as usize]
    }

    /// Whether no step follows the current one.
    #[inline]
    pub(crate) fn is_at_last_step(&self) -> bool {
        self.current + 1 >= self.step_count
    }

    /// Whether a read of what is not its row's content may have met a write, because nothing holds the row.
    #[inline]
    pub(crate) fn may_doubt(&self) -> bool {
        self.lock == RowLock::None && self.path.race <= Race::Armed
    }

    /// It need not know the checksums of its whole stripe.
    #[inline]
    pub(crate) fn end_asking(&mut self) {
        if self.trust == Trust::Asks {
            self.trust = Trust::Result;
        }
    }

    /// The steps behind the current one are not done.
    pub(crate) fn end_here(&mut self) {
        self.step_count = self.current + 1;
        self.acknowledge_last();
    }

    /// Hosts that are not acknowledged yet are so after the last step.
    pub(crate) fn acknowledge_last(&mut self) {
        if self.current <= self.ack_after {
            self.ack_after = self.step_count - 1;
        }
    }

    /// Hosts are acknowledged after the step that was pushed last.
    #[inline]
    pub(crate) fn acknowledge_here(&mut self) {
        self.ack_after = self.step_count - 1;
    }
}

/// A slot of the operation arena.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) operation: Operation,
    pub(crate) link: Link,
    pub(crate) queued_at: Nanos,
    /// When it was started; [`NOT_STARTED`] while it waits in its member's queue, [`OVER`] once it is back.
    pub(crate) started_at: Nanos,
    /// The member's clock of garbage collection when the operation was queued; while in flight, the wait for
    /// garbage collection that it had in the queue.
    pub(crate) gc_ns: Nanos,
}

/// The mark of an operation that was not started.
pub(crate) const NOT_STARTED: Nanos = Nanos::MAX;

/// The mark of an operation that is over.
pub(crate) const OVER: Nanos = Nanos::MAX - 1;

impl AsMut<Link> for Slot {
    #[inline]
    fn as_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// One host request that waits for one plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attachment {
    pub(crate) request: u32,
    pub(crate) next: u32,
}

/// A plan as observers and `stripewise explain` see it.
#[derive(Clone, Copy, Debug)]
pub struct PlanView<'a> {
    /// The plan's slot in the arena.
    pub id: u32,
    /// Its row; under the elastic placement the first slot of its stripe.
    pub row: u64,
    /// What it is for.
    pub purpose: Purpose,
    /// How it holds its row.
    pub lock: RowLock,
    /// Data members read or written for hosts.
    pub wanted: u64,
    /// Data members that parity does not cover though they are written, and that this plan makes it cover.
    pub dirty: u64,
    /// Members that cannot be used.
    pub lost: u64,
    /// Members that could be read and are decoded, because their members are expected to take longer.
    pub around: u64,
    /// What the way around them is expected to take, and what the direct one would, in ns.
    pub around_ns: (Nanos, Nanos),
    /// Of a hedged read whose other members are asked: the members that those stand in for.
    pub hedged: u64,
    /// The routine of a parity update, and why.
    pub decision: Decision,
    /// Whether it is about a stripe of the log of the elastic placement.
    pub is_stripe: bool,
    /// Whether it writes what the write cache had, for which no host waits.
    pub destages: bool,
    /// Whether what it writes goes into the write cache, with the parity that it makes.
    pub absorbs: bool,
    /// The step after which hosts are acknowledged.
    pub ack_after: u8,
    steps: &'a [Step],
    second: Step,
    slots: &'a [Slot],
}

impl<'a> PlanView<'a> {
    pub(crate) fn new(id: u32, plan: &'a Plan, slots: &'a [Slot], is_stripe: bool) -> Self {
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

    /// The reads of a hedged read that run beside its step; none while other members are not asked.
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
