//! The log as a placement.

use stripewise_base::Nanos;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::request::RequestKind;
use stripewise_exec::driver::Driver;
use stripewise_exec::{Executor, Placement, Split, When};

use crate::log::Log;
use crate::log::durable::Durable;

impl<M: Memory> Placement<M> for Log {
    fn refuses_changes(&self) -> bool {
        self.durable.as_deref().is_some_and(Durable::is_epoch_over)
    }

    fn split<D: Driver<M>>(&mut self, id: RequestId, exec: &mut Executor<M>, driver: &mut D) -> Split {
        let is_flush = exec.request(id).host.kind == RequestKind::Flush;
        let is_done =
            if is_flush { self.split_flush(id, exec, driver) } else { self.split_request(id, exec, driver) };
        if is_done { Split::Done } else { Split::WantsPlans }
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn latency_of(&self, _id: RequestId, exec: &Executor<M>) -> Nanos {
        exec.scheme().placement.buffer_latency.0
    }

    fn flushes_members(&self, exec: &Executor<M>) -> bool {
        exec.members().volatile_cache && !exec.has_bug(Bug::MembersNotFlushed)
    }

    fn targets(&self, page: u64, _is_write: bool, member: MemberNo, _exec: &Executor<M>) -> bool {
        self.chunk_in_log(page).is_some_and(|(home, _)| home == member)
    }

    fn lost(&mut self, member: MemberNo, exec: &mut Executor<M>) {
        self.member_lost(member, exec);
    }

    #[inline(always)]
    fn poll<D: Driver<M>>(&mut self, when: When, exec: &mut Executor<M>, driver: &mut D) -> bool {
        match when {
            When::AfterHosts => self.work(exec, driver),
            When::Last => self.note_full(exec, driver),
            When::Waiting | When::BeforeHosts => false,
        }
    }

    fn timer<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) {
        self.timer_due(exec, driver);
    }

    fn drain(&mut self, _exec: &mut Executor<M>) {
        self.drain_memory();
    }
}

impl Log {
    /// Does one piece of the log's own work. Returns false if nothing is due.
    fn work<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        self.append_one(exec, driver)
            || self.summarise_one(exec, driver)
            || self.collect_one(exec, driver)
            || self.sync_one(exec, driver)
            || self.rebuild_one(exec, driver)
            || if exec.metadata_scrubbed().1 {
                exec.scrub_metadata(self, driver)
            } else {
                self.scrub_one(exec, driver)
            }
            || self.discard_one(exec, driver)
    }
}
