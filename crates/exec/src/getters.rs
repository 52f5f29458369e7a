//! Getters of the executor, for its placement and its array.

use stripewise_base::Nanos;
use stripewise_code::Code;
use stripewise_core::geometry::Geometry;
use stripewise_core::ids::{MemberNo, NONE, PlanId, RequestId};
use stripewise_core::loads::Loads;
use stripewise_core::members::Members;
use stripewise_core::memory::Memory;
use stripewise_core::times::CellTimes;
use stripewise_policy::custom::{ChooseRead, RankOperation};
use stripewise_policy::read::ReadCounts;
use stripewise_scheme::Scheme;

use crate::internal::Internal;
use crate::plan::Plan;
use crate::{Attachments, Executor, Plans, RequestSlot};

impl<M: Memory> Executor<M> {
    /// The policies of the run.
    #[inline]
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// The places of rows on the members.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What is known about the members.
    #[inline]
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// Bytes that hosts can address.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// A mask with a bit for each sector of a page.
    #[inline]
    pub fn whole_page(&self) -> u64 {
        self.whole_page
    }

    /// Controller memory.
    #[inline]
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Controller memory, mutable.
    #[inline]
    pub fn memory_mut(&mut self) -> &mut M {
        &mut self.memory
    }

    /// Controller memory, when nothing else of the array remains.
    pub fn into_memory(self) -> M {
        self.memory
    }

    /// All plans.
    #[inline]
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// The plan `id`.
    #[inline]
    pub fn plan(&self, id: PlanId) -> &Plan {
        &self.plans[id]
    }

    /// The host request `id`.
    #[inline]
    pub fn request(&self, id: RequestId) -> &RequestSlot {
        &self.requests[id]
    }

    /// The host request `id`, for its placement to change.
    #[inline]
    pub fn request_mut(&mut self, id: RequestId) -> &mut RequestSlot {
        &mut self.requests[id]
    }

    /// The requests that wait for plans.
    #[inline]
    pub fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    /// The requests that wait for plans, for a placement that makes them wait for something else first.
    #[inline]
    pub fn attachments_mut(&mut self) -> &mut Attachments {
        &mut self.attachments
    }

    /// The request that `plan` works for: the last one that began to wait for it.
    #[inline]
    pub fn host_of(&self, plan: PlanId) -> Option<RequestId> {
        let first = self.plans[plan].first_request;
        (first != NONE).then(|| self.attachments[first].request)
    }

    /// The time of the last event.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Whether `member` is out of service.
    #[inline]
    pub fn is_failed(&self, member: MemberNo) -> bool {
        self.failed[member.index()]
    }

    /// Whether any member is out of service.
    #[inline]
    pub fn is_any_failed(&self) -> bool {
        self.any_failed
    }

    /// Whether nothing is written to members, regardless of their content.
    #[inline]
    pub fn reads_only(&self) -> bool {
        self.read_only
    }

    /// The earliest arrival among the requests that wait in the controller.
    #[inline]
    pub fn earliest_pending(&self, member: MemberNo) -> Option<Nanos> {
        let id = self.earliest.as_ref()?.of(member, self.splitting)?;
        Some(self.requests[id].host.arrival)
    }

    /// Marks `member` as absent: the array is assembled without it.
    pub fn take_out(&mut self, member: MemberNo) {
        let load = self.loads.total(member);
        assert!(!self.is_failed(member), "member {member} is taken out, and is out of service");
        assert!(load == 0, "member {member} is taken out, and has {load} operations");
        self.failed[member.index()] = true;
        self.any_failed = true;
    }

    /// Makes the array read-only: nothing is written to members from now on.
    pub fn only_read(&mut self) {
        self.read_only = true;
    }

    /// Number of pages that hosts can address.
    pub fn host_pages(&self) -> u64 {
        self.capacity / u64::from(self.members.page_bytes)
    }

    /// Whether no request, plan or row lock is left.
    pub fn is_quiet(&self) -> bool {
        self.pending.is_empty()
            && self.set_aside.is_empty()
            && self.piq.as_ref().is_none_or(|piq| piq.waiting() == 0)
            && self.buffered.is_empty()
            && self.internal == Internal::Idle
            && self.woken.is_empty()
            && self.row_locks.rows() == 0
            && (0..self.members.count as usize).all(|member| self.loads.total(MemberNo::at(member)) == 0)
    }

    /// The code of the parity; absent without parity.
    pub fn code(&self) -> Option<&Code> {
        self.code.as_ref()
    }

    /// The most operations of a plan.
    pub fn operations_each(&self) -> u32 {
        self.stride
    }

    /// Operations queued and in flight.
    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// The cell times of members, as observed.
    pub fn times(&self) -> &CellTimes {
        &self.times
    }

    /// Counters of redirected reads.
    pub fn read_counts(&self) -> ReadCounts {
        self.reads.counts
    }

    /// The time since which hosts have asked for nothing: now, if requests are in progress.
    pub fn idle_since(&self) -> Nanos {
        if self.under_way > 0 { self.now } else { self.last_active }
    }

    /// Whether new plans wait while a member has many operations.
    pub fn limits_queues(&self) -> bool {
        self.queue_limit != u32::MAX
    }

    /// Requests that wait are compared without request `id`, which is being split; none with [`RequestId::NONE`].
    #[inline]
    pub fn set_splitting(&mut self, id: RequestId) {
        self.splitting = id;
    }

    /// Lets the user's own policy choose how to read.
    pub fn set_read_chooser(&mut self, chooser: Option<Box<dyn ChooseRead>>) {
        self.read_chooser = chooser;
    }

    /// Lets the user's own order rank the operations in member queues.
    pub fn set_ranks(&mut self, ranks: Option<Box<dyn RankOperation>>) {
        self.ranks = ranks;
    }

    /// Puts `member` into service again.
    pub fn take_in(&mut self, member: MemberNo) {
        self.failed[member.index()] = false;
        self.any_failed = self.failed.contains(&true);
    }

    /// Operations for `member` may be started again.
    pub fn reopen(&mut self, member: MemberNo) {
        self.queues.reopen(member);
    }
}
