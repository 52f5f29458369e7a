//! RAID in place as a placement: each page has its row and column, and parity is updated where it lies.

use stripewise_base::Nanos;
use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::request::RequestKind;
use stripewise_exec::driver::Driver;
use stripewise_exec::{Executor, Placement, RequestSlot, Split, When};
use stripewise_policy::cache::Cache;

use crate::in_place::InPlace;
use crate::zones::Zones;

impl<M: Memory> Placement<M> for InPlace {
    #[inline]
    fn arrived(&mut self, id: RequestId, exec: &mut Executor<M>) {
        let slot = exec.request_mut(id);
        if let Some(cache) = self.cache.as_mut().filter(|_| slot.host.kind == RequestKind::Write) {
            slot.is_sequential = cache.is_sequential(slot.pages.0, slot.pages.1);
        }
        if let Some(zones) = &mut self.zones {
            slot.epoch = zones.begin(slot.host.kind, slot.pages);
            slot.moves = zones.moves();
        }
    }

    #[inline]
    fn ended(&mut self, id: RequestId, failed: bool, exec: &mut Executor<M>) {
        let Some(zones) = &mut self.zones else { return };
        let RequestSlot { host, pages, epoch, moves, .. } = *exec.request(id);
        if host.kind == RequestKind::Flush && !failed {
            zones.flushed(moves);
        }
        zones.end(id, host.kind, pages, epoch);
    }

    #[inline]
    fn split<D: Driver<M>>(&mut self, id: RequestId, exec: &mut Executor<M>, driver: &mut D) -> Split {
        self.split(id, exec, driver)
    }

    #[inline]
    fn has_memory(&self) -> bool {
        self.gather.is_some() || self.encode.is_some() || self.cache.is_some()
    }

    fn has_freed_pages(&mut self) -> bool {
        self.zones.as_mut().is_some_and(Zones::has_arrived)
    }

    #[inline]
    fn takes_writes_to_memory(&self) -> bool {
        self.cache.is_some()
    }

    #[inline]
    fn latency_of(&self, id: RequestId, exec: &Executor<M>) -> Nanos {
        let is_write = exec.request(id).host.kind == RequestKind::Write;
        let splits = is_write && self.cache.as_ref().is_some_and(Cache::splits);
        self.memory_latency + if splits { exec.scheme().cache.striping.0 } else { 0 }
    }

    /// Not where the journal is flushed with each record.
    #[inline]
    fn flushes_members(&self, exec: &Executor<M>) -> bool {
        let has_to = exec.members().volatile_cache && self.journal.is_none() || self.intent.is_some();
        has_to && !exec.has_bug(Bug::MembersNotFlushed)
    }

    fn has_lost_in_memory(&self) -> bool {
        self.has_lost_cached()
    }

    fn targets(&self, page: u64, is_write: bool, member: MemberNo, exec: &Executor<M>) -> bool {
        self.locate(page, exec).is_some_and(|(row, column)| {
            let place = exec.geometry().place(row);
            let parity = if is_write { exec.geometry().parity_columns() } else { 0 };
            columns(parity | 1 << column).any(|column| exec.geometry().member(place, column) == member)
        })
    }

    #[inline]
    fn may_doubt(&self) -> bool {
        self.journal.is_some()
    }

    fn lost(&mut self, member: MemberNo, exec: &mut Executor<M>) {
        // Rows on the member tolerate no other loss: the parity of none of them stays deferred.
        self.window.flushes_deferred = !self.window.is_empty();
        if let Some(parity_log) = &mut self.parity_log {
            parity_log.lose(member);
        }
        if let Some(journal) = &mut self.journal {
            journal.copying.lost |= member.bit();
        }
        self.member_lost(member, exec);
    }

    #[inline]
    fn is_plain(&self) -> bool {
        self.only_plans && self.resync.is_none() && self.roster.is_none() && !self.window.flushes_deferred
    }

    #[inline(always)]
    fn poll<D: Driver<M>>(&mut self, when: When, exec: &mut Executor<M>, driver: &mut D) -> bool {
        match when {
            When::Waiting => self.journaled(exec, driver) || self.intended(exec, driver),
            When::BeforeHosts => self.work_before_hosts(exec, driver),
            When::AfterHosts => self.work_after_hosts(exec, driver),
            When::Last => self.work_at_last(exec, driver),
        }
    }

    fn timer<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) {
        self.gather_timer(exec);
        self.window_timer(exec, driver);
    }

    fn drain(&mut self, exec: &mut Executor<M>) {
        self.gather_flush(exec);
        self.drain_encode();
        self.drain_cache();
        self.drain_parity_memory();
        self.window.flushes_deferred = !self.window.is_empty();
        self.drain_parity_log(exec);
    }
}

impl InPlace {
    fn work_before_hosts<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        // Parity must be right before anything relies on it. A host request to a block that is being moved home waits for the
        // move. Destaging goes first: writes wait for the room that it frees.
        self.resync_one(exec, driver)
            || self.evict_one(exec, driver)
            || self.destage_due(exec, driver)
            || self.encode_due(exec)
    }

    fn work_after_hosts<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        self.flush_one_deferred(exec, driver)
            || self.leave_one(exec, driver)
            || self.commit_one(exec, driver)
            || self.walk_one(exec, driver)
    }

    fn work_at_last<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        self.destage_due(exec, driver)
            || self.write_record(exec, driver)
            || self.write_intent(exec, driver)
            || self.free_records(exec, driver)
    }
}
