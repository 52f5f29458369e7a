//! The log as a placement.

use stripewise_base::Nanos;
use stripewise_core::driver::Driver;
use stripewise_core::format::Superblock;
use stripewise_core::ids::{PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind, Outcome};
use stripewise_core::plan::PlanView;
use stripewise_core::request::RequestKind;
use stripewise_exec::metadata_pieces::{Kind, Piece, PieceLocation};
use stripewise_exec::metadata_scrub::{ScrubCounts, Wanted};
use stripewise_exec::rejoin::{RejoinError, Rejoining};
use stripewise_exec::{AfterErrors, Built, Executor, Placement, Split, TooManyLost};

use crate::job::Job;
use crate::log::Log;
use crate::log::durable::Durable;
use crate::log::job::{Flush, Trust};
use crate::membership::Membership;

impl<M: Memory> Placement<M> for Log {
    fn refuses_changes(&self) -> bool {
        self.durable.as_deref().is_some_and(Durable::is_epoch_over)
    }

    fn split<D: Driver<M>>(&mut self, id: RequestId, exec: &mut Executor<M>, driver: &mut D) -> Split {
        let is_flush = exec.requests[id].host.kind == RequestKind::Flush;
        let is_done =
            if is_flush { self.split_flush(id, exec, driver) } else { self.split_request(id, exec, driver) };
        if is_done { Split::Done } else { Split::WantsPlans }
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn latency_of(&self, _id: RequestId, exec: &Executor<M>) -> Nanos {
        exec.scheme.placement.buffer_latency.0
    }

    fn flushes_members(&self, exec: &Executor<M>) -> bool {
        exec.members.volatile_cache && !exec.has_bug(stripewise_core::bugs::Bug::MembersNotFlushed)
    }

    fn concerns(&self, _id: RequestId, _plan: PlanId, _mask: u64, _exec: &Executor<M>) -> bool {
        // A request that waits for a stripe waits for all of the plan's content.
        true
    }

    fn targets(&self, page: u64, _is_write: bool, member: u16, _exec: &Executor<M>) -> bool {
        self.chunk_in_log(page).is_some_and(|(home, _)| home == member)
    }

    fn build<D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        self.jobs[plan].job.build(plan, self, exec, driver)
    }

    fn describe(&self, view: &mut PlanView<'_>) {
        view.is_stripe = self.jobs[view.id].job.facts().is_stripe;
    }

    fn await_record(&mut self, _plan: PlanId, _exec: &mut Executor<M>) -> bool {
        false
    }

    fn combine(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            self.jobs[plan].job.combine(plan, self, exec);
        }
    }

    fn store(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            self.store_chunks(plan, id, exec);
        }
    }

    fn verified(&mut self, id: u32, outcome: Outcome, exec: &mut Executor<M>) -> Outcome {
        self.verified_in_log(id, outcome, exec)
    }

    fn charges(&self, id: u32, exec: &Executor<M>) -> bool {
        self.charges_in_log(id, exec)
    }

    fn takes_error(&mut self, id: u32, exec: &mut Executor<M>) -> bool {
        let (plan, operation) = (exec.plan_of(id), exec.slots[id as usize].operation);
        if operation.kind != OperationKind::Read {
            return self.tolerates_write_error(plan, operation.member, exec);
        }
        let job = &mut self.jobs[plan];
        let is_summary = job.trust == Trust::Asks;
        job.unread |= u64::from(is_summary) << operation.column;
        is_summary
    }

    fn step_failed(&mut self, plan: PlanId, exec: &mut Executor<M>) -> AfterErrors {
        self.jobs[plan].job.step_failed(plan, self, exec)
    }

    fn finished<D: Driver<M>>(&mut self, plan: PlanId, exec: &mut Executor<M>, driver: &mut D) {
        self.jobs[plan].job.finished(plan, self, exec, driver);
    }

    fn freed(&mut self, plan: PlanId, _exec: &mut Executor<M>) {
        self.jobs.clear(plan);
    }

    fn lost(&mut self, member: u16, exec: &mut Executor<M>) {
        self.member_lost(member, exec);
    }

    fn home_of(&self, plan: PlanId, column: u32, _exec: &Executor<M>) -> (u16, u32) {
        self.member(self.homes(plan)[column as usize])
    }

    fn columns_of(&self, plan: PlanId, _exec: &Executor<M>) -> u64 {
        self.present(plan)
    }

    fn lost_of(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        self.slots_on_failed(plan, self.present(plan), exec)
    }

    fn sources_of(&self, plan: PlanId, lost: u64, exec: &Executor<M>) -> u64 {
        self.stripe_sources(self.present(plan), lost, exec.plans[plan].wanted, exec)
    }

    fn is_decodable(&self, _plan: PlanId, _exec: &Executor<M>) -> bool {
        true
    }

    fn locks_to_decode(&self) -> bool {
        // Stripes never change.
        false
    }

    fn push_decoding(&mut self, plan: PlanId, sources: u64, exec: &mut Executor<M>) {
        self.push_slots(plan, sources, OperationKind::Read, |_| Class::Decode, exec);
    }

    fn decode_second(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        !M::CARRIES_DATA || self.decode_stripe_again(plan, exec)
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn poll_after<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        self.append_one(exec, driver)
            || self.summarise_one(exec, driver)
            || self.collect_one(exec, driver)
            || self.sync_one(exec, driver)
            || self.rebuild_one(exec, driver)
            || if exec.metadata.is_under_way() {
                exec.scrub_metadata(self, driver)
            } else {
                self.scrub_one(exec, driver)
            }
            || self.discard_one(exec, driver)
    }

    fn poll_last<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        self.note_full(exec, driver)
    }

    fn timer<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) {
        self.timer_due(exec, driver);
    }

    fn drain(&mut self, _exec: &mut Executor<M>) {
        self.drain_memory();
    }

    fn rebuilding(&self, _exec: &Executor<M>) -> Option<(u16, u32, u32)> {
        let durable = self.durable.as_ref()?;
        let rebuild = durable.members.rebuilds.first()?;
        Some((rebuild.member, durable.walked(rebuild), self.segments.count()))
    }

    fn scrubbed(&self, _exec: &Executor<M>) -> (ScrubCounts, bool) {
        self.membership().map_or_else(Default::default, Membership::scrubbed)
    }

    fn superblock_of(&self) -> Option<&Superblock> {
        self.membership().map(|members| &members.superblock)
    }

    fn check_rejoin(&self, member: u16, how: Rejoining, exec: &Executor<M>) -> Result<(), RejoinError> {
        self.check_log_member(member, how, exec)
    }

    fn rejoin(&mut self, member: u16, how: Rejoining, exec: &mut Executor<M>) {
        self.rejoin_log(member, how, exec);
    }

    fn superblock_on_members(&self) -> Option<&Superblock> {
        self.membership()?.on_members.as_ref()
    }

    fn piece(&self, piece: Piece, exec: &Executor<M>) -> PieceLocation {
        match piece.kind {
            Kind::Superblock => self.superblock_piece(piece.nth, exec),
            Kind::Checkpoint => self.checkpoint_piece(piece.nth, exec),
            Kind::Commit => self.commit_piece(piece.nth, exec),
            Kind::Table | Kind::Intent | Kind::Record | Kind::Vacant => PieceLocation::Over,
        }
    }

    fn is_piece(&self, piece: Piece, bytes: &[u8], exec: &Executor<M>) -> bool {
        match piece.kind {
            Kind::Checkpoint => self.is_checkpoint(bytes, exec.members.page_bytes),
            Kind::Commit => self.is_commit(bytes),
            _ => true,
        }
    }

    fn mend(&mut self, piece: Piece, wanted: &mut Wanted, _exec: &Executor<M>) {
        let durable = self.durable_mut();
        match piece.kind {
            Kind::Superblock => durable.is_news = true,
            _ => {
                wanted.checkpoint = Some(durable.checkpoint);
                durable.sync.is_asked = true;
            }
        }
    }

    fn is_mended(&mut self, wanted: &Wanted) -> bool {
        wanted.checkpoint.is_none_or(|before| {
            self.is_full || self.durable().checkpoint > before && !self.durable().names_checkpoint()
        })
    }
}

impl Job<Log> for Flush {
    fn build<M: Memory, D: Driver<M>>(
        self,
        plan: PlanId,
        _log: &mut Log,
        exec: &mut Executor<M>,
        _driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        exec.build_flush_of(plan, |_| true);
        Ok(Built::Ready)
    }
}
