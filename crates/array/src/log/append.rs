//! Writing stripes: chunks that are due leave controller memory.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{NONE, PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::{AfterErrors, Built, Executor};

use crate::job::{BuildResult, Cx, Job};
use crate::log::addresses::NOWHERE;
use crate::log::contents::Content;
use crate::log::job::{AnyJob, Append};
use crate::log::write::Refusal;
use crate::log::{Band, Collection, Log, Open};

/// The chunks of a new stripe.
pub(crate) struct Chunks {
    /// The stream in whose queue they wait, and the one whose segment they are written to.
    pub(crate) stream: usize,
    pub(crate) at: usize,
    pub(crate) count: u32,
    /// Every `stride`th of those that wait.
    pub(crate) stride: u32,
}

impl Log {
    /// Writes one stripe of due chunks, if there are any, and a plan and space are available. Returns false if there is
    /// nothing to do now.
    pub(crate) fn append_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if self.is_beyond_parity(exec) {
            // What stays in memory is not lost if members return.
            return self.fail_waiting(Refusal::Lost, exec, driver);
        }
        let (hosts, streams) = (self.hosts(), self.classes.streams());
        self.release_triggers(exec, driver);
        let Some(stream) = (hosts..streams)
            .chain(0..hosts)
            .find(|&stream| self.buffer.queues[stream].due > 0 && self.may_append(stream, exec))
        else {
            return false;
        };
        if !exec.has_free_plan() || !self.can_note_triggers(stream, exec) {
            return false;
        }
        #[cfg(debug_assertions)]
        if self.extend_short(stream, exec, driver) {
            return true;
        }
        self.append(stream, exec, driver);
        true
    }

    /// Whether a stripe of `stream` can record the requests that wait for it: its chunks were made due by one write or by two,
    /// of which the plan itself can record one.
    fn can_note_triggers<M: Memory>(&self, stream: usize, exec: &Executor<M>) -> bool {
        self.buffer.queues[stream].triggers.len() < 2 || exec.has_attachments(1)
    }

    /// Completes writes whose due chunks were since overwritten by other requests or trimmed: they have nothing left to wait
    /// for.
    fn release_triggers<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) {
        for stream in 0..self.open.len() {
            while self.buffer.queues[stream].due == 0
                && let Some((id, _)) = self.buffer.queues[stream].triggers.pop_front()
            {
                self.let_go(id, exec, driver);
            }
        }
    }

    /// Data chunks of a stripe over the working members of `group`.
    pub(crate) fn data_of_group<M: Memory>(&self, group: u32, exec: &Executor<M>) -> u32 {
        if !exec.is_any_failed() {
            return exec.geometry().data;
        }
        exec.geometry().data_on(exec.geometry().width - exec.failed_of_group(group))
    }

    /// Ensures that `stream` has an open segment with room for a stripe. Returns false if it cannot have one now.
    pub(crate) fn may_append<M: Memory>(&mut self, stream: usize, exec: &mut Executor<M>) -> bool {
        let is_relocation = stream >= self.hosts();
        let at = self.host_of(stream);
        // Free segments that are reserved for live chunks.
        let kept = self.classes.relocation_streams();
        if let Some(open) = self.open[at] {
            let log = &*self;
            let is_coldest = !is_relocation && log.classes.coldest_of(stream) == stream;
            let is_theirs = log.shares && is_coldest && log.segments.free_count() <= kept;
            if self.room(at, &open, exec) == 0 {
                self.close_batch(at);
                let log = &mut *self;
                log.segments.close(open.segment);
                log.open[at] = None;
            } else if !is_theirs {
                return true;
            }
        }
        if !is_relocation {
            let can_collect = self.can_collect(exec);
            let log = &*self;
            let collected = log.durable.as_ref().map_or(0, |durable| durable.collected.len() as u32);
            let in_use = log.segments.count() - log.segments.free_count() - collected;
            let free = log.segments.free_count();
            let is_above = in_use + 1 > log.limit || free <= kept;
            // Collected segments become free once memory is empty: nothing else is waited for.
            let empties = log.durable.as_ref().is_some_and(|durable| durable.empties_memory());
            let takes_last = free > 0 && (empties || exec.has_bug(Bug::ReserveIgnored));
            let log = &mut *self;
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
        let free = self.segments.open();
        // A segment that a checkpoint names is not reused before the next checkpoint.
        let is_kept = self.durable.is_some();
        let empty = || if is_kept { None } else { self.segments.reopen() };
        let Some(segment) = free.or_else(empty) else { return false };
        let next = u64::from(segment) * self.segment_slots();
        if free.is_none() {
            self.directory.clear(next);
            self.counts.collected += 1;
        }
        self.open[stream] = Some(Open { segment, next, end: next + self.segment_slots() });
        self.stream_counts[stream].opened += 1;
        if let Some(durable) = &mut self.durable {
            durable.open_segment(segment);
        }
        self.is_full = false;
        true
    }

    /// Data chunks that a stripe of `stream` could take in its open segment.
    fn room<M: Memory>(&self, stream: usize, open: &Open, exec: &Executor<M>) -> u32 {
        let durable = self.durable.as_ref();
        let batch = durable.and_then(|durable| durable.open[stream]);
        let begins = durable.is_some() && batch.is_none();
        let first =
            if begins { self.behind_copies(open.segment, open.next, open.end, exec) } else { open.next };
        // Where a group is as wide as its summaries have room for, skipped slots use up some of that room.
        let of_summary =
            durable.map_or(u64::MAX, |durable| batch.unwrap_or(open.next) + u64::from(durable.room));
        let parity = exec.geometry().parity();
        if self.depth > 1 {
            let is_room = first + u64::from(exec.geometry().columns) <= open.end.min(of_summary);
            return if is_room { self.data_of_group(self.group(open.segment), exec) } else { 0 };
        }
        let slots = first..open.end.min(first + u64::from(exec.geometry().columns)).min(of_summary);
        if !exec.is_any_failed() {
            return ((slots.end - slots.start) as u32).saturating_sub(parity);
        }
        let living = slots.filter(|&slot| !exec.is_failed(self.member(slot).0)).count();
        (living as u32).saturating_sub(parity)
    }

    /// Writes a stripe of `stream`, which has an open segment with room for one.
    fn append<M: Memory, D: Driver<M>>(&mut self, stream: usize, exec: &mut Executor<M>, driver: &mut D) {
        let parity = exec.geometry().parity();
        let at = self.host_of(stream);
        let Some(mut open) = self.open[at] else { return };
        self.open_batch(at, &mut open, exec);
        let most = self.data_of_group(self.group(open.segment), exec);
        let count = self.buffer.queues[stream].count.min(self.room(at, &open, exec)).min(most);
        let width = count + parity;
        let plan = self.take_plan(0, Append, exec);
        let (turn, stride) = self.next_of_band(stream, &open, count, most, exec);
        self.homes_mut(plan).fill(NOWHERE);
        let chunks = Chunks { stream, at, count, stride };
        let parity = if self.depth > 1 {
            self.lay_deep(plan, &chunks, &mut open, exec)
        } else {
            self.lay_row(plan, &chunks, (turn % u64::from(width)) as u32, &mut open, exec);
            parity
        };
        self.take_triggers(plan, stream, count, exec);
        let segment = open.segment;
        self.segments.write_begun(segment);
        self.open[at] = Some(open);
        self.in_flight += 1;
        self.counts.stripes += 1;
        self.counts.short_stripes += u64::from(count < most);
        self.counts.parity += u64::from(parity);
        self.stream_counts[stream].chunks += u64::from(count);
        if stream >= self.hosts() {
            self.in_flight_relocations += 1;
            self.counts.moved += u64::from(count);
            self.counts.moved_parity += u64::from(parity);
            let queue = &mut self.buffer.queues[stream];
            if queue.due < most {
                // Where stripes are shorter than usual, the remaining chunks wait for a full stripe: otherwise moving them
                // would gain nothing.
                queue.due = 0;
            }
        } else {
            self.counts.data += u64::from(count);
        }
        if open.next == open.end {
            self.segments.close(segment);
            self.open[at] = None;
        }
        self.extend_batch(at, &open, exec);
        exec.begin(plan, self, driver);
    }

    /// Gives the columns of the stripe of `plan` the next slots, one on each member, with parity turned by `rotation`.
    fn lay_row<M: Memory>(
        &mut self,
        plan: PlanId,
        &Chunks { stream, at, count, stride }: &Chunks,
        rotation: u32,
        open: &mut Open,
        exec: &mut Executor<M>,
    ) {
        let parity = exec.geometry().parity();
        let width = count + parity;
        let mut place = self.buffer.first(stream);
        let (mut position, mut data) = (0, 0);
        while position < width {
            let slot = open.next;
            open.next += 1;
            let is_failed = exec.is_any_failed()
                && exec.is_failed(self.member(slot).0)
                && !exec.has_bug(Bug::FailedSlotUsed);
            if is_failed {
                if position > 0 {
                    self.directory.skip(slot);
                }
                continue;
            }
            let is_first = position == 0;
            if is_first {
                exec.set_row(plan, RowNo::new(slot));
            }
            let number = (position + width - rotation) % width;
            let column = if number < parity {
                self.directory.put_parity(slot, number as u8, is_first);
                exec.geometry().data + number
            } else {
                let write_seq = self.write_seq_of(place);
                let (chunk, next) = self.take_chunk(plan, data, place, stride, exec);
                place = next;
                self.directory.put_data(slot, chunk, is_first);
                self.note_content(at, slot, Content { chunk, write_seq, checksum: None });
                data += 1;
                data - 1
            };
            self.homes_mut(plan)[column as usize] = slot;
            position += 1;
        }
        exec.want(plan, u64::MAX >> (64 - count));
    }

    /// Lets the next stripe of `stream`, of `count` chunks where there is room for `most`, continue the band of the previous
    /// stripe or begin a new band. Returns the turn, which determines the position of parity, and the stride: the stripe takes
    /// every Nth waiting chunk. A band has full stripes of due chunks, and ends with its segment.
    fn next_of_band<M: Memory>(
        &mut self,
        stream: usize,
        open: &Open,
        count: u32,
        most: u32,
        exec: &mut Executor<M>,
    ) -> (u64, u32) {
        let slots = (open.end - open.next) / u64::from(exec.geometry().columns);
        let full = self.buffer.queues[stream].due / most;
        let mut band = self.bands[stream];
        if band.left == 0 || band.segment != open.segment || count < most {
            let stripes = self.classes.depth(stream).min(full).min(slots as u32);
            band = Band { segment: open.segment, left: stripes.max(1), turn: self.turns };
            self.turns += 1;
        }
        let stride = band.left.min(full).max(1);
        self.bands[stream] = Band { left: (band.left - 1).min(full.saturating_sub(1)), ..band };
        (band.turn, stride)
    }

    /// Takes the chunk in `place` for `column` of `plan`. Returns the chunk, and the place that is `stride` places later.
    pub(crate) fn take_chunk<M: Memory>(
        &mut self,
        plan: PlanId,
        column: u32,
        place: u32,
        stride: u32,
        exec: &mut Executor<M>,
    ) -> (u64, u32) {
        let next_place = self.buffer.pop(place, stride);
        self.set_place(plan, column, place);
        let waiting = self.buffer.get(place);
        let (chunk, page, mut node) = (waiting.chunk, waiting.page, waiting.first_request);
        exec.adopt_buffer(plan, column, page);
        self.buffer.get_mut(place).first_request = NONE;
        // Requests that wait for the chunk to be durable now wait for the plan.
        while node != NONE {
            node = exec.attach_node(plan, node);
        }
        (chunk, next_place)
    }

    /// Requests whose writes made the next `count` chunks of `stream` due now wait for `plan`.
    pub(crate) fn take_triggers<M: Memory>(
        &mut self,
        plan: PlanId,
        stream: usize,
        mut count: u32,
        exec: &mut Executor<M>,
    ) {
        while count > 0
            && let Some((id, left)) = self.buffer.queues[stream].triggers.front_mut()
        {
            let (taken, id) = (count.min(*left), *id);
            *left -= taken;
            let is_over = *left == 0;
            count -= taken;
            exec.attach(plan, id);
            if !is_over {
                return;
            }
            self.buffer.queues[stream].triggers.pop_front();
            // The request waits at least for this plan, so it cannot end here.
            exec.request_mut(id).remaining -= 1;
        }
    }

    /// Columns of the stripe of `plan`, as a mask.
    #[inline]
    pub(crate) fn present(&self, plan: PlanId) -> u64 {
        let homes = self.homes(plan).iter().enumerate();
        homes.fold(0, |mask, (column, &slot)| if slot == NOWHERE { mask } else { mask | 1 << column })
    }

    /// The columns of `mask` of the stripe of `plan` that are on failed members.
    #[inline]
    pub(crate) fn slots_on_failed<M: Memory>(&self, plan: PlanId, mask: u64, exec: &Executor<M>) -> u64 {
        let log = self;
        if !exec.is_any_failed() && !log.is_rebuilding() {
            return 0;
        }
        let is_failed = |&column: &u32| {
            let slot = log.homes(plan)[column as usize];
            slot != NOWHERE && (exec.is_failed(log.member(slot).0) || log.is_stale(slot))
        };
        columns(mask).filter(is_failed).fold(0, |failed, column| failed | 1 << column)
    }

    /// Builds the steps of writing a stripe: compute parity, then write all columns at once.
    fn build_append<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let present = self.present(plan);
        let failed = self.slots_on_failed(plan, present, exec);
        let data = exec.plan(plan).wanted;
        let parity = present & !data;
        let pages = parity.count_ones() * (data.count_ones() - 1);
        exec.push_compute(plan, pages as u16);
        let is_relocation = self.stream_of(plan) >= self.hosts();
        let of_data = if is_relocation { Class::ArrayGcWrite } else { Class::HostWrite };
        let first_parity = exec.geometry().data;
        let class = move |column| if column < first_parity { of_data } else { Class::Parity };
        let mut targets = present & !failed;
        if exec.has_bug(Bug::StripeWithoutParity) {
            targets &= !parity;
        }
        if exec.has_bug(Bug::StripeWithoutQ) {
            targets &= !(u64::MAX << (first_parity + exec.geometry().parity().div_ceil(2)));
        }
        self.push_slots(plan, targets, OperationKind::Write, class, exec);
        exec.acknowledge_here(plan);
        if exec.has_bug(Bug::StripeAcknowledgedEarly) {
            exec.acknowledge_first(plan);
        }
    }

    /// The stream whose chunks `plan` writes.
    fn stream_of(&self, plan: PlanId) -> usize {
        self.buffer.get(self.place(plan, 0)).stream.into()
    }

    /// Appends a step with one operation for each column of `mask` of a stripe of the log.
    #[inline]
    pub(crate) fn push_slots<M: Memory>(
        &mut self,
        plan: PlanId,
        mask: u64,
        kind: OperationKind,
        class: impl Fn(u32) -> Class,
        exec: &mut Executor<M>,
    ) {
        let is_append = matches!(self.jobs[plan].job, AnyJob::Append(_));
        let stream = if exec.scheme().elastic.device_streams && is_append { self.stream_of(plan) } else { 0 };
        let operations = columns(mask).map(|column| {
            let (member, page) = self.member(self.homes(plan)[column as usize]);
            let (class, column, stream) = (class(column), column as u8, stream as u8);
            Operation { page, member, kind, class, column, stream, ..Operation::default() }
        });
        exec.push_step(plan, operations);
    }

    /// Completes the write of a stripe, or of as much of it as its parity can replace: its chunks are now mapped to its slots,
    /// unless they were overwritten meanwhile.
    fn appended<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let wanted = exec.plan(plan).wanted;
        let is_relocation = self.stream_of(plan) >= self.hosts();
        let is_abandoned = exec.plan(plan).is_abandoned;
        self.stripe_over(plan, exec);
        let segment = self.segment_of(exec.plan(plan).first_slot());
        let mut left = wanted;
        while left != 0 {
            // Chunks that return to their queue do so in reverse order.
            let column = if is_abandoned { left.ilog2() } else { left.trailing_zeros() };
            left &= !(1 << column);
            let (place, slot) = (self.place(plan, column), self.homes(plan)[column as usize]);
            let chunk = self.buffer.get(place).chunk;
            if is_abandoned && chunk != NOWHERE {
                self.buffer.push_first(place);
                self.disown_buffer(plan, column, exec);
                continue;
            }
            if chunk != NOWHERE {
                self.settle(chunk, slot);
                self.segments.validate(segment);
            }
            self.buffer.give(place);
        }
        let row = exec.plan(plan).first_slot();
        if is_abandoned && self.durable.is_some() {
            let stripe = self.directory.stripe(row);
            self.directory.clear_stripe(stripe);
            self.durable_mut().sync.is_abandoned = true;
        }
        self.segments.write_over(segment);
        self.in_flight -= 1;
        self.in_flight_relocations -= u32::from(is_relocation);
    }

    /// Detects that due chunks wait for space that no work in progress will free, and fails the requests that wait for them.
    /// Returns false if this is not so, or already known.
    pub(crate) fn note_full<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let log = &*self;
        let makes_space = log.durable.as_ref().is_some_and(|durable| durable.makes_space());
        if makes_space || log.is_beyond_parity(exec) {
            return false;
        }
        let is_due = log.buffer.queues.iter().any(|queue| queue.due > 0);
        let is_collecting =
            |collection: Collection| collection.reads > 0 || log.segments.is_held(collection.victim);
        let lacks =
            !exec.has_free_plan() || !(0..log.open.len()).all(|stream| self.can_note_triggers(stream, exec));
        let continues = lacks || log.in_flight > 0 || log.collection.is_some_and(is_collecting);
        if !is_due || continues || log.is_full {
            return false;
        }
        self.is_full = true;
        self.fail_waiting(Refusal::NoSpace, exec, driver);
        true
    }
}

impl Job<Log> for Append {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_append(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    fn combine<M: Memory>(self, cx: Cx<'_, Log, M>) {
        cx.placement.encode_stripe(cx.plan, cx.exec);
    }

    fn step_failed<M: Memory>(self, cx: Cx<'_, Log, M>) -> AfterErrors {
        let lost = cx.placement.slots_on_failed(cx.plan, cx.placement.present(cx.plan), cx.exec);
        let is_bad = cx.placement.is_beyond(lost, cx.exec.plan(cx.plan).wanted, cx.exec);
        if is_bad { AfterErrors::Fail } else { AfterErrors::NextStep }
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.appended(cx.plan, cx.exec);
    }
}
