//! The executor: takes requests, runs plans, and owns what they need: buffers, row locks, and the queues of members. Where
//! content lies is the business of a [`Placement`].

pub mod bytes;
pub(crate) mod completion;
mod controller;
pub(crate) mod coordinating;
mod events;
pub mod getters;
pub(crate) mod hedge;
pub mod internal;
pub mod metadata_pieces;
pub mod metadata_scrub;
mod new;
pub mod operations;
pub mod placement;
pub(crate) mod planted;
pub mod poll;
pub mod reads;
pub mod redirect;
pub mod rejoin;
mod rows;
pub mod run;
pub(crate) mod scheduler;
pub mod slow;
pub mod split;
pub mod throttle;

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_code::Code;
use stripewise_core::coordination::Coordination;
use stripewise_core::dispatch::{Earliest, MemberSet, Piq, Queues, SyncFifo};
use stripewise_core::driver::{Acknowledgement, Admission, Driver};
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::NONE;
use stripewise_core::loads::Loads;
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::{OperationId, OperationKind};
use stripewise_core::placement::PartialWrites;
use stripewise_core::plan::{Attachment, Plan, Slot};
use stripewise_core::read::Reads;
use stripewise_core::request::{HostRequest, RequestKind, RequestSlot, SECTOR_BYTES, SubmitError};
use stripewise_core::row_locks::RowLocks;
use stripewise_core::scheme::{Members, Scheme};
use stripewise_core::times::CellTimes;

use internal::Internal;
use slow::Slow;

pub use controller::{ArrayOf, Controller};
pub use new::Sizes;
pub use placement::{AfterErrors, Placement, TooManyLost};
pub use reads::Built;
pub use scheduler::Split;

/// Executes plans.
pub struct Executor<M: Memory> {
    /// The policies of the run.
    pub scheme: Scheme,
    /// The places of rows on the members.
    pub geometry: Geometry,
    /// Absent without parity.
    pub code: Option<Code>,
    /// What is known about the members.
    pub members: Members,
    /// Bytes that hosts can address.
    pub capacity: u64,
    /// A mask with a bit for each sector of a page.
    pub whole_page: u64,
    /// Controller memory.
    pub memory: M,
    /// The time of the last event.
    pub now: Nanos,
    /// The host requests, and after them the slot of the controller's own.
    pub requests: Vec<RequestSlot>,
    /// The payload of each request that is in progress.
    pub payloads: Vec<Option<M::Host>>,
    /// The first free slot of `requests`, or [`NONE`].
    pub free_request: u32,
    /// The number of the last request.
    pub last_number: u32,
    /// Requests not yet wholly split into plans, in order of arrival; under PIQ only flushes that continue.
    pub pending: VecDeque<u32>,
    /// The waiting requests under Sync-FIFO.
    pub sync_fifo: Option<SyncFifo>,
    /// The waiting requests under PIQ.
    pub piq: Option<Piq>,
    /// The waiting requests, by member; only where some may wait for room or for others.
    pub earliest: Option<Earliest>,
    /// The request that is being split, or [`NONE`].
    pub splitting: u32,
    /// Number of operations queued and in flight at a member at which no new plan is issued to the member.
    pub queue_limit: u32,
    /// Members that were above the limit and are below it now.
    pub freed: MemberSet,
    /// Requests that end in controller memory, in order of acknowledgement, each with the breakdown of its time.
    pub buffered: VecDeque<(u32, Acknowledgement)>,
    /// The plans of hosts, and after them those that the placement owns.
    pub plans: Vec<Plan>,
    /// The first free slot of `plans`, or [`NONE`].
    pub free_plan: u32,
    /// The requests that wait for plans.
    pub attachments: Vec<Attachment>,
    /// The first free slot of `attachments`, or [`NONE`].
    pub free_attachment: u32,
    /// Operations of all plans: `stride` slots a plan.
    pub slots: Vec<Slot>,
    /// Operations of a plan.
    pub stride: u32,
    /// Page buffers of all plans, `buffers_each` a plan: for each column one of new content, then for each one of old content,
    /// then one for each delta that the plan may read.
    pub buffers: Vec<PageId>,
    /// Page buffers of a plan.
    pub buffers_each: u32,
    /// Sectors that a plan's write covers, for each data column.
    pub covers: Vec<u64>,
    /// The locks of rows in use.
    pub row_locks: RowLocks,
    /// The operations that wait for members.
    pub queues: Queues,
    /// Operations queued and in flight.
    pub loads: Loads,
    /// The cell times of members, as observed.
    pub times: CellTimes,
    /// Whether the update policy asks for [`Self::times`].
    pub asks_times: bool,
    /// Plans that got their row lock and have yet to continue.
    pub woken: VecDeque<u32>,
    /// For each member whether it is out of service.
    pub failed: Vec<bool>,
    /// Whether any member is out of service.
    pub any_failed: bool,
    /// The members that are slow now.
    pub slow: Slow,
    /// Whether nothing is written to members, regardless of their content.
    pub read_only: bool,
    /// State of the read policy.
    pub reads: Reads,
    /// State of the coordination of garbage collection.
    pub coordination: Option<Coordination>,
    /// The controller's own request, which has the slot after those of hosts.
    pub internal: Internal,
    /// A payload for the controller's own request, while it has none.
    pub spare_payload: Option<M::Host>,
    /// The scrub of metadata.
    pub metadata: metadata_scrub::MetadataScrub,
    /// Pages that rebuild and scrub may read and write, less those that they took beyond the allowance; `None` without a
    /// limit.
    pub allowance: Option<i64>,
    /// Number of requests submitted and not acknowledged.
    pub under_way: u32,
    /// The time of the last submission or acknowledgement.
    pub last_active: Nanos,
    /// The bug that a test planted.
    #[cfg(debug_assertions)]
    pub bug: Option<stripewise_core::bugs::Bug>,
}

impl<M: Memory> Executor<M> {
    /// The page that holds a byte.
    #[inline]
    pub fn page_of(&self, byte: u64) -> u64 {
        byte >> self.members.page_bytes.trailing_zeros()
    }

    /// The offset of a byte within its page.
    #[inline]
    pub fn bytes_into_page(&self, byte: u64) -> u64 {
        byte & u64::from(self.members.page_bytes - 1)
    }

    /// The plan of operation `id`.
    pub fn plan_of(&self, id: OperationId) -> u32 {
        id / self.stride
    }

    /// Whether a write that covers only part of a page is treated as a write of the whole page.
    pub fn rounds_up(&self) -> bool {
        self.scheme.placement.partial_writes == PartialWrites::RoundUp
    }

    /// Sets the clock; time never runs backward.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        debug_assert!(now >= self.now, "time runs forward: {now} after {}", self.now);
        self.now = now;
    }
}

impl<M: Memory> Executor<M> {
    /// Whether the array accepts `host`.
    ///
    /// # Errors
    /// The defect of the request.
    pub fn check<P: Placement<M>>(&self, host: &HostRequest, placement: &P) -> Result<(), SubmitError> {
        if host.kind == RequestKind::Flush {
            return Ok(());
        }
        if self.read_only && host.kind != RequestKind::Read {
            return Err(SubmitError::ReadOnly);
        }
        if host.kind != RequestKind::Read && placement.refuses_changes() {
            return Err(SubmitError::EpochOver);
        }
        let sector = u64::from(SECTOR_BYTES);
        let whole = host.offset.is_multiple_of(sector) && u64::from(host.bytes).is_multiple_of(sector);
        if host.bytes == 0 || (M::CARRIES_DATA && !whole) {
            return Err(SubmitError::Shape);
        }
        match host.offset.checked_add(u64::from(host.bytes)) {
            Some(end) if end <= self.capacity => Ok(()),
            _ => Err(SubmitError::OutOfRange { capacity: self.capacity }),
        }
    }

    /// Offers the queued operations of one level to `member`, until it takes no more.
    pub fn dispatch_level<P: Placement<M>, D: Driver<M>>(
        &mut self,
        member: u16,
        level: usize,
        placement: &mut P,
        driver: &mut D,
    ) {
        let (mut before, mut id) = self.queues.next_offer(member, level, &mut self.slots);
        let mut refused = 0;
        let mut closed = false;
        while id != NONE && !closed {
            let slot = &mut self.slots[id as usize];
            let next = slot.link.next;
            match driver.admits(&slot.operation) {
                Admission::Admitted => {
                    slot.gc_ns = driver.gc_clock(member) - slot.gc_ns;
                    slot.started_at = self.now;
                    let operation = slot.operation;
                    if self.reads.observes {
                        let is_read = operation.kind == OperationKind::Read;
                        self.reads.observed.started(self.now, member, is_read);
                    }
                    self.queues.take(member, level, before, id, &mut self.slots);
                    let page = self.buffer_of(id, placement);
                    driver.start(id, &operation, page, &mut self.memory);
                }
                Admission::Refused => {
                    refused += 1;
                    closed = refused == self.scheme.dispatch.lookahead;
                    before = id;
                }
                Admission::Closed => {
                    // Where reads and writes share a list, one kind does not close the list for the other.
                    closed = !self.queues.is_mixed();
                    before = id;
                }
            }
            id = next;
        }
        if before != NONE {
            self.queues.refused(member, level, before, closed);
        }
    }
}
