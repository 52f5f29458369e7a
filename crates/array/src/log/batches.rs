//! Batches of stripes and their summaries (`docs/design/format.md`): they make appended stripes findable at assembly.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_exec::bytes::Version;
use stripewise_exec::driver::Driver;
use stripewise_exec::{Built, Executor};
use stripewise_format::summary::encode;
use stripewise_format::{Entry, EntryRole, SummaryHeader};

use crate::job::{BuildResult, Cx, Job};
use crate::log::contents::Content;
use crate::log::durable::Batch;
use crate::log::job::{AnyJob, WriteSummary};
use crate::log::{Log, Open, Role};

/// Number of chunk writes that may fail on a member before the member is failed.
const WRITE_ERRORS_MAX: u8 = 8;

impl Log {
    /// Whether the log is durable, so that it can be assembled again.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.durable.is_some()
    }

    /// Number of copies of a summary in `group`: enough that one survives as many losses as parity tolerates.
    fn copies_of_group<M: Memory>(&self, group: u32, exec: &Executor<M>) -> u32 {
        let living = exec.geometry().width - exec.failed_of_group(group);
        let copies = if exec.has_bug(Bug::SummaryInOneCopy) { 1 } else { exec.geometry().tolerance() + 1 };
        copies.min(living)
    }

    /// The slot after those that the copies of a summary take from `next` on.
    pub(crate) fn behind_copies<M: Memory>(
        &self,
        segment: u32,
        mut next: u64,
        end: u64,
        exec: &Executor<M>,
    ) -> u64 {
        let mut left = self.copies_of_group(self.group(segment), exec);
        while left > 0 && next < end {
            left -= u32::from(!self.is_on_failed(next, exec));
            next += 1;
        }
        next
    }

    /// Whether `slot` lies on a failed member.
    #[inline]
    pub(crate) fn is_on_failed<M: Memory>(&self, slot: u64, exec: &Executor<M>) -> bool {
        exec.is_any_failed() && exec.is_failed(self.member(slot).0)
    }

    /// Ensures that the open segment of `stream` has a batch that accepts stripes.
    pub(crate) fn open_batch<M: Memory>(&mut self, stream: usize, open: &mut Open, exec: &mut Executor<M>) {
        if self.durable.is_none() || self.durable().open[stream].is_some() {
            return;
        }
        let first = open.next;
        open.next = self.behind_copies(open.segment, first, open.end, exec);
        let mut is_first = true;
        for slot in first..open.next {
            let is_failed = self.is_on_failed(slot, exec);
            let directory = &mut self.directory;
            if is_failed {
                directory.skip(slot);
            } else {
                directory.put_copy(slot, std::mem::take(&mut is_first));
            }
        }
        // The summary is in flight too: a segment is not collected before its content is known.
        self.segments.write_begun(open.segment);
        self.durable_mut().begin_batch(stream, open.segment, first, open.next);
    }

    /// The write sequence number of the chunk in `place`, which is about to be written: a new number, unless the chunk was
    /// moved.
    pub(crate) fn write_seq_of(&mut self, place: u32) -> u64 {
        let kept = self.buffer.get(place).write_seq;
        match &mut self.durable {
            Some(durable) if kept == 0 => durable.next_write_seq(),
            _ => kept,
        }
    }

    /// Records the content that is written to `slot` of the batch of `stream`.
    pub(crate) fn note_content(&mut self, stream: usize, slot: u64, content: Content) {
        if let Some(durable) = &mut self.durable
            && let Some(batch) = durable.open_batch(stream)
        {
            batch.note(slot, content);
        }
    }

    /// Records that a stripe that ends before `open.next` began in the batch of `stream`, and closes the batch if it has no
    /// room for another.
    pub(crate) fn extend_batch<M: Memory>(&mut self, stream: usize, open: &Open, exec: &mut Executor<M>) {
        let columns = u64::from(exec.geometry().columns);
        let Some(durable) = self.durable.as_mut() else { return };
        let room = u64::from(durable.room);
        let Some(batch) = durable.open_batch(stream) else { return };
        batch.end = open.next;
        batch.writing += 1;
        if open.next == open.end || batch.end - batch.first + columns > room {
            self.close_batch(stream);
        }
    }

    /// Closes the batch of `stream`, if it has one: it accepts no more stripes.
    pub(crate) fn close_batch(&mut self, stream: usize) {
        let slots = self.segment_slots();
        if let Some(durable) = &mut self.durable {
            durable.close_batch(stream, slots);
        }
    }

    /// A stripe is on the members, or never will be.
    pub(crate) fn stripe_over<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let slot = exec.plan(plan).first_slot();
        if let Some(durable) = &mut self.durable
            && let Some(batch) = durable.batch_of(slot)
        {
            batch.writing -= 1;
        }
    }

    /// Records the checksums of a stripe whose parity was computed.
    pub(crate) fn note_checksums<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if !M::CARRIES_DATA || !self.is_kept() {
            return;
        }
        for column in stripewise_core::bits::columns(self.present(plan)) {
            let slot = self.homes(plan)[column as usize];
            let page = exec.buffer(plan, column, Version::New);
            let checksum = stripewise_format::crc32c(exec.memory().bytes(page));
            if let Some(batch) = self.durable_mut().batch_of(slot) {
                batch.note_checksum(slot, checksum);
            }
        }
    }

    /// Writes the summary of a batch whose stripes are all written. Returns false if there is none, or no plan is free.
    pub(crate) fn summarise_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let Some(durable) = self.durable.as_mut() else { return false };
        let is_next = |batch: &&mut Batch| batch.number.is_some() && batch.writing == 0 && !batch.is_closing;
        let Some(batch) = durable.batches.iter_mut().find(is_next) else { return false };
        if !exec.has_free_plan() {
            return false;
        }
        batch.is_closing = true;
        let first = batch.first;
        let plan = self.take_plan(first, WriteSummary, exec);
        exec.begin(plan, self, driver);
        true
    }

    /// Builds the step of writing a summary: all its copies.
    fn build_summary<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let first = exec.plan(plan).first_slot();
        if M::CARRIES_DATA {
            let page = self.take_metadata_page(plan, 0, exec);
            let group = self.group(self.segment_of(first));
            let living = exec.geometry().group(group).enumerate();
            let members = living
                .filter(|&(_, member)| !exec.is_failed(member))
                .fold(0, |mask, (column, _)| mask | 1u64 << column);
            let log = &*self;
            log.encode_summary(first, members, exec.memory_mut().bytes_mut(page));
        }
        let end = self.durable_mut().batch_of(first).map_or(first, |batch| batch.end);
        let limit = end.min(first + u64::from(exec.geometry().width));
        exec.push_step(plan, []);
        for slot in first..limit {
            if self.directory.role(slot) != Role::Copy || self.is_on_failed(slot, exec) {
                continue;
            }
            let (member, page) = self.member(slot);
            let (kind, class) = (OperationKind::Write, Class::Metadata);
            exec.add_operation(plan, Operation { page, member, kind, class, ..Operation::default() });
            self.durable_mut().counts.summaries += 1;
        }
        exec.acknowledge_here(plan);
    }

    /// A summary is written, and with it its batch.
    fn summarised<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let first = exec.plan(plan).first_slot();
        #[cfg(debug_assertions)]
        self.keep_short_batch(first);
        self.durable_mut().batches.retain(|batch| batch.first != first);
        let segment = self.segment_of(first);
        self.segments.write_over(segment);
    }

    /// Whether `member` may stay in the array although a write to it failed: a failed stripe is written elsewhere.
    pub(crate) fn tolerates_write_error<M: Memory>(
        &mut self,
        plan: PlanId,
        member: MemberNo,
        exec: &mut Executor<M>,
    ) -> bool {
        let job = self.jobs[plan].job;
        if job.facts().writes_may_fail {
            return true;
        }
        // A stripe that is written elsewhere takes twice the space. Where space is scarce, the member must be failed instead.
        let has_space = self.has_space_for(2 * exec.geometry().data);
        let is_stripe = has_space && matches!(job, AnyJob::Append(_));
        let Some(durable) = self.durable.as_mut().filter(|_| is_stripe) else {
            return false;
        };
        let errors = &mut durable.write_errors[member.index()];
        *errors += 1;
        *errors <= WRITE_ERRORS_MAX
    }

    /// Allocates the `nth` page of metadata that `plan` writes.
    pub(crate) fn take_metadata_page<M: Memory>(
        &mut self,
        plan: PlanId,
        nth: u32,
        exec: &mut Executor<M>,
    ) -> u32 {
        let page = exec.memory_mut().take();
        exec.memory_mut().zero(page);
        exec.adopt_buffer(plan, nth, page);
        page
    }
}

impl Log {
    /// The summary of the batch that begins at `first`.
    fn encode_summary(&self, first: u64, members: u64, into: &mut [u8]) {
        let segment_slots = self.segment_slots();
        let durable = self.durable();
        let Some(batch) = durable.batches.iter().find(|batch| batch.first == first) else { return };
        let start = u64::from(batch.segment) * segment_slots;
        let header = SummaryHeader {
            array: durable.members.superblock.array,
            epoch: durable.members.superblock.epoch,
            batch: batch.number.unwrap_or(0),
            segment: batch.segment,
            generation: durable.generations[batch.segment as usize],
            first: (batch.first - start) as u32,
            end: (batch.end - start) as u32,
            members,
            horizon: durable.horizon,
            stream: batch.stream as u16,
        };
        let entries = (batch.first..batch.end).map(|slot| self.entry(batch, slot));
        encode(&header, entries, &batch.tombstones, into);
    }

    /// The entry for `slot` in the summary of `batch`.
    fn entry(&self, batch: &Batch, slot: u64) -> Entry {
        let Content { chunk, write_seq, checksum } = batch.content(slot);
        let (role, chunk, write_seq) = match self.directory.role(slot) {
            Role::Vacant => (EntryRole::Vain, 0, 0),
            Role::Skipped => (EntryRole::Skipped, 0, 0),
            Role::Copy => (EntryRole::Copy, 0, 0),
            Role::Parity(0) => (EntryRole::P, 0, 0),
            Role::Parity(_) => (EntryRole::Q, 0, 0),
            Role::Data => (EntryRole::Data, chunk, write_seq),
        };
        let is_part = matches!(role, EntryRole::Data | EntryRole::P | EntryRole::Q);
        let checksum = checksum.filter(|_| is_part).unwrap_or(0);
        let is_first = (is_part || role == EntryRole::Skipped) && self.directory.is_first(slot);
        Entry { role, is_first, chunk, write_seq, checksum }
    }
}

impl Job<Log> for WriteSummary {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_summary(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.summarised(cx.plan, cx.exec);
    }
}
