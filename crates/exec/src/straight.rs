//! The short way of plans that need none of the others' care: one step, with one operation for each column that a host wants, and
//! nothing after it but the acknowledgement.
//!
//! Reads of intact rows and writes without parity are such plans, where nothing but plans of hosts can be due. They have a slot
//! of the arena, a row lock and operations in the queues of members like all others, and observers see the same plan, so limits,
//! flushes and waiting plans tell no difference; but their steps are not built, looked up or stepped over. An operation that
//! fails ends the short way: from then on the plan is built, and continues, like any other.

use stripewise_core::bits::columns;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationId, OperationKind, Timing};
use stripewise_policy::update::{Decision, Reason, Routine};

use crate::driver::Driver;
use crate::plan::{NOT_STARTED, OVER, Plan, Step};
use crate::{Executor, Placement};

impl<M: Memory> Executor<M> {
    /// Whether plans may go the short way, as far as the executor knows: all members are in service, and no policy looks for
    /// other ways of reads.
    #[inline]
    pub fn may_go_straight(&self) -> bool {
        !self.any_failed && !self.reads.is_active && !self.reads.observes
    }

    /// Begins `plan`, which has its row lock if it needs one, with one operation of this kind for each column that hosts want.
    #[inline]
    pub fn begin_straight<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        kind: OperationKind,
        class: Class,
        placement: &P,
        driver: &mut D,
    ) {
        debug_assert!(self.may_go_straight(), "plan {plan} goes the short way, and must not");
        if cfg!(debug_assertions) {
            self.assert_may_continue(plan);
            self.assert_has_lock(plan);
        }
        let base = self.first_operation(plan);
        let slot = &mut self.plans[plan];
        let Plan { place, wanted, request, .. } = *slot;
        let count = wanted.count_ones() as u16;
        debug_assert!(count > 0, "plan {plan} goes the short way, and no host wants a column");
        slot.is_straight = true;
        slot.times.begun_at = self.now;
        slot.times.step_begun_at = self.now;
        slot.steps.operations = count;
        slot.steps.outstanding = count;
        slot.steps.push(Step::Operations { first: 0, count });
        let operations = || columns(wanted).enumerate().map(|(nth, column)| (base.after(nth as u32), column));
        for (id, column) in operations() {
            let member = self.geometry.member(place, column);
            self.slots[id.index()].operation = Operation {
                page: place.page,
                member,
                kind,
                class,
                column: column as u8,
                ..Operation::default()
            };
        }
        if D::OBSERVES {
            if kind == OperationKind::Write {
                self.decide(plan, Decision::forced(Routine::Plain, Reason::NoParity));
            }
            self.show(plan, placement, driver);
        }
        for (id, _) in operations() {
            let slot = &mut self.slots[id.index()];
            slot.operation.request = request;
            slot.is_held = false;
            slot.queued_at = self.now;
            slot.started_at = NOT_STARTED;
            let member = slot.operation.member;
            slot.gc_ns = driver.gc_clock(member);
            self.provide_buffer(id);
            self.put(id, member, kind == OperationKind::Read, driver);
        }
    }

    /// Operation `id` of `plan`, which goes the short way, is done.
    #[inline]
    pub(crate) fn straight_over<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        id: OperationId,
        timing: Timing,
        placement: &mut P,
        driver: &mut D,
    ) {
        let Operation { member, kind, .. } = self.slots[id.index()].operation;
        let is_read = kind == OperationKind::Read;
        self.left(member, is_read);
        if self.asks_times {
            self.observe(kind, member, timing);
        }
        let last = self.last_operation(id, timing);
        self.slots[id.index()].started_at = OVER;
        let slot = &mut self.plans[plan];
        slot.steps.outstanding -= 1;
        if slot.steps.outstanding > 0 {
            return;
        }
        slot.times.last = last;
        self.acknowledge_plan(plan, false, placement, driver);
        self.free(plan, placement);
    }
}
