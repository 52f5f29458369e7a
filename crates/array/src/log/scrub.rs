//! Scrub: reads all content of the log and verifies it against its checksums. A bad page is rewritten where it is, with the
//! content that its summary describes. That takes no space, so a scrub ends however full the log is. A rewrite that is cut
//! short leaves a bad page, as before. Where the content of a page is not known or the page cannot be written, the chunks of
//! the stripe move as soon as there is space for them.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Plan;
use stripewise_exec::{AfterErrors, Built, Executor, TooManyLost};

use crate::job::{BuildResult, Cx, Job};
use crate::log::contents::{Content, Walker};
use crate::log::durable::Walk;
use crate::log::job::{PlanState, ScrubCopy, ScrubStripe, Trust};
use crate::log::{Log, Role};

impl Log {
    fn scrub_walk(&mut self) -> Option<&mut Walk> {
        self.durable_mut().members.scrub.walk.as_mut()
    }

    /// Starts a scrub of all segments, now or after the current one.
    pub(crate) fn begin_scrub<M: Memory>(&mut self, exec: &Executor<M>) {
        if let Some(members) = self.membership_mut() {
            members.begin_scrub(Walk::default());
            self.close_batches_to_scrub(exec);
        }
    }

    /// Closes the open batches, when a scrub begins: what they have on the members is read once their summaries are written.
    /// Only batches that are opened later are skipped.
    fn close_batches_to_scrub<M: Memory>(&mut self, exec: &Executor<M>) {
        if !exec.reads_only() && !exec.has_bug(Bug::OpenBatchesNotScrubbed) {
            (0..self.open.len()).for_each(|stream| self.close_batch(stream));
        }
    }

    /// Continues a scrub that an earlier serving interrupted. Returns false if there is none.
    pub(crate) fn continue_scrub<M: Memory>(&mut self, exec: &Executor<M>) -> bool {
        let segments = self.scrub_length(exec);
        let Some(members) = self.membership_mut() else { return false };
        let Some(done) = members.scrub_to_continue(segments) else { return false };
        members.continue_scrub(Walk { segment: done as u32, ..Walk::default() }, done);
        true
    }

    /// The number of segments of a complete scrub.
    pub(crate) fn scrub_length<M: Memory>(&self, _exec: &Executor<M>) -> u64 {
        self.segments.count().into()
    }

    /// Takes the next step of the scrub. Returns false if there is nothing to do now.
    pub(crate) fn scrub_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let log = &*self;
        let Some(walk) = log.durable.as_ref().and_then(|durable| durable.members.scrub.walk) else {
            return false;
        };
        let slots = log.segment_slots() as u32;
        if walk.under_way == 0 && walk.segment <= log.segments.count() {
            self.durable_mut().members.scrub.noted = walk.done();
        }
        let log = &*self;
        if walk.segment >= log.segments.count() {
            let is_over = walk.under_way == 0;
            // A scrub that was stopped knows nothing of the segments that it did not read.
            let is_complete = walk.segment == log.segments.count();
            if is_over {
                self.end_scrub(is_complete, exec);
            }
            return is_over;
        }
        if walk.next == slots || log.segments.is_free(walk.segment) {
            let next = Walk { segment: walk.segment + 1, next: 0, ..walk };
            self.durable_mut().members.scrub.walk = Some(next);
            return true;
        }
        let slot = u64::from(walk.segment) * u64::from(slots) + u64::from(walk.next);
        let role = log.directory.role(slot);
        let is_stripe = log.directory.is_in_stripe(slot);
        let stripe = if is_stripe { log.directory.stripe(slot) } else { (slot, slot + 1) };
        // Content in flight is not readable yet. What is in a closed batch will be; what is in an open batch came after the
        // scrub began.
        let (is_writing, is_closed) = log.durable().writing_of(slot);
        if is_closed && !exec.has_bug(Bug::OpenBatchesNotScrubbed) {
            return false;
        }
        if is_stripe && !is_writing && !log.is_known(Walker::Scrub, slot) {
            return self.may_walk(walk.under_way, exec)
                && self.ask_contents(Walker::Scrub, slot, exec, driver);
        }
        // A stripe without valid chunks is never read.
        let counts = is_stripe && (stripe.0..stripe.1).any(|slot| log.is_valid(Walker::Scrub, slot));
        // A copy that a member will get by its rebuild is not bad.
        let is_copy = role == Role::Copy && !self.is_on_failed(slot, exec) && !log.is_stale(slot);
        let is_read = !is_writing && (counts || is_copy);
        let lacks_room = exec.has_bug(Bug::RepairTakesSpace)
            && self.buffer.available() < (walk.under_way + 1) * exec.geometry().data;
        if is_read && (lacks_room || !self.may_walk(walk.under_way, exec)) {
            return false;
        }
        if let Some(walk) = self.scrub_walk() {
            walk.next += (stripe.1 - slot) as u32;
            walk.under_way += u32::from(is_read);
        }
        if is_read {
            exec.spend((stripe.1 - slot) as u32);
        }
        if is_read && is_stripe {
            let plan = self.plan_of_stripe(stripe, ScrubStripe, exec);
            exec.begin(plan, self, driver);
        } else if is_read {
            self.look_at_copy(slot, exec, driver);
        }
        true
    }

    /// Ends a scrub, which is complete or was stopped.
    fn end_scrub<M: Memory>(&mut self, is_complete: bool, exec: &mut Executor<M>) {
        let lost_chunks = self.lost_chunks;
        // Chunks that reads found damaged and that wait in memory: their old slots count again after a loss of power.
        let waits = self.buffer.queues[self.hosts()..].iter().any(|queue| queue.count > 0);
        let durable = self.durable_mut();
        // Moved content must not be found at its old location at the next assembly; nor must copies of summaries that only an
        // assembly needs.
        let counts = durable.members.scrub.counts;
        let has_moved = counts.repaired + counts.obsolete > 0;
        durable.sync.is_requested |= has_moved || waits || !durable.collected.is_empty();
        let is_verified = durable.members.end_scrub(is_complete, lost_chunks, Walk::default());
        let is_repeated = durable.members.scrub.walk.is_some();
        if is_verified && !exec.is_any_failed() {
            // All copies of summaries are good, those too that a rebuild could not write at first.
            durable.shaky.clear();
        }
        if is_verified && durable.shaky.is_empty() && !exec.reads_only() {
            exec.trust(u64::MAX);
            durable.has_event |= durable.members.superblock.verify();
        }
        if is_repeated {
            self.close_batches_to_scrub(exec);
        }
    }

    /// Reads a copy of a summary, and rewrites it if it is bad.
    fn look_at_copy<M: Memory, D: Driver<M>>(&mut self, slot: u64, exec: &mut Executor<M>, driver: &mut D) {
        let plan = self.take_plan(slot, ScrubCopy, exec);
        let segment = self.segment_of(slot);
        self.segments.lock(segment);
        exec.begin(plan, self, driver);
    }

    /// Builds the step of reading a copy of a summary; if it was found bad, those of writing it again.
    fn build_look_at_copy<M: Memory>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
    ) -> Result<(), TooManyLost> {
        let (slot, lost) = (exec.plan(plan).first_slot(), exec.plan(plan).lost);
        let column = slot % u64::from(exec.geometry().width);
        if lost >> column & 1 != 0 {
            return self.build_recopy(plan, exec);
        }
        let (member, page) = self.member(slot);
        let (kind, class, column) = (OperationKind::Read, Class::Repair, column as u8);
        exec.push_step(plan, [Operation { page, member, kind, class, column, ..Operation::default() }]);
        exec.acknowledge_here(plan);
        self.durable_mut().members.scrub.counts.pages += 1;
        Ok(())
    }

    /// A copy of a summary was read.
    fn looked_at<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let slot = exec.plan(plan);
        let (row, is_abandoned, is_bad) = (slot.first_slot(), slot.is_abandoned, slot.lost != 0);
        let reads_only = exec.reads_only();
        let segment = self.segment_of(row);
        self.segments.let_go(segment);
        let durable = self.durable_mut();
        if is_bad && is_abandoned && !reads_only {
            durable.note_shaky(segment);
        }
        durable.members.scrub.counts.bad += u64::from(is_bad);
        durable.members.scrub.counts.repaired += u64::from(is_bad && !is_abandoned);
        if let Some(walk) = &mut durable.members.scrub.walk {
            walk.under_way -= 1;
        }
    }

    /// Builds the steps of reading a whole stripe; then, if a column is bad, of decoding and rewriting it.
    fn build_scrub<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let present = self.present(plan);
        let failed = self.slots_on_failed(plan, present, exec);
        let bad = exec.plan(plan).lost & present & !failed;
        let lost = bad | failed;
        let data = exec.geometry().data_columns() & present;
        let rewritten = if self.may_rewrite(plan, bad, exec) { bad } else { 0 };
        let wanted = lost & data | rewritten;
        let is_beyond = bad != 0 && self.is_beyond(lost, wanted, exec);
        if is_beyond || self.jobs[plan].trust == Trust::Nothing {
            if self.looks_again(plan, exec) {
                return self.build_scrub(plan, exec);
            }
            return self.build_salvage(plan, lost, exec);
        }
        exec.miss(plan, lost);
        exec.want(plan, wanted);
        if bad == 0 {
            let sources = present & !lost;
            self.durable_mut().members.scrub.counts.pages += u64::from(sources.count_ones());
            self.push_slots(plan, sources, OperationKind::Read, |_| Class::Decode, exec);
        } else {
            // The valid chunks may have to move, so all of them are read.
            let sources = data & !lost | self.stripe_sources(present, lost, wanted, exec);
            self.push_slots(plan, sources, OperationKind::Read, |_| Class::Decode, exec);
            exec.push_compute(plan, sources.count_ones() as u16);
            if rewritten != 0 && !exec.has_bug(Bug::RepairNotWritten) {
                self.push_slots(plan, rewritten, OperationKind::Write, |_| Class::Repair, exec);
            }
        }
        exec.acknowledge_here(plan);
    }

    /// Whether the `bad` columns of a stripe may be rewritten where they are: only with content of a known checksum, which
    /// proves that it is the content that was written there.
    fn may_rewrite<M: Memory>(&self, plan: PlanId, bad: u64, exec: &Executor<M>) -> bool {
        let is_known = |column| !M::CARRIES_DATA || self.column(plan, column).checksum.is_some();
        bad != 0 && !exec.reads_only() && !exec.has_bug(Bug::RepairTakesSpace) && columns(bad).all(is_known)
    }

    /// Whether columns with errors are read once more, because too much seems lost: only once.
    pub(crate) fn looks_again<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        self.jobs[plan].trust != Trust::Nothing && exec.look_again(plan)
    }

    /// Builds the steps for a stripe whose `lost` columns cannot be decoded: read the valid chunks of the rest. Valid chunks
    /// that cannot be read are lost; a stripe without valid chunks loses nothing.
    pub(crate) fn build_salvage<M: Memory>(&mut self, plan: PlanId, lost: u64, exec: &mut Executor<M>) {
        let left = self.live_columns(plan, exec) & !lost;
        exec.abandon(plan);
        exec.miss(plan, lost);
        exec.want(plan, left);
        self.jobs[plan].trust = Trust::Nothing;
        self.push_slots(plan, left, OperationKind::Read, |_| Class::Decode, exec);
        exec.acknowledge_here(plan);
    }

    /// The data columns of the stripe of `plan` that hold valid chunks.
    pub(crate) fn live_columns<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let log = self;
        let homes = log.homes(plan);
        let is_live = |&column: &u32| log.is_home(log.column(plan, column).chunk, homes[column as usize]);
        let data = exec.geometry().data_columns() & self.present(plan);
        columns(data).filter(is_live).fold(0, |live, column| live | 1 << column)
    }

    /// The valid chunks of the stripe of `plan`, a completed plan of a walk, that cannot be read.
    pub(crate) fn lost_live_columns<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let Plan { missing, .. } = *exec.plan(plan);
        let PlanState { trust, .. } = self.jobs[plan];
        let data = exec.geometry().data_columns();
        let is_beyond = trust == Trust::Nothing || self.is_beyond(missing, missing & data, exec);
        if is_beyond { self.live_columns(plan, exec) & missing } else { 0 }
    }

    /// A stripe was read, and its bad columns were rewritten. If they could not be, its valid chunks move. A stripe that has lost
    /// its last valid chunk meanwhile is not read again, so its pages do not count.
    fn scrubbed<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let present = self.present(plan);
        let Plan { lost, is_abandoned, .. } = *exec.plan(plan);
        let row = exec.plan(plan).first_slot();
        let live = self.live_columns(plan, exec);
        let counts = live != 0 || exec.has_bug(Bug::DeadStripeCounted);
        let bad = if counts { lost & present & !self.slots_on_failed(plan, present, exec) } else { 0 };
        let lost = self.lost_live_columns(plan, exec);
        let is_whole = !is_abandoned && (bad == 0 || self.may_rewrite(plan, bad, exec));
        // If the stripe cannot be decoded, the chunks that were read directly move.
        let moved = if is_whole || exec.reads_only() { 0 } else { live & !lost };
        let count = moved.count_ones();
        let has_space =
            self.buffer.available() >= count && self.has_space_for(count) && !self.is_beyond_parity(exec);
        let moves = moved != 0 && (has_space || exec.has_bug(Bug::RepairTakesSpace));
        let segment = self.segment_of(row);
        self.segments.let_go(segment);
        let durable = self.durable_mut();
        durable.members.scrub.counts.bad += u64::from(bad.count_ones());
        if !exec.reads_only() {
            // What was rewritten is repaired. What moves is repaired too, and the rest of such a stripe is obsolete.
            let (repaired, obsolete) = match (is_whole, moves || moved == 0) {
                (true, _) => (bad, 0),
                (false, true) => (bad & moved, bad & !moved & !lost),
                (false, false) => (0, 0),
            };
            durable.members.scrub.counts.repaired += u64::from(repaired.count_ones());
            durable.members.scrub.counts.obsolete += u64::from(obsolete.count_ones());
        }
        durable.members.scrub.counts.lost += u64::from(lost.count_ones());
        if let Some(walk) = &mut durable.members.scrub.walk {
            walk.under_way -= 1;
        }
        if moved != 0 && !moves {
            // The segment is collected once there is space.
            durable.note_shaky(segment);
        }
        if !moves {
            return;
        }
        for column in columns(moved) {
            let Content { chunk, write_seq, .. } = self.column(plan, column);
            let page = self.take_content(plan, column, exec);
            self.relocate(chunk, write_seq, page, exec);
        }
        // Parity alone cannot move: without its data the stripe is obsolete. The waiting chunks must leave soon.
        let hosts = self.hosts();
        self.buffer.queues[hosts..].iter_mut().for_each(|queue| queue.due = queue.count);
    }
}

impl Job<Log> for ScrubStripe {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_scrub(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    fn combine<M: Memory>(self, cx: Cx<'_, Log, M>) {
        cx.placement.decode_stripe(cx.plan, cx.exec);
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.scrubbed(cx.plan, cx.exec);
    }
}

impl Job<Log> for ScrubCopy {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_look_at_copy(cx.plan, cx.exec)?;
        Ok(Built::Ready)
    }

    fn step_failed<M: Memory>(self, cx: Cx<'_, Log, M>) -> AfterErrors {
        cx.placement.rebuild_failed(cx.plan, cx.exec)
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.looked_at(cx.plan, cx.exec);
    }
}
