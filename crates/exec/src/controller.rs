//! A controller as a driver sees it: the events that it accepts, whatever its placement.

use stripewise_base::Nanos;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::loads::Loads;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, Outcome, Timing};
use stripewise_core::request::{HostRequest, SubmitError};
use stripewise_format::FailReason;
use stripewise_policy::coordination::Ahead;
use stripewise_scheme::Scheme;

use crate::driver::Driver;
use crate::{Executor, Placement};

/// A controller over memory `M`.
pub trait Controller<M: Memory> {
    /// Accepts a host request at time `now`, with its payload: bytes to write, or room for bytes to read.
    ///
    /// # Errors
    /// Busy if the queue of requests is full; otherwise the defect of the request. The payload is returned.
    fn submit<D: Driver<M>>(
        &mut self,
        now: Nanos,
        host: HostRequest,
        payload: M::Host,
        driver: &mut D,
    ) -> Result<(), (SubmitError, M::Host)>;

    /// An operation ended at time `now`.
    fn completed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        id: OperationId,
        outcome: Outcome,
        timing: Timing,
        driver: &mut D,
    );

    /// The parity computation of `plan` ended at time `now`.
    fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: PlanId, driver: &mut D);

    /// A timer that the controller set has expired.
    fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D);

    /// Offers queued operations to every member that may accept one.
    fn dispatch<D: Driver<M>>(&mut self, driver: &mut D);

    /// Reports that a member that refused an operation may accept one now.
    fn member_ready(&mut self, member: MemberNo);

    /// Reports the loss of a member: operations queued for it end, and rows on it are degraded from now on. Operations in
    /// flight on it must still be reported, as [`Outcome::Gone`]. The `reason` decides how much of its content counts if it
    /// returns. A member that the controller itself fails did not answer, or failed a write or a flush: it is gone.
    fn member_failed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        member: MemberNo,
        reason: FailReason,
        driver: &mut D,
    );

    /// Reports that a member has not answered for some time, or answers again. While it does not answer, a further report
    /// repeats the attempt for reads that could not be decoded before.
    fn member_slow<D: Driver<M>>(&mut self, now: Nanos, member: MemberNo, is_slow: bool, driver: &mut D);

    /// Reports that a member without permission needs to collect, or that a member with permission finished a block.
    fn gc_event<D: Driver<M>>(&mut self, now: Nanos, member: MemberNo, driver: &mut D);

    /// Writes out content that is buffered in controller memory to gather more chunks, and updates deferred parity: at the end
    /// of a run.
    fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D);

    /// Whether members collect garbage only when permitted, see `GcControl::permit_gc`, and how far ahead of need a plane asks
    /// for permission.
    fn gc_control(&self) -> Option<Ahead>;

    /// The time at which operation `id`, which is in progress, entered its member's queue.
    fn queued_at(&self, id: OperationId) -> Nanos;

    /// Operations queued and in flight on each member.
    fn loads(&self) -> &Loads;

    /// The memory that carries data, mutable.
    fn memory(&mut self) -> &mut M;

    /// The scheme that the array runs.
    fn scheme(&self) -> &Scheme;

    /// Number of members of the array, including those of a log.
    fn members(&self) -> u32;

    /// Whether `member` has failed.
    fn is_failed(&self, member: MemberNo) -> bool;

    /// The members of the chunk at `byte` and of its row's parity, and the page number that both have in common. `None` beyond
    /// the array's end, while the chunk is only in controller memory, and under placements without rows.
    fn homes(&self, _byte: u64) -> Option<(MemberNo, Option<MemberNo>, u32)> {
        None
    }
}

/// An array with its placement.
pub struct ArrayOf<M: Memory, P: Placement<M>> {
    /// Runs the plans.
    pub exec: Executor<M>,
    /// Makes them.
    pub placement: P,
}

impl<M: Memory, P: Placement<M>> std::fmt::Debug for ArrayOf<M, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrayOf").field("scheme", &self.exec.scheme.name).finish_non_exhaustive()
    }
}

impl<M: Memory, P: Placement<M>> Controller<M> for ArrayOf<M, P> {
    #[inline]
    fn submit<D: Driver<M>>(
        &mut self,
        now: Nanos,
        host: HostRequest,
        payload: M::Host,
        driver: &mut D,
    ) -> Result<(), (SubmitError, M::Host)> {
        self.exec.submit(now, host, payload, &mut self.placement, driver)
    }

    #[inline]
    fn completed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        id: OperationId,
        outcome: Outcome,
        timing: Timing,
        driver: &mut D,
    ) {
        self.exec.completed(now, id, outcome, timing, &mut self.placement, driver);
    }

    #[inline]
    fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: PlanId, driver: &mut D) {
        self.exec.computed(now, plan, &mut self.placement, driver);
    }

    #[inline]
    fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        self.exec.timer(now, &mut self.placement, driver);
    }

    #[inline]
    fn dispatch<D: Driver<M>>(&mut self, driver: &mut D) {
        self.exec.dispatch(&mut self.placement, driver);
    }

    #[inline]
    fn member_ready(&mut self, member: MemberNo) {
        self.exec.queues.reopen(member);
    }

    #[inline]
    fn member_failed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        member: MemberNo,
        reason: FailReason,
        driver: &mut D,
    ) {
        self.exec.member_failed(now, member, reason, &mut self.placement, driver);
    }

    #[inline]
    fn member_slow<D: Driver<M>>(&mut self, now: Nanos, member: MemberNo, is_slow: bool, driver: &mut D) {
        self.exec.member_slow(now, member, is_slow, &mut self.placement, driver);
    }

    #[inline]
    fn gc_event<D: Driver<M>>(&mut self, now: Nanos, member: MemberNo, driver: &mut D) {
        self.exec.gc_event(now, member, driver);
    }

    #[inline]
    fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        self.exec.drain(now, &mut self.placement, driver);
    }

    #[inline]
    fn gc_control(&self) -> Option<Ahead> {
        self.exec.coordination.as_ref().map(|_| self.exec.scheme.coordination.asks_ahead())
    }

    #[inline]
    fn queued_at(&self, id: OperationId) -> Nanos {
        self.exec.slots[id.index()].queued_at
    }

    #[inline]
    fn loads(&self) -> &Loads {
        &self.exec.loads
    }

    #[inline]
    fn memory(&mut self) -> &mut M {
        &mut self.exec.memory
    }

    #[inline]
    fn scheme(&self) -> &Scheme {
        &self.exec.scheme
    }

    #[inline]
    fn members(&self) -> u32 {
        self.exec.members.count
    }

    #[inline]
    fn is_failed(&self, member: MemberNo) -> bool {
        self.exec.failed[member.index()]
    }
}
