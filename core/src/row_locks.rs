//! Row locks: an update locks its row exclusively, a decoding read locks it shared.
//!
//! Only rows in use have an entry, in a small open-addressed table that fits into the processor's cache however large the
//! array is. The bound on plans fixes the size of the table, so nothing is allocated after the start.

use crate::ids::NONE;

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
}

/// State of one row in use.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    row: u64,
    /// Plans that hold the lock; 1 if it is exclusive.
    holders: u32,
    /// Whether the lock is exclusive.
    pub exclusive: bool,
    /// Waiting plans in order of arrival, linked through the plans themselves.
    pub first_waiter: u32,
    /// The last waiting plan, or [`NONE`].
    pub last_waiter: u32,
}

impl Entry {
    fn is_vacant(&self) -> bool {
        self.holders == 0
    }
}

const VACANT: Entry = Entry { row: 0, holders: 0, exclusive: false, first_waiter: NONE, last_waiter: NONE };

/// The rows in use.
#[derive(Debug)]
pub struct RowLocks {
    entries: Vec<Entry>,
    mask: usize,
}

impl RowLocks {
    /// A table for at most `rows` rows in use at once.
    pub fn new(rows: u32) -> Self {
        let size = (rows as usize * 2).next_power_of_two();
        Self { entries: vec![VACANT; size], mask: size - 1 }
    }

    #[inline]
    fn home(&self, row: u64) -> usize {
        (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & self.mask
    }

    #[inline]
    fn slot(&self, row: u64) -> usize {
        let mut slot = self.home(row);
        while !self.entries[slot].is_vacant() && self.entries[slot].row != row {
            slot = (slot + 1) & self.mask;
        }
        slot
    }

    /// Locks `row` if no other lock conflicts. A shared lock does not overtake plans that already wait.
    #[inline]
    pub fn try_take(&mut self, row: u64, exclusive: bool) -> bool {
        let slot = self.slot(row);
        let entry = &mut self.entries[slot];
        if entry.is_vacant() {
            *entry = Entry { row, holders: 1, exclusive, ..VACANT };
            return true;
        }
        if exclusive || entry.exclusive || entry.first_waiter != NONE {
            return false;
        }
        entry.holders += 1;
        true
    }

    /// The entry of a row in use.
    pub fn entry_mut(&mut self, row: u64) -> Option<&mut Entry> {
        let slot = self.slot(row);
        let entry = &mut self.entries[slot];
        (!entry.is_vacant()).then_some(entry)
    }

    /// Releases one lock. Returns true if the row is now free for waiting plans: the entry then stays, without a holder,
    /// until [`Self::pass_on`] or [`Self::remove`] is called.
    #[inline]
    pub fn give_back(&mut self, row: u64) -> bool {
        let slot = self.slot(row);
        let entry = &mut self.entries[slot];
        debug_assert!(!entry.is_vacant(), "row {row} is given back but not held");
        if entry.holders > 1 {
            entry.holders -= 1;
            return false;
        }
        if entry.first_waiter == NONE {
            self.remove(slot);
            return false;
        }
        true
    }

    /// Passes the lock of a row without a holder to `holders` waiting plans.
    pub fn pass_on(&mut self, row: u64, holders: u32, exclusive: bool) {
        let slot = self.slot(row);
        let entry = &mut self.entries[slot];
        debug_assert!(!entry.is_vacant() && holders > 0);
        entry.holders = holders;
        entry.exclusive = exclusive;
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

    /// Whether `row` is locked exclusively.
    pub fn is_exclusive(&self, row: u64) -> bool {
        let entry = &self.entries[self.slot(row)];
        !entry.is_vacant() && entry.exclusive
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

    #[test]
    fn readers_share_and_updates_exclude() {
        let mut row_locks = RowLocks::new(4);
        assert!(row_locks.try_take(7, false));
        assert!(row_locks.try_take(7, false));
        assert!(!row_locks.try_take(7, true));
        assert!(!row_locks.give_back(7));
        assert!(!row_locks.give_back(7));
        assert!(row_locks.try_take(7, true));
        assert!(!row_locks.try_take(7, false));
    }

    #[test]
    fn a_reader_does_not_overtake_a_waiting_update() {
        let mut row_locks = RowLocks::new(4);
        assert!(row_locks.try_take(7, false));
        row_locks.entry_mut(7).unwrap().first_waiter = 3;
        assert!(!row_locks.try_take(7, false));
        assert!(row_locks.give_back(7), "the row is now free for the plan that waits");
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
                    prop_assert_eq!(row_locks.try_take(row, true), free);
                    model.insert(row, ());
                } else if model.remove(&row).is_some() {
                    prop_assert!(!row_locks.give_back(row));
                }
                prop_assert_eq!(row_locks.rows(), model.len());
            }
        }
    }
}
