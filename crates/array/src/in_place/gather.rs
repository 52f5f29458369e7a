//! Gathering of first writes: pages that were never written wait in controller memory until there are enough for a stripe, and
//! become one full stripe, in order of first writing. Later writes update them in place.
//!
//! Source: the public fork of paper 000's simulator (its stripe table); paper 000 itself (section II-A) only says that
//! stripes stay where they are once formed.

use stripewise_core::geometry::Geometry;
use stripewise_core::ids::{PlanId, RowNo};
use stripewise_core::memory::PageId;

/// A page that waits for a full stripe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Page of the array.
    pub(crate) page: u64,
    /// Its content.
    pub(crate) buffer: PageId,
}

/// The locations of gathered pages, and the pages that wait.
#[derive(Debug)]
pub(crate) struct Gather {
    data: u32,
    /// For each page of the array its slot plus one, or 0. A slot is a data column of a row.
    slots: Vec<u32>,
    /// For each slot its page plus one, or 0.
    pages: Vec<u32>,
    /// Slots of rows that were written short, free for single pages.
    holes: Vec<u32>,
    next_row: u64,
    /// Rows whose first write is in flight, with the plan that writes each.
    fresh: Vec<(RowNo, PlanId)>,
    pub(crate) waiting: Vec<Waiting>,
    /// The time when the first waiting page arrived.
    pub(crate) since: u64,
    /// Whether the pages have waited long enough, but no plan was free.
    pub(crate) overdue: bool,
}

impl Gather {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let slots = geometry.pages() as usize;
        Self {
            data: geometry.data,
            slots: vec![0; slots],
            pages: vec![0; slots],
            holes: Vec::new(),
            next_row: 0,
            fresh: Vec::new(),
            waiting: Vec::with_capacity(geometry.data as usize),
            since: 0,
            overdue: false,
        }
    }

    /// Row and column of `page`, or `None` if it was never written to a member.
    #[inline]
    pub(crate) fn slot(&self, page: u64) -> Option<(RowNo, u32)> {
        let slot = self.slots[page as usize].checked_sub(1)?;
        Some((RowNo::new(u64::from(slot / self.data)), slot % self.data))
    }

    /// The page at `column` of `row`.
    #[inline]
    pub(crate) fn page(&self, row: RowNo, column: u32) -> u64 {
        u64::from(self.pages[row.index() * self.data as usize + column as usize].wrapping_sub(1))
    }

    fn map(&mut self, page: u64, slot: u32) {
        self.slots[page as usize] = slot + 1;
        self.pages[slot as usize] = page as u32 + 1;
    }

    /// Maps `page` to a slot that a short row left free, if there is one.
    pub(crate) fn fill_hole(&mut self, page: u64) -> Option<(RowNo, u32)> {
        let slot = self.holes.pop()?;
        self.map(page, slot);
        self.slot(page)
    }

    /// Position of `page` among the waiting pages.
    pub(crate) fn position(&self, page: u64) -> Option<usize> {
        self.waiting.iter().position(|waiting| waiting.page == page)
    }

    /// Number of pages in memory: waiting ones, and whole rows whose first write is in flight.
    #[inline]
    pub(crate) fn pages_in_memory(&self) -> u32 {
        self.waiting.len() as u32 + self.fresh.len() as u32 * self.data
    }

    /// Whether there are enough waiting pages for a stripe.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() == self.data as usize
    }

    /// Maps the waiting pages to the next row. Unused slots of the row become holes.
    pub(crate) fn close(&mut self) -> RowNo {
        let row = RowNo::new(self.next_row);
        self.next_row += 1;
        let first = row.number() as u32 * self.data;
        for index in 0..self.waiting.len() {
            self.map(self.waiting[index].page, first + index as u32);
        }
        self.holes.extend(first + self.waiting.len() as u32..first + self.data);
        row
    }

    /// `plan` starts to write `row` for the first time.
    pub(crate) fn begun(&mut self, row: RowNo, plan: PlanId) {
        self.fresh.push((row, plan));
    }

    /// The plans that write rows for the first time.
    pub(crate) fn fresh_plans(&self) -> impl Iterator<Item = PlanId> {
        self.fresh.iter().map(|&(_, plan)| plan)
    }

    /// Whether the first write of `row` is in flight.
    #[inline]
    pub(crate) fn is_fresh(&self, row: RowNo) -> bool {
        self.fresh.iter().any(|&(fresh, _)| fresh == row)
    }

    /// The first write of `row` is done.
    pub(crate) fn settled(&mut self, row: RowNo) {
        self.fresh.retain(|&(fresh, _)| fresh != row);
    }

    /// Treats pages `0..pages` as written, each in the slot of its address in `geometry`, as far as they fill the first rows
    /// completely.
    pub(crate) fn assume_written(&mut self, pages: u64, geometry: &Geometry) {
        let pages = pages - pages % geometry.round_pages();
        for page in 0..pages {
            let (row, column) = geometry.slot(page);
            self.map(page, row.number() as u32 * self.data + column);
        }
        self.next_row = pages / u64::from(self.data);
    }
}
