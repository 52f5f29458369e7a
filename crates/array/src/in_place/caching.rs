//! Requests with a write cache: writes that it absorbs, reads that it serves, flushes that drain it.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RequestId, RowNo};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::request::RequestKind;
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Plan;
use stripewise_policy::cache::store::Stage;
use stripewise_policy::cache::{Cache, Put, Writer};

use crate::in_place::InPlace;
use crate::in_place::job::PlanState;

impl InPlace {
    /// Whether a request may be split for columns `mask` of `row`: whether there are enough plans, or room in the cache.
    #[inline]
    pub(crate) fn may_split<M: Memory>(
        &mut self,
        kind: RequestKind,
        row: RowNo,
        mask: u64,
        exec: &mut Executor<M>,
    ) -> bool {
        if kind != RequestKind::Write || self.cache.is_none() {
            return self.has_plans_for(kind, exec);
        }
        let is_first = self.makes_parity_first(exec);
        let mask = if is_first { mask | exec.geometry().parity_columns() } else { mask };
        let has_room = self.cache.as_mut().is_none_or(|cache| cache.has_room(exec.geometry(), row, mask));
        has_room && (!is_first || self.has_plans_for(kind, exec))
    }

    /// Whether parity is computed before pages enter the cache.
    #[inline]
    pub(crate) fn makes_parity_first<M: Memory>(&self, exec: &Executor<M>) -> bool {
        exec.scheme().cache.policy.makes_parity_first() && exec.geometry().parity() > 0
    }

    /// Request `id` in the form that the cache uses.
    pub(crate) fn writer<M: Memory>(&self, id: RequestId, exec: &Executor<M>) -> Writer {
        let request = exec.request(id);
        Writer { id, arrival: request.host.arrival, is_sequential: request.is_sequential }
    }

    /// Writes columns `mask` of `row` for request `id` into the cache, which must have room.
    pub(crate) fn write_cached<M: Memory>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        exec: &mut Executor<M>,
    ) {
        let writer = self.writer(id, exec);
        let loses = exec.has_bug(Bug::CacheLosesSectors);
        for column in columns(mask) {
            let sectors = self.sectors_of_column(id, row, column, exec);
            let Some(cache) = &mut self.cache else { return };
            cache.counts.written += 1;
            let put = cache.put(exec.geometry(), (row, column), sectors, false, writer);
            cache.counts.absorbed += u64::from(matches!(put, Put::Over(_)));
            if M::CARRIES_DATA {
                if loses && matches!(put, Put::Over(_)) {
                    continue;
                }
                let page = self.page_for(put, exec);
                exec.load_host(page, self.array_page(row, column, exec), id, sectors);
            }
        }
    }

    /// The page that receives the content of this cache entry.
    pub(crate) fn page_for<M: Memory>(&mut self, put: Put, exec: &mut Executor<M>) -> PageId {
        let (chunk, before) = match put {
            Put::Over(chunk) => return self.cached_page(chunk),
            Put::New(chunk) => (chunk, None),
            Put::Beside(chunk, page, sectors) => (chunk, Some((page, sectors))),
        };
        let page = exec.memory_mut().take();
        if let Some((before, sectors)) = before {
            exec.copy_sectors(page, before, sectors);
        }
        if let Some(cache) = &mut self.cache {
            cache.set_page(chunk, page);
        }
        page
    }

    fn cached_page(&self, chunk: u32) -> PageId {
        self.cache.as_ref().map_or(stripewise_core::ids::NONE, |cache| cache.store.get(chunk).page)
    }

    /// Serves the cached part of columns `mask` of `row` to request `id`. Returns the columns that need a member.
    #[inline]
    pub(crate) fn read_cached<M: Memory>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        exec: &mut Executor<M>,
    ) -> u64 {
        let Some(cache) = &self.cache else { return mask };
        let mut rest = mask;
        for column in columns(cache.columns(row) & mask) {
            let sectors = self.sectors_of_column(id, row, column, exec);
            let Some(cache) = &mut self.cache else { break };
            let chunk = cache.store.find(row, column).map(|id| cache.store.get(id));
            let Some(chunk) = chunk.filter(|chunk| sectors & !chunk.sectors == 0) else { continue };
            let page = chunk.page;
            cache.counts.hits += 1;
            rest &= !(1 << column);
            if M::CARRIES_DATA {
                exec.store_host(page, self.array_page(row, column, exec), id);
            }
        }
        rest
    }

    /// Records the cached content of the pages of the read `plan`, to overlay the content that members return. Content
    /// recorded earlier stays: it may have reached its member since, after this read.
    #[inline]
    pub(crate) fn note_cached<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if self.cache.is_none() {
            return;
        }
        let Plan { row, wanted, .. } = *exec.plan(plan);
        let cached = self.cached_columns(row) & wanted;
        if cached == 0 || exec.has_bug(Bug::CacheOverlayForgotten) {
            return;
        }
        for column in columns(cached) {
            let cache = self.cache.as_ref();
            let chunk = cache.and_then(|cache| cache.store.find(row, column).map(|id| *cache.store.get(id)));
            let Some(chunk) = chunk else { continue };
            let bit = 1 << column;
            let before = exec.plan(plan).overlaid & bit != 0;
            let cover = if before { exec.cover(plan, column) } else { 0 };
            exec.set_cover(plan, column, cover | chunk.sectors);
            exec.overlay(plan, bit);
            exec.copy_to_new(plan, column, chunk.page, chunk.sectors);
        }
    }

    /// Fails the read `plan`, whose turn has come, for chunks whose acknowledged content is lost, unless the cache has them
    /// whole again. (Before its turn, such content may be in flight from the cache.)
    pub(crate) fn fail_lost_cached<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Some(cache) = self.cache.as_ref().filter(|cache| !cache.lost.is_empty()) else { return };
        let Plan { row, wanted, overlaid, .. } = *exec.plan(plan);
        let is_whole =
            |column: u32| overlaid >> column & 1 != 0 && exec.cover(plan, column) == exec.whole_page();
        let is_lost = |&column: &u32| cache.lost.contains(&(row, column)) && !is_whole(column);
        let lost = columns(wanted).filter(is_lost).fold(0, |mask, column| mask | 1 << column);
        exec.fail_requests(plan, lost, self);
    }

    /// Starts to drain the cache.
    pub(crate) fn drain_cache(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.draining = true;
        }
    }

    /// A flush drains a cache that does not survive a loss of power: it waits for all content that is cached or being
    /// destaged. Returns false if plans or attachments are lacking or older versions must be written first; the flush
    /// continues later.
    pub(crate) fn cache_flush_for<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let is_done = exec.request(id).emptied || exec.has_bug(Bug::CacheNotDrained);
        // Content that leaves a persistent cache for volatile member caches must have left before the members are flushed.
        let members = exec.members().volatile_cache && !exec.has_bug(Bug::PersistentCacheNotDrained);
        let is_meant = |cache: &&mut Cache| !is_done && (cache.is_volatile || members);
        let Some(cache) = self.cache.as_mut().filter(is_meant) else {
            return true;
        };
        cache.let_all_go();
        while self.destage_next(id, exec, driver) {}
        let waits = !exec.has_bug(Bug::FlushSkipsDestages);
        let has_more = self.cache.as_ref().is_some_and(Cache::has_more);
        if has_more || waits && !exec.wait_for_all(id, |exec, plan| self.is_destage(plan, exec)) {
            return false;
        }
        exec.request_mut(id).emptied = true;
        true
    }

    /// Drops the plan's reference to carried pages that the cache still has: the cache owns them.
    pub(crate) fn keep_cached<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, .. } = *exec.plan(plan);
        let PlanState { carried, .. } = self.jobs[plan];
        if !M::CARRIES_DATA || !self.is_destage(plan, exec) {
            return;
        }
        for column in columns(carried) {
            let cache = self.cache.as_ref();
            let chunk = cache.and_then(|cache| cache.store.find(row, column).map(|id| *cache.store.get(id)));
            if chunk.is_some_and(|chunk| chunk.stage == Stage::Carried(plan)) {
                exec.adopt_buffer(plan, column, stripewise_core::ids::NONE);
            }
        }
    }

    /// Whether `plan` is in progress and destages cached content.
    pub(crate) fn is_destage<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> bool {
        self.jobs[plan].carried != 0 && exec.plan(plan).is_under_way
    }

    /// The sectors of a column's page that request `id` covers.
    #[inline]
    fn sectors_of_column<M: Memory>(
        &self,
        id: RequestId,
        row: RowNo,
        column: u32,
        exec: &Executor<M>,
    ) -> u64 {
        if exec.request(id).in_part {
            exec.sectors_of_page(id, self.array_page(row, column, exec))
        } else {
            exec.whole_page()
        }
    }

    /// See [`crate::Array::cached_columns`].
    #[inline]
    pub(crate) fn cached_columns(&self, row: RowNo) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.columns(row))
    }

    /// See [`crate::Array::covered_in_cache`].
    #[inline]
    pub(crate) fn covered_in_cache(&self, row: RowNo) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.covered(row))
    }

    /// Whether acknowledged content is lost: flushes fail until it is written again.
    pub(crate) fn has_lost_cached(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| !cache.lost.is_empty())
    }
}
