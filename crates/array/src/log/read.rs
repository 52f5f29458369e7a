//! Reading the log: chunks from their own slots, or decoded from the rest of their stripes.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationId, OperationKind, Outcome};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Purpose;
use stripewise_exec::{Built, Executor, TooManyLost};
use stripewise_format::crc32c;
use stripewise_policy::read::ReadPolicy;

use crate::job::{BuildResult, Cx, Job};
use crate::log::addresses::NOWHERE;
use crate::log::contents::{Content, Walker};
use crate::log::durable::Rebuild;
use crate::log::job::{AnyJob, Facts, PlanState, Read, Trust};
use crate::log::{Location, Log};

impl Log {
    /// Reads `chunk` of request `id`, and the following chunks before `end` that are in the same stripe. Returns their number;
    /// 0 if no plan is free.
    pub(crate) fn read_chunks<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        chunk: u64,
        end: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> u64 {
        match self.location(chunk) {
            Location::Mapped(slot) => {
                if !exec.has_free_plan() {
                    return 0;
                }
                let plan = self.read_plan(chunk, slot, Read, exec);
                let mut count = 1;
                while chunk + count < end
                    && let Location::Mapped(next) = self.location(chunk + count)
                    && let Some(column) = self.homes(plan).iter().position(|&location| location == next)
                {
                    self.want(plan, column as u32, chunk + count, exec);
                    count += 1;
                }
                exec.attach(plan, id);
                exec.begin(plan, self, driver);
                count
            }
            Location::Buffered(place) => {
                let page = self.buffer.get(place).page;
                if M::CARRIES_DATA {
                    exec.store_host(page, chunk, id);
                }
                1
            }
            Location::Lost => {
                exec.request_mut(id).failed = true;
                1
            }
            Location::Unmapped => {
                self.store_zeros(chunk, id, exec);
                1
            }
        }
    }

    /// Creates a plan that reads `chunk` in `slot`, and locks the segment.
    pub(crate) fn read_plan<M: Memory>(
        &mut self,
        chunk: u64,
        slot: u64,
        job: impl Into<AnyJob>,
        exec: &mut Executor<M>,
    ) -> PlanId {
        let stripe = self.directory.stripe(slot);
        let plan = self.plan_of_stripe(stripe, job, exec);
        let column = self.homes(plan).iter().position(|&location| location == slot);
        if let Some(column) = column {
            self.want(plan, column as u32, chunk, exec);
        }
        plan
    }

    /// Lets `plan` read a column of its stripe, which holds `chunk`.
    fn want<M: Memory>(&mut self, plan: PlanId, column: u32, chunk: u64, exec: &mut Executor<M>) {
        exec.want_also(plan, 1 << column);
        let content = self.known(chunk);
        self.set_content(plan, column, content);
    }

    /// Creates a plan over the columns of a stripe of the log, and locks the segment.
    pub(crate) fn plan_of_stripe<M: Memory>(
        &mut self,
        stripe: (u64, u64),
        job: impl Into<AnyJob>,
        exec: &mut Executor<M>,
    ) -> PlanId {
        let job = job.into();
        let plan = self.take_plan(stripe.0, job, exec);
        let Facts { walker, purpose, .. } = *job.facts();
        self.fill_homes(plan, stripe, walker);
        let is_held = purpose != Purpose::Collect && self.holds_segments(purpose, exec);
        if is_held {
            let segment = self.segment_of(stripe.0);
            self.segments.lock(segment);
        }
        plan
    }

    /// Whether plans lock the segments that they read: always, except for planted bugs.
    fn holds_segments<M: Memory>(&self, purpose: Purpose, exec: &Executor<M>) -> bool {
        let is_direct = purpose != Purpose::Read || exec.scheme().read.policy == ReadPolicy::Direct;
        !exec.has_bug(Bug::SegmentNotHeld) && (is_direct || !exec.has_bug(Bug::RedirectedSegmentNotHeld))
    }

    /// The outcome of operation `id`, with the content that it read verified: content that does not match its checksum is
    /// corrupt.
    #[inline]
    pub(crate) fn verified_in_log<M: Memory>(
        &self,
        id: OperationId,
        outcome: Outcome,
        exec: &Executor<M>,
    ) -> Outcome {
        if !M::CARRIES_DATA || outcome != Outcome::Done || !self.is_kept() {
            return outcome;
        }
        let operation = *exec.operation(id);
        if operation.kind != OperationKind::Read || exec.has_bug(Bug::ChecksumIgnored) {
            return outcome;
        }
        let plan = exec.plan_of(id);
        let PlanState { job, trust, .. } = self.jobs[plan];
        if matches!(job, AnyJob::Flush(_)) {
            // The executor's own plan reads metadata, and verifies it.
            return outcome;
        }
        if trust == Trust::Asks || job.facts().reads_copies {
            return self.verified_copy(id, outcome, exec);
        }
        let checksum = self.column(plan, operation.column.into()).checksum;
        let is_right = |checksum| crc32c(exec.memory().bytes(exec.buffer_of(id, self))) == checksum;
        if checksum.is_none_or(is_right) { outcome } else { Outcome::Corrupt }
    }

    /// Whether content that operation `id` read, and that does not match its checksum, is an error of its member. Neither
    /// what the member lacks until it is rebuilt, or because its rebuild left it out, nor the pages of a stripe without live
    /// chunks count: nothing reads them again.
    pub(crate) fn charges_in_log<M: Memory>(&self, id: OperationId, exec: &Executor<M>) -> bool {
        if exec.has_bug(Bug::StaleCharged) {
            return true;
        }
        let plan = exec.plan_of(id);
        let row = exec.plan(plan).first_slot();
        let PlanState { job, trust, .. } = self.jobs[plan];
        let member = exec.operation(id).member;
        let segment = self.segment_of(row) as usize;
        let is_excused = self.durable.as_ref().is_some_and(|durable| {
            let lacks = |its: &Rebuild| its.member == member && (its.part.stale[segment] || its.leaves_out);
            durable.members.is_left_out(member) || durable.members.rebuilds.iter().any(lacks)
        });
        let reads_obsolete = job.facts().reads_obsolete && trust != Trust::Asks;
        !is_excused && (!reads_obsolete || self.live_columns(plan, exec) != 0)
    }

    /// Records the slots of the columns of a stripe, and the content that a walker knows of them.
    fn fill_homes(&mut self, plan: PlanId, stripe: (u64, u64), walker: Option<Walker>) {
        let mut homes = [NOWHERE; stripewise_core::geometry::COLUMNS_MAX as usize];
        self.columns_of(stripe, |column, slot| homes[column as usize] = slot);
        let slots = self.homes_mut(plan);
        slots.copy_from_slice(&homes[..slots.len()]);
        self.contents_mut(plan).fill(Content::UNKNOWN);
        if let Some(walker) = walker {
            self.jobs[plan].trust = Trust::Sources;
            for column in columns(self.present(plan)) {
                let content = self.content(walker, homes[column as usize]);
                self.set_content(plan, column, content);
            }
        }
    }

    /// Builds the steps of a read of the log with operations of this class, given the columns that are lost now.
    pub(crate) fn build_log_read<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        class: Class,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        let present = self.present(plan);
        let slot = exec.plan(plan);
        let wanted = slot.wanted;
        if self.jobs[plan].trust == Trust::Nothing {
            return Err(TooManyLost);
        }
        let mut lost = (slot.lost & present) | self.slots_on_failed(plan, present, exec);
        lost |= exec.around_slow(plan, lost, self);
        if lost == 0 {
            lost = exec.redirect(plan, self, driver);
        }
        exec.miss(plan, lost);
        if wanted & lost == 0 {
            // A direct read is verified against its own checksum.
            self.jobs[plan].end_asking();
            self.push_slots(plan, wanted, OperationKind::Read, |_| class, exec);
            self.acknowledge_read(plan, class, exec);
            if lost == 0 {
                exec.arm_hedge(plan, self);
            }
            return Ok(Built::Ready);
        }
        if self.is_beyond(lost, wanted, exec) {
            // A column that cannot be read now may be read a second time.
            if exec.look_again(plan) {
                return self.build_log_read(plan, class, exec, driver);
            }
            if class == Class::ArrayGcRead && wanted & !lost != 0 {
                // The remaining chunks of the victim are saved.
                exec.abandon(plan);
                self.push_slots(plan, wanted & !lost, OperationKind::Read, |_| class, exec);
                self.acknowledge_read(plan, class, exec);
                return Ok(Built::Ready);
            }
            return Err(TooManyLost);
        }
        if self.jobs[plan].trust == Trust::Asks && !self.contents_from_batch(plan, exec) {
            self.push_copy(plan, exec)?;
            exec.push_compute(plan, 0);
            exec.acknowledge_none(plan);
            return Ok(Built::Ready);
        }
        let sources = self.stripe_sources(present, lost, wanted, exec);
        let data = exec.geometry().data_columns() & present;
        let class_of = move |column: u32| if wanted >> column & 1 != 0 { class } else { Class::Decode };
        self.push_slots(plan, sources, OperationKind::Read, class_of, exec);
        let summed = if self.depth > 1 { sources } else { data };
        let pages = (lost & data).count_ones() * (summed.count_ones() - 1);
        exec.push_compute(plan, pages as u16);
        self.acknowledge_read(plan, class, exec);
        Ok(Built::Ready)
    }

    /// A host read is acknowledged once its content is there; a write has more steps to come.
    fn acknowledge_read<M: Memory>(&mut self, plan: PlanId, class: Class, exec: &mut Executor<M>) {
        if class == Class::HostRead {
            exec.acknowledge_here(plan);
        } else {
            exec.acknowledge_none(plan);
        }
    }

    /// Unlocks the segment that `plan`, with this purpose, has read.
    pub(crate) fn unlock_segment<M: Memory>(&mut self, plan: PlanId, purpose: Purpose, exec: &Executor<M>) {
        let segment = self.segment_of(exec.plan(plan).first_slot());
        if self.holds_segments(purpose, exec) {
            self.segments.let_go(segment);
        }
    }

    /// Completes a read for a host: rewrites a chunk that a working member could not read.
    fn log_read<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        self.unlock_segment(plan, Purpose::Read, exec);
        let slot = exec.plan(plan);
        let bad = slot.lost & slot.wanted;
        if bad == 0 || slot.is_abandoned || exec.reads_only() {
            return;
        }
        if self.is_beyond_parity(exec) {
            return;
        }
        for column in columns(bad & !self.slots_on_failed(plan, bad, exec)) {
            let slot = self.homes(plan)[column as usize];
            let Content { chunk, write_seq, .. } = self.column(plan, column);
            if self.is_home(chunk, slot) && self.may_heal(chunk) {
                let page = self.take_content(plan, column, exec);
                self.relocate(chunk, write_seq, page, exec);
                self.counts.healed += 1;
            }
        }
    }
}

impl Job<Log> for Read {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_log_read(cx.plan, Class::HostRead, cx.exec, driver)
    }

    fn combine<M: Memory>(self, cx: Cx<'_, Log, M>) {
        cx.placement.decode_stripe(cx.plan, cx.exec);
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.log_read(cx.plan, cx.exec);
    }
}
