//! The row locks of plans: who takes a row, and who waits for it.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RowNo};
use stripewise_core::memory::Memory;

use crate::driver::Driver;
use crate::plan::Plan;
use crate::row_locks::{RowLock, RowWaits};
use crate::{Executor, Placement};

impl<M: Memory> Executor<M> {
    /// Begins `plan` with this row lock, now or once the row is free.
    pub fn acquire<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        lock: RowLock,
        placement: &mut P,
        driver: &mut D,
    ) {
        let row = self.plans[plan].row;
        self.take_turn(plan, lock);
        if lock == RowLock::None || self.row_locks.try_take(row, lock) {
            self.begin(plan, placement, driver);
        } else {
            self.wait(plan);
        }
    }

    /// `plan` is to take its row with this lock.
    #[inline]
    pub fn take_turn(&mut self, plan: PlanId, lock: RowLock) {
        self.turns += 1;
        let slot = &mut self.plans[plan];
        debug_assert!(slot.is_under_way, "plan {plan} takes a turn for row {}, and is free", slot.row);
        debug_assert!(
            slot.lock == RowLock::None,
            "plan {plan} is to take row {}, and has it as {:?}",
            slot.row,
            slot.lock
        );
        slot.lock = lock;
        slot.turn = self.turns;
    }

    /// Whether `plan`, which is to share its row with other writes, would overtake a plan that came before it and waits.
    pub(crate) fn overtakes(&mut self, plan: PlanId) -> bool {
        let Plan { row, turn, .. } = self.plans[plan];
        let Some(entry) = self.row_locks.entry_mut(row) else { return false };
        let mut at = if entry.has_blockers() { entry.first_waiter } else { PlanId::NONE };
        while !at.is_none() {
            let waiting = &self.plans[at];
            if waiting.lock != RowLock::SharedParity && waiting.turn < turn {
                return true;
            }
            at = waiting.next;
        }
        false
    }

    /// `plan` shares its row with other writes, and is to take it with this lock instead, in its turn: before all that came after
    /// it.
    pub(crate) fn lock_again(&mut self, plan: PlanId, lock: RowLock) {
        let Plan { row, turn, .. } = self.plans[plan];
        self.plans[plan].lock = lock;
        self.plans[plan].times.step_begun_at = self.now;
        let entry = self.row_locks.entry_mut(row).expect("the plan has the row");
        entry.wait(lock);
        let (mut before, mut at) = (PlanId::NONE, entry.first_waiter);
        while !at.is_none() && self.plans[at].turn < turn {
            (before, at) = (at, self.plans[at].next);
        }
        self.plans[plan].next = at;
        if at.is_none() {
            entry.last_waiter = plan;
        }
        if before.is_none() {
            entry.first_waiter = plan;
        } else {
            self.plans[before].next = plan;
        }
        // If it is to share the row again, updates of parity behind it continue to wait for it.
        while !at.is_none() && lock == RowLock::SharedWrite {
            let waiting = &mut self.plans[at];
            waiting.ahead += u32::from(waiting.lock == RowLock::SharedParity);
            at = waiting.next;
        }
        self.unlock(row, turn, RowLock::SharedWrite);
    }

    /// Queues `plan` after the plans that wait for its row.
    pub fn wait(&mut self, plan: PlanId) {
        let Plan { row, lock, .. } = self.plans[plan];
        assert!(lock != RowLock::None, "plan {plan} waits for row {row}, and needs no lock of it");
        let ahead = if lock == RowLock::SharedParity { self.writes_of(row) } else { 0 };
        let slot = &mut self.plans[plan];
        slot.next = PlanId::NONE;
        slot.ahead = ahead;
        slot.times.step_begun_at = self.now;
        let entry = self.row_locks.entry_mut(row).expect("a row that cannot be taken is in use");
        entry.wait(lock);
        let last = std::mem::replace(&mut entry.last_waiter, plan);
        if last.is_none() {
            entry.first_waiter = plan;
        } else {
            self.plans[last].next = plan;
        }
    }

    /// Writes that share `row` or wait to.
    fn writes_of(&mut self, row: RowNo) -> u32 {
        let Some(entry) = self.row_locks.entry_mut(row) else { return 0 };
        let (mut writes, mut at) = (entry.writes(), entry.first_waiter);
        while !at.is_none() {
            let waiting = &self.plans[at];
            writes += u32::from(waiting.lock == RowLock::SharedWrite);
            at = waiting.next;
        }
        writes
    }

    /// Releases the plan's row lock, and wakes the plans that wait for it.
    pub fn release(&mut self, plan: PlanId) {
        let Plan { row, turn, .. } = self.plans[plan];
        let lock = std::mem::take(&mut self.plans[plan].lock);
        if lock != RowLock::None {
            self.unlock(row, turn, lock);
        }
    }

    /// Releases a lock of `row` that a plan took in this turn, and wakes the plans that wait for it.
    fn unlock(&mut self, row: RowNo, turn: u64, lock: RowLock) {
        let forgets = self.has_bug(Bug::WaiterForgotten);
        let Some(entry) = self.row_locks.give_back(row, lock) else { return };
        let mut at = if lock == RowLock::SharedWrite { entry.first_waiter } else { PlanId::NONE };
        while !at.is_none() {
            let waiting = &mut self.plans[at];
            waiting.ahead -= u32::from(waiting.lock == RowLock::SharedParity && waiting.turn > turn);
            at = waiting.next;
        }
        // The first waiting plan continues, and those behind it that may share the row with it. Writes pass an update of parity
        // that waits for earlier writes.
        let (mut before, mut next) = (PlanId::NONE, entry.first_waiter);
        let mut waits = RowWaits::default();
        while !next.is_none() {
            let at = next;
            let waiting = &mut self.plans[at];
            next = waiting.next;
            let waiting_lock = waiting.lock;
            if entry.admits(waiting_lock, waiting.ahead) {
                entry.grant(waiting_lock);
                waiting.next = PlanId::NONE;
                waits.locks += 1;
                waits.wait_ns += self.now - waiting.times.step_begun_at;
                self.woken.push_back(at);
                if before.is_none() {
                    entry.first_waiter = next;
                } else {
                    self.plans[before].next = next;
                }
                continue;
            }
            before = at;
            if waiting_lock != RowLock::SharedParity || !entry.is_written() {
                break;
            }
        }
        if next.is_none() {
            entry.last_waiter = before;
        }
        if forgets {
            (entry.first_waiter, entry.last_waiter) = (PlanId::NONE, PlanId::NONE);
        }
        self.row_locks.waits.add(waits);
    }

    /// Makes `plan`, which updates parity beside writes, wait until it has the row alone, in front of all others.
    pub(crate) fn upgrade<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        let row = self.plans[plan].row;
        self.plans[plan].lock = RowLock::Exclusive;
        self.plans[plan].times.step_begun_at = self.now;
        match self.row_locks.upgrade(row, plan) {
            Some(first) => self.plans[plan].next = first,
            None => self.begin(plan, placement, driver),
        }
    }

    /// Takes the lock of `row` if no plan has it or waits for it.
    #[inline]
    pub fn try_lock(&mut self, row: RowNo, lock: RowLock) -> bool {
        debug_assert!(lock != RowLock::None, "row {row} is locked with no lock");
        debug_assert!(
            row.number() < self.geometry.rows(),
            "row {row} is locked, and there are {}",
            self.geometry.rows()
        );
        self.row_locks.try_take(row, lock)
    }

    /// The plan that waits for `row` behind all others, or [`PlanId::NONE`].
    #[inline]
    pub fn last_waiter(&mut self, row: RowNo) -> PlanId {
        self.row_locks.entry_mut(row).map_or(PlanId::NONE, |entry| entry.last_waiter)
    }

    /// Whether an update has the lock of `row`.
    pub fn is_changing(&self, row: RowNo) -> bool {
        self.row_locks.is_changing(row)
    }

    /// Number of rows that plans have locked, or wait for.
    pub fn locked_rows(&self) -> usize {
        self.row_locks.rows()
    }

    /// How long plans waited for their rows.
    pub fn row_waits(&self) -> RowWaits {
        self.row_locks.waits
    }

    /// `plan`, which has its row lock, continues soon.
    #[inline]
    pub fn wake(&mut self, plan: PlanId) {
        self.assert_may_continue(plan);
        self.assert_has_lock(plan);
        debug_assert!(!self.woken.contains(&plan), "plan {plan} is woken twice");
        self.woken.push_back(plan);
    }

    /// Whether plans continue soon.
    pub fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }
}
