//! The encoding buffer: chunks of a row that was never written wait in controller memory until every data chunk of the row is
//! there; then parity is computed and the row is written whole, each chunk at its address. Chunks that have waited too long
//! are written with the parity of the chunks present, as if the rest were zeros, and from then on the row is updated like any
//! other.
//!
//! Source: paper 002, section III-C ("when each chip in a parity group has a data chunk in the buffer, we will encode";
//! "encoded regardless ... if their waiting time exceeds a predefined threshold"). The threshold, the number of rows that may
//! wait, and that the oldest row leaves when there are more, are our choice.

use stripewise_base::Nanos;
use stripewise_core::ids::{NONE, RowNo};
use stripewise_core::memory::PageId;

/// A row that was never written.
const UNTOUCHED: u32 = 0;
/// A row whose first write is in flight.
const FRESH: u32 = u32::MAX - 1;
/// A row that is written.
const ENCODED: u32 = u32::MAX;

/// A row that waits for its other chunks.
#[derive(Clone, Copy, Debug)]
struct Open {
    row: RowNo,
    /// The data columns that are present.
    columns: u64,
    /// The time when the first of them arrived.
    since: Nanos,
    /// The rows that were opened right before and after; in a free slot, `newer` is the next free slot.
    older: u32,
    newer: u32,
}

/// Which rows are encoded, and the waiting chunks of the others.
#[derive(Debug)]
pub(crate) struct Encode {
    data: u32,
    /// For each row: [`UNTOUCHED`], its slot among the open rows plus one, [`FRESH`] or [`ENCODED`].
    rows: Vec<u32>,
    open: Vec<Open>,
    free: u32,
    oldest: u32,
    newest: u32,
    /// Content of each data column of each open row, or [`NONE`]; empty over a memory that carries no data.
    pages: Vec<PageId>,
    /// Number of chunks that wait, and of rows whose first write is in flight.
    waiting: u32,
    in_flight: u32,
    /// Whether all waiting chunks are to be written out.
    pub(crate) is_draining: bool,
}

impl Encode {
    /// A buffer for an array of `rows` rows with `data` data columns; `slots` rows may wait at a time.
    pub(crate) fn new(rows: u64, data: u32, slots: u32, carries_data: bool) -> Self {
        let open = (1..=slots).map(|next| Open {
            row: RowNo::new(0),
            columns: 0,
            since: 0,
            older: NONE,
            newer: if next < slots { next } else { NONE },
        });
        Self {
            data,
            rows: vec![UNTOUCHED; rows as usize],
            open: open.collect(),
            free: 0,
            oldest: NONE,
            newest: NONE,
            pages: if carries_data { vec![NONE; slots as usize * data as usize] } else { Vec::new() },
            waiting: 0,
            in_flight: 0,
            is_draining: false,
        }
    }

    /// Number of rows that may wait at a time.
    pub(crate) fn places(&self) -> u32 {
        self.open.len() as u32
    }

    /// Number of pages in memory: chunks that wait, and whole rows whose first write is in flight.
    #[inline]
    pub(crate) fn pages_in_memory(&self) -> u32 {
        self.waiting + self.in_flight * self.data
    }

    /// Whether `row` is written, parity included.
    #[inline]
    pub(crate) fn is_encoded(&self, row: RowNo) -> bool {
        self.rows[row.index()] == ENCODED
    }

    /// Whether the first write of `row` is in flight.
    #[inline]
    pub(crate) fn is_fresh(&self, row: RowNo) -> bool {
        self.rows[row.index()] == FRESH
    }

    /// Whether updates of `row` go to its members.
    #[inline]
    pub(crate) fn is_begun(&self, row: RowNo) -> bool {
        self.rows[row.index()] >= FRESH
    }

    #[inline]
    fn slot(&self, row: RowNo) -> Option<u32> {
        let slot = self.rows[row.index()];
        (slot != UNTOUCHED && slot < FRESH).then(|| slot - 1)
    }

    /// The data columns of `row` that wait.
    #[inline]
    pub(crate) fn columns(&self, row: RowNo) -> u64 {
        self.slot(row).map_or(0, |slot| self.open[slot as usize].columns)
    }

    /// Whether chunks of `row` can be accepted: it waits already, or there is a free slot.
    pub(crate) fn has_place(&self, row: RowNo) -> bool {
        self.slot(row).is_some() || self.free != NONE
    }

    /// Lets `row`, for which there must be a place, wait from `now` on if it does not wait yet. Returns whether it was opened.
    pub(crate) fn open(&mut self, row: RowNo, now: Nanos) -> bool {
        if self.slot(row).is_some() {
            return false;
        }
        let slot = self.free;
        self.free = self.open[slot as usize].newer;
        self.open[slot as usize] = Open { row, columns: 0, since: now, older: self.newest, newer: NONE };
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.open[newest as usize].newer = slot,
        }
        self.newest = slot;
        self.rows[row.index()] = slot + 1;
        true
    }

    /// Adds the chunks of columns `mask` to `row`, which must be open. Returns whether the row is complete.
    pub(crate) fn put(&mut self, row: RowNo, mask: u64) -> bool {
        let Some(slot) = self.slot(row) else { return false };
        let open = &mut self.open[slot as usize];
        self.waiting += (mask & !open.columns).count_ones();
        open.columns |= mask;
        open.columns.count_ones() == self.data
    }

    /// The page entry of `column` of `row`, which must be open, over a memory that carries data.
    pub(crate) fn page_mut(&mut self, row: RowNo, column: u32) -> Option<&mut PageId> {
        let slot = self.slot(row)?;
        self.pages.get_mut((slot * self.data + column) as usize)
    }

    /// The row that has waited longest, and since when.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<(RowNo, Nanos)> {
        (self.oldest != NONE).then(|| {
            let open = &self.open[self.oldest as usize];
            (open.row, open.since)
        })
    }

    /// Starts the first write of `row`, which must be open: its slot is free. Returns its columns.
    pub(crate) fn begin(&mut self, row: RowNo) -> u64 {
        let Some(slot) = self.slot(row) else { return 0 };
        let Open { columns, older, newer, .. } = self.open[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.open[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.open[newer as usize].older = older,
        }
        self.open[slot as usize].newer = self.free;
        self.free = slot;
        self.rows[row.index()] = FRESH;
        self.waiting -= columns.count_ones();
        self.in_flight += 1;
        columns
    }

    /// Marks `row` as encoded, if its first write was in flight and is done.
    #[inline]
    pub(crate) fn settled(&mut self, row: RowNo) {
        if self.rows[row.index()] == FRESH {
            self.rows[row.index()] = ENCODED;
            self.in_flight -= 1;
        }
    }

    /// Treats rows `0..rows` as encoded.
    pub(crate) fn assume_encoded(&mut self, rows: u64) {
        self.rows[..rows as usize].fill(ENCODED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_complete_with_its_last_member_and_its_slot_goes_to_the_next() {
        let mut encode = Encode::new(4, 3, 1, false);
        assert!(
            encode.has_place(RowNo::new(2))
                && encode.open(RowNo::new(2), 7)
                && !encode.open(RowNo::new(2), 8)
        );
        assert!(!encode.put(RowNo::new(2), 0b101) && !encode.put(RowNo::new(2), 0b001));
        assert_eq!((encode.columns(RowNo::new(2)), encode.oldest()), (0b101, Some((RowNo::new(2), 7))));
        assert!(encode.has_place(RowNo::new(2)) && !encode.has_place(RowNo::new(0)));
        assert!(encode.put(RowNo::new(2), 0b010));
        assert_eq!(encode.begin(RowNo::new(2)), 0b111);
        assert!(
            encode.is_fresh(RowNo::new(2))
                && encode.is_begun(RowNo::new(2))
                && !encode.is_encoded(RowNo::new(2))
                && encode.has_place(RowNo::new(0))
        );
        encode.settled(RowNo::new(2));
        encode.settled(RowNo::new(1));
        assert!(encode.is_encoded(RowNo::new(2)) && !encode.is_encoded(RowNo::new(1)));
        assert_eq!((encode.columns(RowNo::new(2)), encode.oldest()), (0, None));
    }

    #[test]
    fn rows_are_as_old_as_their_first_chunk_whichever_leaves_between() {
        let mut encode = Encode::new(8, 2, 4, false);
        for (row, now) in [(5, 1), (3, 2), (7, 2), (0, 9)] {
            assert!(encode.open(RowNo::new(row), now));
            encode.put(RowNo::new(row), 1);
        }
        let mut order = Vec::new();
        encode.begin(RowNo::new(3));
        assert!(encode.open(RowNo::new(1), 10));
        encode.put(RowNo::new(5), 1);
        while let Some((row, since)) = encode.oldest() {
            order.push((row, since));
            encode.begin(row);
        }
        assert_eq!(order, [(5, 1), (7, 2), (0, 9), (1, 10)].map(|(row, since)| (RowNo::new(row), since)));
    }
}
