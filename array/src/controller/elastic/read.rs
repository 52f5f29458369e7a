//! Reading the log: chunks from their own slots, or decoded from the rest of their stripes.

use super::super::reads::Built;
use super::super::updates::TooManyLost;
use super::super::{Array, columns};
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::format::crc32c;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, OperationKind, Outcome};
use crate::placement::elastic::Location;
use crate::placement::elastic::addresses::NOWHERE;
use crate::placement::elastic::contents::{Content, Walker};
use crate::plan::{Plan, Purpose, Step, Trust};
use crate::read::ReadPolicy;

impl<M: Memory> Array<M> {
    /// Reads `chunk` of request `id`, and the following chunks before `end` that are in the same stripe. Returns their number;
    /// 0 if no plan is free.
    pub(super) fn read_chunks<D: Driver<M>>(&mut self, id: u32, chunk: u64, end: u64, driver: &mut D) -> u64 {
        match self.elastic().location(chunk) {
            Location::Mapped(slot) => {
                if self.free_plan == NONE {
                    return 0;
                }
                let plan = self.read_plan(chunk, slot, Purpose::Read);
                let mut count = 1;
                while chunk + count < end
                    && let Location::Mapped(next) = self.elastic().location(chunk + count)
                    && let Some(column) =
                        self.elastic().homes(plan).iter().position(|&location| location == next)
                {
                    self.want(plan, column as u32, chunk + count);
                    count += 1;
                }
                self.attach(plan, id);
                self.begin(plan, driver);
                count
            }
            Location::Buffered(place) => {
                let page = self.elastic().buffer.get(place).page;
                if M::CARRIES_DATA {
                    self.store_host(page, chunk, id);
                }
                1
            }
            Location::Lost => {
                self.requests[id as usize].failed = true;
                1
            }
            Location::Unmapped => {
                self.store_zeros(chunk, id);
                1
            }
        }
    }

    /// Creates a plan that reads `chunk` in `slot`, and locks the segment.
    pub(super) fn read_plan(&mut self, chunk: u64, slot: u64, purpose: Purpose) -> u32 {
        let stripe = self.elastic().directory.stripe(slot);
        let plan = self.plan_of_stripe(stripe, purpose);
        let column = self.elastic().homes(plan).iter().position(|&location| location == slot);
        if let Some(column) = column {
            self.want(plan, column as u32, chunk);
        }
        plan
    }

    /// Lets `plan` read a column of its stripe, which holds `chunk`.
    fn want(&mut self, plan: u32, column: u32, chunk: u64) {
        self.plans[plan as usize].wanted |= 1 << column;
        let content = self.elastic().known(chunk);
        self.elastic_mut().set_content(plan, column, content);
    }

    /// Creates a plan over the columns of a stripe of the log, and locks the segment.
    pub(super) fn plan_of_stripe(&mut self, stripe: (u64, u64), purpose: Purpose) -> u32 {
        let plan = self.take_plan(stripe.0, purpose);
        self.fill_homes(plan, stripe, Walker::of(purpose));
        let is_held = purpose != Purpose::Collect && self.holds_segments(purpose);
        let log = self.elastic_mut();
        if is_held {
            let segment = log.segment_of(stripe.0);
            log.segments.lock(segment);
        }
        plan
    }

    /// Whether plans lock the segments that they read: always, except for planted bugs.
    fn holds_segments(&self, purpose: Purpose) -> bool {
        let is_direct = purpose != Purpose::Read || self.scheme.read.policy == ReadPolicy::Direct;
        !self.has_bug(Bug::SegmentNotHeld) && (is_direct || !self.has_bug(Bug::RedirectedSegmentNotHeld))
    }

    /// The outcome of operation `id`, with the content that it read verified: content that does not match its checksum is
    /// corrupt.
    #[inline]
    pub(in super::super) fn verified(&self, id: u32, outcome: Outcome) -> Outcome {
        if !M::CARRIES_DATA || outcome != Outcome::Done || !self.is_kept() {
            return outcome;
        }
        let operation = self.slots[id as usize].operation;
        if operation.kind != OperationKind::Read || self.has_bug(Bug::ChecksumIgnored) {
            return outcome;
        }
        let plan = self.plan_of(id);
        let Plan { purpose, trust, .. } = self.plans[plan as usize];
        if purpose == Purpose::Inspect {
            return outcome;
        }
        if purpose == Purpose::RepairSummary || trust == Trust::Asks {
            return self.verified_copy(id, outcome);
        }
        let checksum = self.elastic().column(plan, operation.column.into()).checksum;
        let is_right = |checksum| crc32c(self.memory.bytes(self.buffer_of(id))) == checksum;
        if checksum.is_none_or(is_right) { outcome } else { Outcome::Corrupt }
    }

    /// Records the slots of the columns of a stripe, and the content that a walker knows of them.
    fn fill_homes(&mut self, plan: u32, stripe: (u64, u64), walker: Option<Walker>) {
        let mut homes = [NOWHERE; crate::geometry::COLUMNS_MAX as usize];
        let log = self.elastic_mut();
        log.columns_of(stripe, |column, slot| homes[column as usize] = slot);
        let slots = log.homes_mut(plan);
        slots.copy_from_slice(&homes[..slots.len()]);
        log.contents_mut(plan).fill(Content::UNKNOWN);
        if let Some(walker) = walker {
            self.plans[plan as usize].trust = Trust::Sources;
            for column in columns(self.present(plan)) {
                let content = self.elastic().content(walker, homes[column as usize]);
                self.elastic_mut().set_content(plan, column, content);
            }
        }
    }

    /// Builds the steps of a read of the log, given the columns that are lost now.
    pub(in super::super) fn build_log_read<D: Driver<M>>(
        &mut self,
        plan: u32,
        driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        let present = self.present(plan);
        let slot = &self.plans[plan as usize];
        let (purpose, wanted) = (slot.purpose, slot.wanted);
        if slot.trust == Trust::Nothing {
            return Err(TooManyLost);
        }
        let mut lost = (slot.lost & present) | self.slots_on_failed(plan, present);
        let class = match purpose {
            Purpose::Merge => Class::PreRead,
            Purpose::Collect => Class::ArrayGcRead,
            _ => Class::HostRead,
        };
        lost |= self.around_slow(plan, lost);
        if lost == 0 {
            lost = self.redirect(plan, driver);
        }
        self.plans[plan as usize].missing = lost;
        if wanted & lost == 0 {
            // A direct read is verified against its own checksum.
            self.plans[plan as usize].end_asking();
            self.push_slots(plan, wanted, OperationKind::Read, |_| class);
            self.acknowledge_read(plan);
            if lost == 0 {
                self.arm_hedge(plan);
            }
            return Ok(Built::Ready);
        }
        if lost.count_ones() > self.geometry.parity() {
            let slot = &mut self.plans[plan as usize];
            if slot.lost != 0 && !slot.looked_again {
                // A column that cannot be read now may be read a second time.
                slot.looked_again = true;
                slot.lost = 0;
                return self.build_log_read(plan, driver);
            }
            if purpose == Purpose::Collect && wanted & !lost != 0 {
                // The remaining chunks of the victim are saved.
                slot.gave_up = true;
                self.push_slots(plan, wanted & !lost, OperationKind::Read, |_| class);
                self.acknowledge_read(plan);
                return Ok(Built::Ready);
            }
            return Err(TooManyLost);
        }
        if self.plans[plan as usize].trust == Trust::Asks && !self.told_by_batch(plan) {
            self.push_copy(plan)?;
            self.plans[plan as usize].push_step(Step::Compute { pages: 0 });
            self.plans[plan as usize].ack_after = u8::MAX;
            return Ok(Built::Ready);
        }
        let sources = self.stripe_sources(present, lost);
        let data = self.geometry.data_columns() & present;
        let class = move |column: u32| if wanted >> column & 1 != 0 { class } else { Class::Decode };
        self.push_slots(plan, sources, OperationKind::Read, class);
        let pages = (lost & data).count_ones() * (data.count_ones() - 1);
        self.plans[plan as usize].push_step(Step::Compute { pages: pages as u16 });
        self.acknowledge_read(plan);
        Ok(Built::Ready)
    }

    /// A host read is acknowledged once its content is there; a write has more steps to come.
    fn acknowledge_read(&mut self, plan: u32) {
        let slot = &mut self.plans[plan as usize];
        slot.acknowledge_here();
        if slot.purpose != Purpose::Read {
            slot.ack_after = u8::MAX;
        }
    }

    /// Completes a read of the log: unlocks its segment, and rewrites a chunk that a working member could not read.
    pub(in super::super) fn log_read(&mut self, plan: u32) {
        let is_held = self.holds_segments(self.plans[plan as usize].purpose);
        let Some(log) = &mut self.elastic else { return };
        let segment = log.segment_of(self.plans[plan as usize].row);
        if is_held {
            log.segments.let_go(segment);
        }
        let slot = &self.plans[plan as usize];
        let bad = slot.lost & slot.wanted;
        if slot.purpose != Purpose::Read || bad == 0 || slot.gave_up || self.read_only {
            return;
        }
        for column in columns(bad & !self.slots_on_failed(plan, bad)) {
            let slot = self.elastic().homes(plan)[column as usize];
            let Content { chunk, write_seq, .. } = self.elastic().column(plan, column);
            if self.elastic().is_home(chunk, slot) && self.elastic().may_heal(chunk) {
                let page = self.take_content(plan, column);
                self.relocate(chunk, write_seq, page);
                self.elastic_mut().counts.healed += 1;
            }
        }
    }
}
