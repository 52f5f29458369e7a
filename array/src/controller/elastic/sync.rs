//! Making the log durable up to a sync point: chunks waiting in memory are written, their batches are closed and written,
//! members are flushed, and a commit record confirms it (`docs/design/format.md`). Flushes that arrive meanwhile share the next
//! round. A checkpoint continues from there, and frees the segments that were collected before the sync point.
//!
//! At the sync point no host chunk waits in memory, so the map has the location of all content of the batches up to then;
//! later writes have greater write sequence numbers, and are in batches with greater numbers.

use super::super::Array;
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::format::Copy;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, Operation, OperationKind};
use crate::placement::elastic::durable::{PageWrite, Phase, Stage};
use crate::plan::{Purpose, Step};

impl<M: Memory> Array<M> {
    /// Lets request `id`, a flush, wait until all writes acknowledged before it are durable.
    pub(in super::super) fn join_sync(&mut self, id: u32) {
        self.requests[id as usize].remaining += 1;
        self.elastic_mut().durable_mut().sync.waiting.push(id);
    }

    /// Takes the next step of a sync. Returns false if there is nothing to do now.
    pub(in super::super) fn sync_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        if !self.is_kept() || self.read_only {
            return false;
        }
        match self.phase() {
            Phase::Idle => self.begin_sync(),
            Phase::Over => {
                self.committed(driver);
                true
            }
            Phase::Drain => self.drain_for_sync(driver),
            Phase::WriteBatches => {
                let durable = self.elastic_mut().durable_mut();
                if !durable.is_written(durable.sync.horizon) {
                    return false;
                }
                if durable.sync.gave_up {
                    // Content that returned to memory since was not on the members at the sync point: another sync point is
                    // needed.
                    let later = std::mem::take(&mut durable.sync.waiting);
                    durable.sync.waiting = std::mem::take(&mut durable.sync.joined);
                    durable.sync.waiting.extend(later);
                    durable.sync.phase = Phase::Drain;
                    return true;
                }
                self.enter_phase(Phase::Clear);
                true
            }
            phase => self.go_on(phase, driver),
        }
    }

    fn phase(&self) -> Phase {
        self.elastic().durable().sync.phase
    }

    /// Requests a checkpoint: content moved off damaged stripes is durable with it, and the next assembly has little to do.
    pub fn checkpoint<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.advance(now);
        if self.is_kept() && !self.read_only && self.elastic.is_some() {
            self.elastic_mut().durable_mut().sync.is_asked = true;
            self.poll(driver);
        }
    }

    /// Starts a sync if one is requested.
    fn begin_sync(&mut self) -> bool {
        let wants_checkpoint = self.wants_checkpoint();
        let has_lost = self.has_lost_data();
        let log = self.elastic_mut();
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
            let is_news = durable.is_news;
            debug_assert!(!sync.is_checkpoint, "no sync point was marked");
            if is_news {
                // No later batch need be on the members.
                durable.sync.horizon = durable.horizon;
                // The superblocks may record the progress of a rebuild, which is not flushed yet.
                self.enter_phase(Phase::Clear);
            }
            return is_news;
        }
        sync.is_checkpoint = wants_checkpoint;
        sync.phase = Phase::Drain;
        true
    }

    /// Whether collected segments should be freed, or the log has grown long since the last checkpoint.
    fn wants_checkpoint(&self) -> bool {
        let log = self.elastic();
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
        let is_rebuilt = durable.rebuild.is_some_and(|rebuild| rebuild.stage == Stage::Written);
        is_due || is_long || is_rebuilt || durable.sync.is_asked
    }

    /// Drains memory; once it is empty, marks the sync point.
    fn drain_for_sync<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        if !self.elastic().durable().sync.is_checkpoint && self.wants_checkpoint() {
            // Space has become short meanwhile, so a checkpoint is needed now. Chunks that waited for space need not wait any
            // more.
            self.elastic_mut().durable_mut().sync.is_checkpoint = true;
            return true;
        }
        let log = self.elastic_mut();
        let sync = &log.durable().sync;
        let all = if sync.is_checkpoint { log.open.len() } else { log.hosts() };
        let queues = &mut log.buffer.queues[..all];
        let is_more = queues.iter().any(|queue| queue.count > queue.due);
        queues.iter_mut().for_each(|queue| queue.due = queue.count);
        if queues.iter().any(|queue| queue.count > 0) {
            if !log.is_full {
                return is_more;
            }
            // There is no space, and nothing that could free some.
            let waiting = std::mem::take(&mut self.elastic_mut().durable_mut().sync.waiting);
            for id in waiting {
                self.refuse(id);
                self.let_go(id, driver);
            }
            let durable = self.elastic_mut().durable_mut();
            durable.abandon_sync_point();
            durable.sync.phase = Phase::Idle;
            return true;
        }
        for stream in 0..all {
            let log = self.elastic();
            let at = log.host_of(stream);
            // An open batch without stripes may still wait for some.
            let is_begun = log.durable().open[at].is_some();
            if is_begun {
                self.close_batch(at);
            }
        }
        if !self.bury_all() {
            // There is no room for tombstones: a checkpoint records trimmed chunks as well.
            self.elastic_mut().durable_mut().sync.is_checkpoint = true;
            return true;
        }
        self.mark_time();
        true
    }

    /// Closes batches until each tombstone is in one, unless a checkpoint is to follow. Returns false if there is no space.
    fn bury_all(&mut self) -> bool {
        if self.elastic().durable().sync.is_checkpoint {
            return true;
        }
        while !self.elastic().durable().tombstones.is_empty() {
            if !self.may_append(0) {
                return false;
            }
            let at = self.elastic().host_of(0);
            let Some(mut open) = self.elastic().open[at] else { return false };
            self.open_batch(at, &mut open);
            self.elastic_mut().open[at] = Some(open);
            self.close_batch(at);
            if open.next == open.end {
                let log = self.elastic_mut();
                log.segments.close(open.segment);
                log.open[at] = None;
            }
        }
        true
    }

    /// Marks the sync point up to which everything is to be durable.
    fn mark_time(&mut self) {
        self.note_rebuild();
        let is_early = self.has_bug(Bug::CommitEarly);
        let parity = self.geometry.parity();
        let log = self.elastic_mut();
        let (is_full, segments) = (log.is_full, log.segments.count());
        let durable = log.durable_mut();
        let is_rebuilt = durable.rebuild.is_some_and(|rebuild| rebuild.stage == Stage::Written);
        // A full log writes no checkpoint, and needs the member. The member is whole without one if the newest checkpoint has
        // enough copies.
        let has_copies = durable.checkpoint_on.count_ones() > parity;
        let is_enough =
            durable.sync.is_checkpoint || is_full && has_copies && durable.first_passed().is_none();
        durable.sync.covers_rebuild = is_rebuilt && is_enough;
        durable.sync.joined = std::mem::take(&mut durable.sync.waiting);
        durable.sync.gave_up = false;
        durable.sync.horizon = durable.next_batch - 1;
        durable.sync.write_seq = durable.last_write_seq();
        durable.sync.phase = if is_early { Phase::Clear } else { Phase::WriteBatches };
        if durable.sync.is_checkpoint {
            durable.sync.frees = durable.collected.clone();
            durable.sync.buried.append(&mut durable.tombstones);
            durable.opened = 0;
            durable.sync.is_asked = false;
            // Members are stamped: a returning member is rebuilt from its stamp on. Stamping at each checkpoint would increase
            // its writes by half.
            let is_due = durable.unstamped > 0 && durable.unstamped >= segments / 16;
            durable.is_news |= is_due && durable.superblock.version > 1;
            self.draw_body();
        } else if durable.sync.horizon == durable.horizon && !durable.is_news {
            // There is nothing new.
            durable.sync.phase = Phase::Over;
        }
    }

    /// Enters `phase`, and determines the pages to write in it.
    fn enter_phase(&mut self, phase: Phase) {
        let sync = &mut self.elastic_mut().durable_mut().sync;
        sync.phase = phase;
        sync.writes.clear();
        sync.bytes.clear();
        sync.begun = 0;
        sync.is_flushing = false;
        match phase {
            Phase::Clear => self.clear_metadata(),
            Phase::Front => self.write_superblocks(Copy::Front),
            Phase::Back => self.write_superblocks(Copy::Back),
            Phase::Commit | Phase::Name => self.write_commit(),
            Phase::Body => self.write_body(),
            Phase::Header => self.write_header(),
            _ => return,
        }
        let sync = &mut self.elastic_mut().durable_mut().sync;
        sync.touched = sync.writes.iter().fold(0, |mask, write| mask | 1u64 << write.member);
    }

    /// Issues the rest of `phase`; when the phase is over, enters the next.
    fn go_on<D: Driver<M>>(&mut self, phase: Phase, driver: &mut D) -> bool {
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
            !self.members.volatile_cache || phase == Phase::FlushData && self.has_bug(Bug::FlushDropped);
        let sync = &self.elastic().durable().sync;
        let is_wanting = if is_flush { !sync.is_flushing && !skips } else { sync.begun < sync.writes.len() };
        if is_wanting {
            if self.free_plan == NONE {
                return false;
            }
            let width = self.geometry.columns as usize;
            let sync = &mut self.elastic_mut().durable_mut().sync;
            sync.under_way += 1;
            sync.is_flushing = is_flush;
            let first = sync.begun;
            sync.begun = (first + width).min(sync.writes.len());
            let count = sync.begun - first;
            let plan = self.take_plan(first as u64, Purpose::Commit);
            self.plans[plan as usize].unit = count as u32;
            self.begin(plan, driver);
            return true;
        }
        if sync.under_way > 0 {
            return false;
        }
        self.next_phase(phase, driver);
        true
    }

    /// Ends `phase`.
    fn next_phase<D: Driver<M>>(&mut self, phase: Phase, driver: &mut D) {
        let has_lost = self.has_lost_data();
        let skips = self.has_bug(Bug::CheckpointNotFlushed);
        let failed = self.failed_members();
        let living = |keepers: &[u16]| keepers.iter().fold(0, |mask, &keeper| mask | 1 << keeper) & !failed;
        if has_lost {
            // Nothing more can be called durable.
            return if phase >= Phase::Body { self.checkpointed(driver) } else { self.committed(driver) };
        }
        let durable = self.elastic_mut().durable_mut();
        let is_news = durable.is_news;
        match phase {
            Phase::FlushBack => durable.on_members = durable.sync.told.take().or(durable.on_members.take()),
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
            Phase::FlushData | Phase::FlushBack | Phase::FlushCommit if is_news && clears => Phase::Clear,
            Phase::FlushData if is_news => Phase::Front,
            Phase::FlushData => Phase::Commit,
            Phase::Front => Phase::FlushFront,
            Phase::FlushFront => Phase::Back,
            Phase::Back => Phase::FlushBack,
            Phase::FlushBack if is_news => Phase::Front,
            // Only the superblocks had to be written.
            Phase::FlushBack if durable.sync.joined.is_empty() && !durable.sync.is_checkpoint => Phase::Idle,
            Phase::FlushBack => Phase::Commit,
            Phase::Commit => Phase::FlushCommit,
            // A member that failed meanwhile took its content with it, and perhaps a copy of the record.
            Phase::FlushCommit if is_news => Phase::Front,
            Phase::FlushCommit => return self.committed(driver),
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
            Phase::FlushName => return self.checkpointed(driver),
            Phase::Idle | Phase::Over | Phase::Drain | Phase::WriteBatches => Phase::Idle,
        };
        self.enter_phase(next);
    }

    /// The sync point is durable; completes the flushes.
    fn committed<D: Driver<M>>(&mut self, driver: &mut D) {
        let has_lost = self.has_lost_data();
        let durable = self.elastic_mut().durable_mut();
        if !has_lost {
            durable.horizon = durable.sync.horizon.max(durable.horizon);
        }
        let is_later = durable.sync.is_checkpoint && !durable.sync.buried.is_empty() && !has_lost;
        let joined = if is_later { Vec::new() } else { std::mem::take(&mut durable.sync.joined) };
        if durable.sync.is_checkpoint && !has_lost {
            self.enter_phase(Phase::Body);
        } else {
            durable.sync.phase = Phase::Idle;
            if has_lost {
                durable.abandon_sync_point();
            } else if durable.cover_rebuild() {
                durable.sync.is_asked = true;
            }
        }
        for id in joined {
            self.let_go(id, driver);
        }
    }

    /// The checkpoint is written, and a commit record names it: segments that it does not name are free.
    fn checkpointed<D: Driver<M>>(&mut self, driver: &mut D) {
        let has_lost = self.has_lost_data();
        let log = self.elastic_mut();
        let durable = log.durable_mut();
        durable.sync.phase = Phase::Idle;
        let joined = std::mem::take(&mut durable.sync.joined);
        if has_lost {
            durable.abandon_sync_point();
        } else {
            durable.sync.is_checkpoint = false;
            durable.sync.buried.clear();
            durable.cover_rebuild();
            let frees = std::mem::take(&mut durable.sync.frees);
            // Segments that were collected meanwhile follow them.
            durable.collected.drain(..frees.len());
            for segment in frees {
                log.segments.free(segment);
            }
            log.is_full = false;
        }
        for id in joined {
            self.let_go(id, driver);
        }
    }

    /// Frees a collected segment later, once the newest checkpoint no longer names it.
    pub(super) fn free_later(&mut self, victim: u32) {
        let is_early = self.has_bug(Bug::SegmentFreedEarly);
        let log = self.elastic_mut();
        if is_early {
            return log.segments.free(victim);
        }
        let durable = log.durable_mut();
        durable.collected.push(victim);
        // While a checkpoint names it, an assembly needs its summaries.
        durable.sync.is_asked |= durable.forget_shaky(victim);
    }

    /// Builds the step of a plan that writes pages of metadata, or flushes.
    pub(in super::super) fn build_sync(&mut self, plan: u32) {
        let sync = &self.elastic().durable().sync;
        if sync.is_flushing {
            // Any member may have data.
            let touched = if sync.phase == Phase::FlushData { u64::MAX } else { sync.touched };
            return self.build_flush_of(plan, |member| touched >> member & 1 != 0);
        }
        let first = self.plans[plan as usize].row as usize;
        let is_superblock = matches!(sync.phase, Phase::Front | Phase::Back);
        let gone = if is_superblock { sync.gone } else { 0 };
        let mut operations = 0u16;
        for nth in 0..self.plans[plan as usize].unit as usize {
            let PageWrite { member, page, content } = self.elastic().durable().sync.writes[first + nth];
            if self.failed[member as usize] || gone >> member & 1 != 0 {
                continue;
            }
            if M::CARRIES_DATA {
                let buffer = self.take_metadata_page(plan, nth as u32);
                let Some(log) = &self.elastic else { return };
                let into = self.memory.bytes_mut(buffer);
                let bytes = &log.durable().sync.bytes[content..];
                let bytes = &bytes[..bytes.len().min(into.len())];
                into[..bytes.len()].copy_from_slice(bytes);
            }
            let id = (plan * self.stride) as usize + operations as usize;
            self.slots[id].operation = Operation {
                page,
                member,
                kind: OperationKind::Write,
                class: Class::Metadata,
                column: nth as u8,
                ..Operation::default()
            };
            operations += 1;
        }
        let slot = &mut self.plans[plan as usize];
        slot.operations = operations;
        slot.push_step(Step::Operations { first: 0, count: operations });
        slot.acknowledge_here();
    }

    /// A plan of [`Self::build_sync`] is over.
    pub(in super::super) fn synced(&mut self) {
        self.elastic_mut().durable_mut().sync.under_way -= 1;
    }
}
