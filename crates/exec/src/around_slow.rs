//! Members that do not answer in time: reads avoid them until they answer again.
//!
//! The driver reports a member slow when it has had reads or writes for some time and has answered none. New reads then decode
//! the content of the member, and reads that already wait for it ask the other members as well. Neither waits for a row that
//! an update has locked: the member answers such a read, or the read is tried again at every further report.

use stripewise_core::bits::columns;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_policy::read::ReadPath;

use crate::plan::{Plan, Purpose, Race, Step};
use crate::{Executor, Placement};

impl<M: Memory> Executor<M> {
    /// Whether `member` is slow.
    pub fn is_slow(&self, member: MemberNo) -> bool {
        self.slow.has(member)
    }

    /// The columns of the plan's stripe that lie on slow members.
    pub(crate) fn slow_columns<P: Placement<M>>(&self, plan: PlanId, placement: &P) -> u64 {
        if !self.slow.is_any() {
            return 0;
        }
        let all = placement.columns_of(plan, self);
        let is_slow = |&column: &u32| self.is_slow(placement.home_of(plan, column, self).0);
        columns(all).filter(is_slow).fold(0, |mask, column| mask | 1 << column)
    }

    /// The columns of the read `plan`, besides those in `lost`, that it is to decode because their members are slow. If there
    /// are any, the plan has its row lock.
    #[inline]
    pub fn around_slow<P: Placement<M>>(&mut self, plan: PlanId, lost: u64, placement: &mut P) -> u64 {
        if !self.slow.is_any() || self.plans[plan].purpose != Purpose::Read {
            return 0;
        }
        let slow = self.slow_columns(plan, placement) & !lost;
        let wanted = (slow & self.plans[plan].wanted).count_ones();
        if wanted == 0
            || (slow | lost).count_ones() > self.geometry.tolerance()
            || !self.is_decodable(plan, placement)
        {
            return 0;
        }
        if !self.hold_to_decode(plan, placement) {
            self.reads.counts.not_held += u64::from(wanted);
            return 0;
        }
        self.reads.counts.redirected += u64::from(wanted);
        self.plans[plan].path.around = Some(ReadPath { avoided: slow, cost: 0, direct: 0 });
        slow
    }

    /// Whether `plan` is a direct read for hosts, and has begun to wait for `member`.
    pub fn waits_for<P: Placement<M>>(&self, plan: PlanId, member: MemberNo, placement: &P) -> bool {
        let slot = &self.plans[plan];
        let is_direct = slot.is_under_way
            && slot.purpose == Purpose::Read
            && slot.steps.outstanding > 0
            && slot.overlaid == 0
            && slot.wanted & slot.missing == 0
            && !slot.steps.trouble
            && (!self.reads.is_active || slot.path.race <= Race::Armed)
            && matches!(slot.steps.all(), [Step::Operations { .. }]);
        is_direct && columns(slot.wanted).any(|column| placement.home_of(plan, column, self).0 == member)
    }

    /// Records which columns of the read `plan` have been returned, unless this was recorded all along.
    pub fn note_returned(&mut self, plan: PlanId) {
        if self.reads.is_active {
            return;
        }
        let Plan { steps, lost, .. } = &self.plans[plan];
        let first = self.first_operation(plan).index();
        let slots = &self.slots[first..first + steps.operations as usize];
        let back = slots.iter().filter(|slot| slot.started_at == crate::plan::OVER);
        let returned = back.fold(0, |mask, slot| mask | 1 << slot.operation.column);
        self.plans[plan].path.returned = returned & !*lost;
    }
}
