//! Requests over the log: writes go to controller memory, reads are served from there or from the log.

use super::throttle::Admits;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::RowCursor;
use stripewise_core::ids::{MemberNo, NONE, PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::request::RequestKind;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Attachment, Purpose};
use stripewise_exec::{Executor, RequestSlot};
use stripewise_scheme::placement::AcknowledgeWrites;

use crate::log::addresses::NOWHERE;
use crate::log::buffer::BufferSlot;
use crate::log::durable::Phase;
use crate::log::{Location, Log};

/// The result of writing a chunk.
pub(crate) enum Written {
    /// The chunk is in controller memory, or will be.
    Taken,
    /// The write must wait until memory, a plan or an attachment is free.
    Waits,
}

/// Why a write or flush fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The array has no space for one of its chunks.
    NoSpace,
    /// More members are lost than parity tolerates.
    Lost,
}

impl Refusal {
    fn mark(self, request: &mut RequestSlot) {
        request.failed = true;
        request.no_space |= self == Self::NoSpace;
    }
}

impl Log {
    /// Whether more members of a group are lost than parity tolerates, so that no write can become durable.
    #[inline]
    pub(crate) fn is_beyond_parity<M: Memory>(&self, exec: &Executor<M>) -> bool {
        exec.is_any_failed()
            && self.is_kept()
            && exec.has_lost_data(self)
            && !exec.has_bug(Bug::BeyondParityTaken)
    }

    /// Fails the requests that wait until chunks in memory are on the members. The chunks stay in memory, from where reads
    /// have them, until members return. Returns whether any request waited.
    pub(crate) fn fail_waiting<M: Memory, D: Driver<M>>(
        &mut self,
        why: Refusal,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let mut is_any = false;
        for stream in 0..self.open.len() {
            while let Some((id, _)) = self.buffer.queues[stream].triggers.pop_front() {
                if why == Refusal::Lost {
                    why.mark(exec.request_mut(id));
                }
                self.let_go(id, exec, driver);
                is_any = true;
            }
        }
        for place in 0..self.buffer.len() as u32 {
            is_any |= self.release_waiters(place, Some(why), exec, driver);
        }
        is_any
    }

    /// Builds plans for a read, write or trim, chunk by chunk: each chunk may be in memory, in any slot, or nowhere.
    pub(crate) fn split_request<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let kind = exec.request(id).host.kind;
        if kind != RequestKind::Read && self.is_beyond_parity(exec) {
            // Nothing of it could become durable. What was acknowledged before waits in memory for the members.
            Refusal::Lost.mark(exec.request_mut(id));
            return true;
        }
        while !exec.request(id).cursor.is_done() {
            let (chunk, end) = exec.request(id).cursor.remaining();
            let chunks = match kind {
                RequestKind::Read => {
                    let count = self.read_chunks(id, chunk, end, exec, driver);
                    let first = exec.request(id).pages.0;
                    self.classes.note_read(first, chunk, count);
                    count
                }
                RequestKind::Write => match self.write_chunk(id, chunk, exec, driver) {
                    Written::Taken => 1,
                    Written::Waits if self.is_out_of_space => {
                        self.refuse(id, exec);
                        1
                    }
                    Written::Waits => 0,
                },
                RequestKind::Trim => {
                    self.trim_chunk(id, chunk, exec, driver);
                    1
                }
                RequestKind::Flush => unreachable!("flushes touch no chunks"),
            };
            if chunks == 0 {
                return false;
            }
            exec.request_mut(id).cursor = RowCursor::new(chunk + chunks, end - chunk - chunks);
        }
        true
    }

    /// Accepts `chunk` of the write `id` into controller memory.
    fn write_chunk<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        chunk: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Written {
        let durable = self.is_durable(exec);
        if let Some(plan) = self.merge_of(chunk)
            && !exec.has_bug(Bug::MergeNotJoined)
        {
            return self.join_merge(id, plan, exec);
        }
        match self.admits_chunk(chunk, exec) {
            Admits::Yes => {}
            Admits::Later => return Written::Waits,
            Admits::Never => {
                self.refuse(id, exec);
                return Written::Taken;
            }
        }
        if durable && self.is_full {
            self.refuse(id, exec);
            return Written::Taken;
        }
        if durable && !exec.has_attachments(1) {
            return Written::Waits;
        }
        let sectors =
            if exec.request(id).in_part { exec.sectors_of_page(id, chunk) } else { exec.whole_page() };
        let location = self.location(chunk);
        let is_waiting = matches!(location, Location::Buffered(place) if self.buffer.get(place).waits);
        if !is_waiting && !self.has_place() {
            if !self.is_full || self.in_flight > 0 {
                return Written::Waits;
            }
            self.refuse(id, exec);
            return Written::Taken;
        }
        if sectors != exec.whole_page()
            && let Location::Mapped(slot) = location
        {
            return self.merge_chunk(id, chunk, slot, exec, driver);
        }
        if sectors != exec.whole_page() && location == Location::Lost {
            exec.request_mut(id).failed = true;
            return Written::Taken;
        }
        let stream = self.classify(id, chunk, exec);
        self.put(id, chunk, sectors, stream, exec, driver);
        Written::Taken
    }

    /// Fails request `id`: the array has no space for one of its chunks.
    pub(crate) fn refuse<M: Memory>(&mut self, id: RequestId, exec: &mut Executor<M>) {
        Refusal::NoSpace.mark(exec.request_mut(id));
    }

    /// Whether a write waits until its chunks are on the members.
    pub(crate) fn is_durable<M: Memory>(&self, exec: &Executor<M>) -> bool {
        exec.scheme().elastic.acknowledge == AcknowledgeWrites::Durable
    }

    /// Puts the `sectors` of `chunk` that request `id` writes into controller memory. The rest of the chunk is in memory
    /// already, or zeros. The chunk belongs to `stream` from now on.
    pub(crate) fn put<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        chunk: u64,
        sectors: u64,
        stream: usize,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        if let Location::Buffered(place) = self.location(chunk)
            && self.buffer.get(place).waits
        {
            let BufferSlot { page, stream: before, .. } = *self.buffer.get(place);
            exec.load_host(page, chunk, id, sectors);
            self.buffer.get_mut(place).write_seq = 0;
            self.counts.absorbed += 1;
            if usize::from(before) == stream {
                return self.await_durability(id, place, exec);
            }
            self.buffer.remove(place);
            return self.enter(id, chunk, place, stream, exec, driver);
        }
        let before = match self.location(chunk) {
            Location::Buffered(place) => Some(self.buffer.get(place).page),
            Location::Unmapped | Location::Lost | Location::Mapped(_) => None,
        };
        let page = self.new_content(before, sectors, exec);
        exec.load_host(page, chunk, id, sectors);
        self.leave(chunk, exec);
        let place = self.buffer.take(chunk, page);
        self.enter(id, chunk, place, stream, exec, driver);
    }

    /// Invalidates the current version of `chunk`. The caller must handle a version that waits in memory.
    pub(crate) fn leave<M: Memory>(&mut self, chunk: u64, exec: &mut Executor<M>) {
        let keeps = exec.has_bug(Bug::OldSlotStaysValid);
        let revives = exec.has_bug(Bug::OlderChunkInstalled);
        match self.location(chunk) {
            Location::Unmapped | Location::Lost => {}
            Location::Buffered(_) if revives => {}
            Location::Buffered(place) => self.buffer.get_mut(place).chunk = NOWHERE,
            Location::Mapped(slot) => {
                let segment = self.segment_of(slot);
                if !keeps {
                    self.segments.invalidate(segment);
                }
                // Its segment may now be a victim.
                self.is_full = false;
            }
        }
        self.set_unmapped(chunk);
    }

    /// The stream of `chunk`, which request `id` writes: the stream of its class.
    #[inline]
    pub(crate) fn classify<M: Memory>(&mut self, id: RequestId, chunk: u64, exec: &mut Executor<M>) -> usize {
        let request = exec.request(id);
        let (host, first) = (request.host, request.pages.0);
        if chunk == first {
            self.hotness.begin_request(host.offset, host.bytes.into());
        }
        let tier = self.hotness.classify(chunk);
        self.classes.write(first, chunk, tier)
    }

    /// Queues a place in `stream`, and makes the stream's chunks due if they reach the stripe-fill threshold.
    pub(crate) fn enter<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        chunk: u64,
        place: u32,
        stream: usize,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let now = exec.now();
        let waits = exec.scheme().elastic.acknowledge == AcknowledgeWrites::TriggerWaits;
        self.await_durability(id, place, exec);
        let (first, last) = exec.request(id).pages;
        self.buffer.push(stream, place, now);
        self.set_memory(chunk, place);
        let unit = self.stripe_fill.of_write(stream, last - first + 1);
        let is_written = !self.is_full && !self.is_beyond_parity(exec);
        let queue = &mut self.buffer.queues[stream];
        if queue.count - queue.due >= unit {
            queue.due += unit;
            if waits && is_written {
                queue.triggers.push_back((id, unit));
                exec.request_mut(id).remaining += 1;
            }
        } else {
            self.time_stream(stream, exec, driver);
        }
    }

    /// Lets request `id` wait until the content of `place` is durable, if the scheme requires it and there is space. A write
    /// that was reading its chunk when the array ran out of space reaches this point without an earlier check.
    fn await_durability<M: Memory>(&mut self, id: RequestId, place: u32, exec: &mut Executor<M>) {
        if !self.is_durable(exec) || exec.has_bug(Bug::DurableTooEarly) {
            return;
        }
        if self.is_beyond_parity(exec) {
            return Refusal::Lost.mark(exec.request_mut(id));
        }
        if self.is_full {
            return self.refuse(id, exec);
        }
        let first = &mut self.buffer.get_mut(place).first_request;
        *first = exec.attachments_mut().take(id, *first);
        exec.request_mut(id).remaining += 1;
    }

    /// Sets the timer of a stream, if its chunks must not wait forever.
    fn time_stream<M: Memory, D: Driver<M>>(
        &mut self,
        stream: usize,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let (now, wait) = (exec.now(), exec.scheme().elastic.wait.0);
        let is_timed = wait > 0 && stream < self.hosts();
        let Some(since) = self.buffer.since(stream).filter(|_| is_timed) else { return };
        let queue = &mut self.buffer.queues[stream];
        if queue.count > queue.due && queue.timer.is_none() {
            // Chunks that are due already may have waited for space longer than that.
            let at = (since + wait).max(now);
            queue.timer = Some(at);
            driver.set_timer(at);
        }
    }

    /// Handles the timers: chunks that have waited long enough become due.
    pub(crate) fn timer_due<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) {
        let (now, wait) = (exec.now(), exec.scheme().elastic.wait.0);
        if wait == 0 {
            return;
        }
        let log = &mut *self;
        for stream in 0..log.hosts() {
            let log = &mut *self;
            let has_waited = log.buffer.since(stream).is_some_and(|since| since + wait <= now);
            let queue = &mut log.buffer.queues[stream];
            if queue.timer.is_none_or(|at| at > now) {
                continue;
            }
            queue.timer = None;
            if has_waited {
                queue.due = queue.count;
            }
            self.time_stream(stream, exec, driver);
        }
    }

    /// Unmaps `chunk`, if request `id` covers the whole of it.
    fn trim_chunk<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        chunk: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        if exec.sectors_of_page(id, chunk) != exec.whole_page() {
            return;
        }
        let waiting = match self.location(chunk) {
            Location::Buffered(place) if self.buffer.get(place).waits => Some(place),
            _ => None,
        };
        let is_somewhere = self.location(chunk) != Location::Unmapped;
        self.leave(chunk, exec);
        if let Some(durable) = self.durable.as_mut().filter(|_| is_somewhere) {
            durable.bury(chunk);
        }
        if let Some(place) = waiting {
            self.buffer.remove(place);
            self.discard_place(place, exec, driver);
        }
    }

    /// Frees a place that is in no queue, with its content, and completes the requests that wait for it.
    fn discard_place<M: Memory, D: Driver<M>>(&mut self, place: u32, exec: &mut Executor<M>, driver: &mut D) {
        let page = self.buffer.get(place).page;
        if M::CARRIES_DATA && page != NONE {
            exec.memory_mut().give(page);
        }
        self.release_waiters(place, None, exec, driver);
        self.buffer.give(place);
    }

    /// Completes the requests that wait for the content of `place` to be durable, or fails them. Returns whether there were any.
    pub(crate) fn release_waiters<M: Memory, D: Driver<M>>(
        &mut self,
        place: u32,
        failure: Option<Refusal>,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let mut node = std::mem::replace(&mut self.buffer.get_mut(place).first_request, NONE);
        let is_any = node != NONE;
        while node != NONE {
            let Attachment { request: id, next } = exec.attachments()[node];
            exec.attachments_mut().release(node);
            if let Some(why) = failure {
                why.mark(exec.request_mut(id));
            }
            self.let_go(id, exec, driver);
            node = next;
        }
        is_any
    }

    /// Reduces the number of things that request `id` waits for by one; acknowledges it at zero.
    pub(crate) fn let_go<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let request = exec.request_mut(id);
        request.remaining -= 1;
        if request.remaining == 0 {
            let acknowledgement = exec.acknowledgement(id, self);
            exec.acknowledge(id, &acknowledgement, self, driver);
        }
    }

    /// A flush drains memory that does not survive a loss of power, and everything must reach the members before they are
    /// flushed. Returns false if the flush must wait.
    pub(crate) fn flush_for<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let drops = exec.has_bug(Bug::FlushDropped);
        let log = &mut *self;
        if exec.request(id).drained || !(log.is_volatile || exec.members().volatile_cache) {
            return true;
        }
        if log.is_volatile && !drops {
            // Members have a copy of live chunks until these are written, and written one by one they would take more room
            // than they free.
            let hosts = log.hosts();
            log.buffer.queues[..hosts].iter_mut().for_each(|queue| queue.due = queue.count);
            while self.append_one(exec, driver) {}
            let log = &*self;
            if log.buffer.queues[..hosts].iter().any(|queue| queue.count > 0) {
                if !log.is_full {
                    return false;
                }
                self.refuse(id, exec);
            }
        }
        let is_append = |exec: &Executor<M>, plan: PlanId| {
            let plan = exec.plan(plan);
            plan.purpose == Purpose::Append && plan.is_under_way
        };
        if !exec.wait_for_all(id, is_append) {
            return false;
        }
        exec.request_mut(id).drained = true;
        true
    }

    /// Handles the loss of a member.
    pub(crate) fn member_lost<M: Memory>(&mut self, member: MemberNo, exec: &mut Executor<M>) {
        self.stop_rebuild(member, exec);
        if let Some(durable) = self.durable.as_mut() {
            durable.has_event = true;
            durable.sync.gone |= member.bit();
            let has_front_alone = matches!(durable.sync.phase, Phase::Back | Phase::FlushBack);
            if has_front_alone && !exec.has_bug(Bug::FrontCopyFirst) {
                durable.members.note_without_back(member.bit());
            }
        }
        self.review_groups(exec);
    }

    /// A flush first writes what waits in volatile controller memory, then flushes every member.
    pub(crate) fn split_flush<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if exec.reads_only() {
            return true;
        }
        if self.is_kept() {
            self.join_sync(id, exec);
            return true;
        }
        self.flush_for(id, exec, driver)
            && (!exec.wants_members_flushed(id, self) || exec.flush_members(id, self, driver))
    }

    /// Handles the loss or return of a member. Segments of groups that can hold no stripes are not opened until they can
    /// again.
    pub(crate) fn review_groups<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let groups = exec.geometry().groups;
        for group in 0..groups {
            let takes_stripes = self.data_of_group(group, exec) > 0;
            match (takes_stripes, self.segments.is_retired(group)) {
                (false, false) => self.segments.retire(group, groups),
                (true, true) => {
                    self.segments.readmit(group, groups);
                    self.is_full = false;
                }
                _ => {}
            }
        }
    }

    /// Makes all chunks in controller memory due.
    pub(crate) fn drain_memory(&mut self) {
        for queue in &mut self.buffer.queues {
            queue.due = queue.count;
        }
    }

    /// Treats the first `chunks` chunks as written, in consecutive full stripes, in the layout of the coldest and
    /// read-intensive chunks.
    pub(crate) fn assume_written<M: Memory>(&mut self, chunks: u64, exec: &mut Executor<M>) {
        let log = &mut *self;
        let (data, parity) = (u64::from(exec.geometry().data), u64::from(exec.geometry().parity()));
        let end = chunks.min(log.capacity);
        if log.depth > 1 {
            return log.assume_deep(end, exec.code());
        }
        let depth = u64::from(log.classes.depth(0));
        let (mut chunk, mut turn) = (0, 0);
        while chunk < end {
            let Some(segment) = log.segments.open() else { return };
            let mut slot = u64::from(segment) * log.segment_slots();
            let segment_end = slot + log.segment_slots();
            while slot < segment_end && chunk < end {
                // A band of full stripes, or the remaining chunks.
                let stripes =
                    depth.min((segment_end - slot) / (data + parity)).min((end - chunk) / data).max(1);
                let columns = data.min(end - chunk);
                let width = columns + parity;
                let rotation = turn % width;
                for (stripe, position) in
                    (0..stripes).flat_map(|stripe| (0..width).map(move |at| (stripe, at)))
                {
                    let number = (position + width - rotation) % width;
                    let (at, is_first) = (slot + stripe * width + position, position == 0);
                    if number < parity {
                        log.directory.put_parity(at, number as u8, is_first);
                        continue;
                    }
                    // Data columns are in the order of their positions.
                    let before =
                        (0..position).filter(|at| (at + width - rotation) % width >= parity).count() as u64;
                    let written = chunk + before * stripes + stripe;
                    log.directory.put_data(at, written, is_first);
                    log.set_slot(written, at);
                    log.segments.validate(segment);
                }
                chunk += stripes * columns;
                turn += 1;
                slot += stripes * width;
            }
            log.segments.close(segment);
        }
    }
}
