//! RAID in place as a placement: each page has its row and column, and parity is updated where it lies.

mod absorbing;
mod addresses;
mod beyond;
pub(crate) mod blank;
mod bytes;
mod caching;
mod deferred_parity;
mod destaging;
mod encoding;
pub(crate) mod first_encode;
pub(crate) mod gather;
mod gathering;
mod intent;
mod job;
pub mod journal;
mod journaling;
mod kept_parity;
mod left_out;
mod logging;
pub(crate) mod members;
mod metadata_pieces;
mod own_plans;
mod page_order;
pub(crate) mod parity_log;
pub(crate) mod parity_memory;
mod reads;
mod rebuild_scrub;
pub(crate) mod replaying;
pub(crate) mod resync;
mod shared_writes;
mod split;
mod updates;
mod vacant;
mod verify;
pub(crate) mod window;
mod zones;

use stripewise_base::Nanos;
use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::cache::Cache;
use stripewise_core::driver::Driver;
use stripewise_core::format::Superblock;
use stripewise_core::ids::{PlanId, RequestId};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::{Class, OperationKind, Outcome};
use stripewise_core::plan::PlanView;
use stripewise_core::request::{RequestKind, RequestSlot};
use stripewise_core::row_locks::RowLock;
use stripewise_exec::metadata_pieces::{Kind, Piece, PieceLocation};
use stripewise_exec::metadata_scrub::{ScrubCounts, Wanted};
use stripewise_exec::rejoin::{RejoinError, Rejoining};
use stripewise_exec::{AfterErrors, Built, Executor, Jobs, Placement, Split, TooManyLost};

use crate::in_place::blank::Blank;
use crate::in_place::first_encode::Encode;
use crate::in_place::gather::Gather;
use crate::in_place::job::{AnyJob, PlanState};
use crate::in_place::journal::{Intent, Journal, NO_MEMBER, News, Roster, Stage, Telling};
use crate::in_place::parity_log::ParityLog;
use crate::in_place::parity_memory::ParityMemory;
use crate::in_place::resync::Resync;
use crate::in_place::window::Window;
use crate::zones::Zones;

/// RAID in place, with what a scheme adds to it.
pub(crate) struct InPlace {
    /// Whether only plans of host requests can ever be due under the scheme.
    pub(crate) only_plans: bool,
    pub(crate) jobs: Jobs<PlanState>,
    pub(crate) gather: Option<Gather>,
    pub(crate) encode: Option<Encode>,
    pub(crate) cache: Option<Cache>,
    /// Number of plans that destage cached content.
    pub(crate) destaging_plans: u32,
    /// Time of an access to controller memory.
    pub(crate) memory_latency: Nanos,
    pub(crate) log: Option<ParityLog>,
    pub(crate) zones: Option<Zones>,
    pub(crate) blank: Blank,
    pub(crate) parity_memory: ParityMemory,
    pub(crate) journal: Option<Journal>,
    pub(crate) intent: Option<Intent>,
    pub(crate) roster: Option<Roster>,
    pub(crate) window: Window,
    /// The walk over all rows after a loss of power; no request is issued before it is over.
    pub(crate) resync: Option<Resync>,
}

impl InPlace {
    /// Takes a free plan for `job`, at `row`.
    #[inline]
    pub(crate) fn take_plan<M: Memory>(
        &mut self,
        row: u64,
        job: impl Into<AnyJob>,
        exec: &mut Executor<M>,
    ) -> PlanId {
        let job = job.into();
        let plan = exec.take_plan(row, job.facts().purpose);
        self.jobs[plan].job = job;
        plan
    }
}

impl<M: Memory> Placement<M> for InPlace {
    #[inline]
    fn arrived(&mut self, id: RequestId, exec: &mut Executor<M>) {
        let slot = &mut exec.requests[id];
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
        let RequestSlot { host, pages, epoch, moves, .. } = exec.requests[id];
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
        let is_write = exec.requests[id].host.kind == RequestKind::Write;
        let splits = is_write && self.cache.as_ref().is_some_and(Cache::splits);
        self.memory_latency + if splits { exec.scheme.cache.striping.0 } else { 0 }
    }

    /// Not where the journal is flushed with each record.
    #[inline]
    fn flushes_members(&self, exec: &Executor<M>) -> bool {
        let has_to = exec.members.volatile_cache && self.journal.is_none() || self.intent.is_some();
        has_to && !exec.has_bug(Bug::MembersNotFlushed)
    }

    fn concerns(&self, id: RequestId, plan: PlanId, mask: u64, exec: &Executor<M>) -> bool {
        let row = exec.plans[plan].row;
        columns(mask).any(|column| exec.means(id, self.array_page(row, column, exec)))
    }

    fn has_lost_in_memory(&self) -> bool {
        self.has_lost_cached()
    }

    fn targets(&self, page: u64, is_write: bool, member: u16, exec: &Executor<M>) -> bool {
        self.locate(page, exec).is_some_and(|(row, column)| {
            let place = exec.geometry.place(row);
            let parity = if is_write { exec.geometry.parity_columns() } else { 0 };
            columns(parity | 1 << column).any(|column| exec.geometry.member(place, column) == member)
        })
    }

    #[inline]
    fn build<D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        self.jobs[plan].job.build(plan, self, exec, driver)
    }

    #[inline]
    fn await_record(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        self.await_record(plan, exec)
    }

    #[inline]
    fn combine(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            exec.fold_deltas(plan);
            self.fill_blank(plan, exec);
            self.jobs[plan].job.combine(plan, self, exec);
        }
    }

    #[inline]
    fn marked(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if exec.plans[plan].ends_in_memory {
            self.absorb(plan, exec);
        }
    }

    #[inline]
    fn written(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        self.plan_written_in_zones(plan, exec);
    }

    #[inline]
    fn store(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>) {
        self.store_row(plan, id, exec);
    }

    #[inline]
    fn verified(&mut self, id: u32, outcome: Outcome, exec: &mut Executor<M>) -> Outcome {
        if exec.slots[id as usize].operation.kind == OperationKind::Read {
            self.verified_in_place(id, outcome, exec)
        } else {
            outcome
        }
    }

    fn charges(&self, id: u32, exec: &Executor<M>) -> bool {
        self.charges_in_place(id, exec)
    }

    #[inline]
    fn page_written(&mut self, id: u32, is_good: bool, exec: &mut Executor<M>) {
        self.shared_page_written(id, is_good, exec);
    }

    #[inline]
    fn may_doubt(&self) -> bool {
        self.journal.is_some()
    }

    fn step_failed(&mut self, plan: PlanId, exec: &mut Executor<M>) -> AfterErrors {
        if exec.plans[plan].defers {
            if exec.plans[plan].lock == RowLock::SharedWrite {
                self.write_rest_alone(plan, exec);
            } else {
                self.cover_at_once(plan, exec);
            }
            return AfterErrors::BuildAgain;
        }
        self.jobs[plan].job.step_failed(plan, self, exec)
    }

    #[inline]
    fn finished<D: Driver<M>>(&mut self, plan: PlanId, exec: &mut Executor<M>, driver: &mut D) {
        self.jobs[plan].job.finished(plan, self, exec, driver);
        self.done_in_place(plan, exec);
    }

    #[inline]
    fn freed(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        self.jobs.clear(plan);
        self.gather_overdue(exec);
    }

    fn describe(&self, view: &mut PlanView<'_>) {
        view.destages = self.jobs[view.id].carried != 0;
    }

    fn lost(&mut self, member: u16, exec: &mut Executor<M>) {
        // Rows on the member tolerate no other loss: the parity of none of them stays deferred.
        self.window.flushes_deferred = !self.window.is_empty();
        if let Some(log) = &mut self.log {
            log.lose(member);
        }
        if let Some(journal) = &mut self.journal {
            journal.copying.lost |= 1 << member;
        }
        self.member_lost(member, exec);
    }

    #[inline]
    fn own_buffer(&self, plan: PlanId, nth: u32) -> Option<PageId> {
        if let Some(roster) = self.roster.as_ref().filter(|roster| plan == roster.plan) {
            return Some(roster.work.pages[nth as usize]);
        }
        if let Some(journal) = self.journal.as_ref().filter(|journal| plan >= journal.plan) {
            return Some(journal.page_of(plan, nth));
        }
        let intent = self.intent.as_ref().filter(|intent| plan >= intent.plan)?;
        Some(intent.work.pages[nth as usize])
    }

    #[inline]
    fn home_of(&self, plan: PlanId, column: u32, exec: &Executor<M>) -> (u16, u32) {
        let place = exec.plans[plan].place;
        (exec.geometry.member(place, column), place.page)
    }

    fn columns_of(&self, _plan: PlanId, exec: &Executor<M>) -> u64 {
        exec.geometry.all_columns()
    }

    fn lost_of(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        self.lost_columns(plan, exec) & !exec.plans[plan].lost
    }

    fn sources_of(&self, _plan: PlanId, lost: u64, exec: &Executor<M>) -> u64 {
        exec.sources(lost)
    }

    /// Parity was written, and is neither deferred nor in a log nor in the write cache.
    fn is_decodable(&self, plan: PlanId, exec: &Executor<M>) -> bool {
        let row = exec.plans[plan].row;
        (self.window.dirty(row) == 0 || exec.has_bug(Bug::LateRowRedirected))
            && self.deltas(row) == 0
            && self.covered_in_cache(row) == 0
            && self.blank.columns(row) == 0
            && !self.parity_memory.keeps(row)
            && self.is_encoded(row)
    }

    fn locks_to_decode(&self) -> bool {
        true
    }

    fn push_decoding(&mut self, plan: PlanId, sources: u64, exec: &mut Executor<M>) {
        let place = exec.plans[plan].place;
        exec.push_operations(plan, sources, OperationKind::Read, |_| Class::Decode, place);
    }

    fn decode_second(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        exec.decode_second_row(plan)
    }

    #[inline]
    fn is_plain(&self) -> bool {
        self.only_plans && self.resync.is_none() && self.roster.is_none() && !self.window.flushes_deferred
    }

    #[inline]
    fn poll_waiting<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        self.journaled(exec, driver) || self.intended(exec, driver)
    }

    fn poll_before<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        // Parity must be right before anything relies on it. A host request to a block that is being moved home waits for the
        // move. Destaging goes first: writes wait for the room that it frees.
        self.resync_one(exec, driver)
            || self.evict_one(exec, driver)
            || self.destage_due(exec, driver)
            || self.encode_due(exec)
    }

    fn poll_after<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        self.flush_one_deferred(exec, driver)
            || self.leave_one(exec, driver)
            || self.commit_one(exec, driver)
            || self.walk_one(exec, driver)
    }

    fn poll_last<D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        self.destage_due(exec, driver)
            || self.write_record(exec, driver)
            || self.write_intent(exec, driver)
            || self.free_records(exec, driver)
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
        self.drain_log(exec);
    }

    fn rebuilding(&self, exec: &Executor<M>) -> Option<(u16, u32, u32)> {
        self.rebuilding_in_place(exec)
    }

    fn scrubbed(&self, exec: &Executor<M>) -> (ScrubCounts, bool) {
        let Some(roster) = &self.roster else { return Default::default() };
        let (counts, walks) = roster.members.scrubbed();
        // While a group is beyond parity, the repairs wait for its members.
        (counts, walks || roster.keeps_repairs() && self.halted_by(exec).is_none())
    }

    fn superblock_of(&self) -> Option<&Superblock> {
        self.membership().map(|members| &members.superblock)
    }

    fn check_rejoin(&self, member: u16, how: Rejoining, exec: &Executor<M>) -> Result<(), RejoinError> {
        let roster = self.roster.as_ref().ok_or(RejoinError::NoMetadata)?;
        self.check_member(roster, member, how, exec)
    }

    fn rejoin(&mut self, member: u16, how: Rejoining, exec: &mut Executor<M>) {
        self.rejoin_in_place(member, how, exec);
    }

    fn superblock_on_members(&self) -> Option<&Superblock> {
        self.membership()?.on_members.as_ref()
    }

    fn piece(&self, piece: Piece, exec: &Executor<M>) -> PieceLocation {
        match piece.kind {
            Kind::Superblock => self.superblock_piece(piece.nth),
            Kind::Checkpoint | Kind::Commit => PieceLocation::Over,
            Kind::Table => self.table_piece(piece.nth, exec),
            Kind::Intent => self.intent_piece(piece.nth, exec),
            Kind::Record => self.record_piece(piece.nth, exec),
            Kind::Vacant => self.vacant_piece(piece.nth, exec),
        }
    }

    fn is_piece(&self, piece: Piece, bytes: &[u8], exec: &Executor<M>) -> bool {
        match piece.kind {
            Kind::Table => self.is_table_page(piece.nth, bytes),
            Kind::Intent => self.is_intent_page(piece.nth, bytes, exec),
            Kind::Record => self.is_record(exec.record_of(piece), bytes, exec),
            Kind::Superblock | Kind::Checkpoint | Kind::Commit | Kind::Vacant => true,
        }
    }

    fn records(&self) -> (u64, u64) {
        self.journal
            .as_ref()
            .map_or((0, 0), |journal| (journal.ring.first_number(), journal.ring.next_number()))
    }

    fn mend(&mut self, piece: Piece, wanted: &mut Wanted, exec: &Executor<M>) {
        match piece.kind {
            Kind::Table => {
                wanted.table = true;
                if let Some(journal) = &mut self.journal {
                    journal.table.mark((piece.nth / u64::from(journal.layout.copies)) as u32);
                    journal.wants_table = true;
                }
            }
            Kind::Intent => {
                wanted.intent = true;
                if let Some(intent) = &mut self.intent {
                    intent.has_news = true;
                }
            }
            Kind::Record => wanted.record = wanted.record.max(Some(exec.record_of(piece))),
            Kind::Vacant => {
                wanted.vacant = true;
                self.clear_vacant(piece.nth, exec);
            }
            Kind::Superblock | Kind::Checkpoint | Kind::Commit => {}
        }
    }

    fn tell_again(&mut self, exec: &Executor<M>) -> bool {
        let failed = exec.failed_members();
        let Some(roster) = self.roster.as_mut().filter(|roster| roster.telling.is_none()) else {
            return false;
        };
        let (member, news, stage) = (NO_MEMBER, News::Again, Stage::Mend);
        roster.telling = Some(Telling { member, news, stage, begun: 0, failed, out: failed, gone: 0 });
        true
    }

    fn is_mended(&mut self, wanted: &Wanted) -> bool {
        let has_intent = !wanted.intent
            || self.intent.as_ref().is_none_or(|intent| !intent.has_news && !intent.work.is_under_way);
        let mut has_journal = true;
        if let Some(journal) = &mut self.journal {
            has_journal = !wanted.table || !journal.wants_table;
            has_journal &= !wanted.vacant || journal.unread.is_empty() && !journal.is_clearing;
            if let Some(record) = wanted.record.filter(|&record| journal.ring.has_before(record + 1)) {
                has_journal = false;
                journal.leave_behind(record + 1);
                // Records with content under deferred parity are finished when that parity is written.
                self.window.flushes_deferred = !self.window.is_empty();
            }
        }
        has_intent && has_journal
    }
}
