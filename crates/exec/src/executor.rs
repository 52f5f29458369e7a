//! The state of the executor.

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_code::Code;
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::{PlanId, RequestId};
use stripewise_core::loads::Loads;
use stripewise_core::members::Members;
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::OperationId;
use stripewise_core::times::CellTimes;
use stripewise_format::FailReason;
use stripewise_policy::coordination::Coordination;
use stripewise_policy::custom::{ChooseRead, RankOperation};
use stripewise_policy::dispatch::{Earliest, MemberSet, Piq, Queues, SyncFifo};
use stripewise_policy::read::Reads;
use stripewise_scheme::Scheme;
use stripewise_scheme::placement::PartialWrites;

use crate::attachments::Attachments;
use crate::driver::Acknowledgement;
use crate::internal::Internal;
use crate::metadata_walk::MetadataScrub;
use crate::plan::Slot;
use crate::plans::Plans;
use crate::requests::Requests;
use crate::row_locks::RowLocks;
use crate::slow::Slow;

/// Executes plans.
pub struct Executor<M: Memory> {
    /// The policies of the run.
    pub(crate) scheme: Scheme,
    /// The places of rows on the members.
    pub(crate) geometry: Geometry,
    /// Absent without parity.
    pub(crate) code: Option<Code>,
    /// What is known about the members.
    pub(crate) members: Members,
    /// Bytes that hosts can address.
    pub(crate) capacity: u64,
    /// A mask with a bit for each sector of a page.
    pub(crate) whole_page: u64,
    /// Controller memory.
    pub(crate) memory: M,
    /// The time of the last event.
    pub(crate) now: Nanos,
    /// The host requests, and after them the slot of the controller's own.
    pub(crate) requests: Requests,
    /// The payload of each request that is in progress.
    pub(crate) payloads: Vec<Option<M::Host>>,
    /// The number of the last request.
    pub(crate) last_number: u32,
    /// Requests not yet wholly split into plans, in order of arrival; under PIQ only flushes that continue.
    pub(crate) pending: VecDeque<RequestId>,
    /// Requests that wait for a page, in order of arrival: others may pass them.
    pub(crate) set_aside: VecDeque<RequestId>,
    /// The waiting requests under Sync-FIFO.
    pub(crate) sync_fifo: Option<SyncFifo>,
    /// The waiting requests under PIQ.
    pub(crate) piq: Option<Piq>,
    /// The waiting requests, by member; only where some may wait for room or for others.
    pub(crate) earliest: Option<Earliest>,
    /// The request that is being split, or [`RequestId::NONE`].
    pub(crate) splitting: RequestId,
    /// Number of operations queued and in flight at a member at which no new plan is issued to the member.
    pub(crate) queue_limit: u32,
    /// Members that were above the limit and are below it now.
    pub(crate) freed: MemberSet,
    /// Requests that end in controller memory, in order of acknowledgement, each with the breakdown of its time.
    pub(crate) buffered: VecDeque<(RequestId, Acknowledgement)>,
    /// The plans of hosts, and after them those that the placement owns.
    pub(crate) plans: Plans,
    /// The first free slot of `plans`.
    pub(crate) free_plan: PlanId,
    /// The requests that wait for plans.
    pub(crate) attachments: Attachments,
    /// Operations of all plans: `stride` slots a plan.
    pub(crate) slots: Vec<Slot>,
    /// Operations of a plan.
    pub(crate) stride: u32,
    /// Page buffers of all plans, `buffers_each` a plan: for each column one of new content, then for each one of old content,
    /// then one for each delta that the plan may read.
    pub(crate) buffers: Vec<PageId>,
    /// Page buffers of a plan.
    pub(crate) buffers_each: u32,
    /// Sectors that a plan's write covers, for each data column.
    pub(crate) covers: Vec<u64>,
    /// The locks of rows in use.
    pub(crate) row_locks: RowLocks,
    /// Counts the plans that took or awaited a lock that writes share.
    pub(crate) turns: u64,
    /// The operations that wait for members.
    pub(crate) queues: Queues,
    /// Operations queued and in flight.
    pub(crate) loads: Loads,
    /// The cell times of members, as observed.
    pub(crate) times: CellTimes,
    /// Whether the update policy asks for [`Self::times`].
    pub(crate) asks_times: bool,
    /// Plans that got their row lock and have yet to continue.
    pub(crate) woken: VecDeque<PlanId>,
    /// For each member whether it is out of service.
    pub(crate) failed: Vec<bool>,
    /// For each member that failed while the array serves: why. Otherwise what the superblocks said, or unknown.
    pub(crate) fail_reasons: Vec<FailReason>,
    /// Whether any member is out of service.
    pub(crate) any_failed: bool,
    /// The members that are slow now.
    pub(crate) slow: Slow,
    /// Whether nothing is written to members, regardless of their content.
    pub(crate) read_only: bool,
    /// State of the read policy.
    pub(crate) reads: Reads,
    /// The user's own policy for reads, if the scheme asks for one.
    pub(crate) read_chooser: Option<Box<dyn ChooseRead>>,
    /// The user's own order of member queues, if the scheme asks for one.
    pub(crate) ranks: Option<Box<dyn RankOperation>>,
    /// State of the coordination of garbage collection.
    pub(crate) coordination: Option<Coordination>,
    /// The controller's own request, which has the slot after those of hosts.
    pub(crate) internal: Internal,
    /// A payload for the controller's own request, while it has none.
    pub(crate) spare_payload: Option<M::Host>,
    /// The scrub of metadata.
    pub(crate) metadata: MetadataScrub,
    /// Pages that rebuild and scrub may read and write, less those that they took beyond the allowance; `None` without a
    /// limit.
    pub(crate) allowance: Option<i64>,
    /// Number of requests submitted and not acknowledged.
    pub(crate) under_way: u32,
    /// The time of the last submission or acknowledgement.
    pub(crate) last_active: Nanos,
    /// The bug that a test planted.
    #[cfg(debug_assertions)]
    pub(crate) bug: Option<stripewise_core::bugs::Bug>,
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
    pub fn plan_of(&self, id: OperationId) -> PlanId {
        PlanId::new(id.number() / self.stride)
    }

    /// The place of operation `id` among those of its plan.
    #[inline]
    pub(crate) fn place_of(&self, id: OperationId) -> u32 {
        id.number() % self.stride
    }

    /// The number of the first operation of `plan`; the others follow it.
    #[inline]
    pub fn first_operation(&self, plan: PlanId) -> OperationId {
        OperationId::new(plan.number() * self.stride)
    }

    /// The place in `covers` of a data column of `plan`.
    #[inline]
    pub fn cover_of(&self, plan: PlanId, column: u32) -> usize {
        let data = self.geometry.data;
        debug_assert!(column < data, "plan {plan} covers column {column}, and a row has {data} of data");
        plan.index() * self.geometry.data as usize + column as usize
    }

    /// Whether a plan is free.
    #[inline]
    pub fn has_free_plan(&self) -> bool {
        !self.free_plan.is_none()
    }

    /// Whether `count` plans are free.
    #[inline]
    pub fn has_free_plans(&self, count: u32) -> bool {
        let mut plan = self.free_plan;
        (0..count).all(|nth| {
            if nth > 0 && !plan.is_none() {
                plan = self.plans[plan].next;
            }
            !plan.is_none()
        })
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
