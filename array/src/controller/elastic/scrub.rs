//! Scrub: reads all content of the log and verifies it against its checksums. A stripe with a bad column is moved, because
//! parity is never rewritten; a bad copy of a summary is rewritten in place.

use super::super::{Array, columns};
use crate::driver::Driver;
use crate::memory::Memory;
use crate::operation::{Class, OperationKind};
use crate::placement::elastic::Role;
use crate::placement::elastic::contents::{Content, Walker};
use crate::placement::elastic::durable::Walk;
use crate::plan::{Plan, Purpose, Step, Trust};

impl<M: Memory> Array<M> {
    fn scrub_walk(&mut self) -> Option<&mut Walk> {
        self.elastic_mut().durable_mut().scrub.as_mut()
    }

    /// Takes the next step of the scrub. Returns false if there is nothing to do now.
    pub(in super::super) fn scrub_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(log) = &self.elastic else { return false };
        let Some(walk) = log.durable.as_ref().and_then(|durable| durable.scrub) else { return false };
        let slots = log.segment_slots() as u32;
        if walk.segment >= log.segments.count() {
            let is_over = walk.under_way == 0;
            // A scrub that was stopped knows nothing of the segments that it did not read.
            let is_complete = walk.segment == log.segments.count();
            if is_over {
                self.end_scrub(is_complete);
            }
            return is_over;
        }
        if walk.next == slots || log.segments.is_free(walk.segment) {
            let next = Walk { segment: walk.segment + 1, next: 0, ..walk };
            self.elastic_mut().durable_mut().scrub = Some(next);
            return true;
        }
        let slot = u64::from(walk.segment) * u64::from(slots) + u64::from(walk.next);
        let role = log.directory.role(slot);
        let is_stripe = log.directory.is_in_stripe(slot);
        let stripe = if is_stripe { log.directory.stripe(slot) } else { (slot, slot + 1) };
        // Content in flight is not readable yet.
        let is_writing = log.durable().is_writing(slot);
        if is_stripe && !is_writing && !log.is_told(Walker::Scrub, slot) {
            return self.may_walk(walk.under_way) && self.ask_contents(Walker::Scrub, slot, driver);
        }
        // A stripe without valid chunks is never read.
        let counts = is_stripe && (stripe.0..stripe.1).any(|slot| log.is_valid(Walker::Scrub, slot));
        // A copy that a member will get by its rebuild is not bad.
        let is_copy = role == Role::Copy && !self.is_on_failed(slot) && !log.is_stale(slot);
        let is_read = !is_writing && (counts || is_copy);
        let needed = if is_stripe { self.geometry.data } else { 0 };
        let has_room = self.elastic().buffer.available() >= needed;
        if is_read && !(has_room && self.may_walk(walk.under_way)) {
            return false;
        }
        if let Some(walk) = self.scrub_walk() {
            walk.next += (stripe.1 - slot) as u32;
            walk.under_way += u32::from(is_read);
        }
        if is_read {
            self.spend((stripe.1 - slot) as u32);
        }
        if is_read && is_stripe {
            self.elastic_mut().buffer.reserve(needed);
            let plan = self.plan_of_stripe(stripe, Purpose::Scrub);
            self.begin(plan, driver);
        } else if is_read {
            self.look_at_copy(slot, driver);
        }
        true
    }

    /// Ends a scrub, which is complete or was stopped.
    fn end_scrub(&mut self, is_complete: bool) {
        let log = self.elastic_mut();
        let lost_chunks = log.lost_chunks;
        let durable = log.durable_mut();
        durable.scrub = None;
        // Moved content must not be found at its old location at the next assembly; nor must copies of summaries that only an
        // assembly needs.
        durable.sync.is_asked |= durable.scrubbed.repaired > 0 || !durable.collected.is_empty();
        if durable.scrubs_again {
            return durable.begin_scrub();
        }
        if is_complete {
            durable.scrubbed.lost += lost_chunks;
            if durable.scrubbed.lost == 0 {
                durable.unrecovered = 0;
            }
        }
    }

    /// Reads a copy of a summary, and rewrites it if it is bad.
    fn look_at_copy<D: Driver<M>>(&mut self, slot: u64, driver: &mut D) {
        let plan = self.take_plan(slot, Purpose::RepairSummary);
        self.plans[plan as usize].carried = 1;
        let log = self.elastic_mut();
        let segment = log.segment_of(slot);
        log.segments.lock(segment);
        self.begin(plan, driver);
    }

    /// A copy of a summary was read.
    pub(super) fn looked_at(&mut self, plan: u32) {
        let slot = &self.plans[plan as usize];
        let (row, gave_up, is_bad) = (slot.row, slot.gave_up, slot.lost != 0);
        let reads_only = self.read_only;
        let log = self.elastic_mut();
        let segment = log.segment_of(row);
        let durable = log.durable_mut();
        if is_bad && gave_up && !reads_only && !durable.shaky.contains(&segment) {
            durable.shaky.push(segment);
        }
        durable.scrubbed.bad += u64::from(is_bad);
        durable.scrubbed.repaired += u64::from(is_bad && !gave_up);
        if let Some(walk) = &mut durable.scrub {
            walk.under_way -= 1;
        }
    }

    /// Builds the steps of reading a whole stripe; then, if a column is bad, of recovering its data.
    pub(in super::super) fn build_scrub(&mut self, plan: u32) {
        let present = self.present(plan);
        let failed = self.slots_on_failed(plan, present);
        let bad = self.plans[plan as usize].lost & present & !failed;
        let lost = bad | failed;
        let data = self.geometry.data_columns() & present;
        let is_beyond = bad != 0 && lost.count_ones() > self.geometry.parity();
        if is_beyond || self.plans[plan as usize].trust == Trust::Nothing {
            if self.looks_again(plan) {
                return self.build_scrub(plan);
            }
            return self.build_salvage(plan, lost);
        }
        let slot = &mut self.plans[plan as usize];
        slot.missing = lost;
        slot.wanted = lost & data;
        if bad == 0 {
            let sources = present & !lost;
            self.elastic_mut().durable_mut().scrubbed.pages += u64::from(sources.count_ones());
            self.push_slots(plan, sources, OperationKind::Read, |_| Class::Decode);
        } else {
            let sources = self.stripe_sources(present, lost);
            self.push_slots(plan, sources, OperationKind::Read, |_| Class::Decode);
            self.plans[plan as usize].push_step(Step::Compute { pages: sources.count_ones() as u16 });
        }
        self.plans[plan as usize].acknowledge_here();
    }

    /// Whether columns with errors are read once more, because too much seems lost: only once.
    pub(super) fn looks_again(&mut self, plan: u32) -> bool {
        let slot = &mut self.plans[plan as usize];
        let looks = slot.trust != Trust::Nothing && slot.lost != 0 && !slot.looked_again;
        if looks {
            (slot.looked_again, slot.lost) = (true, 0);
        }
        looks
    }

    /// Builds the steps for a stripe whose `lost` columns cannot be decoded: read the valid chunks of the rest. Valid chunks
    /// that cannot be read are lost; a stripe without valid chunks loses nothing.
    pub(super) fn build_salvage(&mut self, plan: u32, lost: u64) {
        let left = self.live_columns(plan) & !lost;
        let slot = &mut self.plans[plan as usize];
        (slot.gave_up, slot.trust) = (true, Trust::Nothing);
        (slot.missing, slot.wanted) = (lost, left);
        self.push_slots(plan, left, OperationKind::Read, |_| Class::Decode);
        self.plans[plan as usize].acknowledge_here();
    }

    /// The data columns of the stripe of `plan` that hold valid chunks.
    fn live_columns(&self, plan: u32) -> u64 {
        let log = self.elastic();
        let homes = log.homes(plan);
        let is_live = |&column: &u32| log.is_home(log.column(plan, column).chunk, homes[column as usize]);
        let data = self.geometry.data_columns() & self.present(plan);
        columns(data).filter(is_live).fold(0, |live, column| live | 1 << column)
    }

    /// The valid chunks of the stripe of `plan`, a completed plan of a walk, that cannot be read.
    pub(super) fn lost_live_columns(&self, plan: u32) -> u64 {
        let Plan { missing, trust, .. } = self.plans[plan as usize];
        let is_beyond = trust == Trust::Nothing || missing.count_ones() > self.geometry.parity();
        if is_beyond { self.live_columns(plan) & missing } else { 0 }
    }

    /// A stripe was read; if a column was bad, its valid chunks move.
    pub(in super::super) fn scrubbed(&mut self, plan: u32) {
        let present = self.present(plan);
        let Plan { row, lost, gave_up, .. } = self.plans[plan as usize];
        let bad = lost & present & !self.slots_on_failed(plan, present);
        let lost = self.lost_live_columns(plan);
        // If the stripe cannot be decoded, the chunks that were read directly move.
        let moved = if bad != 0 || gave_up { self.live_columns(plan) & !lost } else { 0 };
        let count = self.geometry.data;
        let reads_only = self.read_only;
        let log = self.elastic_mut();
        log.buffer.unreserve(count);
        let segment = log.segment_of(row);
        log.segments.let_go(segment);
        let durable = log.durable_mut();
        durable.scrubbed.bad += u64::from(bad.count_ones());
        durable.scrubbed.repaired += u64::from(bad != 0 && lost == 0 && !reads_only);
        durable.scrubbed.lost += u64::from(lost.count_ones());
        if let Some(walk) = &mut durable.scrub {
            walk.under_way -= 1;
        }
        if moved == 0 || self.read_only {
            return;
        }
        for column in columns(moved) {
            let Content { chunk, write_seq, .. } = self.elastic().column(plan, column);
            let page = self.take_content(plan, column);
            self.relocate(chunk, write_seq, page);
        }
        // Parity alone cannot move: without its data the stripe is obsolete. The waiting chunks must leave soon.
        let log = self.elastic_mut();
        let hosts = log.hosts();
        log.buffer.queues[hosts..].iter_mut().for_each(|queue| queue.due = queue.count);
    }
}
