//! Rows as observers see them: the write cache, the parity window, the log of deltas, zones.

use crate::array::{Array, Placed};
use stripewise_core::ids::{MemberNo, RowNo};
use stripewise_core::memory::{Memory, PageId};
use stripewise_exec::ArrayOf;
use stripewise_policy::cache::store::Stage;
use stripewise_policy::cache::{Cache, CacheCounts};

use crate::in_place::parity_log::ParityLog;
use crate::in_place::window::Held;
use crate::zones::{ZoneCounts, Zones};

impl<M: Memory> Array<M> {
    /// Columns of `row` of which the cache has all or part of the page. Includes parity, where parity is computed before pages
    /// enter the cache.
    #[inline]
    pub fn cached_columns(&self, row: RowNo) -> u64 {
        self.as_in_place().map_or(0, |placement| placement.cached_columns(row))
    }

    /// Cached columns of `row` that parity covers: the members have older content of these.
    #[inline]
    pub fn covered_in_cache(&self, row: RowNo) -> u64 {
        self.as_in_place().map_or(0, |placement| placement.covered_in_cache(row))
    }
}

/// Getters.
impl<M: Memory> Array<M> {
    /// Counters of the write cache; all zero without one.
    pub fn cache_counts(&self) -> CacheCounts {
        self.as_in_place()
            .and_then(|placement| placement.cache.as_ref())
            .map_or_else(CacheCounts::default, |cache| cache.counts)
    }

    /// The cached content of a chunk (data or parity): its page, and the sectors of the page that were written.
    pub fn cached_content(&self, row: RowNo, column: u32) -> Option<(PageId, u64)> {
        let cache = self.as_in_place()?.cache.as_ref()?;
        let chunk = cache.store.get(cache.store.find(row, column)?);
        Some((chunk.page, chunk.sectors))
    }

    /// Whether content of `row` is being destaged from the write cache to the members.
    pub fn is_destaging(&self, row: RowNo) -> bool {
        let is_out = |cache: &Cache| cache.store.columns(row, |chunk| chunk.stage != Stage::Kept) != 0;
        let exec = self.exec();
        let mut plans = exec.plans().ids();
        self.as_in_place().and_then(|placement| placement.cache.as_ref()).is_some_and(is_out)
            || plans.any(|plan| {
                exec.plan(plan).row == row
                    && self.as_in_place().is_some_and(|placement| placement.is_destage(plan, exec))
            })
    }

    /// Chunks, by row and column, whose acknowledged content was lost while it left the write cache.
    pub fn lost_content(&self) -> impl Iterator<Item = (RowNo, u32)> {
        self.as_in_place()
            .and_then(|placement| placement.cache.as_ref())
            .into_iter()
            .flat_map(|cache: &Cache| cache.lost.iter().copied())
    }
}

impl<M: Memory> Array<M> {
    /// Number of rows with deferred parity, without those that are being updated.
    pub fn deferred_rows(&self) -> usize {
        self.as_in_place().map_or(0, |placement| placement.window.deferred_rows())
    }

    /// Data columns of `row` that are written and that its parity does not cover.
    pub fn late_columns(&self, row: RowNo) -> u64 {
        self.as_in_place().map_or(0, |placement| placement.window.dirty(row))
    }

    /// Whether the parity of `row` no longer covers anything, because too much of the row was lost while its parity was
    /// deferred.
    pub fn is_stale(&self, row: RowNo) -> bool {
        self.as_in_place().is_some_and(|placement| placement.window.is_stale(row))
    }

    /// All stale rows, see [`Self::is_stale`].
    pub fn stale_rows(&self) -> impl Iterator<Item = RowNo> {
        self.as_in_place().into_iter().flat_map(|placement| placement.window.stale())
    }

    /// The buffer with the covered content of a column whose parity is deferred, where the member does not keep this content.
    pub fn covered_content(&self, row: RowNo, column: u32) -> Option<PageId> {
        let placement = self.as_in_place()?;
        let entry = placement.window.entry(row)?;
        let is_held = M::CARRIES_DATA && placement.covered_in_memory(row) >> column & 1 != 0;
        is_held.then(|| placement.window.page(entry, column, Held::Covered))
    }
}

impl<M: Memory> Array<M> {
    /// Treats the first `pages` pages of the array as written, each where its address says: for a preconditioned array, or for
    /// one whose content is unknown.
    pub fn assume_written(&mut self, pages: u64) {
        match &mut self.0 {
            Placed::InPlace(array) => {
                let ArrayOf { exec, placement } = &mut **array;
                if let Some(gather) = &mut placement.gather {
                    gather.assume_written(pages, exec.geometry());
                }
                placement.encode_assume_written(pages, exec);
                placement.parity_log_assume_written(pages, exec);
            }
            Placed::Log(array) => array.placement.assume_written(pages, &mut array.exec),
        }
    }
}

impl<M: Memory> Array<M> {
    /// The pages of the log members that hold deltas of `row`, newest first: the same pages on each log member.
    pub fn delta_pages(&self, row: RowNo) -> impl Iterator<Item = u32> + '_ {
        self.as_in_place()
            .and_then(|placement| placement.parity_log.as_ref())
            .into_iter()
            .flat_map(move |parity_log| parity_log.slots_of(row))
    }

    /// The member that holds the deltas of the parity chunk with this number, if there is a log.
    pub fn parity_log_member(&self, parity: u32) -> Option<MemberNo> {
        self.as_in_place()
            .and_then(|placement| placement.parity_log.as_ref())
            .map(|parity_log| parity_log.member(parity))
    }

    /// Whether a background commit works on `row`, or waits for it.
    pub fn is_committing(&self, row: RowNo) -> bool {
        self.as_in_place()
            .and_then(|placement| placement.parity_log.as_ref())
            .is_some_and(|parity_log| parity_log.is_due(row))
    }

    /// Pages of each log member that are in use, including vacant pages between them.
    pub fn parity_log_pages_taken(&self) -> u64 {
        self.as_in_place().and_then(|placement| placement.parity_log.as_ref()).map_or(0, ParityLog::taken)
    }
}

impl<M: Memory> Array<M> {
    /// Data columns of `row` that its parity takes for zeros: free pages of zones.
    pub fn blank_columns(&self, row: RowNo) -> u64 {
        self.as_in_place().map_or(0, |placement| placement.blank.columns(row))
    }

    /// The page of persistent memory with the content of the parity column `column` of `row`, if it is kept there. Without
    /// bytes there is none.
    pub fn kept_parity(&self, row: RowNo, column: u32) -> Option<PageId> {
        let nth = column.checked_sub(self.exec().geometry().data)?;
        self.as_in_place()?.parity_memory.page(row, nth)
    }

    /// Number of rows whose parity is in persistent memory.
    pub fn kept_parity_rows(&self) -> usize {
        self.as_in_place().map_or(0, |placement| placement.parity_memory.len())
    }
}

/// Getters.
impl<M: Memory> Array<M> {
    /// Counters of the zones; all zero without zones.
    pub fn zone_counts(&self) -> ZoneCounts {
        self.as_in_place()
            .and_then(|placement| placement.zones.as_ref())
            .map_or_else(ZoneCounts::default, Zones::counts)
    }

    /// Number of blocks in the map of zones; 0 without zones.
    pub fn zone_map_blocks(&self) -> u64 {
        self.as_in_place().and_then(|placement| placement.zones.as_ref()).map_or(0, Zones::blocks)
    }

    /// Checks the map of zones for inconsistencies.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn audit_zones(&self) -> Result<(), String> {
        self.as_in_place().and_then(|placement| placement.zones.as_ref()).map_or(Ok(()), Zones::audit)
    }
}
