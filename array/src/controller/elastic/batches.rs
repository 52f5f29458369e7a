//! Batches of stripes and their summaries (`docs/design/format.md`): they make appended stripes findable at assembly.

use super::super::Array;
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::format::summary::encode;
use crate::format::{Entry, EntryRole, SummaryHeader};
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, Operation, OperationKind};
use crate::placement::elastic::contents::Content;
use crate::placement::elastic::durable::Batch;
use crate::placement::elastic::{Elastic, Open, Role};
use crate::plan::{Purpose, Step};

/// Number of chunk writes that may fail on a member before the member is failed.
const WRITE_ERRORS_MAX: u8 = 8;

impl<M: Memory> Array<M> {
    /// Whether the log is durable, so that it can be assembled again.
    #[inline]
    pub(in super::super) fn is_kept(&self) -> bool {
        self.elastic.as_ref().is_some_and(|log| log.durable.is_some())
    }

    /// Number of copies of a summary in `group`: enough that one survives as many losses as parity tolerates.
    fn copies_of_group(&self, group: u32) -> u32 {
        let living = self.geometry.columns - self.failed_of_group(group);
        let copies = if self.has_bug(Bug::SummaryInOneCopy) { 1 } else { self.geometry.parity() + 1 };
        copies.min(living)
    }

    /// The slot after those that the copies of a summary take from `next` on.
    pub(super) fn behind_copies(&self, segment: u32, mut next: u64, end: u64) -> u64 {
        let mut left = self.copies_of_group(self.elastic().group(segment));
        while left > 0 && next < end {
            left -= u32::from(!self.is_on_failed(next));
            next += 1;
        }
        next
    }

    /// Whether `slot` lies on a failed member.
    #[inline]
    pub(super) fn is_on_failed(&self, slot: u64) -> bool {
        self.any_failed && self.failed[self.elastic().member(slot).0 as usize]
    }

    /// Ensures that the open segment of `stream` has a batch that accepts stripes.
    pub(super) fn open_batch(&mut self, stream: usize, open: &mut Open) {
        let log = self.elastic();
        if log.durable.is_none() || log.durable().open[stream].is_some() {
            return;
        }
        let first = open.next;
        open.next = self.behind_copies(open.segment, first, open.end);
        let mut is_first = true;
        for slot in first..open.next {
            let is_failed = self.is_on_failed(slot);
            let directory = &mut self.elastic_mut().directory;
            if is_failed {
                directory.skip(slot);
            } else {
                directory.put_copy(slot, std::mem::take(&mut is_first));
            }
        }
        let log = self.elastic_mut();
        // The summary is in flight too: a segment is not collected before its content is known.
        log.segments.write_begun(open.segment);
        log.durable_mut().begin_batch(stream, open.segment, first, open.next);
    }

    /// The write sequence number of the chunk in `place`, which is about to be written: a new number, unless the chunk was
    /// moved.
    pub(super) fn write_seq_of(&mut self, place: u32) -> u64 {
        let log = self.elastic_mut();
        let kept = log.buffer.get(place).write_seq;
        match &mut log.durable {
            Some(durable) if kept == 0 => durable.next_write_seq(),
            _ => kept,
        }
    }

    /// Records the content that is written to `slot` of the batch of `stream`.
    pub(super) fn note_content(&mut self, stream: usize, slot: u64, content: Content) {
        if let Some(durable) = &mut self.elastic_mut().durable
            && let Some(batch) = durable.open_batch(stream)
        {
            batch.note(slot, content);
        }
    }

    /// Records that a stripe that ends before `open.next` began in the batch of `stream`, and closes the batch if it has no
    /// room for another.
    pub(super) fn extend_batch(&mut self, stream: usize, open: &Open) {
        let columns = u64::from(self.geometry.columns);
        let Some(durable) = self.elastic_mut().durable.as_mut() else { return };
        let room = u64::from(durable.room);
        let Some(batch) = durable.open_batch(stream) else { return };
        batch.end = open.next;
        batch.writing += 1;
        if open.next == open.end || batch.end - batch.first + columns > room {
            self.close_batch(stream);
        }
    }

    /// Closes the batch of `stream`, if it has one: it accepts no more stripes.
    pub(super) fn close_batch(&mut self, stream: usize) {
        let log = self.elastic_mut();
        let slots = log.segment_slots();
        if let Some(durable) = &mut log.durable {
            durable.close_batch(stream, slots);
        }
    }

    /// A stripe is on the members, or never will be.
    pub(super) fn stripe_over(&mut self, plan: u32) {
        let slot = self.plans[plan as usize].row;
        let log = self.elastic_mut();
        if let Some(durable) = &mut log.durable
            && let Some(batch) = durable.batch_of(slot)
        {
            batch.writing -= 1;
        }
    }

    /// Records the checksums of a stripe whose parity was computed.
    pub(super) fn note_checksums(&mut self, plan: u32) {
        if !M::CARRIES_DATA || !self.is_kept() {
            return;
        }
        for column in super::super::columns(self.present(plan)) {
            let slot = self.elastic().homes(plan)[column as usize];
            let page = self.new_page(plan, column);
            let checksum = crate::format::crc32c(self.memory.bytes(page));
            if let Some(batch) = self.elastic_mut().durable_mut().batch_of(slot) {
                batch.note_checksum(slot, checksum);
            }
        }
    }

    /// Writes the summary of a batch whose stripes are all written. Returns false if there is none, or no plan is free.
    pub(in super::super) fn summarise_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(durable) = self.elastic.as_mut().and_then(|log| log.durable.as_mut()) else { return false };
        let is_next = |batch: &&mut Batch| batch.number.is_some() && batch.writing == 0 && !batch.is_closing;
        let Some(batch) = durable.batches.iter_mut().find(is_next) else { return false };
        if self.free_plan == NONE {
            return false;
        }
        batch.is_closing = true;
        let first = batch.first;
        let plan = self.take_plan(first, Purpose::Summary);
        self.begin(plan, driver);
        true
    }

    /// Builds the step of writing a summary: all its copies.
    pub(in super::super) fn build_summary(&mut self, plan: u32) {
        let first = self.plans[plan as usize].row;
        if M::CARRIES_DATA {
            let page = self.take_metadata_page(plan, 0);
            let group = self.elastic().group(self.elastic().segment_of(first));
            let living = self.geometry.group(group).enumerate();
            let members = living
                .filter(|&(_, member)| !self.failed[member as usize])
                .fold(0, |mask, (column, _)| mask | 1u64 << column);
            let Some(log) = &self.elastic else { return };
            log.encode_summary(first, members, self.memory.bytes_mut(page));
        }
        let end = self.elastic_mut().durable_mut().batch_of(first).map_or(first, |batch| batch.end);
        let limit = end.min(first + u64::from(self.geometry.columns));
        let base = (plan * self.stride) as usize;
        let mut count = 0;
        for slot in first..limit {
            if self.elastic().directory.role(slot) != Role::Copy || self.is_on_failed(slot) {
                continue;
            }
            let (member, page) = self.elastic().member(slot);
            self.slots[base + count as usize].operation = Operation {
                page,
                member,
                kind: OperationKind::Write,
                class: Class::Metadata,
                ..Operation::default()
            };
            count += 1;
        }
        self.elastic_mut().durable_mut().counts.summaries += u64::from(count);
        let slot = &mut self.plans[plan as usize];
        slot.operations = count;
        slot.push_step(Step::Operations { first: 0, count });
        slot.acknowledge_here();
    }

    /// A summary is written, and with it its batch.
    pub(in super::super) fn summarised(&mut self, plan: u32) {
        let first = self.plans[plan as usize].row;
        #[cfg(debug_assertions)]
        self.keep_short_batch(first);
        let log = self.elastic_mut();
        log.durable_mut().batches.retain(|batch| batch.first != first);
        let segment = log.segment_of(first);
        log.segments.write_over(segment);
    }

    /// Whether `member` may stay in the array although a write to it failed: a failed stripe is written elsewhere.
    pub(in super::super) fn tolerates_write_error(&mut self, plan: u32, member: u16) -> bool {
        let slot = &self.plans[plan as usize];
        if slot.purpose == Purpose::Discard || slot.purpose == Purpose::RepairSummary && slot.carried != 0 {
            // A discard is optional. A copy that scrub was to rewrite was bad before, and the chunks that it describes move.
            return true;
        }
        // A stripe that is written elsewhere takes twice the space. Where space is scarce, the member must be failed instead.
        let has_space = self.elastic.as_ref().is_some_and(|log| log.has_space_for(2 * self.geometry.data));
        let is_stripe = has_space && self.plans[plan as usize].purpose == Purpose::Append;
        let Some(durable) = self.elastic.as_mut().and_then(|log| log.durable.as_mut()).filter(|_| is_stripe)
        else {
            return false;
        };
        let errors = &mut durable.write_errors[member as usize];
        *errors += 1;
        *errors <= WRITE_ERRORS_MAX
    }

    /// Allocates the `nth` page of metadata that `plan` writes.
    pub(super) fn take_metadata_page(&mut self, plan: u32, nth: u32) -> u32 {
        let page = self.memory.take();
        self.memory.zero(page);
        self.adopt_buffer(plan, nth, page);
        page
    }
}

impl Elastic {
    /// The summary of the batch that begins at `first`.
    fn encode_summary(&self, first: u64, members: u64, into: &mut [u8]) {
        let segment_slots = self.segment_slots();
        let durable = self.durable();
        let Some(batch) = durable.batches.iter().find(|batch| batch.first == first) else { return };
        let start = u64::from(batch.segment) * segment_slots;
        let header = SummaryHeader {
            array: durable.superblock.array,
            epoch: durable.superblock.epoch,
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
        Entry { role, is_first: is_part && self.directory.is_first(slot), chunk, write_seq, checksum }
    }
}
