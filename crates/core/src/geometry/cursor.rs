//! Runs of the array's pages, row by row.
//!
//! Source: paper 002, section III-C, for runs under the longest code interval.

use super::Geometry;
use crate::ids::RowNo;

/// A run of pages of the array, split into the rows that it touches.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowCursor {
    /// The first page not yet covered by a finished stripe.
    page: u64,
    /// End of the run.
    end: u64,
    /// Rows of the current stripe that were already returned.
    given: u32,
}

/// Columns `first..=last` of `row` that a run covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPiece {
    /// The row.
    pub row: RowNo,
    /// First data column covered.
    pub first: u32,
    /// Last data column covered.
    pub last: u32,
}

impl RowCursor {
    /// The rows of pages `page..page + count`.
    pub fn new(page: u64, count: u64) -> Self {
        Self { page, end: page + count, given: 0 }
    }

    /// First page and end of the rest of the run, for a walk page by page.
    pub fn remaining(&self) -> (u64, u64) {
        (self.page, self.end)
    }

    /// Whether every row was returned.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.page >= self.end
    }

    /// The next row, and which of its data columns the run covers.
    #[inline]
    pub fn next(&mut self, geometry: &Geometry) -> Option<RowPiece> {
        if self.is_done() {
            return None;
        }
        let is_behind = !geometry.zones.is_empty() && self.page >= geometry.first_zone_pages();
        let (piece, next) = if is_behind {
            geometry.piece_behind(self.page, self.end, self.given)
        } else {
            geometry.piece(self.page, self.end, self.given)
        };
        match next {
            None => self.given += 1,
            Some(next) => {
                self.page = next;
                self.given = 0;
            }
        }
        Some(piece)
    }

    /// The first remaining page, if any.
    pub fn first_page(&self) -> Option<u64> {
        (!self.is_done()).then(|| self.remaining().0)
    }

    /// The end of the run.
    pub fn end_page(&self) -> u64 {
        self.remaining().1
    }

    /// The run without its first `pages` pages.
    pub fn skip(&self, pages: u64) -> Self {
        let (first, end) = self.remaining();
        Self::new(first + pages, end - first - pages)
    }
}

impl Geometry {
    /// For pages `page..end`, after `given` rows of the first stripe were returned: the next row, and the page after the
    /// stripe if that row is the stripe's last one.
    #[inline]
    pub fn piece(&self, page: u64, end: u64, given: u32) -> (RowPiece, Option<u64>) {
        // Here, one chunk of each group counts as one chunk, of one stripe that spans all groups.
        let chunk = self.column_pages();
        let stripe_pages = self.round_pages();
        let stripe = page / stripe_pages;
        let start = page % stripe_pages;
        let end = (end - stripe * stripe_pages).min(stripe_pages);
        let rows = (end - start).min(chunk) as u32;
        let piece = if chunk == 1 {
            RowPiece { row: RowNo::new(stripe), first: start as u32, last: (end - 1) as u32 }
        } else {
            let page_in_chunk = (start + u64::from(given)) % chunk;
            let first = (start + chunk - 1 - page_in_chunk) / chunk;
            let last = (end - 1 - page_in_chunk) / chunk;
            RowPiece {
                row: RowNo::new(stripe * chunk + page_in_chunk),
                first: first as u32,
                last: last as u32,
            }
        };
        (piece, (given + 1 == rows).then_some((stripe + 1) * stripe_pages))
    }
}
