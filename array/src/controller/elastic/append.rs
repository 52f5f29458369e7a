//! Writing stripes: chunks that are due leave controller memory.

use super::super::{Array, columns};
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, OperationKind};
use crate::placement::elastic::addresses::NOWHERE;
use crate::placement::elastic::contents::Content;
use crate::placement::elastic::{Band, Collection, Open};
use crate::plan::{Purpose, Step};

impl<M: Memory> Array<M> {
    /// Writes one stripe of due chunks, if there are any, and a plan and space are available. Returns false if there is
    /// nothing to do now.
    pub(in super::super) fn append_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(log) = &self.elastic else { return false };
        let (hosts, streams) = (log.hosts(), log.classes.streams());
        self.release_triggers(driver);
        let Some(stream) = (hosts..streams)
            .chain(0..hosts)
            .find(|&stream| self.elastic().buffer.queues[stream].due > 0 && self.may_append(stream))
        else {
            return false;
        };
        if self.free_plan == NONE || !self.can_note_triggers(stream) {
            return false;
        }
        #[cfg(debug_assertions)]
        if self.extend_short(stream, driver) {
            return true;
        }
        self.append(stream, driver);
        true
    }

    /// Whether a stripe of `stream` can record the requests that wait for it: its chunks were made due by one write or by two,
    /// of which the plan itself can record one.
    fn can_note_triggers(&self, stream: usize) -> bool {
        self.elastic().buffer.queues[stream].triggers.len() < 2 || self.has_attachments(1)
    }

    /// Completes writes whose due chunks were since overwritten by other requests or trimmed: they have nothing left to wait
    /// for.
    fn release_triggers<D: Driver<M>>(&mut self, driver: &mut D) {
        for stream in 0..self.elastic().open.len() {
            while self.elastic().buffer.queues[stream].due == 0
                && let Some((id, _)) = self.elastic_mut().buffer.queues[stream].triggers.pop_front()
            {
                self.let_go(id, driver);
            }
        }
    }

    /// Data chunks of a stripe over the working members of `group`.
    pub(super) fn data_of_group(&self, group: u32) -> u32 {
        if !self.any_failed {
            return self.geometry.data;
        }
        self.geometry.data.saturating_sub(self.failed_of_group(group))
    }

    /// Ensures that `stream` has an open segment with room for a stripe. Returns false if it cannot have one now.
    pub(super) fn may_append(&mut self, stream: usize) -> bool {
        let is_relocation = stream >= self.elastic().hosts();
        let at = self.elastic().host_of(stream);
        // Free segments that are reserved for live chunks.
        let kept = self.elastic().classes.relocation_streams();
        if let Some(open) = self.elastic().open[at] {
            let log = self.elastic();
            let is_coldest = !is_relocation && log.classes.coldest_of(stream) == stream;
            let is_theirs = log.shares && is_coldest && log.segments.free_count() <= kept;
            if self.room(at, &open) <= self.geometry.parity() {
                self.close_batch(at);
                let log = self.elastic_mut();
                log.segments.close(open.segment);
                log.open[at] = None;
            } else if !is_theirs {
                return true;
            }
        }
        if !is_relocation {
            let can_collect = self.can_collect();
            let log = self.elastic();
            let collected = log.durable.as_ref().map_or(0, |durable| durable.collected.len() as u32);
            let in_use = log.segments.count() - log.segments.free_count() - collected;
            let free = log.segments.free_count();
            let is_above = in_use + 1 > log.limit || free <= kept;
            // Collected segments become free once memory is empty: nothing else is waited for.
            let empties = log.durable.as_ref().is_some_and(|durable| durable.empties_memory());
            let takes_last = free > 0 && (empties || self.has_bug(Bug::ReserveIgnored));
            let log = self.elastic_mut();
            if is_above && can_collect && !takes_last {
                log.wants_collection = log.collection.is_none();
                return false;
            }
            if free <= kept && !takes_last {
                return false;
            }
        }
        self.open_segment(at)
    }

    /// Opens a free segment for `stream`. If none is free, live chunks take a segment without valid chunks: with members
    /// missing, the reserve may be used up while the segment of the live chunks is collected, and chunks trimmed since would
    /// otherwise give no space back.
    fn open_segment(&mut self, stream: usize) -> bool {
        let log = self.elastic_mut();
        let free = log.segments.open();
        // A segment that a checkpoint names is not reused before the next checkpoint.
        let is_kept = log.durable.is_some();
        let empty = || if is_kept { None } else { log.segments.reopen() };
        let Some(segment) = free.or_else(empty) else { return false };
        let next = u64::from(segment) * log.segment_slots();
        if free.is_none() {
            log.directory.clear(next);
            log.counts.collected += 1;
        }
        log.open[stream] = Some(Open { segment, next, end: next + log.segment_slots() });
        log.stream_counts[stream].opened += 1;
        if let Some(durable) = &mut log.durable {
            durable.open_segment(segment);
        }
        log.is_full = false;
        true
    }

    /// Slots that a stripe of `stream` could take in its open segment.
    fn room(&self, stream: usize, open: &Open) -> u32 {
        let durable = self.elastic().durable.as_ref();
        let batch = durable.and_then(|durable| durable.open[stream]);
        let begins = durable.is_some() && batch.is_none();
        let first = if begins { self.behind_copies(open.segment, open.next, open.end) } else { open.next };
        // Where a group is as wide as its summaries have room for, skipped slots use up some of that room.
        let of_summary =
            durable.map_or(u64::MAX, |durable| batch.unwrap_or(open.next) + u64::from(durable.room));
        let slots = first..open.end.min(first + u64::from(self.geometry.columns)).min(of_summary);
        if !self.any_failed {
            return (slots.end - slots.start) as u32;
        }
        slots.filter(|&slot| !self.failed[self.elastic().member(slot).0 as usize]).count() as u32
    }

    /// Writes a stripe of `stream`, which has an open segment with room for one.
    fn append<D: Driver<M>>(&mut self, stream: usize, driver: &mut D) {
        let parity = self.geometry.parity();
        let at = self.elastic().host_of(stream);
        let Some(mut open) = self.elastic().open[at] else { return };
        self.open_batch(at, &mut open);
        let most = self.data_of_group(self.elastic().group(open.segment));
        let count = self.elastic().buffer.queues[stream].count.min(self.room(at, &open) - parity).min(most);
        let width = count + parity;
        let plan = self.take_plan(0, Purpose::Append);
        let (turn, stride) = self.next_of_band(stream, &open, count, most);
        let rotation = (turn % u64::from(width)) as u32;
        let mut place = self.elastic().buffer.first(stream);
        let (mut position, mut data) = (0, 0);
        self.elastic_mut().homes_mut(plan).fill(NOWHERE);
        while position < width {
            let slot = open.next;
            open.next += 1;
            let is_failed = self.any_failed
                && self.failed[self.elastic().member(slot).0 as usize]
                && !self.has_bug(Bug::FailedSlotUsed);
            if is_failed {
                if position > 0 {
                    self.elastic_mut().directory.skip(slot);
                }
                continue;
            }
            let is_first = position == 0;
            if is_first {
                self.plans[plan as usize].row = slot;
            }
            let number = (position + width - rotation) % width;
            let column = if number < parity {
                self.elastic_mut().directory.put_parity(slot, number as u8, is_first);
                self.geometry.data + number
            } else {
                let write_seq = self.write_seq_of(place);
                let (chunk, next) = self.take_chunk(plan, data, place, stride);
                place = next;
                self.elastic_mut().directory.put_data(slot, chunk, is_first);
                self.note_content(at, slot, Content { chunk, write_seq, checksum: None });
                data += 1;
                data - 1
            };
            self.elastic_mut().homes_mut(plan)[column as usize] = slot;
            position += 1;
        }
        self.plans[plan as usize].wanted = u64::MAX >> (64 - count);
        self.take_triggers(plan, stream, count);
        let segment = open.segment;
        let log = self.elastic_mut();
        log.segments.write_begun(segment);
        log.open[at] = Some(open);
        log.in_flight += 1;
        log.counts.stripes += 1;
        log.counts.short_stripes += u64::from(count < most);
        log.counts.parity += u64::from(parity);
        log.stream_counts[stream].chunks += u64::from(count);
        if stream >= log.hosts() {
            log.in_flight_relocations += 1;
            log.counts.moved += u64::from(count);
            log.counts.moved_parity += u64::from(parity);
            let queue = &mut log.buffer.queues[stream];
            if queue.due < most {
                // Where stripes are shorter than usual, the remaining chunks wait for a full stripe: otherwise moving them
                // would gain nothing.
                queue.due = 0;
            }
        } else {
            log.counts.data += u64::from(count);
        }
        if open.next == open.end {
            log.segments.close(segment);
            log.open[at] = None;
        }
        self.extend_batch(at, &open);
        self.begin(plan, driver);
    }

    /// Lets the next stripe of `stream`, of `count` chunks where there is room for `most`, continue the band of the previous
    /// stripe or begin a new band. Returns the turn, which determines the position of parity, and the stride: the stripe takes
    /// every Nth waiting chunk. A band has full stripes of due chunks, and ends with its segment.
    fn next_of_band(&mut self, stream: usize, open: &Open, count: u32, most: u32) -> (u64, u32) {
        let slots = (open.end - open.next) / u64::from(self.geometry.columns);
        let log = self.elastic_mut();
        let full = log.buffer.queues[stream].due / most;
        let mut band = log.bands[stream];
        if band.left == 0 || band.segment != open.segment || count < most {
            let stripes = log.classes.depth(stream).min(full).min(slots as u32);
            band = Band { segment: open.segment, left: stripes.max(1), turn: log.turns };
            log.turns += 1;
        }
        let stride = band.left.min(full).max(1);
        log.bands[stream] = Band { left: (band.left - 1).min(full.saturating_sub(1)), ..band };
        (band.turn, stride)
    }

    /// Takes the chunk in `place` for `column` of `plan`. Returns the chunk, and the place that is `stride` places later.
    pub(super) fn take_chunk(&mut self, plan: u32, column: u32, place: u32, stride: u32) -> (u64, u32) {
        let next_place = self.elastic_mut().buffer.pop(place, stride);
        self.elastic_mut().set_place(plan, column, place);
        let waiting = self.elastic().buffer.get(place);
        let (chunk, page, mut node) = (waiting.chunk, waiting.page, waiting.first_request);
        self.adopt_buffer(plan, column, page);
        self.elastic_mut().buffer.get_mut(place).first_request = NONE;
        // Requests that wait for the chunk to be durable now wait for the plan.
        while node != NONE {
            let next = self.attachments[node as usize].next;
            let first = &mut self.plans[plan as usize].first_request;
            self.attachments[node as usize].next = std::mem::replace(first, node);
            node = next;
        }
        (chunk, next_place)
    }

    /// Requests whose writes made the next `count` chunks of `stream` due now wait for `plan`.
    pub(super) fn take_triggers(&mut self, plan: u32, stream: usize, mut count: u32) {
        while count > 0
            && let Some((id, left)) = self.elastic_mut().buffer.queues[stream].triggers.front_mut()
        {
            let (taken, id) = (count.min(*left), *id);
            *left -= taken;
            let is_over = *left == 0;
            count -= taken;
            self.attach(plan, id);
            if !is_over {
                return;
            }
            self.elastic_mut().buffer.queues[stream].triggers.pop_front();
            // The request waits at least for this plan, so it cannot end here.
            self.requests[id as usize].remaining -= 1;
        }
    }

    /// Columns of the stripe of `plan`, as a mask.
    #[inline]
    pub(in super::super) fn present(&self, plan: u32) -> u64 {
        let homes = self.elastic().homes(plan).iter().enumerate();
        homes.fold(0, |mask, (column, &slot)| if slot == NOWHERE { mask } else { mask | 1 << column })
    }

    /// The columns of `mask` of the stripe of `plan` that are on failed members.
    #[inline]
    pub(in super::super) fn slots_on_failed(&self, plan: u32, mask: u64) -> u64 {
        let log = self.elastic();
        if !self.any_failed && !log.is_rebuilding() {
            return 0;
        }
        let is_failed = |&column: &u32| {
            let slot = log.homes(plan)[column as usize];
            slot != NOWHERE && (self.failed[log.member(slot).0 as usize] || log.is_stale(slot))
        };
        columns(mask).filter(is_failed).fold(0, |failed, column| failed | 1 << column)
    }

    /// Builds the steps of writing a stripe: compute parity, then write all columns at once.
    pub(in super::super) fn build_append(&mut self, plan: u32) {
        let present = self.present(plan);
        let failed = self.slots_on_failed(plan, present);
        let data = self.plans[plan as usize].wanted;
        let parity = present & !data;
        let pages = parity.count_ones() * (data.count_ones() - 1);
        self.plans[plan as usize].push_step(Step::Compute { pages: pages as u16 });
        let is_relocation = self.stream_of(plan) >= self.elastic().hosts();
        let of_data = if is_relocation { Class::ArrayGcWrite } else { Class::HostWrite };
        let first_parity = self.geometry.data;
        let class = move |column| if column < first_parity { of_data } else { Class::Parity };
        let mut targets = present & !failed;
        if self.has_bug(Bug::StripeWithoutParity) {
            targets &= !parity;
        }
        if self.has_bug(Bug::StripeWithoutQ) {
            targets &= !(1 << (first_parity + 1));
        }
        self.push_slots(plan, targets, OperationKind::Write, class);
        self.plans[plan as usize].acknowledge_here();
        if self.has_bug(Bug::StripeAcknowledgedEarly) {
            self.plans[plan as usize].ack_after = 0;
        }
    }

    /// The stream whose chunks `plan` writes.
    fn stream_of(&self, plan: u32) -> usize {
        self.elastic().buffer.get(self.elastic().place(plan, 0)).stream.into()
    }

    /// Appends a step with one operation for each column of `mask` of a stripe of the log.
    #[inline]
    pub(in super::super) fn push_slots(
        &mut self,
        plan: u32,
        mask: u64,
        kind: OperationKind,
        class: impl Fn(u32) -> Class,
    ) {
        let is_append = self.plans[plan as usize].purpose == Purpose::Append;
        let stream = if self.scheme.elastic.device_streams && is_append { self.stream_of(plan) } else { 0 };
        let first = self.plans[plan as usize].operations;
        let count = mask.count_ones() as u16;
        let base = (plan * self.stride) as usize + first as usize;
        let Some(log) = &self.elastic else { return };
        for (slot, column) in self.slots[base..base + count as usize].iter_mut().zip(columns(mask)) {
            let (member, page) = log.member(log.homes(plan)[column as usize]);
            slot.operation = crate::operation::Operation {
                page,
                member,
                kind,
                class: class(column),
                column: column as u8,
                stream: stream as u8,
                ..crate::operation::Operation::default()
            };
        }
        let slot = &mut self.plans[plan as usize];
        slot.operations += count;
        slot.push_step(Step::Operations { first, count });
    }

    /// Completes the write of a stripe, or of as much of it as its parity can replace: its chunks are now mapped to its slots,
    /// unless they were overwritten meanwhile.
    pub(in super::super) fn appended(&mut self, plan: u32) {
        let wanted = self.plans[plan as usize].wanted;
        let is_relocation = self.stream_of(plan) >= self.elastic().hosts();
        let gave_up = self.plans[plan as usize].gave_up;
        self.stripe_over(plan);
        let segment = self.elastic().segment_of(self.plans[plan as usize].row);
        for column in columns(wanted) {
            // Chunks that return to their queue do so in reverse order.
            let column = if gave_up { wanted.count_ones() - 1 - column } else { column };
            let log = self.elastic_mut();
            let (place, slot) = (log.place(plan, column), log.homes(plan)[column as usize]);
            let chunk = log.buffer.get(place).chunk;
            if gave_up && chunk != NOWHERE {
                log.buffer.push_first(place);
                self.disown_buffer(plan, column);
                continue;
            }
            if chunk != NOWHERE {
                log.settle(chunk, slot);
                log.segments.validate(segment);
            }
            log.buffer.give(place);
        }
        let row = self.plans[plan as usize].row;
        let log = self.elastic_mut();
        if gave_up && log.durable.is_some() {
            let stripe = log.directory.stripe(row);
            log.directory.clear_stripe(stripe);
            log.durable_mut().sync.gave_up = true;
        }
        log.segments.write_over(segment);
        log.in_flight -= 1;
        log.in_flight_relocations -= u32::from(is_relocation);
    }

    /// Detects that due chunks wait for space that no work in progress will free, and fails the requests that wait for them.
    /// Returns false if this is not so, or already known.
    pub(in super::super) fn note_full<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(log) = &self.elastic else { return false };
        if log.durable.as_ref().is_some_and(|durable| durable.makes_space()) {
            return false;
        }
        let is_due = log.buffer.queues.iter().any(|queue| queue.due > 0);
        let is_collecting =
            |collection: Collection| collection.reads > 0 || log.segments.is_held(collection.victim);
        let lacks =
            self.free_plan == NONE || !(0..log.open.len()).all(|stream| self.can_note_triggers(stream));
        let goes_on = lacks || log.in_flight > 0 || log.collection.is_some_and(is_collecting);
        if !is_due || goes_on || log.is_full {
            return false;
        }
        self.elastic_mut().is_full = true;
        for stream in 0..self.elastic().open.len() {
            while let Some((id, _)) = self.elastic_mut().buffer.queues[stream].triggers.pop_front() {
                self.let_go(id, driver);
            }
        }
        for place in 0..self.elastic().buffer.len() as u32 {
            self.release_waiters(place, true, driver);
        }
        true
    }
}
