//! Parity in persistent memory: the parity of some rows is kept there and written to the members later, once, for all updates
//! of the row in between.
//!
//! Over zones these are rows that were free as a whole when they were opened; their parity is written when all their pages are.
//! Without zones, any updated row: parity is written when the memory is needed for other rows. Either way the row that was
//! updated longest ago is written first where there is too little room.
//!
//! Source: our choice. Paper 004 (section 3.3) keeps its map in such memory, and says that "NVRAM is commonly deployed in the
//! RAIS controller" "to improve the write performance by using the write-back strategy"; it does not print parity there.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::driver::Driver;
use stripewise_core::ids::NONE;
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::{Class, OperationKind};
use stripewise_core::plan::{Plan, Purpose};
use stripewise_core::row_locks::RowLock;
use stripewise_core::table::Table;
use stripewise_core::update::{Decision, Reason, Routine};
use stripewise_exec::Executor;
use stripewise_exec::bytes::Version;

use crate::in_place::InPlace;

/// A row whose parity is kept.
#[derive(Clone, Copy, Debug)]
struct Kept {
    row: u64,
    /// Whether an update has put parity here; before that, the room is reserved for an update in progress.
    is_valid: bool,
    /// Whether a plan writes the parity to the members.
    is_leaving: bool,
    /// The rows that were updated right before and after; in a free slot, `newer` is the next free slot.
    older: u32,
    newer: u32,
}

/// The rows whose parity is kept, and their parity.
#[derive(Debug)]
pub(crate) struct ParityMemory {
    /// The slot of each row.
    rows: Table,
    slots: Vec<Kept>,
    free: u32,
    oldest: u32,
    newest: u32,
    /// Number of free slots, and of slots whose parity is being written to the members.
    free_count: u32,
    leaving: u32,
    /// Whether an update found no room.
    is_pressed: bool,
    /// Whether all parity is to be written to the members: at the end of a run.
    is_draining: bool,
    /// The pages of each slot, one for each parity chunk; empty over a memory that carries no data.
    pages: Vec<PageId>,
    parity: u32,
}

impl ParityMemory {
    /// Room for the parity of this number of rows.
    pub(crate) fn new(rows: u32, parity: u32, carries_data: bool) -> Self {
        let slots = (1..=rows).map(|next| Kept {
            row: 0,
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
    pub(crate) fn keeps(&self, row: u64) -> bool {
        self.slot(row).is_some_and(|slot| self.slots[slot as usize].is_valid)
    }

    #[inline]
    fn slot(&self, row: u64) -> Option<u32> {
        let slot = if self.rows.count() == 0 { NONE } else { self.rows.get(row) };
        (slot != NONE).then_some(slot)
    }

    /// Number of rows whose parity is here.
    pub(crate) fn len(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_valid).count()
    }

    /// The page of parity chunk `nth` of `row`, over a memory that carries data.
    pub(crate) fn page(&self, row: u64, nth: u32) -> Option<PageId> {
        let slot = self.slot(row).filter(|&slot| self.slots[slot as usize].is_valid)?;
        self.pages.get((slot * self.parity + nth) as usize).copied()
    }

    fn page_mut(&mut self, row: u64, nth: u32) -> Option<&mut PageId> {
        let slot = self.slot(row)?;
        self.pages.get_mut((slot * self.parity + nth) as usize)
    }

    /// Whether there is room for the parity of `row`: it is here already, or a slot is reserved for it now.
    fn reserve(&mut self, row: u64) -> bool {
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
        self.rows.put(row, slot);
        true
    }

    /// Makes `slot` the newest.
    fn link(&mut self, slot: u32) {
        (self.slots[slot as usize].older, self.slots[slot as usize].newer) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
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
    fn updated(&mut self, row: u64) {
        let Some(slot) = self.slot(row) else { return };
        self.slots[slot as usize].is_valid = true;
        self.unlink(slot);
        self.link(slot);
    }

    /// Frees the slot of `row`, if it has one. Its pages are the caller's.
    fn forget(&mut self, row: u64) {
        let Some(slot) = self.slot(row) else { return };
        self.rows.put(row, NONE);
        self.unlink(slot);
        self.leaving -= u32::from(self.slots[slot as usize].is_leaving);
        let freed = &mut self.slots[slot as usize];
        (freed.is_valid, freed.is_leaving, freed.newer) = (false, false, self.free);
        self.free = slot;
        self.free_count += 1;
    }

    /// The row whose parity is to be written to the members now, so that there is room for others: an eighth of the slots is
    /// kept free (choice).
    fn due(&self) -> Option<u32> {
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
        let reserved: Vec<u64> =
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

impl InPlace {
    /// The parity columns of `row` whose content is in persistent memory.
    #[inline]
    pub(crate) fn parity_in_memory<M: Memory>(&self, row: u64, exec: &Executor<M>) -> u64 {
        if self.parity_memory.keeps(row) { exec.geometry.parity_columns() } else { 0 }
    }

    /// Copies the parity of the plan's row from persistent memory, if it is there, as the old content of its columns. Returns
    /// these columns.
    pub(crate) fn take_parity<M: Memory>(&mut self, plan: u32, exec: &mut Executor<M>) -> u64 {
        let row = exec.plans[plan as usize].row;
        let kept = self.parity_in_memory(row, exec);
        if M::CARRIES_DATA {
            for column in columns(kept) {
                if let Some(page) = self.parity_memory.page(row, column - exec.geometry.data) {
                    exec.copy_to_old(plan, column, page);
                }
            }
        }
        kept
    }

    /// Decides whether the parity that the update `plan` computes stays in persistent memory. `lost` columns of its row cannot be
    /// used; `left_out` are data columns that parity takes for zeros if the row is encoded.
    pub(crate) fn keep_parity<M: Memory>(
        &mut self,
        plan: u32,
        lost: u64,
        left_out: u64,
        exec: &mut Executor<M>,
    ) {
        let Plan { row, wanted, purpose, moves, blank, .. } = exec.plans[plan as usize];
        let data = exec.geometry.data_columns();
        let is_kept = self.parity_memory.keeps(row);
        let rest = data & !wanted;
        let keeps = lost == 0
            && purpose == Purpose::Write
            && rest != 0
            && if self.zones.is_none() {
                true
            } else if is_kept {
                // Until all pages are written.
                blank != 0
            } else {
                !self.blank.is_home(row) && rest & !left_out == 0 && wanted & !(moves | left_out) == 0
            };
        exec.plans[plan as usize].keeps_parity = keeps && self.parity_memory.reserve(row);
    }

    /// Builds the steps of a plan that writes the parity of its row from persistent memory.
    pub(crate) fn build_leaving<M: Memory>(&mut self, plan: u32, exec: &mut Executor<M>) {
        let Plan { row, place, .. } = exec.plans[plan as usize];
        exec.plans[plan as usize].blank = self.blank.columns(row);
        let targets = exec.geometry.parity_columns() & !exec.columns_on_failed(plan);
        exec.plans[plan as usize].decision = Decision::forced(Routine::Plain, Reason::NothingLate);
        if M::CARRIES_DATA {
            for column in columns(targets) {
                if let Some(page) = self.parity_memory.page(row, column - exec.geometry.data) {
                    exec.copy_to_new(plan, column, page, exec.whole_page);
                }
            }
        }
        if targets != 0 && !exec.has_bug(Bug::KeptParityNotWritten) {
            exec.push_operations(plan, targets, OperationKind::Write, |_| Class::Parity, place);
            exec.plans[plan as usize].acknowledge_here();
        }
    }

    /// The update `plan` of a row is over: its parity stays in persistent memory, or is on the members.
    #[inline]
    pub(crate) fn end_parity<M: Memory>(&mut self, plan: u32, exec: &mut Executor<M>) {
        if self.parity_memory.slots.is_empty() {
            return;
        }
        let Plan { row, purpose, keeps_parity, gave_up, .. } = exec.plans[plan as usize];
        let is_kept = self.parity_memory.keeps(row);
        if gave_up && purpose == Purpose::Write && is_kept && exec.changed_by(plan).0 == 0 {
            return;
        }
        if !keeps_parity || gave_up {
            return self.forget_parity(row, exec);
        }
        if is_kept && exec.has_bug(Bug::KeptParityNotUpdated) {
            return;
        }
        self.store_parity(plan, exec.geometry.parity_columns(), exec);
        self.parity_memory.updated(row);
    }

    /// Moves the parity that `plan` has computed for columns `made` to persistent memory.
    pub(crate) fn store_parity<M: Memory>(&mut self, plan: u32, made: u64, exec: &mut Executor<M>) {
        let row = exec.plans[plan as usize].row;
        if !M::CARRIES_DATA {
            return;
        }
        for column in columns(made) {
            let new = exec.buffer(plan, column, Version::New);
            exec.adopt_buffer(plan, column, NONE);
            let Some(page) = self.parity_memory.page_mut(row, column - exec.geometry.data) else { return };
            let before = std::mem::replace(page, new);
            if before != NONE {
                exec.memory.give(before);
            }
        }
    }

    /// Drops the parity of `row` from persistent memory, if it is there.
    pub(crate) fn forget_parity<M: Memory>(&mut self, row: u64, exec: &mut Executor<M>) {
        for nth in 0..exec.geometry.parity() {
            let page = self.parity_memory.page_mut(row, nth).map(|page| std::mem::replace(page, NONE));
            page.filter(|&page| page != NONE).into_iter().for_each(|page| exec.memory.give(page));
        }
        self.parity_memory.forget(row);
    }

    /// Starts to write all parity in memory to the members.
    pub(crate) fn drain_parity_memory(&mut self) {
        self.parity_memory.is_draining = self.parity_memory.rows.count() > 0;
    }

    /// Starts to write the parity of one row to the members, if there is too little room for others. Returns false if there is
    /// nothing to do or no plan is free.
    pub(crate) fn leave_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if exec.free_plan == NONE || self.parity_memory.slots.is_empty() {
            return false;
        }
        let Some(slot) = self.parity_memory.due() else {
            self.parity_memory.is_draining = false;
            return false;
        };
        let row = self.parity_memory.slots[slot as usize].row;
        self.parity_memory.slots[slot as usize].is_leaving = true;
        self.parity_memory.leaving += 1;
        self.parity_memory.is_pressed = false;
        let plan = exec.take_plan(row, Purpose::Parity);
        exec.acquire(plan, RowLock::Exclusive, self, driver);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_that_was_updated_longest_ago_leaves_when_less_than_an_eighth_is_free() {
        let mut memory = ParityMemory::new(8, 1, false);
        for row in 10..17 {
            assert!(memory.reserve(row) && !memory.keeps(row), "room is not parity");
            memory.updated(row);
        }
        assert_eq!(memory.due(), None, "one slot of eight is free");
        assert!(memory.reserve(17));
        memory.updated(10);
        let due = memory.due().map(|slot| memory.slots[slot as usize].row);
        assert_eq!(due, Some(11), "10 was updated again, and 17 has no parity yet");
        memory.forget(11);
        assert_eq!((memory.due(), memory.keeps(11), memory.len()), (None, false, 6));
    }

    #[test]
    fn without_room_an_update_presses_for_it() {
        let mut memory = ParityMemory::new(1, 1, false);
        assert!(memory.reserve(3));
        memory.updated(3);
        assert_eq!(memory.due(), None);
        assert!(memory.reserve(3) && !memory.reserve(4));
        assert!(memory.due().is_some());
        assert!(!ParityMemory::new(0, 1, false).reserve(3));
    }

    #[test]
    fn a_loss_of_power_forgets_reserved_room_and_keeps_parity() {
        let mut memory = ParityMemory::new(4, 1, false);
        (0..3).for_each(|row| assert!(memory.reserve(row)));
        memory.updated(1);
        let memory = memory.restarted();
        assert_eq!((memory.len(), memory.free_count, memory.keeps(1)), (1, 3, true));
    }
}
