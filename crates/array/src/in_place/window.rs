//! The parity window: data that is on the members and whose parity is deferred.
//!
//! Source: the public fork of paper 000's simulator. It has a ring with one slot for each channel; when the ring reaches
//! an occupied slot, the parity of that slot's stripe is updated. Paper 000 itself (section II-A, Fig. 1) only shows the
//! interim stripe. The fork reads old data through the current mapping, which returns the wrong content. This
//! implementation keeps the version that parity covers: on the member if the member can keep it, otherwise in memory.

use std::collections::BTreeSet;

use stripewise_base::Nanos;
use stripewise_core::ids::{MemberNo, NONE, PlanId, RowNo};
use stripewise_core::memory::PageId;

use crate::in_place::page_order::PageOrder;

/// Data of a row that its parity does not cover.
#[derive(Clone, Copy, Debug, Default)]
struct Late {
    row: RowNo,
    /// Data columns written since parity was last computed.
    dirty: u64,
    /// Data columns whose covered content is kept, or will be by a write that has begun: all dirty ones.
    kept: u64,
    /// Of those: the columns whose covered content memory keeps, although members keep versions. It was new when the update of
    /// parity that covers it began, and a later write replaces it on the member.
    in_memory: u64,
    /// The plan that updates the row's parity beside writes.
    update: Option<PlanId>,
    /// The first record of the redo journal that must be kept until parity covers them, or 0.
    record: u64,
}

/// The two contents that memory may hold of a dirty chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The new content: always held.
    New,
    /// The content that parity covers: held if the member does not keep it.
    Covered,
}

/// The window, and the rows whose parity is deferred.
#[derive(Debug)]
pub(crate) struct Window {
    /// For each slot the row plus one, or 0. A row may have several slots, one for each written chunk.
    ring: Vec<u64>,
    at: usize,
    occupied: usize,
    /// The row plus one (or 0) and its entry, by hash of the row: linear probing, gaps closed on removal.
    table: Vec<(u64, u32)>,
    entries: Vec<Late>,
    free: Vec<u32>,
    /// For each entry, a page of new content for each data column, then a page of covered content for each.
    pages: Vec<PageId>,
    data: u32,
    /// The number of old versions kept on each member, and the maximum of that number.
    pins: Vec<u32>,
    pins_max: u32,
    /// The order of writes to each page, if writes that defer their parity share rows.
    pub(crate) order: Option<PageOrder>,
    /// Whether updates of one row may overlap.
    pub(crate) overlaps: bool,
    /// Rows whose parity could not be computed because too much was lost: their parity covers nothing any more.
    stale: BTreeSet<RowNo>,
    /// Whether the whole window is being emptied.
    pub(crate) flushes_deferred: bool,
    /// When the idle timer is due, if it is set.
    pub(crate) timer: Option<Nanos>,
}

impl Window {
    /// A window of `size` slots over an array in which at most `plans` plans run at once. Pages are recorded only if there
    /// are bytes.
    pub(crate) fn new(
        size: u32,
        plans: u32,
        data: u32,
        members: u32,
        pins_max: u32,
        carries_data: bool,
        shares_rows: bool,
    ) -> Self {
        // A row has an entry while it has a slot, or while the plan that updates its parity waits for it.
        let rows = if size == 0 { 0 } else { size + plans };
        let pages = if carries_data { rows as usize * data as usize * 2 } else { 0 };
        Self {
            ring: vec![0; size as usize],
            at: 0,
            occupied: 0,
            table: vec![(0, 0); (rows as usize * 2).next_power_of_two()],
            entries: vec![Late::default(); rows as usize],
            free: (0..rows).rev().collect(),
            pages: vec![NONE; pages],
            data,
            pins: vec![0; members as usize],
            pins_max,
            order: shares_rows.then(|| PageOrder::new(plans, rows, data)),
            overlaps: false,
            stale: BTreeSet::new(),
            flushes_deferred: false,
            timer: None,
        }
    }

    /// Whether parity may be deferred at all.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Whether no chunk has a slot.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// Gives the next slot to a chunk of `row`. Returns the row of the slot that the ring reaches next: its parity is due.
    #[inline]
    pub(crate) fn enter(&mut self, row: RowNo) -> Option<RowNo> {
        debug_assert_eq!(self.ring[self.at], 0, "the ring's next slot is always vacant");
        self.ring[self.at] = row.number() + 1;
        self.occupied += 1;
        self.at = (self.at + 1) % self.ring.len();
        self.ring[self.at].checked_sub(1).map(RowNo::new)
    }

    /// Vacates the slots of `row`.
    pub(crate) fn leave(&mut self, row: RowNo) {
        for slot in &mut self.ring {
            if *slot == row.number() + 1 {
                *slot = 0;
                self.occupied -= 1;
            }
        }
    }

    /// The row that has been in the ring longest.
    pub(crate) fn oldest(&self) -> Option<RowNo> {
        let (newer, older) = self.ring.split_at(self.at);
        older.iter().chain(newer).find_map(|slot| slot.checked_sub(1)).map(RowNo::new)
    }

    #[inline]
    fn home(&self, row: RowNo) -> usize {
        (row.number().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.table.len() - 1)
    }

    /// The place in the table that holds `row`, or the vacant place where it would go.
    #[inline]
    fn find(&self, row: RowNo) -> usize {
        let mut at = self.home(row);
        while self.table[at].0 != 0 && self.table[at].0 != row.number() + 1 {
            at = (at + 1) & (self.table.len() - 1);
        }
        at
    }

    /// The entry of `row`, if its parity is deferred.
    #[inline]
    pub(crate) fn entry(&self, row: RowNo) -> Option<u32> {
        if self.free.len() == self.entries.len() {
            return None;
        }
        let (found, entry) = self.table[self.find(row)];
        (found != 0).then_some(entry)
    }

    /// Data columns of `row` that its parity does not cover.
    #[inline]
    pub(crate) fn dirty(&self, row: RowNo) -> u64 {
        self.entry(row).map_or(0, |entry| self.entries[entry as usize].dirty)
    }

    /// The number of rows with deferred parity.
    pub(crate) fn deferred_rows(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Marks `columns` of `row` as not covered by parity; returns the row's entry.
    pub(crate) fn add(&mut self, row: RowNo, columns: u64) -> u32 {
        let at = self.find(row);
        if self.table[at].0 == 0 {
            let entry = self.free.pop().expect("a late row has a slot of the ring or a plan");
            self.table[at] = (row.number() + 1, entry);
            self.entries[entry as usize] = Late { row, ..Late::default() };
        }
        let entry = self.table[at].1;
        let late = &mut self.entries[entry as usize];
        late.dirty |= columns;
        late.kept |= columns;
        entry
    }

    /// Data columns of the entry that parity does not cover.
    pub(crate) fn dirty_of(&self, entry: u32) -> u64 {
        self.entries[entry as usize].dirty
    }

    /// Columns of the entry whose covered content is kept, and those of them that memory keeps.
    pub(crate) fn kept(&self, entry: u32) -> (u64, u64) {
        let Late { kept, in_memory, .. } = self.entries[entry as usize];
        (kept, in_memory)
    }

    /// The covered content of columns `mask` is kept from now on, by memory or by the members.
    pub(crate) fn keep(&mut self, entry: u32, mask: u64, in_memory: bool) {
        let late = &mut self.entries[entry as usize];
        late.kept |= mask;
        if in_memory {
            late.in_memory |= mask;
        }
    }

    /// The covered content of columns `mask` need not be kept.
    pub(crate) fn drop_kept(&mut self, entry: u32, mask: u64) {
        let late = &mut self.entries[entry as usize];
        late.kept &= !mask;
        late.in_memory &= !mask;
    }

    /// The plan that updates the entry's parity beside writes.
    pub(crate) fn update(&self, entry: u32) -> Option<PlanId> {
        self.entries[entry as usize].update
    }

    /// `plan` takes over the dirty columns of the entry, beside writes. Returns these columns.
    pub(crate) fn begin_update(&mut self, entry: u32, plan: PlanId) -> u64 {
        let late = &mut self.entries[entry as usize];
        let taken = std::mem::take(&mut late.dirty);
        late.update = Some(plan);
        self.drop_kept(entry, taken);
        taken
    }

    /// The update of parity beside writes is over.
    pub(crate) fn end_update(&mut self, entry: u32) {
        self.entries[entry as usize].update = None;
    }

    /// Removes the entry if nothing refers to it: no dirty column, no write that shares the row, no update beside writes.
    pub(crate) fn tidy(&mut self, entry: u32) {
        let Late { dirty, update, .. } = self.entries[entry as usize];
        if dirty == 0 && update.is_none() && self.order.as_ref().is_none_or(|order| order.columns(entry) == 0)
        {
            self.remove(entry);
        }
    }

    /// The first record of the redo journal that must be kept until the parity of `row` covers its data, or 0.
    pub(crate) fn record(&self, row: RowNo) -> u64 {
        self.entry(row).map_or(0, |entry| self.entries[entry as usize].record)
    }

    /// See [`Self::record`].
    pub(crate) fn set_record(&mut self, entry: u32, record: u64) {
        self.entries[entry as usize].record = record;
    }

    /// Removes an entry whose pages were taken.
    pub(crate) fn remove(&mut self, entry: u32) {
        let mask = self.table.len() - 1;
        let mut hole = self.find(self.entries[entry as usize].row);
        self.free.push(entry);
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let (row, _) = self.table[at];
            if row == 0 {
                break;
            }
            // An entry may fill the hole unless its home lies cyclically after it.
            if (at.wrapping_sub(self.home(RowNo::new(row - 1))) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.table[hole] = self.table[at];
                hole = at;
            }
        }
        self.table[hole] = (0, 0);
    }

    /// The page that holds this content of a column, or [`NONE`].
    pub(crate) fn page_mut(&mut self, entry: u32, column: u32, held: Held) -> &mut PageId {
        let half = if held == Held::New { 0 } else { self.data };
        &mut self.pages[(entry * 2 * self.data + half + column) as usize]
    }

    /// See [`Self::page_mut`].
    pub(crate) fn page(&self, entry: u32, column: u32, held: Held) -> PageId {
        let half = if held == Held::New { 0 } else { self.data };
        self.pages[(entry * 2 * self.data + half + column) as usize]
    }

    /// Whether members keep old versions.
    #[inline]
    pub(crate) fn pins(&self) -> bool {
        self.pins_max > 0
    }

    /// Whether `member` can keep one more old version.
    #[inline]
    pub(crate) fn has_pin(&self, member: MemberNo) -> bool {
        self.pins[member.index()] < self.pins_max
    }

    /// `member` keeps one more old version.
    #[inline]
    pub(crate) fn pin(&mut self, member: MemberNo) {
        self.pins[member.index()] += 1;
    }

    /// `member` keeps one old version fewer.
    #[inline]
    pub(crate) fn unpin(&mut self, member: MemberNo) {
        self.pins[member.index()] -= 1;
    }

    /// Whether the parity of `row` covers nothing any more.
    #[inline]
    pub(crate) fn is_stale(&self, row: RowNo) -> bool {
        !self.stale.is_empty() && self.stale.contains(&row)
    }

    /// Rows whose parity covers nothing any more.
    pub(crate) fn stale(&self) -> impl Iterator<Item = RowNo> {
        self.stale.iter().copied()
    }

    /// Marks the parity of `row` as covering nothing, or as valid again.
    pub(crate) fn set_stale(&mut self, row: RowNo, stale: bool) {
        if stale {
            self.stale.insert(row);
        } else if !self.stale.is_empty() {
            self.stale.remove(&row);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_row_is_due_when_the_ring_comes_round_to_it() {
        let mut window = Window::new(3, 4, 2, 3, 8, false, false);
        assert_eq!([7, 8].map(|row| window.enter(RowNo::new(row))), [None, None]);
        assert_eq!(window.enter(RowNo::new(9)), Some(RowNo::new(7)));
        window.leave(RowNo::new(7));
        assert_eq!(window.oldest(), Some(RowNo::new(8)));
        assert_eq!(window.enter(RowNo::new(8)), Some(RowNo::new(8)), "a row may have several slots");
        window.leave(RowNo::new(8));
        assert_eq!((window.occupied, window.oldest()), (1, Some(RowNo::new(9))));
        window.leave(RowNo::new(9));
        assert!(window.is_empty());
    }

    #[test]
    fn a_window_of_one_is_due_at_once() {
        let mut window = Window::new(1, 4, 2, 3, 8, false, false);
        assert_eq!(window.enter(RowNo::new(5)), Some(RowNo::new(5)));
        window.leave(RowNo::new(5));
        assert_eq!(window.enter(RowNo::new(6)), Some(RowNo::new(6)));
    }

    proptest! {
        #[test]
        fn late_rows_are_found_as_in_a_map(steps in prop::collection::vec((0u64..30, 0u32..3, any::<bool>()), 1..300)) {
            let mut window = Window::new(16, 16, 3, 4, 1, false, false);
            let mut model = BTreeMap::new();
            for (row, column, adds) in steps {
                let row = row * 0x1_0000_0001;
                if adds && (model.len() < 32 || model.contains_key(&row)) {
                    window.add(RowNo::new(row), 1 << column);
                    *model.entry(row).or_insert(0) |= 1 << column;
                } else if let Some(entry) = window.entry(RowNo::new(row)) {
                    window.remove(entry);
                    prop_assert!(model.remove(&row).is_some());
                }
                prop_assert_eq!(window.deferred_rows(), model.len());
                for row in (0..30).map(|row| row * 0x1_0000_0001) {
                    prop_assert_eq!(window.dirty(RowNo::new(row)), model.get(&row).copied().unwrap_or(0));
                }
            }
        }
    }
}
