//! Requests with a write cache: writes that it absorbs, reads that it serves, flushes that drain it.

use super::{Array, columns};
use crate::bugs::Bug;
use crate::cache::store::Stage;
use crate::cache::{Cache, CacheCounts, Put, Writer};
use crate::driver::Driver;
use crate::memory::{Memory, PageId};
use crate::plan::Plan;
use crate::request::RequestKind;

impl<M: Memory> Array<M> {
    /// Whether a request may be split for columns `mask` of `row`: whether there are enough plans, or room in the cache.
    #[inline]
    pub(super) fn may_split(&mut self, kind: RequestKind, row: u64, mask: u64) -> bool {
        if kind != RequestKind::Write || self.cache.is_none() {
            return self.has_plans_for(kind);
        }
        let is_first = self.makes_parity_first();
        let mask = if is_first { mask | self.geometry.parity_columns() } else { mask };
        let has_room = self.cache.as_mut().is_none_or(|cache| cache.has_room(&self.geometry, row, mask));
        has_room && (!is_first || self.has_plans_for(kind))
    }

    /// Whether parity is computed before pages enter the cache.
    #[inline]
    pub(super) fn makes_parity_first(&self) -> bool {
        self.scheme.cache.policy.makes_parity_first() && self.geometry.parity() > 0
    }

    /// Request `id` in the form that the cache uses.
    pub(super) fn writer(&self, id: u32) -> Writer {
        let request = &self.requests[id as usize];
        Writer { id, arrival: request.host.arrival, is_sequential: request.is_sequential }
    }

    /// Writes columns `mask` of `row` for request `id` into the cache, which must have room.
    pub(super) fn write_cached(&mut self, id: u32, row: u64, mask: u64) {
        let writer = self.writer(id);
        let loses = self.has_bug(Bug::CacheLosesSectors);
        for column in columns(mask) {
            let sectors = self.sectors_of_column(id, row, column);
            let Some(cache) = &mut self.cache else { return };
            cache.counts.written += 1;
            let put = cache.put(&self.geometry, (row, column), sectors, false, writer);
            cache.counts.absorbed += u64::from(matches!(put, Put::Over(_)));
            if M::CARRIES_DATA {
                if loses && matches!(put, Put::Over(_)) {
                    continue;
                }
                let page = self.page_for(put);
                self.load_host(page, self.array_page(row, column), id, sectors);
            }
        }
    }

    /// The page that receives the content of this cache entry.
    pub(super) fn page_for(&mut self, put: Put) -> PageId {
        let (chunk, before) = match put {
            Put::Over(chunk) => return self.cached_page(chunk),
            Put::New(chunk) => (chunk, None),
            Put::Beside(chunk, page, sectors) => (chunk, Some((page, sectors))),
        };
        let page = self.memory.take();
        if let Some((before, sectors)) = before {
            self.copy_sectors(page, before, sectors);
        }
        if let Some(cache) = &mut self.cache {
            cache.set_page(chunk, page);
        }
        page
    }

    fn cached_page(&self, chunk: u32) -> PageId {
        self.cache.as_ref().map_or(crate::ids::NONE, |cache| cache.store.get(chunk).page)
    }

    /// Serves the cached part of columns `mask` of `row` to request `id`. Returns the columns that need a member.
    #[inline]
    pub(super) fn read_cached(&mut self, id: u32, row: u64, mask: u64) -> u64 {
        let Some(cache) = &self.cache else { return mask };
        let mut rest = mask;
        for column in columns(cache.columns(row) & mask) {
            let sectors = self.sectors_of_column(id, row, column);
            let Some(cache) = &mut self.cache else { break };
            let chunk = cache.store.find(row, column).map(|id| cache.store.get(id));
            let Some(chunk) = chunk.filter(|chunk| sectors & !chunk.sectors == 0) else { continue };
            let page = chunk.page;
            cache.counts.hits += 1;
            rest &= !(1 << column);
            if M::CARRIES_DATA {
                self.store_host(page, self.array_page(row, column), id);
            }
        }
        rest
    }

    /// Records the cached content of the pages of the read `plan`, to overlay the content that members return. Content
    /// recorded earlier stays: it may have reached its member since, after this read.
    #[inline]
    pub(super) fn note_cached(&mut self, plan: u32) {
        if self.cache.is_none() {
            return;
        }
        let Plan { row, wanted, .. } = self.plans[plan as usize];
        let cached = self.cached_columns(row) & wanted;
        if cached == 0 || self.has_bug(Bug::CacheOverlayForgotten) {
            return;
        }
        for column in columns(cached) {
            let cache = self.cache.as_ref();
            let chunk = cache.and_then(|cache| cache.store.find(row, column).map(|id| *cache.store.get(id)));
            let Some(chunk) = chunk else { continue };
            let bit = 1 << column;
            let before = self.plans[plan as usize].overlaid & bit != 0;
            let cover = &mut self.covers[plan as usize * self.geometry.data as usize + column as usize];
            *cover = if before { *cover | chunk.sectors } else { chunk.sectors };
            self.plans[plan as usize].overlaid |= bit;
            self.copy_to_new(plan, column, chunk.page, chunk.sectors);
        }
    }

    /// Fails the read `plan`, whose turn has come, for chunks whose acknowledged content is lost, unless the cache has them
    /// whole again. (Before its turn, such content may be in flight from the cache.)
    pub(super) fn fail_lost_cached(&mut self, plan: u32) {
        let Some(cache) = self.cache.as_ref().filter(|cache| !cache.lost.is_empty()) else { return };
        let Plan { row, wanted, overlaid, .. } = self.plans[plan as usize];
        let base = plan as usize * self.geometry.data as usize;
        let is_whole = |column: u32| {
            overlaid >> column & 1 != 0 && self.covers[base + column as usize] == self.whole_page
        };
        let is_lost = |&column: &u32| cache.lost.contains(&(row, column)) && !is_whole(column);
        let lost = columns(wanted).filter(is_lost).fold(0, |mask, column| mask | 1 << column);
        self.fail_requests(plan, lost);
    }

    /// Starts to drain the cache.
    pub(super) fn drain_cache(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.draining = true;
        }
    }

    /// A flush drains a cache that does not survive a loss of power: it waits for all content that is cached or being
    /// destaged. Returns false if plans or attachments are lacking or older versions must be written first; the flush
    /// continues later.
    pub(super) fn cache_flush_for<D: Driver<M>>(&mut self, id: u32, driver: &mut D) -> bool {
        let is_done = self.requests[id as usize].emptied || self.has_bug(Bug::CacheNotDrained);
        // Content that leaves a persistent cache for volatile member caches must have left before the members are flushed.
        let members = self.members.volatile_cache && !self.has_bug(Bug::PersistentCacheNotDrained);
        let is_meant = |cache: &&mut Cache| !is_done && (cache.is_volatile || members);
        let Some(cache) = self.cache.as_mut().filter(is_meant) else {
            return true;
        };
        cache.let_all_go();
        while self.destage_next(id, driver) {}
        let waits = !self.has_bug(Bug::FlushSkipsDestages);
        let has_more = self.cache.as_ref().is_some_and(Cache::has_more);
        if has_more || waits && !self.wait_for_all(id, Self::is_destage) {
            return false;
        }
        self.requests[id as usize].emptied = true;
        true
    }

    /// Gives up the plan's reference to carried pages that the cache still has: the cache owns them.
    pub(super) fn keep_cached(&mut self, plan: u32) {
        let Plan { row, carried, .. } = self.plans[plan as usize];
        if !M::CARRIES_DATA || !self.is_destage(plan) {
            return;
        }
        for column in columns(carried) {
            let cache = self.cache.as_ref();
            let chunk = cache.and_then(|cache| cache.store.find(row, column).map(|id| *cache.store.get(id)));
            if chunk.is_some_and(|chunk| chunk.stage == Stage::Carried(plan)) {
                self.adopt_buffer(plan, column, crate::ids::NONE);
            }
        }
    }

    /// Whether `plan` is in progress and destages cached content.
    pub(super) fn is_destage(&self, plan: u32) -> bool {
        let slot = &self.plans[plan as usize];
        slot.carried != 0 && slot.is_under_way
    }

    /// The sectors of a column's page that request `id` covers.
    #[inline]
    fn sectors_of_column(&self, id: u32, row: u64, column: u32) -> u64 {
        if self.requests[id as usize].in_part {
            self.sectors_of_page(id, self.array_page(row, column))
        } else {
            self.whole_page
        }
    }

    /// Columns of `row` of which the cache has all or part of the page. Includes parity, where parity is computed before pages
    /// enter the cache.
    #[inline]
    pub fn cached_columns(&self, row: u64) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.columns(row))
    }

    /// Cached columns of `row` that parity covers: the members have older content of these.
    #[inline]
    pub fn covered_in_cache(&self, row: u64) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.covered(row))
    }

    /// Whether acknowledged content is lost: flushes fail until it is written again.
    pub(super) fn has_lost_cached(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| !cache.lost.is_empty())
    }

    /// Time in controller memory of request `id` before it is acknowledged.
    pub(super) fn latency_of(&self, id: u32) -> u64 {
        let is_write = self.requests[id as usize].host.kind == RequestKind::Write;
        let splits = is_write && self.cache.as_ref().is_some_and(Cache::splits);
        self.memory_latency + if splits { self.scheme.cache.striping.0 } else { 0 }
    }
}

/// Getters.
impl<M: Memory> Array<M> {
    /// Counters of the write cache; all zero without one.
    pub fn cache_counts(&self) -> CacheCounts {
        self.cache.as_ref().map_or_else(CacheCounts::default, |cache| cache.counts)
    }

    /// The cached content of a chunk (data or parity): its page, and the sectors of the page that were written.
    pub fn cached_content(&self, row: u64, column: u32) -> Option<(PageId, u64)> {
        let cache = self.cache.as_ref()?;
        let chunk = cache.store.get(cache.store.find(row, column)?);
        Some((chunk.page, chunk.sectors))
    }

    /// Whether content of `row` is being destaged from the write cache to the members.
    pub fn is_destaging(&self, row: u64) -> bool {
        let is_out = |cache: &Cache| cache.store.columns(row, |chunk| chunk.stage != Stage::Kept) != 0;
        let mut plans = 0..self.plans.len() as u32;
        self.cache.as_ref().is_some_and(is_out)
            || plans.any(|plan| self.plans[plan as usize].row == row && self.is_destage(plan))
    }

    /// Chunks, by row and column, whose acknowledged content was lost while it left the write cache.
    pub fn lost_content(&self) -> impl Iterator<Item = (u64, u32)> {
        self.cache.iter().flat_map(|cache: &Cache| cache.lost.iter().copied())
    }
}
