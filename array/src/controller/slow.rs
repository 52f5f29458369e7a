//! Members that do not answer in time: reads avoid them until they answer again.
//!
//! The driver reports a member slow when it has had reads or writes for some time and has answered none. New reads then decode
//! the content of the member, and reads that already wait for it ask the other members as well. Neither waits for a row that
//! an update has locked: the member answers such a read, or the read is tried again at every further report.

use super::{Array, columns};
use crate::driver::Driver;
use crate::memory::Memory;
use crate::plan::{Plan, Purpose, Race, Step};
use crate::read::ReadPath;

/// Members that were reported slow.
#[derive(Debug)]
pub(super) struct Slow {
    members: Vec<bool>,
    /// Whether any member is slow: the rest is checked only if this is set.
    is_any: bool,
}

impl Slow {
    pub(super) fn new(members: u32) -> Self {
        Self { members: vec![false; members as usize], is_any: false }
    }

    pub(super) fn set(&mut self, member: u16, is_slow: bool) {
        self.members[member as usize] = is_slow;
        self.is_any = self.members.contains(&true);
    }
}

impl<M: Memory> Array<M> {
    /// Reports that a member has not answered for some time, or answers again. While it does not answer, a further report
    /// repeats the attempt for reads that could not be decoded before.
    pub fn member_slow<D: Driver<M>>(&mut self, now: u64, member: u16, is_slow: bool, driver: &mut D) {
        self.advance(now);
        let is_slow = is_slow && !self.failed[member as usize];
        self.slow.set(member, is_slow);
        if is_slow {
            for plan in 0..self.plans.len() as u32 {
                if self.waits_for(plan, member) {
                    self.note_returned(plan);
                    self.begin_second(plan, driver);
                }
            }
            self.reads.is_active = true;
        }
        self.poll(driver);
    }

    /// Whether a member was last reported slow.
    pub fn is_slow(&self, member: u16) -> bool {
        self.slow.members[member as usize]
    }

    /// The columns of the plan's stripe that lie on slow members.
    pub(super) fn slow_columns(&self, plan: u32) -> u64 {
        if !self.slow.is_any {
            return 0;
        }
        let all = if self.elastic.is_some() { self.present(plan) } else { self.geometry.all_columns() };
        let is_slow = |&column: &u32| self.is_slow(self.home_of(plan, column).0);
        columns(all).filter(is_slow).fold(0, |mask, column| mask | 1 << column)
    }

    /// The columns of the read `plan`, besides those in `lost`, that it is to decode because their members are slow. If there
    /// are any, the plan has its row lock.
    #[inline]
    pub(super) fn around_slow(&mut self, plan: u32, lost: u64) -> u64 {
        if !self.slow.is_any || self.plans[plan as usize].purpose != Purpose::Read {
            return 0;
        }
        let slow = self.slow_columns(plan) & !lost;
        let wanted = (slow & self.plans[plan as usize].wanted).count_ones();
        if wanted == 0 || (slow | lost).count_ones() > self.geometry.parity() || !self.is_decodable(plan) {
            return 0;
        }
        if !self.hold_to_decode(plan) {
            self.reads.counts.not_held += u64::from(wanted);
            return 0;
        }
        self.reads.counts.redirected += u64::from(wanted);
        self.plans[plan as usize].path.around = Some(ReadPath { avoided: slow, cost: 0, direct: 0 });
        slow
    }

    /// Whether `plan` is a direct read for hosts, and has begun to wait for `member`.
    fn waits_for(&self, plan: u32, member: u16) -> bool {
        let slot = &self.plans[plan as usize];
        let is_direct = slot.is_under_way
            && slot.purpose == Purpose::Read
            && slot.outstanding > 0
            && slot.overlaid == 0
            && slot.wanted & slot.missing == 0
            && !slot.trouble
            && (!self.reads.is_active || slot.path.race <= Race::Armed)
            && matches!(slot.steps(), [Step::Operations { .. }]);
        is_direct && columns(slot.wanted).any(|column| self.home_of(plan, column).0 == member)
    }

    /// Records which columns of the read `plan` have been returned, unless this was recorded all along.
    fn note_returned(&mut self, plan: u32) {
        if self.reads.is_active {
            return;
        }
        let Plan { operations, lost, .. } = self.plans[plan as usize];
        let first = (plan * self.stride) as usize;
        let slots = &self.slots[first..first + operations as usize];
        let back = slots.iter().filter(|slot| slot.started_at == crate::plan::OVER);
        let returned = back.fold(0, |mask, slot| mask | 1 << slot.operation.column);
        self.plans[plan as usize].path.returned = returned & !lost;
    }
}
