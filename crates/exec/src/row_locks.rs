//! Row locks: an update locks its row exclusively, a decoding read locks it shared. Writes that defer their parity may share
//! a row with one another and with one update of that parity.
//!
//! Only rows in use have an entry, in a small open-addressed table that fits into the processor's cache however large the
//! array is. The bound on plans fixes the size of the table, so nothing is allocated after the start.

use stripewise_core::ids::{PlanId, RowNo};

/// How a plan locks its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowLock {
    /// No lock: a direct read.
    #[default]
    None,
    /// Shared with other readers: a decoding read.
    Shared,
    /// Exclusive: an update.
    Exclusive,
    /// Shared with other writes that defer their parity, and with one [`Self::SharedParity`].
    SharedWrite,
    /// Shared with writes that defer their parity: the update of deferred parity, one a row.
    SharedParity,
}

/// State of one row in use.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    row: RowNo,
    /// Plans that hold the lock; 1 if it is exclusive.
    holders: u32,
    /// The lock of the holders; [`RowLock::SharedWrite`] also with or for a [`RowLock::SharedParity`].
    mode: RowLock,
    /// Whether a [`RowLock::SharedParity`] is among the holders.
    has_parity: bool,
    /// Waiting plans with another lock than [`RowLock::SharedParity`]: new writes do not overtake them.
    blockers: u32,
    /// Waiting plans in order of arrival, linked through the plans themselves.
    pub first_waiter: PlanId,
    /// The last waiting plan, or [`PlanId::NONE`].
    pub last_waiter: PlanId,
}

impl Entry {
    fn is_vacant(&self) -> bool {
        self.holders == 0
    }

    /// The writes among the holders.
    pub fn writes(&self) -> u32 {
        if self.mode == RowLock::SharedWrite { self.holders - u32::from(self.has_parity) } else { 0 }
    }

    /// Whether plans wait that new writes do not overtake.
    pub fn has_blockers(&self) -> bool {
        self.blockers > 0
    }

    /// Whether writes share the row now.
    pub fn is_written(&self) -> bool {
        self.mode == RowLock::SharedWrite && self.holders > 0
    }

    /// Whether the holders admit one more plan with this lock. `ahead` is the number of writes that came before
    /// it and are not over.
    pub fn admits(&self, lock: RowLock, ahead: u32) -> bool {
        self.holders == 0
            || match lock {
                RowLock::None | RowLock::Exclusive => false,
                RowLock::Shared | RowLock::SharedWrite => self.mode == lock,
                RowLock::SharedParity => self.is_written() && !self.has_parity && ahead == 0,
            }
    }

    /// Whether a holder has this lock.
    #[inline]
    fn is_held(&self, lock: RowLock) -> bool {
        let mode = if lock == RowLock::SharedParity { RowLock::SharedWrite } else { lock };
        self.holders > 0 && self.mode == mode && (self.has_parity || lock != RowLock::SharedParity)
    }

    /// One more holder.
    fn take(&mut self, lock: RowLock) {
        self.holders += 1;
        self.mode = if lock == RowLock::SharedParity { RowLock::SharedWrite } else { lock };
        self.has_parity |= lock == RowLock::SharedParity;
    }

    /// A waiting plan with this lock becomes a holder.
    pub fn grant(&mut self, lock: RowLock) {
        self.blockers -= u32::from(lock != RowLock::SharedParity);
        self.take(lock);
    }

    /// A plan with this lock begins to wait.
    pub fn wait(&mut self, lock: RowLock) {
        self.blockers += u32::from(lock != RowLock::SharedParity);
    }
}

const VACANT: Entry = Entry {
    row: RowNo::new(0),
    holders: 0,
    mode: RowLock::None,
    has_parity: false,
    blockers: 0,
    first_waiter: PlanId::NONE,
    last_waiter: PlanId::NONE,
};

/// Counts of row locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowWaits {
    /// Locks that plans got.
    pub locks: u64,
    /// The time that plans waited for them.
    pub wait_ns: u64,
}

impl RowWaits {
    /// Adds `other`.
    pub fn add(&mut self, other: Self) {
        self.locks += other.locks;
        self.wait_ns += other.wait_ns;
    }

    /// The counts since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { locks: self.locks - before.locks, wait_ns: self.wait_ns - before.wait_ns }
    }

    /// The mean time that a plan waited for its row.
    pub fn mean_ns(&self) -> u64 {
        self.wait_ns / self.locks.max(1)
    }
}

/// The rows in use.
#[derive(Debug)]
pub struct RowLocks {
    entries: Vec<Entry>,
    mask: usize,
    /// How long plans waited for their rows.
    pub waits: RowWaits,
}

impl RowLocks {
    /// A table for at most `rows` rows in use at once.
    pub fn new(rows: u32) -> Self {
        let size = (rows as usize * 2).next_power_of_two();
        Self { entries: vec![VACANT; size], mask: size - 1, waits: RowWaits::default() }
    }

    #[inline]
    fn home(&self, row: RowNo) -> usize {
        (row.number().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & self.mask
    }

    #[inline]
    fn slot(&self, row: RowNo) -> usize {
        let mut slot = self.home(row);
        while !self.entries[slot].is_vacant() && self.entries[slot].row != row {
            slot = (slot + 1) & self.mask;
        }
        slot
    }

    /// Locks `row` if no other lock conflicts. A shared lock does not overtake plans that already wait; a write does only
    /// overtake updates of parity.
    #[inline]
    pub fn try_take(&mut self, row: RowNo, lock: RowLock) -> bool {
        let slot = self.slot(row);
        let entry = &mut self.entries[slot];
        if entry.is_vacant() {
            *entry = Entry { row, ..VACANT };
            entry.take(lock);
            self.waits.locks += 1;
            return true;
        }
        // A write that came before an update of parity is still there, or the row would be vacant.
        let admits = match lock {
            RowLock::None | RowLock::Exclusive | RowLock::SharedParity => false,
            RowLock::Shared => entry.mode == lock && entry.first_waiter.is_none(),
            RowLock::SharedWrite => entry.mode == lock && entry.blockers == 0,
        };
        if admits {
            entry.take(lock);
            self.waits.locks += 1;
        }
        admits
    }

    /// The entry of a row in use.
    pub fn entry_mut(&mut self, row: RowNo) -> Option<&mut Entry> {
        let slot = self.slot(row);
        let entry = &mut self.entries[slot];
        (!entry.is_vacant()).then_some(entry)
    }

    /// Whether a plan has `row` with this lock.
    #[inline]
    pub fn is_held(&self, row: RowNo, lock: RowLock) -> bool {
        self.entries[self.slot(row)].is_held(lock)
    }

    /// Releases one lock. Returns the entry if a waiting plan may get the row now: without a holder it stays until one does.
    #[inline]
    pub fn give_back(&mut self, row: RowNo, lock: RowLock) -> Option<&mut Entry> {
        let slot = self.slot(row);
        let Entry { holders, first_waiter, .. } = self.entries[slot];
        if !self.entries[slot].is_held(lock) {
            self.refuse_release(slot, row, lock);
        }
        if holders == 1 && first_waiter.is_none() {
            self.remove(slot);
            return None;
        }
        let entry = &mut self.entries[slot];
        if lock == RowLock::SharedParity {
            entry.has_parity = false;
        }
        entry.holders -= 1;
        let may_change = entry.holders == 0 || entry.mode == RowLock::SharedWrite;
        (may_change && !entry.first_waiter.is_none()).then_some(entry)
    }

    #[cold]
    fn refuse_release(&self, slot: usize, row: RowNo, lock: RowLock) -> ! {
        let Entry { holders, mode, .. } = self.entries[slot];
        panic!("row {row} is released as {lock:?}, and {holders} plans have it as {mode:?}")
    }

    /// Makes `plan`, the one [`RowLock::SharedParity`] of `row`, wait for the row alone, in front of all who wait. Returns the
    /// plan that was first until now, or [`PlanId::NONE`]; `None` if it has the row alone at once.
    pub fn upgrade(&mut self, row: RowNo, plan: PlanId) -> Option<PlanId> {
        let slot = self.slot(row);
        let entry = &mut self.entries[slot];
        debug_assert!(entry.has_parity);
        entry.has_parity = false;
        if entry.holders == 1 {
            entry.mode = RowLock::Exclusive;
            return None;
        }
        entry.holders -= 1;
        entry.blockers += 1;
        if entry.last_waiter.is_none() {
            entry.last_waiter = plan;
        }
        Some(std::mem::replace(&mut entry.first_waiter, plan))
    }

    /// Closes the gap that a removed entry leaves, so that searches need no tombstones.
    fn remove(&mut self, mut gap: usize) {
        let mut slot = gap;
        loop {
            self.entries[gap].holders = 0;
            loop {
                slot = (slot + 1) & self.mask;
                let entry = self.entries[slot];
                if entry.is_vacant() {
                    return;
                }
                let home = self.home(entry.row);
                // Move the entry into the gap unless its home lies after the gap.
                if (slot.wrapping_sub(home) & self.mask) >= (slot.wrapping_sub(gap) & self.mask) {
                    self.entries[gap] = entry;
                    gap = slot;
                    break;
                }
            }
        }
    }

    /// Whether plans that change `row` hold its lock.
    pub fn is_changing(&self, row: RowNo) -> bool {
        let entry = &self.entries[self.slot(row)];
        !entry.is_vacant() && entry.mode != RowLock::Shared
    }

    /// Rows in use.
    pub fn rows(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.is_vacant()).count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vacates(row_locks: &mut RowLocks, row: RowNo, lock: RowLock) -> bool {
        row_locks.give_back(row, lock).is_none() && row_locks.rows() == 0
    }

    #[test]
    fn readers_share_and_updates_exclude() {
        let mut row_locks = RowLocks::new(4);
        assert!(row_locks.try_take(RowNo::new(7), RowLock::Shared));
        assert!(row_locks.try_take(RowNo::new(7), RowLock::Shared));
        assert!(!row_locks.try_take(RowNo::new(7), RowLock::Exclusive));
        assert!(!vacates(&mut row_locks, RowNo::new(7), RowLock::Shared));
        assert!(vacates(&mut row_locks, RowNo::new(7), RowLock::Shared));
        assert!(row_locks.try_take(RowNo::new(7), RowLock::Exclusive));
        assert!(!row_locks.try_take(RowNo::new(7), RowLock::Shared));
    }

    #[test]
    fn a_reader_does_not_overtake_a_waiting_update() {
        let mut row_locks = RowLocks::new(4);
        assert!(row_locks.try_take(RowNo::new(7), RowLock::Shared));
        row_locks.entry_mut(RowNo::new(7)).unwrap().first_waiter = PlanId::new(3);
        assert!(!row_locks.try_take(RowNo::new(7), RowLock::Shared));
        assert!(
            row_locks.give_back(RowNo::new(7), RowLock::Shared).is_some(),
            "the row is now free for the plan that waits"
        );
    }

    #[test]
    fn writes_share_a_row_with_one_update_of_its_parity() {
        let mut row_locks = RowLocks::new(4);
        assert!(row_locks.try_take(RowNo::new(7), RowLock::SharedWrite));
        assert!(row_locks.try_take(RowNo::new(7), RowLock::SharedWrite));
        for other in [RowLock::Shared, RowLock::Exclusive, RowLock::SharedParity] {
            assert!(!row_locks.try_take(RowNo::new(7), other), "{other:?}");
        }
        let entry = row_locks.entry_mut(RowNo::new(7)).unwrap();
        entry.wait(RowLock::SharedParity);
        assert!(!entry.admits(RowLock::SharedParity, 1), "a write that came before it is not over");
        assert!(entry.admits(RowLock::SharedParity, 0));
        entry.grant(RowLock::SharedParity);
        assert!(!entry.admits(RowLock::SharedParity, 0), "one update of parity at a time");
        assert!(row_locks.try_take(RowNo::new(7), RowLock::SharedWrite), "writes continue beside it");
    }

    #[test]
    fn writes_overtake_waiting_updates_of_parity_and_nothing_else() {
        let mut row_locks = RowLocks::new(4);
        assert!(row_locks.try_take(RowNo::new(7), RowLock::SharedWrite));
        let entry = row_locks.entry_mut(RowNo::new(7)).unwrap();
        (entry.first_waiter, entry.last_waiter) = (PlanId::new(3), PlanId::new(3));
        entry.wait(RowLock::SharedParity);
        assert!(row_locks.try_take(RowNo::new(7), RowLock::SharedWrite));
        row_locks.entry_mut(RowNo::new(7)).unwrap().wait(RowLock::Exclusive);
        assert!(!row_locks.try_take(RowNo::new(7), RowLock::SharedWrite));
    }

    #[test]
    fn an_update_of_parity_that_needs_the_row_alone_is_next() {
        let mut row_locks = RowLocks::new(4);
        assert!(row_locks.try_take(RowNo::new(7), RowLock::SharedParity));
        assert!(row_locks.try_take(RowNo::new(7), RowLock::SharedWrite));
        assert_eq!(row_locks.upgrade(RowNo::new(7), PlanId::new(5)), Some(PlanId::NONE));
        assert!(!row_locks.try_take(RowNo::new(7), RowLock::SharedWrite));
        let entry = row_locks.give_back(RowNo::new(7), RowLock::SharedWrite).unwrap();
        assert_eq!((entry.first_waiter, entry.admits(RowLock::Exclusive, 0)), (PlanId::new(5), true));
        let mut alone = RowLocks::new(4);
        assert!(alone.try_take(RowNo::new(7), RowLock::SharedParity));
        assert_eq!(alone.upgrade(RowNo::new(7), PlanId::new(5)), None);
        assert!(!alone.try_take(RowNo::new(7), RowLock::SharedWrite), "it has the row alone");
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_a_map(steps in prop::collection::vec((0u64..40, any::<bool>()), 1..300)) {
            let mut row_locks = RowLocks::new(32);
            let mut model = std::collections::BTreeMap::new();
            for (row, take) in steps {
                let row = row * 0x1_0000_0001;
                if take && model.len() < 32 {
                    let free = !model.contains_key(&row);
                    prop_assert_eq!(row_locks.try_take(RowNo::new(row), RowLock::Exclusive), free);
                    model.insert(row, ());
                } else if model.remove(&row).is_some() {
                    prop_assert!(row_locks.give_back(RowNo::new(row), RowLock::Exclusive).is_none());
                }
                prop_assert_eq!(row_locks.rows(), model.len());
            }
        }
    }
}
