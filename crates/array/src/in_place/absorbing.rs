//! Updates that end in the write cache: parity is computed before the pages enter the cache.
//!
//! Source: paper 003, section 3 (pre-parity-computation). The paper prints no rule for two points; these rules are ours. Old
//! content comes from the cache where the cache has it, else from the members, by the scheme's update policy. And for each
//! row, the content of the members overlaid with that of the cache is always the content that the row's parity covers.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;
use stripewise_exec::plan::Plan;
use stripewise_policy::cache::{Put, Writer};

use crate::in_place::InPlace;

impl InPlace {
    /// Marks `plan`, which has or waits for its row lock, as ending in the cache. Reserves room for the data that it writes
    /// and for its parity, beyond the room already reserved for it.
    pub(crate) fn absorbs<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let parity = exec.geometry().parity_columns();
        let Plan { row, wanted, .. } = *exec.plan(plan);
        exec.end_in_memory(plan);
        let job = &mut self.jobs[plan];
        let more = (wanted | parity) & !job.reserved;
        job.reserved |= more;
        if let Some(cache) = &mut self.cache {
            cache.reserve(exec.geometry(), row, more);
        }
    }

    /// Takes the cached content of the plan's row as old content, where parity covers it. Returns these columns.
    pub(crate) fn take_covered<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> u64 {
        let row = exec.plan(plan).row;
        let Some(cache) = &self.cache else { return 0 };
        let mut covered = cache.covered(row);
        if exec.has_bug(Bug::CachedParityIgnored) {
            covered &= exec.geometry().data_columns();
        }
        if exec.has_bug(Bug::CachedMembersIgnored) {
            covered &= exec.geometry().parity_columns();
        }
        if M::CARRIES_DATA {
            for column in columns(covered) {
                let Some(cache) = &self.cache else { break };
                let page = cache.store.find(row, column).map(|id| cache.store.get(id).page);
                page.inspect(|&page| exec.copy_to_old(plan, column, page));
            }
        }
        covered
    }

    /// Moves the plan's data and the parity of its row into the cache.
    pub(crate) fn absorb<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, wanted, .. } = *exec.plan(plan);
        let failed = exec.columns_on_failed(plan);
        let parity = exec.geometry().parity_columns();
        self.unreserve(plan, exec);
        let writer = match exec.host_of(plan) {
            None => Writer { id: RequestId::NONE, arrival: exec.now(), is_sequential: false },
            Some(id) => self.writer(id, exec),
        };
        for column in columns(wanted | parity) {
            let is_parity = parity >> column & 1 != 0;
            if is_parity && exec.has_bug(Bug::CachedParityDropped) {
                continue;
            }
            let Some(cache) = &mut self.cache else { return };
            if is_parity && failed >> column & 1 != 0 {
                // This parity was not computed, and the cached version is older than the data.
                if let Some(page) = cache.drop_chunk(row, column).filter(|_| M::CARRIES_DATA) {
                    exec.memory_mut().give(page);
                }
                continue;
            }
            let put = cache.put(exec.geometry(), (row, column), exec.whole_page(), true, writer);
            if !is_parity {
                cache.counts.written += 1;
                cache.counts.absorbed += u64::from(matches!(put, Put::Over(_)));
            }
            if M::CARRIES_DATA {
                self.give_to_cache(plan, column, put, exec);
            }
        }
    }

    /// Releases the room that the plan reserved, if any.
    pub(crate) fn unreserve<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let row = exec.plan(plan).row;
        let reserved = std::mem::take(&mut self.jobs[plan].reserved);
        if reserved == 0 {
            return;
        }
        if let Some(cache) = &mut self.cache {
            cache.unreserve(exec.geometry(), row, reserved);
        }
    }
}
