//! Making the log durable up to a sync point: chunks waiting in memory are written, their batches are closed and written,
//! members are flushed, and a commit record confirms it (`docs/design/format.md`). Flushes that arrive meanwhile share the next
//! round. A checkpoint continues from there, and frees the segments that were collected before the sync point.
//!
//! At the sync point no host chunk waits in memory, so the map has the location of all content of the batches up to then;
//! later writes have greater write sequence numbers, and are in batches with greater numbers.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::{Built, Executor};
use stripewise_format::Copy;

use crate::job::{BuildResult, Cx, Job};
use crate::log::Log;
use crate::log::durable::{PageWrite, Phase, Rebuild, Stage};
use crate::log::job::WriteMetadata;

impl Log {
    /// Lets request `id`, a flush, wait until all writes acknowledged before it are durable.
    pub(crate) fn join_sync<M: Memory>(&mut self, id: RequestId, exec: &mut Executor<M>) {
        exec.request_mut(id).remaining += 1;
        self.durable_mut().sync.waiting.push(id);
    }

    /// Takes the next step of a sync. Returns false if there is nothing to do now.
    pub(crate) fn sync_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if !self.is_kept() || exec.reads_only() {
            return false;
        }
        match self.phase() {
            Phase::Idle => self.begin_sync(exec),
            Phase::Over => {
                self.committed(exec, driver);
                true
            }
            Phase::Drain => self.drain_for_sync(exec, driver),
            Phase::WriteBatches => {
                let durable = self.durable_mut();
                if !durable.is_written(durable.sync.horizon) {
                    return false;
                }
                if durable.sync.is_abandoned {
                    // Content that returned to memory since was not on the members at the sync point: another sync point is
                    // needed.
                    let later = std::mem::take(&mut durable.sync.waiting);
                    durable.sync.waiting = std::mem::take(&mut durable.sync.joined);
                    durable.sync.waiting.extend(later);
                    durable.sync.phase = Phase::Drain;
                    return true;
                }
                self.enter_phase(Phase::Clear, exec);
                true
            }
            phase => self.continue_phase(phase, exec, driver),
        }
    }

    fn phase(&self) -> Phase {
        self.durable().sync.phase
    }

    /// Starts a sync if one is requested.
    fn begin_sync<M: Memory>(&mut self, exec: &mut Executor<M>) -> bool {
        let wants_checkpoint = self.wants_checkpoint();
        let has_lost = exec.has_lost_data(self);
        let log = &mut *self;
        // In that case, only flushes of hosts are answered.
        let is_stuck = log.is_full && log.buffer.queues.iter().any(|queue| queue.count > 0);
        let durable = log.durable_mut();
        let sync = &mut durable.sync;
        if has_lost {
            // Nothing can be called durable any more. Flushes report this.
            let is_any = !sync.waiting.is_empty();
            sync.joined.append(&mut sync.waiting);
            sync.phase = if is_any { Phase::Over } else { Phase::Idle };
            return is_any;
        }
        let wants_note = durable.wants_note();
        let sync = &mut durable.sync;
        // Trimmed chunks must not wait in memory forever.
        let is_crowded = durable.tombstones.len() > durable.room as usize;
        let wants = wants_checkpoint || wants_note || is_crowded;
        if sync.waiting.is_empty() && (!wants || is_stuck) {
            let has_event = durable.has_event;
            debug_assert!(!sync.is_checkpoint, "no sync point was marked");
            if has_event {
                // No later batch need be on the members.
                durable.sync.horizon = durable.horizon;
                // The superblocks may record the progress of a rebuild, which is not flushed yet.
                self.enter_phase(Phase::Clear, exec);
            }
            return has_event;
        }
        sync.is_checkpoint = wants_checkpoint;
        sync.phase = Phase::Drain;
        true
    }

    /// Whether collected segments should be freed, or the log has grown long since the last checkpoint.
    pub(crate) fn wants_checkpoint(&self) -> bool {
        let log = self;
        let durable = log.durable();
        if log.is_full {
            // Memory cannot be drained.
            return false;
        }
        let collected = durable.collected.len() as u32;
        let is_short = log.segments.free_count() <= log.comfort + collected;
        // A collection that is held back until a checkpoint frees space.
        let is_awaited = log.wants_collection && !log.may_collect();
        let is_long = durable.opened > (log.segments.count() / 8).max(4);
        let is_due = collected > 0 && (is_short || is_awaited || collected > log.segments.count() / 16);
        // Metadata outside of segments has fewer copies than it should, if the rebuilt member held some of them.
        is_due || is_long || durable.has_written() || durable.sync.is_requested
    }

    /// Drains memory; once it is empty, marks the sync point.
    fn drain_for_sync<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        if self.is_beyond_parity(exec) {
            // Memory is not drained until members return, and flushes do not wait for that.
            let sync = &mut self.durable_mut().sync;
            sync.joined.append(&mut sync.waiting);
            sync.phase = Phase::Over;
            return true;
        }
        if !self.durable().sync.is_checkpoint && self.wants_checkpoint() {
            // Space has become short meanwhile, so a checkpoint is needed now. Chunks that waited for space need not wait any
            // more.
            self.durable_mut().sync.is_checkpoint = true;
            return true;
        }
        let sync = &self.durable().sync;
        let all = if sync.is_checkpoint { self.open.len() } else { self.hosts() };
        let queues = &mut self.buffer.queues[..all];
        let is_more = queues.iter().any(|queue| queue.count > queue.due);
        queues.iter_mut().for_each(|queue| queue.due = queue.count);
        if queues.iter().any(|queue| queue.count > 0) {
            if !self.is_full {
                return is_more;
            }
            // There is no space, and nothing that could free some.
            let waiting = std::mem::take(&mut self.durable_mut().sync.waiting);
            for id in waiting {
                self.refuse(id, exec);
                self.let_go(id, exec, driver);
            }
            let durable = self.durable_mut();
            durable.abandon_sync_point();
            durable.sync.phase = Phase::Idle;
            return true;
        }
        for stream in 0..all {
            let at = self.host_of(stream);
            // An open batch without stripes may still wait for some.
            let is_begun = self.durable().open[at].is_some();
            if is_begun {
                self.close_batch(at);
            }
        }
        if !self.bury_all(exec) {
            // There is no room for tombstones: a checkpoint records trimmed chunks as well.
            self.durable_mut().sync.is_checkpoint = true;
            return true;
        }
        self.mark_time(exec);
        true
    }

    /// Closes batches until each tombstone is in one, unless a checkpoint is to follow. Returns false if there is no space.
    fn bury_all<M: Memory>(&mut self, exec: &mut Executor<M>) -> bool {
        if self.durable().sync.is_checkpoint {
            return true;
        }
        while !self.durable().tombstones.is_empty() {
            if !self.may_append(0, exec) {
                return false;
            }
            let at = self.host_of(0);
            let Some(mut open) = self.open[at] else { return false };
            self.open_batch(at, &mut open, exec);
            self.open[at] = Some(open);
            self.close_batch(at);
            if open.next == open.end {
                self.segments.close(open.segment);
                self.open[at] = None;
            }
        }
        true
    }

    /// Marks the sync point up to which everything is to be durable.
    fn mark_time<M: Memory>(&mut self, exec: &mut Executor<M>) {
        self.note_rebuild(exec);
        let is_early = exec.has_bug(Bug::CommitEarly);
        let parity = exec.geometry().tolerance();
        let log = &mut *self;
        let (is_full, segments) = (log.is_full, log.segments.count());
        let durable = log.durable_mut();
        // A full log writes no checkpoint, and needs the member. The member is whole without one if the newest checkpoint has
        // enough copies.
        let has_copies = durable.checkpoint_on.count_ones() > parity;
        let is_covered = |rebuild: &&Rebuild| {
            let is_enough = durable.sync.is_checkpoint
                || is_full && has_copies && durable.first_passed(rebuild).is_none();
            rebuild.part.stage == Stage::Written && is_enough
        };
        let covered = durable.members.rebuilds.iter().filter(is_covered);
        durable.sync.covers = covered.fold(0, |mask, rebuild| mask | rebuild.member.bit());
        durable.sync.joined = std::mem::take(&mut durable.sync.waiting);
        durable.sync.is_abandoned = false;
        durable.sync.horizon = durable.next_batch - 1;
        durable.sync.write_seq = durable.last_write_seq();
        durable.sync.phase = if is_early { Phase::Clear } else { Phase::WriteBatches };
        if durable.sync.is_checkpoint {
            durable.sync.frees = durable.collected.clone();
            durable.sync.buried.append(&mut durable.tombstones);
            durable.opened = 0;
            durable.sync.is_requested = false;
            // Members are stamped: a returning member is rebuilt from its stamp on. Stamping at each checkpoint would increase
            // its writes by half.
            let is_due = durable.unstamped > 0 && durable.unstamped >= segments / 16;
            durable.has_event |= is_due && durable.members.superblock.version > 1;
            self.draw_body(exec);
        } else if durable.sync.horizon == durable.horizon && !durable.has_event {
            // There is nothing new.
            durable.sync.phase = Phase::Over;
        }
    }

    /// Enters `phase`, and determines the pages to write in it.
    fn enter_phase<M: Memory>(&mut self, phase: Phase, exec: &mut Executor<M>) {
        let sync = &mut self.durable_mut().sync;
        sync.phase = phase;
        sync.writes.clear();
        sync.bytes.clear();
        sync.begun = 0;
        sync.is_flushing = false;
        match phase {
            Phase::Clear => self.clear_metadata(exec),
            Phase::Front => self.write_superblocks(Copy::Front, exec),
            Phase::Back => self.write_superblocks(Copy::Back, exec),
            Phase::Commit | Phase::Name => self.write_commit(exec),
            Phase::Body => self.write_body(exec),
            Phase::Header => self.write_header(exec),
            _ => return,
        }
        let sync = &mut self.durable_mut().sync;
        sync.touched = sync.writes.iter().fold(0, |mask, write| mask | write.member.bit());
    }

    /// Issues the rest of `phase`; when the phase is over, enters the next.
    fn continue_phase<M: Memory, D: Driver<M>>(
        &mut self,
        phase: Phase,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let is_flush = matches!(
            phase,
            Phase::FlushData
                | Phase::FlushFront
                | Phase::FlushBack
                | Phase::FlushCommit
                | Phase::FlushBody
                | Phase::FlushHeader
                | Phase::FlushName
        );
        let skips =
            !exec.members().volatile_cache || phase == Phase::FlushData && exec.has_bug(Bug::FlushDropped);
        let sync = &self.durable().sync;
        let is_wanting = if is_flush { !sync.is_flushing && !skips } else { sync.begun < sync.writes.len() };
        if is_wanting {
            if !exec.has_free_plan() {
                return false;
            }
            let width = exec.geometry().width as usize;
            let sync = &mut self.durable_mut().sync;
            sync.under_way += 1;
            sync.is_flushing = is_flush;
            let first = sync.begun;
            sync.begun = (first + width).min(sync.writes.len());
            let count = sync.begun - first;
            let plan = self.take_plan(first as u64, WriteMetadata { pages: count as u32 }, exec);
            exec.begin(plan, self, driver);
            return true;
        }
        if sync.under_way > 0 {
            return false;
        }
        self.next_phase(phase, exec, driver);
        true
    }

    /// Ends `phase`.
    fn next_phase<M: Memory, D: Driver<M>>(&mut self, phase: Phase, exec: &mut Executor<M>, driver: &mut D) {
        let has_lost = exec.has_lost_data(self);
        let skips = exec.has_bug(Bug::CheckpointNotFlushed);
        let failed = exec.failed_members();
        let living =
            |keepers: &[MemberNo]| keepers.iter().fold(0, |mask, &keeper| mask | keeper.bit()) & !failed;
        if has_lost {
            // Nothing more can be called durable.
            return if phase >= Phase::Body {
                self.checkpointed(exec, driver)
            } else {
                self.committed(exec, driver)
            };
        }
        let durable = self.durable_mut();
        let has_event = durable.has_event;
        match phase {
            Phase::FlushBack => {
                if let Some(recorded) = durable.sync.recorded.take() {
                    durable.members.recorded(recorded, failed | durable.sync.gone);
                }
            }
            Phase::FlushCommit | Phase::FlushName => {
                let touched = durable.sync.touched & !failed;
                durable.commit_on = durable.sync.commit.map(|commit| (commit, touched));
            }
            _ => {}
        }
        let clears = durable.sync.uncleared != 0;
        let next = match phase {
            // Cleared pages are flushed with the data, before superblocks list the member.
            Phase::Clear => Phase::FlushData,
            Phase::FlushData | Phase::FlushBack | Phase::FlushCommit if has_event && clears => Phase::Clear,
            Phase::FlushData if has_event => Phase::Front,
            Phase::FlushData => Phase::Commit,
            Phase::Front => Phase::FlushFront,
            Phase::FlushFront => Phase::Back,
            Phase::Back => Phase::FlushBack,
            Phase::FlushBack if has_event => Phase::Front,
            // Only the superblocks had to be written.
            Phase::FlushBack if durable.sync.joined.is_empty() && !durable.sync.is_checkpoint => Phase::Idle,
            Phase::FlushBack => Phase::Commit,
            Phase::Commit => Phase::FlushCommit,
            // A member that failed meanwhile took its content with it, and perhaps a copy of the record.
            Phase::FlushCommit if has_event => Phase::Front,
            Phase::FlushCommit => return self.committed(exec, driver),
            Phase::Body if skips => Phase::Header,
            Phase::Body => Phase::FlushBody,
            Phase::FlushBody => Phase::Header,
            Phase::Header if !skips => Phase::FlushHeader,
            Phase::Header | Phase::FlushHeader => {
                durable.checkpoint += 1;
                durable.checkpoint_on = living(&durable.sync.keepers);
                durable.newest = durable.sync.header;
                Phase::Name
            }
            Phase::Name => Phase::FlushName,
            Phase::FlushName => return self.checkpointed(exec, driver),
            Phase::Idle | Phase::Over | Phase::Drain | Phase::WriteBatches => Phase::Idle,
        };
        self.enter_phase(next, exec);
    }

    /// The sync point is durable; completes the flushes.
    fn committed<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) {
        let has_lost = exec.has_lost_data(self);
        let durable = self.durable_mut();
        if !has_lost {
            durable.horizon = durable.sync.horizon.max(durable.horizon);
        }
        let is_later = durable.sync.is_checkpoint && !durable.sync.buried.is_empty() && !has_lost;
        let joined = if is_later { Vec::new() } else { std::mem::take(&mut durable.sync.joined) };
        if durable.sync.is_checkpoint && !has_lost {
            self.enter_phase(Phase::Body, exec);
        } else {
            durable.sync.phase = Phase::Idle;
            if has_lost {
                durable.abandon_sync_point();
            } else if durable.cover_rebuilds() {
                durable.sync.is_requested = true;
            }
        }
        for id in joined {
            self.let_go(id, exec, driver);
        }
    }

    /// The checkpoint is written, and a commit record names it: segments that it does not name are free.
    fn checkpointed<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) {
        let has_lost = exec.has_lost_data(self);
        let durable = self.durable_mut();
        durable.sync.phase = Phase::Idle;
        let joined = std::mem::take(&mut durable.sync.joined);
        if has_lost {
            durable.abandon_sync_point();
        } else {
            durable.sync.is_checkpoint = false;
            durable.sync.buried.clear();
            durable.cover_rebuilds();
            let frees = std::mem::take(&mut durable.sync.frees);
            // Segments that were collected meanwhile follow them.
            durable.collected.drain(..frees.len());
            for segment in frees {
                self.segments.free(segment);
            }
            self.is_full = false;
        }
        for id in joined {
            self.let_go(id, exec, driver);
        }
    }

    /// Frees a collected segment later, once the newest checkpoint no longer names it.
    pub(crate) fn free_later<M: Memory>(&mut self, victim: u32, exec: &mut Executor<M>) {
        let is_early = exec.has_bug(Bug::SegmentFreedEarly);
        if is_early {
            return self.segments.free(victim);
        }
        let durable = self.durable_mut();
        durable.collected.push(victim);
        // While a checkpoint names it, an assembly needs its summaries.
        durable.sync.is_requested |= durable.forget_shaky(victim);
    }

    /// Builds the step of a plan that writes pages of metadata, or flushes.
    fn build_sync<M: Memory>(&mut self, plan: PlanId, pages: u32, exec: &mut Executor<M>) {
        let sync = &self.durable().sync;
        if sync.is_flushing {
            // Any member may have data.
            let touched = if sync.phase == Phase::FlushData { u64::MAX } else { sync.touched };
            return exec.build_flush_of(plan, |member| member.is_in(touched));
        }
        let first = exec.plan(plan).row.index();
        let is_superblock = matches!(sync.phase, Phase::Front | Phase::Back);
        let gone = if is_superblock { sync.gone } else { 0 };
        exec.push_step(plan, []);
        for nth in 0..pages as usize {
            let PageWrite { member, page, content } = self.durable().sync.writes[first + nth];
            if exec.is_failed(member) || member.is_in(gone) {
                continue;
            }
            if M::CARRIES_DATA {
                let buffer = self.take_metadata_page(plan, nth as u32, exec);
                let into = exec.memory_mut().bytes_mut(buffer);
                let bytes = &self.durable().sync.bytes[content..];
                let bytes = &bytes[..bytes.len().min(into.len())];
                into[..bytes.len()].copy_from_slice(bytes);
            }
            let (kind, class, column) = (OperationKind::Write, Class::Metadata, nth as u8);
            exec.add_operation(plan, Operation { page, member, kind, class, column, ..Operation::default() });
        }
        exec.acknowledge_here(plan);
    }

    /// A plan of [`Self::build_sync`] is over.
    fn synced(&mut self) {
        self.durable_mut().sync.under_way -= 1;
    }
}

impl Job<Log> for WriteMetadata {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_sync(cx.plan, self.pages, cx.exec);
        Ok(Built::Ready)
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.synced();
    }
}
