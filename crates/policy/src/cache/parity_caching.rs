//! Parity caching: updated chunks wait in a buffer, so that parity is updated once for many of them. When there are more
//! chunks than its size, the least recently updated chunk leaves with all chunks of its row, as one update.
//!
//! Source: paper 001, sections II-A and V-F ("first caches updated data in buffer and then flushes to SSD RAID when buffer
//! becomes full"; its references 4, 10, 14 and 16). It does not say which data leaves: least recently updated first is our
//! choice, and so is the row as the unit that leaves.

use stripewise_core::ids::{NONE, RowNo};

use super::store::{List, Store};

/// The kept chunks, by age.
#[derive(Debug)]
pub(super) struct ParityCaching {
    pub(super) ages: List,
    pub chunks: u32,
    destaging: u32,
}

impl ParityCaching {
    /// A buffer of `chunks`, with at most `destaging` chunks in flight.
    pub(crate) fn new(chunks: u32, destaging: u32) -> Self {
        Self { ages: List::EMPTY, chunks, destaging }
    }

    /// The row of the least recently updated chunk.
    pub(crate) fn oldest(&self, store: &Store) -> Option<RowNo> {
        (self.ages.oldest != NONE).then(|| store.get(self.ages.oldest).row)
    }

    /// Whether a row of `count` chunks may leave while `leaving` chunks are in flight.
    pub(crate) fn fits(&self, leaving: u32, count: u32) -> bool {
        leaving == 0 || leaving + count <= self.destaging
    }
}
