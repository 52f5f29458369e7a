//! Hedged reads: two sides of one plan race, the direct read and the decoding read. The side that loses keeps its buffers
//! until its operations have completed.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, OperationKind, Outcome, Timing};
use stripewise_policy::read::hedged::Reader;
use stripewise_policy::read::{HedgeMode, ReadPolicy};

use crate::driver::Driver;
use crate::plan::{LastOperation, NOT_STARTED, OVER, Plan, Purpose, Race};
use crate::{Executor, Placement};

impl<M: Memory> Executor<M> {
    /// Arms the read `plan`, whose steps are built, to ask other members later if needed.
    #[inline]
    pub fn arm_hedge<P: Placement<M>>(&mut self, plan: PlanId, placement: &mut P) {
        let slot = &self.plans[plan];
        // Content that is newer in memory lies in the buffers that the second side would need.
        if self.scheme.read.policy != ReadPolicy::Hedged
            || slot.purpose != Purpose::Read
            || slot.overlaid != 0
            || slot.path.is_chosen
            || !self.is_decodable(plan, placement)
        {
            return;
        }
        let reader = Reader { plan, life: slot.path.life };
        let asks_now = match self.scheme.read.hedge {
            HedgeMode::Reactive => false,
            HedgeMode::Proactive => true,
            HedgeMode::Adaptive => {
                let is_slow = |column| self.reads.observed.is_slow(placement.home_of(plan, column, self).0);
                columns(slot.wanted).any(is_slow)
            }
        };
        if asks_now {
            self.reads.hedges.ask_now(reader);
        } else {
            let Some(slow) = self.reads.observed.slow_ns() else { return };
            self.reads.hedges.ask_at(self.now + slow, reader);
        }
        let path = &mut self.plans[plan].path;
        path.is_chosen = true;
        path.race = Race::Armed;
    }

    /// Lets one read whose time has come ask the other members. Returns false if there is none.
    #[inline]
    pub(crate) fn hedge_due<P: Placement<M>, D: Driver<M>>(
        &mut self,
        placement: &mut P,
        driver: &mut D,
    ) -> bool {
        if self.scheme.read.policy != ReadPolicy::Hedged {
            return false;
        }
        let (hedges, plans) = (&mut self.reads.hedges, &self.plans);
        let is_over = |reader: Reader| {
            let Plan { path, is_under_way, steps, .. } = &plans[reader.plan];
            path.life != reader.life || path.race != Race::Armed || !is_under_way || steps.outstanding == 0
        };
        let Some(reader) = hedges.due(self.now) else {
            if let Some(at) = hedges.call(self.now, is_over) {
                driver.set_timer(at);
            }
            return false;
        };
        if !is_over(reader) {
            self.begin_second(reader.plan, placement, driver);
        }
        true
    }

    /// Starts the second side: it reads all the content that it decodes from again, with the row lock, because content that
    /// the first side has read may predate an update that has completed since.
    pub fn begin_second<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        let slot = &mut self.plans[plan];
        slot.path.race = Race::None;
        let late = slot.wanted & !slot.path.returned;
        // Columns that the plan itself could not read are in `late` already.
        let lost = placement.lost_of(plan, self);
        let without = late | lost | self.slow_columns(plan, placement);
        // Includes columns already read whose member has since failed or become slow: all of them are decoded again.
        let hedged = without & self.plans[plan].wanted;
        let chunks = hedged.count_ones();
        if late == 0
            || without.count_ones() > self.geometry.tolerance()
            || !self.is_decodable(plan, placement)
        {
            return;
        }
        if !self.hold_to_decode(plan, placement) {
            self.reads.counts.not_held += u64::from(chunks);
            return;
        }
        let mut sources = placement.sources_of(plan, without, self);
        if self.has_bug(Bug::HedgeKeepsReads) {
            sources &= !self.plans[plan].wanted;
        }
        placement.push_decoding(plan, sources, self);
        let slot = &mut self.plans[plan];
        // The second side is not a step of its own: it runs beside the current step.
        let (first, count) = slot.steps.take_last();
        slot.path.race = Race::Running;
        slot.path.is_first_spoilt = slot.steps.trouble;
        slot.path.hedged = hedged;
        slot.path.without = without;
        slot.path.second_first = first;
        slot.path.second_count = count;
        slot.path.second_left = count;
        slot.path.first_left = slot.steps.outstanding;
        slot.path.second_at = self.now;
        slot.steps.outstanding += count;
        self.reads.counts.hedged += u64::from(chunks);
        self.show(plan, placement, driver);
        self.enqueue(plan, first, count, placement, driver);
        if self.has_bug(Bug::HedgeHoldGivenBack) {
            self.release(plan);
        }
    }

    /// An operation of a plan whose sides race completed.
    pub(crate) fn racer_over<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: OperationId,
        is_good: bool,
        outcome: Outcome,
        timing: Timing,
        placement: &mut P,
        driver: &mut D,
    ) {
        let (plan, nth) = (self.plan_of(id), self.place_of(id));
        let is_second = self.plans[plan].path.is_second(nth);
        if !is_good {
            let lost = self.plans[plan].lost;
            self.trouble(plan, id, outcome, placement, driver);
            let slot = &mut self.plans[plan];
            if is_second || slot.path.race == Race::Decided {
                // The first side continues as if no other member had been asked; read errors of the losing side do not matter.
                slot.lost = lost;
            }
            let spoilt =
                if is_second { &mut slot.path.is_second_spoilt } else { &mut slot.path.is_first_spoilt };
            *spoilt = true;
        }
        let last = self.last_operation(id, timing);
        let slot = &mut self.plans[plan];
        slot.steps.outstanding -= 1;
        let left = if is_second { &mut slot.path.second_left } else { &mut slot.path.first_left };
        *left -= 1;
        let is_through = *left == 0;
        let path = &mut slot.path;
        let is_undecided = matches!(path.race, Race::Running | Race::Computing);
        if is_through && is_undecided && !is_second && !path.is_first_spoilt {
            slot.times.pre_read.add(&slot.times.last);
            slot.times.last = last;
            self.end_race(plan, placement, driver);
        } else if is_through && is_undecided && is_second && !path.is_second_spoilt {
            path.second_last = last;
            path.second_read_at = self.now;
            path.race = Race::Computing;
            slot.steps.outstanding += 1;
            let pages = path.hedged.count_ones() * (self.geometry.data - 1);
            if driver.compute(plan, pages) {
                return self.second_computed(plan, placement, driver);
            }
        }
        self.continue_race(plan, placement, driver);
    }

    /// The second side has decoded the columns that the first side has not read yet.
    pub(crate) fn second_computed<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        let slot = &mut self.plans[plan];
        slot.steps.outstanding -= 1;
        if slot.path.race == Race::Computing && !placement.decode_second(plan, self) {
            self.plans[plan].path.is_second_spoilt = true;
            self.plans[plan].path.race = Race::Running;
        }
        let slot = &mut self.plans[plan];
        if slot.path.race == Race::Computing {
            slot.times.pre_read.add(&slot.times.last);
            slot.times.last = slot.path.second_last;
            slot.times.rewait_ns += slot.path.second_at - slot.times.step_begun_at;
            slot.times.parity_ns += self.now - slot.path.second_read_at;
            slot.path.is_second_first = true;
            // Columns that the first side could not read are left for the next read to heal.
            slot.lost = 0;
            self.reads.counts.hedges_won += u64::from(slot.path.hedged.count_ones());
            self.end_race(plan, placement, driver);
        }
        self.continue_race(plan, placement, driver);
    }

    /// One side has all the content that hosts want. Operations of the other side that have not begun are dropped; nothing
    /// depends on the row any more.
    fn end_race<P: Placement<M>, D: Driver<M>>(&mut self, plan: PlanId, placement: &mut P, driver: &mut D) {
        let base = self.first_operation(plan);
        let slot = &mut self.plans[plan];
        slot.path.race = Race::Decided;
        let (first, count) = (slot.path.second_first, slot.path.second_count);
        let loser = if slot.path.is_second_first { 0..first } else { first..first + count };
        self.release(plan);
        for id in loser.map(|nth| base.after(u32::from(nth))) {
            if self.slots[id.index()].started_at == NOT_STARTED {
                self.cut_operation(id);
            }
        }
        self.step_over(plan, placement, driver);
        if self.has_bug(Bug::LoserBufferFreed) {
            self.return_buffers(plan);
        }
    }

    /// Removes an operation that waits in its member's queue.
    fn cut_operation(&mut self, id: OperationId) {
        let slot = &mut self.slots[id.index()];
        slot.started_at = OVER;
        let operation = slot.operation;
        self.queues.take_back(operation.member, id, &mut self.slots);
        self.left(operation.member, operation.kind == OperationKind::Read);
        let plan = self.plan_of(id);
        self.plans[plan].steps.outstanding -= 1;
        self.reads.counts.cut += 1;
    }

    /// Once all operations have completed, a decided race is over; a race that no side won is read again.
    fn continue_race<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        let slot = &mut self.plans[plan];
        if slot.steps.outstanding > 0 {
            return;
        }
        let is_decided = slot.path.race == Race::Decided;
        slot.path.race = Race::None;
        if is_decided {
            return self.run(plan, placement, driver);
        }
        slot.path.second_count = 0;
        slot.times.pre_read.add(&slot.times.last);
        let step_ns = self.now - slot.times.step_begun_at;
        slot.times.last = LastOperation { step_ns, queue_ns: step_ns, timing: Timing::default() };
        self.recover(plan, true, placement, driver);
    }
}
