//! Requests over a write cache. Writes are acknowledged from memory; what must leave it becomes an update of its row,
//! which owns the content from then on: reads of the row wait for it.

use super::updates::TooManyLost;
use super::{Array, members};
use crate::bugs::Bug;
use crate::cache::{Cache, CacheCounts};
use crate::driver::Driver;
use crate::holds::{Hold, NONE};
use crate::memory::{Memory, PageId};
use crate::operation::{Class, OperationKind};
use crate::plan::{Plan, Purpose, Step};
use crate::request::RequestKind;
use crate::update::{Decision, Reason, Routine};

impl<M: Memory> Array<M> {
    /// Whether one more row of a request may be cut: whether there are plans enough, or room in the cache.
    #[inline]
    pub(super) fn may_cut(&self, kind: RequestKind) -> bool {
        match &self.cache {
            Some(cache) if kind == RequestKind::Write => cache.kept.has_room(),
            _ => self.has_plans_for(kind),
        }
    }

    /// Writes members `mask` of `row` for request `id` into the cache, where there must be room.
    pub(super) fn write_cached(&mut self, id: u32, row: u64, mask: u64) {
        let loses = self.has_bug(Bug::CacheLosesSectors);
        for member in members(mask) {
            let sectors = self.sectors_of_member(id, row, member);
            let Some(cache) = &mut self.cache else { return };
            cache.counts.written += 1;
            let page = match cache.kept.update(row, member, sectors) {
                Some(page) => {
                    cache.counts.absorbed += 1;
                    if loses {
                        continue;
                    }
                    page
                }
                None => {
                    let page = if M::CARRIES_DATA { self.memory.take() } else { 0 };
                    cache.kept.insert(row, member, sectors, page);
                    page
                }
            };
            if M::CARRIES_DATA {
                self.load_host(page, self.array_page(row, member), id, sectors);
            }
        }
    }

    /// Serves what the cache has of members `mask` of `row` to request `id`. Returns the members of which an element is
    /// needed, and how the row is to be held for them: what is on its way from the cache must have arrived.
    #[inline]
    pub(super) fn read_cached(&mut self, id: u32, row: u64, mask: u64, hold: Hold) -> (u64, Hold) {
        let Some(cache) = &self.cache else { return (mask, hold) };
        let mut rest = mask;
        if cache.kept.members(row) & mask != 0 {
            for member in members(mask) {
                let sectors = self.sectors_of_member(id, row, member);
                let Some(cache) = &mut self.cache else { break };
                let Some(chunk) = cache.kept.get(row, member).filter(|chunk| sectors & !chunk.sectors == 0)
                else {
                    continue;
                };
                let page = chunk.page;
                cache.counts.hits += 1;
                rest &= !(1 << member);
                if M::CARRIES_DATA {
                    self.store_host(page, self.array_page(row, member), id);
                }
            }
        }
        let is_in_use = || self.holds.is_in_use(row) && !self.has_bug(Bug::CacheReadNotHeld);
        (rest, if hold == Hold::None && rest != 0 && is_in_use() { Hold::Shared } else { hold })
    }

    /// Notes what the cache has of the pages of the read `plan`, to be laid over what the elements return. What was noted
    /// before stays: it may be on its way by now, in an update that waits behind this read.
    #[inline]
    pub(super) fn note_cached(&mut self, plan: u32) {
        if self.cache.is_none() {
            return;
        }
        let Plan { row, wanted, .. } = self.plans[plan as usize];
        let cached = self.cached_members(row) & wanted;
        if cached == 0 || self.has_bug(Bug::CacheOverlayForgotten) {
            return;
        }
        for member in members(cached) {
            let Some(chunk) = self.cache.as_ref().and_then(|cache| cache.kept.get(row, member)).copied()
            else {
                continue;
            };
            let bit = 1 << member;
            let before = self.plans[plan as usize].overlaid & bit != 0;
            let cover = &mut self.covers[plan as usize * self.geometry.data as usize + member as usize];
            *cover = if before { *cover | chunk.sectors } else { chunk.sectors };
            self.plans[plan as usize].overlaid |= bit;
            self.copy_to_new(plan, member, chunk.page, chunk.sectors);
        }
    }

    /// The read `plan`, whose turn has come, fails for chunks whose acknowledged content is lost, unless the cache has them
    /// anew. (Before its turn they may be on their way from the cache, whole again.)
    pub(super) fn fail_lost_cached(&mut self, plan: u32) {
        let Some(cache) = self.cache.as_ref().filter(|cache| !cache.lost.is_empty()) else { return };
        let Plan { row, wanted, overlaid, .. } = self.plans[plan as usize];
        let base = plan as usize * self.geometry.data as usize;
        let is_whole = |member: u32| {
            overlaid >> member & 1 != 0 && self.covers[base + member as usize] == self.whole_page
        };
        let is_lost = |&member: &u32| cache.lost.contains(&(row, member)) && !is_whole(member);
        let lost = members(wanted).filter(is_lost).fold(0, |mask, member| mask | 1 << member);
        self.fail_requests(plan, lost);
    }

    /// The row that must leave the cache is sent on its way, if there is one and plans are free.
    #[inline]
    pub(super) fn destage_due<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(cache) = &mut self.cache else { return false };
        let Some(row) = cache.due() else {
            cache.draining &= cache.kept.oldest().is_some();
            return false;
        };
        if !self.has_plans_for(RequestKind::Write) {
            return false;
        }
        self.destage(row, NONE, driver);
        true
    }

    /// Everything is to leave.
    pub(super) fn drain_cache(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.draining = true;
        }
    }

    /// What the cache has of `row` leaves it, as one update; request `id` waits for it. There must be free plans.
    fn destage<D: Driver<M>>(&mut self, row: u64, id: u32, driver: &mut D) {
        let plan = self.take_plan(row, Purpose::Write);
        if id != NONE {
            self.attach(plan, id);
        }
        let (mut wanted, mut partial) = (0u64, 0u64);
        while let Some(chunk) = self.cache.as_mut().and_then(|cache| cache.kept.take(row)) {
            let bit = 1 << chunk.member;
            if wanted != 0 && self.has_bug(Bug::CacheDropsChunk) {
                if M::CARRIES_DATA {
                    self.memory.give(chunk.page);
                }
                continue;
            }
            wanted |= bit;
            if chunk.sectors != self.whole_page && !self.has_bug(Bug::CacheTakesPartForWhole) {
                partial |= bit;
            }
            self.covers[plan as usize * self.geometry.data as usize + chunk.member as usize] = chunk.sectors;
            self.adopt_buffer(plan, chunk.member, chunk.page);
        }
        let count = wanted.count_ones();
        let slot = &mut self.plans[plan as usize];
        (slot.wanted, slot.partial, slot.destages) = (wanted, partial, count);
        if let Some(cache) = &mut self.cache {
            cache.leaving += count;
            cache.counts.destages += 1;
            cache.counts.destaged += u64::from(count);
        }
        self.acquire(plan, Hold::Exclusive, driver);
        if self.window.is_open() {
            self.enter_window(NONE, row, wanted, driver);
            self.window.settling |= self.cache.as_ref().is_some_and(|cache| cache.draining);
        }
    }

    /// The end of an update: if it wrote what the cache had, there is room on the way again.
    #[inline]
    pub(super) fn destaged(&mut self, plan: u32) {
        let Some(cache) = &mut self.cache else { return };
        let Plan { row, wanted, destages, .. } = self.plans[plan as usize];
        cache.leaving -= destages;
        if !cache.lost.is_empty() {
            let base = plan as usize * self.geometry.data as usize;
            for member in
                members(wanted).filter(|&member| self.covers[base + member as usize] == self.whole_page)
            {
                cache.lost.remove(&(row, member));
            }
        }
    }

    /// Steps of the update `plan` of what the cache had, whose row has lost more than its code bears: what can be written
    /// is written, without parity. What cannot is lost though it was acknowledged.
    pub(super) fn build_abandoning<D: Driver<M>>(
        &mut self,
        plan: u32,
        lost: u64,
        driver: &mut D,
    ) -> Result<(), TooManyLost> {
        let slot = &mut self.plans[plan as usize];
        if slot.lost != 0 && !slot.looked_again {
            // What cannot be read now may be read a second time.
            slot.looked_again = true;
            slot.lost = 0;
            return self.build_update(plan, driver);
        }
        let failed = self.members_on_failed(plan);
        let Plan { row, place, wanted, partial, .. } = self.plans[plan as usize];
        let nowhere = wanted & (failed | partial & lost);
        self.fail_requests(plan, nowhere);
        if let Some(cache) = self.cache.as_mut().filter(|_| nowhere != 0) {
            cache.lost.extend(members(nowhere).map(|member| (row, member)));
        }
        if self.has_bug(Bug::CacheLossHidden)
            && let Some(cache) = &mut self.cache
        {
            cache.lost.clear();
        }
        let reason = if self.geometry.parity() == 0 { Reason::NoParity } else { Reason::ParityLost };
        let slot = &mut self.plans[plan as usize];
        slot.wanted &= !nowhere;
        slot.partial &= !nowhere;
        slot.gave_up = true;
        slot.decision = Decision::forced(Routine::Plain, reason);
        let Plan { wanted, partial, written, .. } = *slot;
        if partial != 0 {
            self.push_operations(plan, partial, OperationKind::Read, |_| Class::PreRead, place);
            self.plans[plan as usize].push_step(Step::Compute { pages: 0 });
        }
        self.push_operations(plan, wanted & !written, OperationKind::Write, |_| Class::HostWrite, place);
        self.plans[plan as usize].acknowledge_here();
        Ok(())
    }

    /// A flush drains a cache that would not survive a loss of power: it waits for every row that is in it or on its way.
    /// False when plans or attachments are wanting; it goes on later.
    pub(super) fn cache_flush_for<D: Driver<M>>(&mut self, id: u32, driver: &mut D) -> bool {
        let Some(cache) = &self.cache else { return true };
        if !cache.is_volatile || self.requests[id as usize].emptied || self.has_bug(Bug::CacheNotDrained) {
            return true;
        }
        while let Some(row) = self.cache.as_ref().and_then(|cache| cache.kept.oldest()) {
            if !self.has_plans_for(RequestKind::Write) {
                return false;
            }
            self.destage(row, id, driver);
        }
        if !self.wait_for_all(id, Self::is_destage) {
            return false;
        }
        self.requests[id as usize].emptied = true;
        true
    }

    /// Whether `plan` is under way and writes what the cache had.
    fn is_destage(&self, plan: u32) -> bool {
        let slot = &self.plans[plan as usize];
        slot.destages > 0 && slot.hold != Hold::None
    }

    /// The sectors of a member's page that request `id` covers.
    #[inline]
    fn sectors_of_member(&self, id: u32, row: u64, member: u32) -> u64 {
        if self.requests[id as usize].in_part {
            self.sectors_of_page(id, self.array_page(row, member))
        } else {
            self.whole_page
        }
    }

    /// Data members of `row` of which the cache has the whole page or a part of it.
    #[inline]
    pub fn cached_members(&self, row: u64) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.kept.members(row))
    }

    /// Whether content that was acknowledged is lost: flushes fail until it is written again.
    pub(super) fn has_lost_cached(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| !cache.lost.is_empty())
    }
}

/// Getters.
impl<M: Memory> Array<M> {
    /// What the write cache did so far; nothing without one.
    pub fn cache_counts(&self) -> CacheCounts {
        self.cache.as_ref().map_or_else(CacheCounts::default, |cache| cache.counts)
    }

    /// What the write cache has of a chunk: its page, and the sectors of it that were written.
    pub fn cached_content(&self, row: u64, member: u32) -> Option<(PageId, u64)> {
        let chunk = self.cache.as_ref()?.kept.get(row, member)?;
        Some((chunk.page, chunk.sectors))
    }

    /// Whether content of `row` is on its way from the write cache to the elements.
    pub fn is_destaging(&self, row: u64) -> bool {
        let mut plans = 0..self.plans.len() as u32;
        plans.any(|plan| self.plans[plan as usize].row == row && self.is_destage(plan))
    }

    /// Chunks, by row and member, whose acknowledged content was lost on its way from the write cache.
    pub fn lost_content(&self) -> impl Iterator<Item = (u64, u32)> {
        self.cache.iter().flat_map(|cache: &Cache| cache.lost.iter().copied())
    }
}
