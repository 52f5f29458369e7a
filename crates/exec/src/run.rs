//! Running plans: starting steps, handling completions.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, NONE, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, OperationKind, Outcome, Timing};
use stripewise_format::FailReason;

use crate::driver::Driver;
use crate::plan::{LastOperation, NEVER, NOT_STARTED, OVER, Plan, PlanView, Purpose, Race, Step};
use crate::row_locks::RowLock;
use crate::{AfterErrors, Built, Executor, Placement, TooManyLost};

impl<M: Memory> Executor<M> {
    /// Asserts that `plan` is under way, and that none of its operations is queued or in flight.
    #[inline]
    pub(crate) fn assert_may_continue(&self, plan: PlanId) {
        let Plan { is_under_way, steps, .. } = &self.plans[plan];
        assert!(*is_under_way, "plan {plan} continues, and is free");
        let count = steps.outstanding;
        assert!(count == 0, "plan {plan} continues, and awaits {count} operations");
    }

    /// Asserts that `plan` has the row lock that it takes.
    #[inline]
    pub(crate) fn assert_has_lock(&self, plan: PlanId) {
        let Plan { row, lock, .. } = self.plans[plan];
        assert!(
            lock == RowLock::None || self.row_locks.is_held(row, lock),
            "plan {plan} continues with row {row} as {lock:?}, and the row has no such lock"
        );
    }

    /// Builds the plan's steps and starts the first.
    pub fn begin<P: Placement<M>, D: Driver<M>>(&mut self, plan: PlanId, placement: &mut P, driver: &mut D) {
        if cfg!(debug_assertions) {
            self.assert_may_continue(plan);
            self.assert_has_lock(plan);
        }
        let slot = &mut self.plans[plan];
        if slot.times.begun_at == NEVER {
            slot.times.begun_at = self.now;
        } else {
            slot.times.rewait_ns += self.now - slot.times.step_begun_at;
        }
        if slot.lock == RowLock::SharedWrite && self.overtakes(plan) {
            return self.lock_again(plan, RowLock::SharedWrite);
        }
        let slot = &mut self.plans[plan];
        slot.clear_steps();
        if self.reads.is_active {
            slot.path.race = Race::None;
            slot.path.around = None;
            slot.path.returned = 0;
        }
        let built = if slot.purpose == Purpose::Inspect {
            self.build_inspect(plan)
        } else {
            placement.build(plan, self, driver)
        };
        let built = match built {
            Ok(Built::Ready) => true,
            Ok(Built::Needs(_)) if self.plans[plan].lock == RowLock::SharedParity => {
                return self.upgrade(plan, placement, driver);
            }
            Ok(Built::Needs(lock)) if self.plans[plan].lock == RowLock::SharedWrite => {
                return self.lock_again(plan, lock);
            }
            Ok(Built::Needs(lock)) => {
                self.release(plan);
                self.plans[plan].times.step_begun_at = self.now;
                return self.acquire(plan, lock, placement, driver);
            }
            Err(TooManyLost) => false,
        };
        self.show(plan, placement, driver);
        if built {
            self.run(plan, placement, driver);
        } else {
            self.fail_plan(plan, placement, driver);
        }
    }

    /// Shows `plan` to a driver that observes plans.
    #[inline]
    pub(crate) fn show<P: Placement<M>, D: Driver<M>>(&self, plan: PlanId, placement: &P, driver: &mut D) {
        if D::OBSERVES {
            let base = self.first_operation(plan).index();
            let slots = &self.slots[base..base + self.stride as usize];
            let mut view = PlanView::new(plan, &self.plans[plan], slots);
            placement.describe(&mut view);
            driver.planned(&view);
        }
    }

    /// Runs `plan` from its current step until it must wait.
    pub fn run<P: Placement<M>, D: Driver<M>>(&mut self, plan: PlanId, placement: &mut P, driver: &mut D) {
        if cfg!(debug_assertions) {
            self.assert_may_continue(plan);
        }
        loop {
            let slot = &mut self.plans[plan];
            slot.times.step_begun_at = self.now;
            match slot.steps.now() {
                None => return self.finish(plan, placement, driver),
                Some(Step::Operations { first, count }) => {
                    if count > 0 {
                        slot.steps.outstanding = count;
                        return self.enqueue(plan, first, count, placement, driver);
                    }
                }
                Some(Step::Journal) => {
                    if placement.await_record(plan, self) {
                        return;
                    }
                }
                Some(Step::Compute { pages }) => {
                    if !driver.compute(plan, u32::from(pages)) {
                        return;
                    }
                    placement.combine(plan, self);
                    if std::mem::take(&mut self.plans[plan].build_again) {
                        return self.begin(plan, placement, driver);
                    }
                }
            }
            self.step_over(plan, placement, driver);
        }
    }

    /// Puts the operations of a step into the queues of their members.
    pub(crate) fn enqueue<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        first: u16,
        count: u16,
        placement: &mut P,
        driver: &mut D,
    ) {
        let base = self.first_operation(plan).after(u32::from(first));
        let request = self.plans[plan].request;
        for id in (0..u32::from(count)).map(|nth| base.after(nth)) {
            let operation = self.slots[id.index()].operation;
            if self.any_failed
                && self.failed[operation.member.index()]
                && !(operation.kind == OperationKind::Read && self.has_bug(Bug::StaleMemberRead))
                // Superblocks are written to a joining member before it is in the array.
                && self.plans[plan].purpose != Purpose::WriteSuperblocks
            {
                // The member failed after the steps were built: only writes reach this point.
                self.plans[plan].steps.outstanding -= 1;
                self.plans[plan].steps.trouble = true;
                if self.plans[plan].lock == RowLock::SharedWrite {
                    placement.page_written(id, false, self);
                }
                continue;
            }
            self.provide_buffer(id);
            let slot = &mut self.slots[id.index()];
            slot.operation.request = request;
            slot.queued_at = self.now;
            slot.started_at = NOT_STARTED;
            slot.gc_ns = driver.gc_clock(operation.member);
            self.put(id, operation.member, operation.kind == OperationKind::Read, driver);
        }
        if self.plans[plan].steps.outstanding == 0 {
            self.recover(plan, false, placement, driver);
        }
    }

    /// Puts an operation into the queue of its member.
    #[inline]
    pub(crate) fn put<D: Driver<M>>(&mut self, id: OperationId, member: MemberNo, is_read: bool, driver: &D) {
        self.loads.add(member, is_read);
        self.slots[id.index()].refused_for = 0;
        if let Some(ranks) = &mut self.ranks {
            let rank = ranks.rank(self.now, &self.slots[id.index()].operation, &self.loads, driver);
            self.queues.set_rank(id, rank);
        }
        self.queues.push(member, is_read, id, &mut self.slots);
    }

    /// Records the cell time that an operation took.
    #[inline]
    pub(crate) fn observe(&mut self, kind: OperationKind, member: MemberNo, timing: Timing) {
        match kind {
            OperationKind::Read => self.times.observe_read(member, timing.cell_ns),
            OperationKind::Write => self.times.observe_write(timing.cell_ns),
            OperationKind::Trim | OperationKind::Flush => {}
        }
    }

    /// `plan` continues, which has waited since its step began: for metadata, as if for the row.
    pub fn end_wait(&mut self, plan: PlanId) {
        let now = self.now;
        let times = &mut self.plans[plan].times;
        times.rewait_ns += now - times.step_begun_at;
    }

    /// The current step is complete: acknowledges if this step is the mark, and advances.
    #[inline]
    pub fn step_over<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        let slot = &self.plans[plan];
        if slot.steps.current == slot.steps.ack_after
            || self.has_bug(Bug::FlushWithoutQ) && slot.steps.current > slot.steps.ack_after
        {
            let continues = !slot.steps.is_at_last_step() && slot.steps.current == slot.steps.ack_after;
            placement.marked(plan, self);
            self.acknowledge_plan(plan, continues, placement, driver);
        }
        self.plans[plan].steps.current += 1;
    }

    /// Completes an operation.
    #[inline]
    pub fn operation_over<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: OperationId,
        outcome: Outcome,
        timing: Timing,
        placement: &mut P,
        driver: &mut D,
    ) {
        let plan = self.plan_of(id);
        if self.plans[plan].is_straight {
            let is_done = outcome == Outcome::Done || self.has_bug(Bug::StraightFailureIgnored);
            if is_done && !self.reads.is_active {
                return self.straight_over(plan, id, timing, placement, driver);
            }
            self.plans[plan].is_straight = false;
        }
        let slot = self.slots[id.index()];
        let operation = slot.operation;
        let is_read = operation.kind == OperationKind::Read;
        let answered = outcome;
        let outcome = placement.verified(id, outcome, self);
        if outcome != answered {
            // A read that a write may have overtaken is repeated before the member is blamed for the mismatch.
            let is_doubt = placement.may_doubt() && self.plans[plan].may_doubt();
            if !is_doubt && placement.charges(id, self) && !self.has_bug(Bug::MismatchNotCharged) {
                let its_neighbour =
                    MemberNo::at((operation.member.index() + 1) % self.members.count as usize);
                let is_wrong = self.has_bug(Bug::VictimCharged);
                driver.mismatched(if is_wrong { its_neighbour } else { operation.member }, operation.page);
            }
        }
        self.left(operation.member, is_read);
        if self.reads.observes && slot.started_at != NOT_STARTED {
            let left = self.loads.total(operation.member);
            let at = (slot.queued_at, slot.started_at);
            self.reads.observed.ended(self.now, operation.member, is_read, at, left);
        }
        self.slots[id.index()].started_at = OVER;
        if self.asks_times {
            self.observe(operation.kind, operation.member, timing);
        }
        let is_stale = operation.kind == OperationKind::Read && outcome == Outcome::Gone;
        let is_ignored = (outcome == Outcome::Corrupt && self.has_bug(Bug::CorruptionIgnored))
            || (is_stale && self.has_bug(Bug::StaleMemberRead));
        let is_good = outcome == Outcome::Done || is_ignored;
        if self.reads.is_active {
            let path = &mut self.plans[plan].path;
            if path.race > Race::Armed {
                return self.racer_over(id, is_good, outcome, timing, placement, driver);
            }
            path.returned |= u64::from(is_good) << operation.column;
        }
        if !is_read && self.plans[plan].lock == RowLock::SharedWrite {
            placement.page_written(id, is_good, self);
        }
        if !is_good {
            self.trouble(plan, id, outcome, placement, driver);
        }
        let last = self.last_operation(id, timing);
        let plan_slot = &mut self.plans[plan];
        plan_slot.steps.outstanding -= 1;
        if plan_slot.steps.outstanding > 0 {
            return;
        }
        plan_slot.times.pre_read.add(&plan_slot.times.last);
        plan_slot.times.last = last;
        if plan_slot.steps.trouble {
            return self.recover(plan, is_read, placement, driver);
        }
        self.step_over(plan, placement, driver);
        self.run(plan, placement, driver);
    }

    /// An operation has left `member`, or its queue.
    #[inline]
    pub fn left(&mut self, member: MemberNo, is_read: bool) {
        self.loads.remove(member, is_read);
        if self.loads.total(member) + 1 == self.queue_limit {
            self.freed.insert(member);
        }
    }

    /// The time breakdown of operation `id`, which completed now.
    #[inline]
    pub(crate) fn last_operation(&self, id: OperationId, timing: Timing) -> LastOperation {
        let slot = &self.slots[id.index()];
        let step_ns = self.now - slot.queued_at;
        let gc_wait_ns = timing.gc_wait_ns + slot.gc_ns;
        let queue_ns = step_ns.saturating_sub(timing.bus_ns + timing.cell_ns + gc_wait_ns);
        LastOperation { step_ns, queue_ns, timing: Timing { gc_wait_ns, ..timing } }
    }

    /// Completes a parity computation.
    pub fn computation_over<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        if self.reads.is_active && self.plans[plan].path.race > Race::Armed {
            return self.second_computed(plan, placement, driver);
        }
        placement.combine(plan, self);
        let slot = &mut self.plans[plan];
        slot.times.parity_ns += self.now - slot.times.step_begun_at;
        if std::mem::take(&mut slot.build_again) {
            slot.times.step_begun_at = self.now;
            return self.begin(plan, placement, driver);
        }
        self.step_over(plan, placement, driver);
        self.run(plan, placement, driver);
    }

    /// Records the consequence of a failed operation: a bad page is lost to the plan; a member that does not answer or cannot
    /// be written is failed.
    pub fn trouble<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        id: OperationId,
        outcome: Outcome,
        placement: &mut P,
        driver: &mut D,
    ) {
        let operation = self.slots[id.index()].operation;
        let slot = &mut self.plans[plan];
        slot.steps.trouble = true;
        let is_read = operation.kind == OperationKind::Read;
        match outcome {
            Outcome::Done => {}
            Outcome::Corrupt if is_read && slot.may_doubt() && placement.may_doubt() => slot.doubts = true,
            Outcome::MediumError | Outcome::Corrupt if is_read => {
                if !placement.takes_error(id, self) {
                    self.plans[plan].lost |= 1 << operation.column;
                }
            }
            Outcome::MediumError if placement.takes_error(id, self) => self.plans[plan].is_abandoned = true,
            Outcome::MediumError | Outcome::Corrupt | Outcome::Timeout | Outcome::Gone => {
                if !self.failed[operation.member.index()] {
                    driver.member_failed(operation.member);
                    self.fail(operation.member, FailReason::Gone, placement, driver);
                }
            }
        }
    }

    /// Handles a step with errors: a read step is planned again without the lost columns; after a write step the row is
    /// degraded, which its parity must tolerate.
    pub(crate) fn recover<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        was_reading: bool,
        placement: &mut P,
        driver: &mut D,
    ) {
        let slot = &mut self.plans[plan];
        slot.steps.trouble = false;
        slot.times.step_begun_at = self.now;
        if was_reading {
            self.plans[plan].steps.outstanding = 0;
            return self.begin(plan, placement, driver);
        }
        match placement.step_failed(plan, self) {
            AfterErrors::NextStep => {}
            AfterErrors::BuildAgain => return self.begin(plan, placement, driver),
            AfterErrors::Fail => return self.fail_plan(plan, placement, driver),
        }
        self.step_over(plan, placement, driver);
        self.run(plan, placement, driver);
    }

    /// Takes `member` out of service for `reason`, and ends the operations queued for it.
    pub fn fail<P: Placement<M>, D: Driver<M>>(
        &mut self,
        member: MemberNo,
        reason: FailReason,
        placement: &mut P,
        driver: &mut D,
    ) {
        if std::mem::replace(&mut self.failed[member.index()], true) {
            return;
        }
        self.fail_reasons[member.index()] = reason;
        self.any_failed = true;
        self.slow.set(member, false);
        placement.lost(member, self);
        self.queues.reopen(member);
        while let Some(id) = self.queues.take_any(member, &mut self.slots) {
            self.slots[id.index()].gc_ns = 0;
            self.operation_over(id, Outcome::Gone, Timing::default(), placement, driver);
        }
    }

    /// Ends a plan whose steps are over, and frees it unless the placement owns it.
    fn finish<P: Placement<M>, D: Driver<M>>(&mut self, plan: PlanId, placement: &mut P, driver: &mut D) {
        if self.plans[plan].purpose == Purpose::Inspect {
            self.inspected(plan, placement, driver);
        } else {
            placement.finished(plan, self, driver);
            if self.plans.is_own(plan) {
                return;
            }
        }
        if self.plans[plan].first_request != NONE {
            // A flush that arrived after the hosts of this plan were acknowledged, or an update with nothing left to do.
            self.acknowledge_plan(plan, false, placement, driver);
        }
        self.free(plan, placement);
    }

    /// Frees the plan's buffers and row lock, and returns the plan to the arena.
    #[inline]
    pub(crate) fn free<P: Placement<M>>(&mut self, plan: PlanId, placement: &mut P) {
        self.release(plan);
        self.return_buffers(plan);
        self.plans.set_defers(plan, false);
        let slot = &mut self.plans[plan];
        slot.is_under_way = false;
        slot.next = self.free_plan;
        self.free_plan = plan;
        placement.freed(plan, self);
    }

    /// Ends a plan whose row has lost more than its code tolerates.
    pub fn fail_plan<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        self.assert_may_continue(plan);
        let slot = &mut self.plans[plan];
        slot.is_abandoned = true;
        if slot.purpose == Purpose::Merge {
            // Some of the writes may need no old content.
            return self.finish(plan, placement, driver);
        }
        // Of the content written before, only that on lost columns is gone.
        let mask = slot.wanted | (slot.dirty & slot.missing);
        self.fail_requests(plan, mask, placement);
        self.acknowledge_plan(plan, false, placement, driver);
        self.finish(plan, placement, driver);
    }
}

impl<M: Memory> Executor<M> {
    /// The buffer that operation `id` reads into or writes from.
    #[inline]
    pub fn buffer_of<P: Placement<M>>(&self, id: OperationId, placement: &P) -> u32 {
        if !M::CARRIES_DATA {
            return 0;
        }
        let (plan, nth) = (self.plan_of(id), self.place_of(id));
        if let Some(page) = placement.own_buffer(plan, nth) {
            return page;
        }
        self.buffers[self.buffer_index(id)]
    }
}
