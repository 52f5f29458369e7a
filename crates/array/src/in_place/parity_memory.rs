//! Parity in persistent memory: the parity of some rows is kept there and written to the members later, once, for all updates
//! of the row in between.
//!
//! Over zones these are rows that were free as a whole when they were opened; their parity is written when all their pages are.
//! Without zones, any updated row: parity is written when the memory is needed for other rows. Either way the row that was
//! updated longest ago is written first where there is too little room.
//!
//! Source: our choice. Paper 004 (section 3.3) keeps its map in such memory, and says that "NVRAM is commonly deployed in the
//! RAIS controller" "to improve the write performance by using the write-back strategy"; it does not print parity there.

use stripewise_core::ids::{NONE, RowNo};
use stripewise_core::memory::PageId;
use stripewise_core::table::Table;

/// A row whose parity is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) row: RowNo,
    /// Whether an update has put parity here; before that, the room is reserved for an update in progress.
    is_valid: bool,
    /// Whether a plan writes the parity to the members.
    pub(super) is_leaving: bool,
    /// The rows that were updated right before and after; in a free slot, `newer` is the next free slot.
    older: u32,
    newer: u32,
}

/// The rows whose parity is kept, and their parity.
#[derive(Debug)]
pub(crate) struct ParityMemory {
    /// The slot of each row.
    pub(super) rows: Table,
    pub(super) slots: Vec<Kept>,
    free: u32,
    oldest: u32,
    newest: u32,
    /// Number of free slots, and of slots whose parity is being written to the members.
    free_count: u32,
    pub(super) leaving: u32,
    /// Whether an update found no room.
    pub(super) is_pressed: bool,
    /// Whether all parity is to be written to the members: at the end of a run.
    pub(super) is_draining: bool,
    /// The pages of each slot, one for each parity chunk; empty over a memory that carries no data.
    pages: Vec<PageId>,
    parity: u32,
}

impl ParityMemory {
    /// Room for the parity of this number of rows.
    pub(crate) fn new(rows: u32, parity: u32, carries_data: bool) -> Self {
        let slots = (1..=rows).map(|next| Kept {
            row: RowNo::new(0),
            is_valid: false,
            is_leaving: false,
            older: NONE,
            newer: if next < rows { next } else { NONE },
        });
        Self {
            rows: Table::new(rows as usize),
            slots: slots.collect(),
            free: if rows > 0 { 0 } else { NONE },
            oldest: NONE,
            newest: NONE,
            free_count: rows,
            leaving: 0,
            is_pressed: false,
            is_draining: false,
            pages: if carries_data { vec![NONE; (rows * parity) as usize] } else { Vec::new() },
            parity,
        }
    }

    /// Whether the parity of `row` is here.
    #[inline]
    pub(crate) fn keeps(&self, row: RowNo) -> bool {
        self.slot(row).is_some_and(|slot| self.slots[slot as usize].is_valid)
    }

    #[inline]
    pub(super) fn slot(&self, row: RowNo) -> Option<u32> {
        let slot = if self.rows.count() == 0 { NONE } else { self.rows.get(row.number()) };
        (slot != NONE).then_some(slot)
    }

    /// Number of rows whose parity is here.
    pub(crate) fn len(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_valid).count()
    }

    /// Number of rows that have room here, for parity or for an update in progress.
    #[inline]
    pub(crate) fn taken(&self) -> u32 {
        self.slots.len() as u32 - self.free_count
    }

    /// The page of parity chunk `nth` of `row`, over a memory that carries data.
    pub(crate) fn page(&self, row: RowNo, nth: u32) -> Option<PageId> {
        let slot = self.slot(row).filter(|&slot| self.slots[slot as usize].is_valid)?;
        self.pages.get((slot * self.parity + nth) as usize).copied()
    }

    pub(super) fn page_mut(&mut self, row: RowNo, nth: u32) -> Option<&mut PageId> {
        let slot = self.slot(row)?;
        self.pages.get_mut((slot * self.parity + nth) as usize)
    }

    /// Whether there is room for the parity of `row`: it is here already, or a slot is reserved for it now.
    pub(super) fn reserve(&mut self, row: RowNo) -> bool {
        if self.slot(row).is_some() {
            return true;
        }
        if self.free == NONE {
            self.is_pressed = true;
            return false;
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].newer;
        self.free_count -= 1;
        self.slots[slot as usize] =
            Kept { row, is_valid: false, is_leaving: false, older: NONE, newer: NONE };
        self.link(slot);
        self.rows.put(row.number(), slot);
        true
    }

    /// Makes `slot` the newest.
    pub(super) fn link(&mut self, slot: u32) {
        (self.slots[slot as usize].older, self.slots[slot as usize].newer) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    pub(super) fn unlink(&mut self, slot: u32) {
        let Kept { older, newer, .. } = self.slots[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
    }

    /// The parity of `row` is here from now on, updated last.
    pub(super) fn updated(&mut self, row: RowNo) {
        let Some(slot) = self.slot(row) else { return };
        self.slots[slot as usize].is_valid = true;
        self.unlink(slot);
        self.link(slot);
    }

    /// Frees the slot of `row`, if it has one. Its pages are the caller's.
    pub(super) fn forget(&mut self, row: RowNo) {
        let Some(slot) = self.slot(row) else { return };
        self.rows.put(row.number(), NONE);
        self.unlink(slot);
        self.leaving -= u32::from(self.slots[slot as usize].is_leaving);
        let freed = &mut self.slots[slot as usize];
        (freed.is_valid, freed.is_leaving, freed.newer) = (false, false, self.free);
        self.free = slot;
        self.free_count += 1;
    }

    /// The row whose parity is to be written to the members now, so that there is room for others: an eighth of the slots is
    /// kept free (choice).
    pub(super) fn due(&self) -> Option<u32> {
        let reserve = (self.slots.len() as u32 / 8).max(u32::from(self.is_pressed));
        if self.free_count + self.leaving >= reserve && !self.is_draining {
            return None;
        }
        let some = |slot: u32| (slot != NONE).then_some(slot);
        let oldest_first =
            std::iter::successors(some(self.oldest), |&slot| some(self.slots[slot as usize].newer));
        let may_leave = |&slot: &u32| {
            let Kept { is_valid, is_leaving, .. } = self.slots[slot as usize];
            is_valid && !is_leaving
        };
        // Few rows are reserved or leaving at a time: no more than there are plans.
        oldest_first.into_iter().find(may_leave)
    }

    /// This memory after a loss of power: updates in progress are forgotten.
    pub(crate) fn restarted(mut self) -> Self {
        let reserved = self.slots.iter().filter(|slot| !slot.is_valid).map(|slot| slot.row);
        let reserved: Vec<RowNo> =
            reserved.filter(|&row| self.slot(row).is_some() && !self.keeps(row)).collect();
        reserved.into_iter().for_each(|row| self.forget(row));
        self.slots.iter_mut().for_each(|slot| slot.is_leaving = false);
        (self.leaving, self.is_pressed, self.is_draining) = (0, false, false);
        self
    }

    /// Frees the pages of all rows: a planted bug.
    pub(crate) fn into_pages(self) -> Vec<PageId> {
        self.pages.into_iter().filter(|&page| page != NONE).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_that_was_updated_longest_ago_leaves_when_less_than_an_eighth_is_free() {
        let mut memory = ParityMemory::new(8, 1, false);
        for row in 10..17 {
            assert!(memory.reserve(RowNo::new(row)) && !memory.keeps(RowNo::new(row)), "room is not parity");
            memory.updated(RowNo::new(row));
        }
        assert_eq!(memory.due(), None, "one slot of eight is free");
        assert!(memory.reserve(RowNo::new(17)));
        memory.updated(RowNo::new(10));
        let due = memory.due().map(|slot| memory.slots[slot as usize].row);
        assert_eq!(due, Some(RowNo::new(11)), "10 was updated again, and 17 has no parity yet");
        memory.forget(RowNo::new(11));
        assert_eq!((memory.due(), memory.keeps(RowNo::new(11)), memory.len()), (None, false, 6));
    }

    #[test]
    fn without_room_an_update_presses_for_it() {
        let mut memory = ParityMemory::new(1, 1, false);
        assert!(memory.reserve(RowNo::new(3)));
        memory.updated(RowNo::new(3));
        assert_eq!(memory.due(), None);
        assert!(memory.reserve(RowNo::new(3)) && !memory.reserve(RowNo::new(4)));
        assert!(memory.due().is_some());
        assert!(!ParityMemory::new(0, 1, false).reserve(RowNo::new(3)));
    }

    #[test]
    fn a_loss_of_power_forgets_reserved_room_and_keeps_parity() {
        let mut memory = ParityMemory::new(4, 1, false);
        (0..3).for_each(|row| assert!(memory.reserve(RowNo::new(row))));
        memory.updated(RowNo::new(1));
        let memory = memory.restarted();
        assert_eq!((memory.len(), memory.free_count, memory.keeps(RowNo::new(1))), (1, 3, true));
    }
}
