//! A controller as a driver sees it: the events that it accepts, whatever its placement.

use stripewise_base::Nanos;
use stripewise_core::coordination::Ahead;
use stripewise_core::driver::Driver;
use stripewise_core::format::FailReason;
use stripewise_core::ids::PlanId;
use stripewise_core::loads::Loads;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, Outcome, Timing};
use stripewise_core::request::{HostRequest, SubmitError};
use stripewise_core::scheme::Scheme;

use crate::{Executor, Placement};

/// A controller over memory `M`. The functions are those of the executor with the same names.
#[allow(clippy::missing_errors_doc)]
pub trait Controller<M: Memory> {
    /// A host request arrived, with its payload: bytes to write, or room for bytes to read. Returns both if it is refused.
    fn submit<D: Driver<M>>(
        &mut self,
        now: Nanos,
        host: HostRequest,
        payload: M::Host,
        driver: &mut D,
    ) -> Result<(), (SubmitError, M::Host)>;

    /// An operation of a member ended.
    fn completed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        id: OperationId,
        outcome: Outcome,
        timing: Timing,
        driver: &mut D,
    );

    /// A parity computation ended.
    fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: PlanId, driver: &mut D);

    /// A timer expired.
    fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D);

    /// Operations may be offered to the members.
    fn dispatch<D: Driver<M>>(&mut self, driver: &mut D);

    /// A member that refused an operation may accept one now.
    fn member_ready(&mut self, member: u16);

    /// A member is lost, for `reason`.
    fn member_failed<D: Driver<M>>(&mut self, now: Nanos, member: u16, reason: FailReason, driver: &mut D);

    /// A member has not answered for some time, or answers again.
    fn member_slow<D: Driver<M>>(&mut self, now: Nanos, member: u16, is_slow: bool, driver: &mut D);

    /// A member needs to collect garbage, or has collected a block.
    fn gc_news<D: Driver<M>>(&mut self, now: Nanos, member: u16, driver: &mut D);

    /// Content that waits in controller memory is due.
    fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D);

    /// Whether members collect garbage only when permitted, and how far ahead of need a plane asks for permission.
    fn gc_control(&self) -> Option<Ahead>;

    /// The time at which operation `id`, which is in progress, entered its member's queue.
    fn queued_at(&self, id: OperationId) -> Nanos;

    /// Operations queued and in flight on each member.
    fn loads(&self) -> &Loads;

    /// Controller memory.
    fn memory(&mut self) -> &mut M;

    /// The scheme.
    fn scheme(&self) -> &Scheme;

    /// Number of members.
    fn members(&self) -> u32;

    /// Whether `member` is out of service.
    fn is_failed(&self, member: u16) -> bool;

    /// The members of the data and of the parity of the page at `byte`, and its page on each, if that is known before the
    /// request arrives.
    fn homes(&self, _byte: u64) -> Option<(u16, Option<u16>, u32)> {
        None
    }
}

/// An array with one placement: for placements that are not among those of `stripewise-array`.
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
    fn submit<D: Driver<M>>(
        &mut self,
        now: Nanos,
        host: HostRequest,
        payload: M::Host,
        driver: &mut D,
    ) -> Result<(), (SubmitError, M::Host)> {
        self.exec.submit(now, host, payload, &mut self.placement, driver)
    }

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

    fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: PlanId, driver: &mut D) {
        self.exec.computed(now, plan, &mut self.placement, driver);
    }

    fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        self.exec.timer(now, &mut self.placement, driver);
    }

    fn dispatch<D: Driver<M>>(&mut self, driver: &mut D) {
        self.exec.dispatch(&mut self.placement, driver);
    }

    fn member_ready(&mut self, member: u16) {
        self.exec.queues.reopen(member);
    }

    fn member_failed<D: Driver<M>>(&mut self, now: Nanos, member: u16, reason: FailReason, driver: &mut D) {
        self.exec.member_failed(now, member, reason, &mut self.placement, driver);
    }

    fn member_slow<D: Driver<M>>(&mut self, now: Nanos, member: u16, is_slow: bool, driver: &mut D) {
        self.exec.member_slow(now, member, is_slow, &mut self.placement, driver);
    }

    fn gc_news<D: Driver<M>>(&mut self, now: Nanos, member: u16, driver: &mut D) {
        self.exec.gc_news(now, member, driver);
    }

    fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        self.exec.drain(now, &mut self.placement, driver);
    }

    fn gc_control(&self) -> Option<Ahead> {
        self.exec.coordination.as_ref().map(|_| self.exec.scheme.coordination.asks_ahead())
    }

    fn queued_at(&self, id: OperationId) -> Nanos {
        self.exec.slots[id as usize].queued_at
    }

    fn loads(&self) -> &Loads {
        &self.exec.loads
    }

    fn memory(&mut self) -> &mut M {
        &mut self.exec.memory
    }

    fn scheme(&self) -> &Scheme {
        &self.exec.scheme
    }

    fn members(&self) -> u32 {
        self.exec.members.count
    }

    fn is_failed(&self, member: u16) -> bool {
        self.exec.failed[member as usize]
    }
}
