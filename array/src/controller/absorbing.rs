//! Parity made before pages come into the write cache: an update of a row that ends in memory.
//!
//! Source: paper 003, section 3 (pre-parity-computation). What it prints no rule for is ours: what must be read comes from
//! the cache where it is there, else from the members, by the scheme's update policy; and for each row, what the cache has
//! laid over what the members have is always what its parity covers.

use super::{Array, columns};
use crate::bugs::Bug;
use crate::cache::Put;
use crate::memory::Memory;
use crate::plan::Plan;

impl<M: Memory> Array<M> {
    /// `plan`, which holds or waits for its row, ends in the cache: room is promised to what it writes and its parity, beyond
    /// what was promised before.
    pub(super) fn absorbs(&mut self, plan: u32) {
        let parity = self.geometry.parity_columns();
        let slot = &mut self.plans[plan as usize];
        let more = (slot.wanted | parity) & !slot.reserved;
        let row = slot.row;
        slot.absorbs = true;
        slot.reserved |= more;
        if let Some(cache) = &mut self.cache {
            cache.reserve(&self.geometry, row, more);
        }
    }

    /// What the cache has of the plan's row is taken for old content of it, where parity covers it. Returns these columns.
    pub(super) fn take_covered(&mut self, plan: u32) -> u64 {
        let row = self.plans[plan as usize].row;
        let Some(cache) = &self.cache else { return 0 };
        let mut covered = cache.covered(row);
        if self.has_bug(Bug::CachedParityIgnored) {
            covered &= self.geometry.data_columns();
        }
        if self.has_bug(Bug::CachedMembersIgnored) {
            covered &= self.geometry.parity_columns();
        }
        if M::CARRIES_DATA {
            for column in columns(covered) {
                let Some(cache) = &self.cache else { break };
                let page = cache.store.find(row, column).map(|id| cache.store.get(id).page);
                page.inspect(|&page| self.copy_to_old(plan, column, page));
            }
        }
        covered
    }

    /// What `plan` has made comes into the cache: its data and the parity of its row.
    pub(super) fn absorb(&mut self, plan: u32) {
        let Plan { row, wanted, .. } = self.plans[plan as usize];
        let failed = self.columns_on_failed(plan);
        let parity = self.geometry.parity_columns();
        self.unreserve(plan);
        let first = self.plans[plan as usize].first_request;
        let id = if first == crate::ids::NONE { 0 } else { self.attachments[first as usize].request };
        let writer = self.writer(id);
        for column in columns(wanted | parity) {
            let is_parity = parity >> column & 1 != 0;
            if is_parity && self.has_bug(Bug::CachedParityDropped) {
                continue;
            }
            let Some(cache) = &mut self.cache else { return };
            if is_parity && failed >> column & 1 != 0 {
                // It was not made, and what was there is older than the data.
                if let Some(page) = cache.drop_chunk(row, column).filter(|_| M::CARRIES_DATA) {
                    self.memory.give(page);
                }
                continue;
            }
            let put = cache.put(&self.geometry, (row, column), self.whole_page, true, writer);
            if !is_parity {
                cache.counts.written += 1;
                cache.counts.absorbed += u64::from(matches!(put, Put::Over(_)));
            }
            if M::CARRIES_DATA {
                self.give_to_cache(plan, column, put);
            }
        }
    }

    /// The plan's room is promised no longer, where it was.
    pub(super) fn unreserve(&mut self, plan: u32) {
        let slot = &mut self.plans[plan as usize];
        let (row, reserved) = (slot.row, std::mem::take(&mut slot.reserved));
        if reserved == 0 {
            return;
        }
        if let Some(cache) = &mut self.cache {
            cache.unreserve(&self.geometry, row, reserved);
        }
    }
}
