//! The executor: takes requests, runs plans, and owns what they need: buffers, row locks, and the queues of members. Where
//! content lies is the business of a [`Placement`].

pub(crate) mod bytes;
pub(crate) mod completion;
pub(crate) mod coordinating;
pub(crate) mod getters;
pub(crate) mod hedge;
pub(crate) mod internal;
pub(crate) mod metadata_pieces;
pub(crate) mod metadata_scrub;
pub(crate) mod operations;
pub(crate) mod placement;
pub(crate) mod planted;
pub(crate) mod poll;
pub(crate) mod reads;
pub(crate) mod redirect;
pub(crate) mod rejoin;
pub(crate) mod run;
pub(crate) mod scheduler;
pub(crate) mod slow;
pub(crate) mod split;
pub(crate) mod throttle;

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_code::Code;

use crate::coordination::Coordination;
use crate::dispatch::{Earliest, MemberSet, Piq, Queues, SyncFifo};
use crate::driver::{Acknowledgement, Admission, Driver};
use crate::geometry::Geometry;
use crate::ids::NONE;
use crate::loads::Loads;
use crate::memory::{Memory, PageId};
use crate::operation::{OperationId, OperationKind};
use crate::placement::PartialWrites;
use crate::plan::{Attachment, Plan, Slot};
use crate::read::Reads;
use crate::request::{HostRequest, RequestKind, RequestSlot, SECTOR_BYTES, SubmitError};
use crate::row_locks::RowLocks;
use crate::scheme::{Members, Scheme};
use crate::times::CellTimes;
use internal::Internal;
use slow::Slow;

pub(crate) use placement::{AfterErrors, Placement, TooManyLost};
pub(crate) use reads::Built;
pub(crate) use scheduler::Split;

/// Executes plans.
pub(crate) struct Executor<M: Memory> {
    pub(crate) scheme: Scheme,
    pub(crate) geometry: Geometry,
    /// Absent without parity.
    pub(crate) code: Option<Code>,
    pub(crate) members: Members,
    pub(crate) capacity: u64,
    /// A mask with a bit for each sector of a page.
    pub(crate) whole_page: u64,
    pub(crate) memory: M,
    pub(crate) now: Nanos,
    pub(crate) requests: Vec<RequestSlot>,
    pub(crate) payloads: Vec<Option<M::Host>>,
    pub(crate) free_request: u32,
    /// The number of the last request.
    pub(crate) last_number: u32,
    /// Requests not yet wholly split into plans, in order of arrival; under PIQ only flushes that continue.
    pub(crate) pending: VecDeque<u32>,
    pub(crate) sync_fifo: Option<SyncFifo>,
    pub(crate) piq: Option<Piq>,
    /// The waiting requests, by member; only where some may wait for room or for others.
    pub(crate) earliest: Option<Earliest>,
    /// The request that is being split, or [`NONE`].
    pub(crate) splitting: u32,
    /// Number of operations queued and in flight at a member at which no new plan is issued to the member.
    pub(crate) queue_limit: u32,
    /// Members that were above the limit and are below it now.
    pub(crate) freed: MemberSet,
    /// Requests that end in controller memory, in order of acknowledgement, each with the breakdown of its time.
    pub(crate) buffered: VecDeque<(u32, Acknowledgement)>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) free_plan: u32,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) free_attachment: u32,
    /// Operations of all plans: `stride` slots a plan.
    pub(crate) slots: Vec<Slot>,
    pub(crate) stride: u32,
    /// Page buffers of all plans, `buffers_each` a plan: for each column one of new content, then for each one of old content,
    /// then one for each delta that the plan may read.
    pub(crate) buffers: Vec<PageId>,
    pub(crate) buffers_each: u32,
    /// Sectors that a plan's write covers, for each data column.
    pub(crate) covers: Vec<u64>,
    pub(crate) row_locks: RowLocks,
    pub(crate) queues: Queues,
    pub(crate) loads: Loads,
    pub(crate) times: CellTimes,
    /// Whether the update policy asks for [`Self::times`].
    pub(crate) asks_times: bool,
    /// Plans that got their row lock and have yet to continue.
    pub(crate) woken: VecDeque<u32>,
    pub(crate) failed: Vec<bool>,
    pub(crate) any_failed: bool,
    pub(crate) slow: Slow,
    /// Whether nothing is written to members, regardless of their content.
    pub(crate) read_only: bool,
    pub(crate) reads: Reads,
    pub(crate) coordination: Option<Coordination>,
    /// Number of requests submitted and not acknowledged, and the time of the last submission or acknowledgement.
    /// The controller's own request, which has the slot after those of hosts, and a buffer for its bytes while it has none.
    pub(crate) internal: Internal,
    pub(crate) spare_payload: Option<M::Host>,
    pub(crate) metadata: metadata_scrub::MetadataScrub,
    /// Pages that rebuild and scrub may read and write, less those that they took beyond the allowance; `None` without a
    /// limit.
    pub(crate) allowance: Option<i64>,
    pub(crate) under_way: u32,
    pub(crate) last_active: Nanos,
    #[cfg(debug_assertions)]
    pub(crate) bug: Option<crate::bugs::Bug>,
}

impl<M: Memory> Executor<M> {
    /// The page that holds a byte.
    #[inline]
    pub(crate) fn page_of(&self, byte: u64) -> u64 {
        byte >> self.members.page_bytes.trailing_zeros()
    }

    /// The offset of a byte within its page.
    #[inline]
    pub(crate) fn bytes_into_page(&self, byte: u64) -> u64 {
        byte & u64::from(self.members.page_bytes - 1)
    }

    /// See [`crate::Array::plan_of`].
    pub(crate) fn plan_of(&self, id: OperationId) -> u32 {
        id / self.stride
    }

    /// Whether a write that covers only part of a page is treated as a write of the whole page.
    pub(crate) fn rounds_up(&self) -> bool {
        self.scheme.placement.partial_writes == PartialWrites::RoundUp
    }

    #[inline]
    pub(crate) fn advance(&mut self, now: Nanos) {
        debug_assert!(now >= self.now, "time runs forward: {now} after {}", self.now);
        self.now = now;
    }
}

impl<M: Memory> Executor<M> {
    pub(crate) fn check<P: Placement<M>>(
        &self,
        host: &HostRequest,
        placement: &P,
    ) -> Result<(), SubmitError> {
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

    pub(crate) fn dispatch_level<P: Placement<M>, D: Driver<M>>(
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
