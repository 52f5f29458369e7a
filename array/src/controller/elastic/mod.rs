//! Requests over the elastic placement: writes go to controller memory, reads are served from there or from the log.

mod append;
mod batches;
mod bytes;
mod collect;
mod discard;
#[cfg(debug_assertions)]
mod extend;
mod merge;
mod read;
mod rebuild;
mod scrub;
mod sync;
mod sync_pages;
mod tell;
mod throttle;
mod view;

#[cfg(debug_assertions)]
pub(crate) use extend::Short;
pub use view::{StripeColumn, StripeView};

use super::Array;
use throttle::Admits;

use crate::bugs::Bug;
use crate::driver::Driver;
use crate::geometry::RowCursor;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::placement::elastic::addresses::NOWHERE;
use crate::placement::elastic::buffer::BufferSlot;
use crate::placement::elastic::{AcknowledgeWrites, Elastic, Location};
use crate::plan::{Attachment, Purpose};
use crate::request::RequestKind;

/// The result of writing a chunk.
enum Written {
    /// The chunk is in controller memory, or will be.
    Taken,
    /// The write must wait until memory, a plan or an attachment is free.
    Waits,
}

impl<M: Memory> Array<M> {
    /// The elastic placement; called only where there is one.
    #[inline]
    pub(super) fn elastic(&self) -> &Elastic {
        self.elastic.as_ref().expect("only asked for under the elastic placement")
    }

    #[inline]
    pub(super) fn elastic_mut(&mut self) -> &mut Elastic {
        self.elastic.as_mut().expect("only asked for under the elastic placement")
    }

    /// Like [`Array::split`], chunk by chunk: each chunk may be in memory, in any slot, or nowhere.
    pub(super) fn split_elastic<D: Driver<M>>(&mut self, id: u32, driver: &mut D) -> bool {
        let kind = self.requests[id as usize].host.kind;
        while !self.requests[id as usize].cursor.is_done() {
            let (chunk, end) = self.requests[id as usize].cursor.remaining();
            let chunks = match kind {
                RequestKind::Read => {
                    let count = self.read_chunks(id, chunk, end, driver);
                    let first = self.requests[id as usize].pages.0;
                    self.elastic_mut().classes.note_read(first, chunk, count);
                    count
                }
                RequestKind::Write => match self.write_chunk(id, chunk, driver) {
                    Written::Taken => 1,
                    Written::Waits if self.elastic().is_out_of_space => {
                        self.refuse(id);
                        1
                    }
                    Written::Waits => 0,
                },
                RequestKind::Trim => {
                    self.trim_chunk(id, chunk, driver);
                    1
                }
                RequestKind::Flush => unreachable!("flushes touch no chunks"),
            };
            if chunks == 0 {
                return false;
            }
            self.requests[id as usize].cursor = RowCursor::new(chunk + chunks, end - chunk - chunks);
        }
        true
    }

    /// Accepts `chunk` of the write `id` into controller memory.
    fn write_chunk<D: Driver<M>>(&mut self, id: u32, chunk: u64, driver: &mut D) -> Written {
        let durable = self.is_durable();
        if let Some(plan) = self.elastic().merge_of(chunk)
            && !self.has_bug(Bug::MergeNotJoined)
        {
            return self.join_merge(id, plan);
        }
        match self.admits_chunk(chunk) {
            Admits::Yes => {}
            Admits::Later => return Written::Waits,
            Admits::Never => {
                self.refuse(id);
                return Written::Taken;
            }
        }
        if durable && self.elastic().is_full {
            self.refuse(id);
            return Written::Taken;
        }
        if durable && self.free_attachment == NONE {
            return Written::Waits;
        }
        let sectors = if self.requests[id as usize].in_part {
            self.sectors_of_page(id, chunk)
        } else {
            self.whole_page
        };
        let location = self.elastic().location(chunk);
        let is_waiting =
            matches!(location, Location::Buffered(place) if self.elastic().buffer.get(place).waits);
        if !is_waiting && !self.elastic().has_place() {
            if !self.elastic().is_full || self.elastic().in_flight > 0 {
                return Written::Waits;
            }
            self.refuse(id);
            return Written::Taken;
        }
        if sectors != self.whole_page
            && let Location::Mapped(slot) = location
        {
            return self.merge_chunk(id, chunk, slot, driver);
        }
        if sectors != self.whole_page && location == Location::Lost {
            self.requests[id as usize].failed = true;
            return Written::Taken;
        }
        let stream = self.classify(id, chunk);
        self.put(id, chunk, sectors, stream, driver);
        Written::Taken
    }

    /// Fails request `id`: the array has no space for one of its chunks.
    fn refuse(&mut self, id: u32) {
        let request = &mut self.requests[id as usize];
        request.failed = true;
        request.no_space = true;
    }

    /// Whether a write waits until its chunks are on the members.
    fn is_durable(&self) -> bool {
        self.scheme.elastic.acknowledge == AcknowledgeWrites::Durable
    }

    /// Frees an attachment that is in no list any more.
    fn free_attachment_of(&mut self, node: u32) {
        self.attachments[node as usize].next = self.free_attachment;
        self.free_attachment = node;
    }

    /// Puts the `sectors` of `chunk` that request `id` writes into controller memory. The rest of the chunk is in memory
    /// already, or zeros. The chunk belongs to `stream` from now on.
    fn put<D: Driver<M>>(&mut self, id: u32, chunk: u64, sectors: u64, stream: usize, driver: &mut D) {
        if let Location::Buffered(place) = self.elastic().location(chunk)
            && self.elastic().buffer.get(place).waits
        {
            let BufferSlot { page, stream: before, .. } = *self.elastic().buffer.get(place);
            self.load_host(page, chunk, id, sectors);
            self.elastic_mut().buffer.get_mut(place).write_seq = 0;
            self.elastic_mut().counts.absorbed += 1;
            if usize::from(before) == stream {
                return self.await_durability(id, place);
            }
            self.elastic_mut().buffer.remove(place);
            return self.enter(id, chunk, place, stream, driver);
        }
        let before = match self.elastic().location(chunk) {
            Location::Buffered(place) => Some(self.elastic().buffer.get(place).page),
            Location::Unmapped | Location::Lost | Location::Mapped(_) => None,
        };
        let page = self.new_content(before, sectors);
        self.load_host(page, chunk, id, sectors);
        self.leave(chunk);
        let place = self.elastic_mut().buffer.take(chunk, page);
        self.enter(id, chunk, place, stream, driver);
    }

    /// Invalidates the current version of `chunk`. The caller must handle a version that waits in memory.
    fn leave(&mut self, chunk: u64) {
        let keeps = self.has_bug(Bug::OldSlotStaysValid);
        let revives = self.has_bug(Bug::OlderChunkInstalled);
        let log = self.elastic_mut();
        match log.location(chunk) {
            Location::Unmapped | Location::Lost => {}
            Location::Buffered(_) if revives => {}
            Location::Buffered(place) => log.buffer.get_mut(place).chunk = NOWHERE,
            Location::Mapped(slot) => {
                let segment = log.segment_of(slot);
                if !keeps {
                    log.segments.invalidate(segment);
                }
                // Its segment may now be a victim.
                log.is_full = false;
            }
        }
        log.set_unmapped(chunk);
    }

    /// The stream of `chunk`, which request `id` writes: the stream of its class.
    #[inline]
    fn classify(&mut self, id: u32, chunk: u64) -> usize {
        let request = &self.requests[id as usize];
        let (host, first) = (request.host, request.pages.0);
        let log = self.elastic_mut();
        if chunk == first {
            log.hotness.begin_request(host.offset, host.bytes.into());
        }
        let tier = log.hotness.classify(chunk);
        log.classes.write(first, chunk, tier)
    }

    /// Queues a place in `stream`, and makes the stream's chunks due if they reach the stripe-fill threshold.
    fn enter<D: Driver<M>>(&mut self, id: u32, chunk: u64, place: u32, stream: usize, driver: &mut D) {
        let now = self.now;
        let waits = self.scheme.elastic.acknowledge == AcknowledgeWrites::TriggerWaits;
        self.await_durability(id, place);
        let (first, last) = self.requests[id as usize].pages;
        let log = self.elastic_mut();
        log.buffer.push(stream, place, now);
        log.set_memory(chunk, place);
        let (unit, is_full) = (log.stripe_fill.of_write(stream, last - first + 1), log.is_full);
        let queue = &mut log.buffer.queues[stream];
        if queue.count - queue.due >= unit {
            queue.due += unit;
            if waits && !is_full {
                queue.triggers.push_back((id, unit));
                self.requests[id as usize].remaining += 1;
            }
        } else {
            self.time_stream(stream, driver);
        }
    }

    /// Lets request `id` wait until the content of `place` is durable, if the scheme requires it and there is space. A write
    /// that was reading its chunk when the array ran out of space reaches this point without an earlier check.
    fn await_durability(&mut self, id: u32, place: u32) {
        if !self.is_durable() || self.has_bug(Bug::DurableTooEarly) {
            return;
        }
        if self.elastic().is_full {
            return self.refuse(id);
        }
        let node = self.free_attachment;
        self.free_attachment = self.attachments[node as usize].next;
        let first = &mut self.elastic_mut().buffer.get_mut(place).first_request;
        let next = std::mem::replace(first, node);
        self.attachments[node as usize] = Attachment { request: id, next };
        self.requests[id as usize].remaining += 1;
    }

    /// Sets the timer of a stream, if its chunks must not wait forever.
    fn time_stream<D: Driver<M>>(&mut self, stream: usize, driver: &mut D) {
        let (now, wait) = (self.now, self.scheme.elastic.wait.0);
        let log = self.elastic_mut();
        let is_timed = wait > 0 && stream < log.hosts();
        let Some(since) = log.buffer.since(stream).filter(|_| is_timed) else { return };
        let queue = &mut log.buffer.queues[stream];
        if queue.count > queue.due && queue.timer.is_none() {
            // Chunks that are due already may have waited for space longer than that.
            let at = (since + wait).max(now);
            queue.timer = Some(at);
            driver.set_timer(at);
        }
    }

    /// Handles the timers: chunks that have waited long enough become due.
    pub(super) fn elastic_timer<D: Driver<M>>(&mut self, driver: &mut D) {
        let (now, wait) = (self.now, self.scheme.elastic.wait.0);
        let Some(log) = self.elastic.as_mut().filter(|_| wait > 0) else { return };
        for stream in 0..log.hosts() {
            let log = self.elastic_mut();
            let has_waited = log.buffer.since(stream).is_some_and(|since| since + wait <= now);
            let queue = &mut log.buffer.queues[stream];
            if queue.timer.is_none_or(|at| at > now) {
                continue;
            }
            queue.timer = None;
            if has_waited {
                queue.due = queue.count;
            }
            self.time_stream(stream, driver);
        }
    }

    /// Unmaps `chunk`, if request `id` covers the whole of it.
    fn trim_chunk<D: Driver<M>>(&mut self, id: u32, chunk: u64, driver: &mut D) {
        if self.sectors_of_page(id, chunk) != self.whole_page {
            return;
        }
        let waiting = match self.elastic().location(chunk) {
            Location::Buffered(place) if self.elastic().buffer.get(place).waits => Some(place),
            _ => None,
        };
        let is_somewhere = self.elastic().location(chunk) != Location::Unmapped;
        self.leave(chunk);
        if let Some(durable) = self.elastic_mut().durable.as_mut().filter(|_| is_somewhere) {
            durable.bury(chunk);
        }
        if let Some(place) = waiting {
            self.elastic_mut().buffer.remove(place);
            self.discard_place(place, false, driver);
        }
    }

    /// Frees a place that is in no queue, with its content, and completes the requests that wait for it.
    fn discard_place<D: Driver<M>>(&mut self, place: u32, failed: bool, driver: &mut D) {
        let page = self.elastic().buffer.get(place).page;
        if M::CARRIES_DATA && page != NONE {
            self.memory.give(page);
        }
        self.release_waiters(place, failed, driver);
        self.elastic_mut().buffer.give(place);
    }

    /// Completes the requests that wait for the content of `place` to be durable.
    fn release_waiters<D: Driver<M>>(&mut self, place: u32, failed: bool, driver: &mut D) {
        let mut node = std::mem::replace(&mut self.elastic_mut().buffer.get_mut(place).first_request, NONE);
        while node != NONE {
            let Attachment { request: id, next } = self.attachments[node as usize];
            self.free_attachment_of(node);
            if failed {
                self.refuse(id);
            }
            self.let_go(id, driver);
            node = next;
        }
    }

    /// Reduces the number of things that request `id` waits for by one; acknowledges it at zero.
    fn let_go<D: Driver<M>>(&mut self, id: u32, driver: &mut D) {
        let request = &mut self.requests[id as usize];
        request.remaining -= 1;
        if request.remaining == 0 {
            let acknowledgement = self.acknowledgement(id);
            self.acknowledge(id, &acknowledgement, driver);
        }
    }

    /// A flush drains memory that does not survive a loss of power, and everything must reach the members before they are
    /// flushed. Returns false if the flush must wait.
    pub(super) fn elastic_flush_for<D: Driver<M>>(&mut self, id: u32, driver: &mut D) -> bool {
        let drops = self.has_bug(Bug::FlushDropped);
        let Some(log) = &mut self.elastic else { return true };
        if self.requests[id as usize].drained || !(log.is_volatile || self.members.volatile_cache) {
            return true;
        }
        if log.is_volatile && !drops {
            // Members have a copy of live chunks until these are written, and written one by one they would take more room
            // than they free.
            let hosts = log.hosts();
            log.buffer.queues[..hosts].iter_mut().for_each(|queue| queue.due = queue.count);
            while self.append_one(driver) {}
            let log = self.elastic();
            if log.buffer.queues[..hosts].iter().any(|queue| queue.count > 0) {
                if !log.is_full {
                    return false;
                }
                self.refuse(id);
            }
        }
        let is_append = |array: &Self, plan: u32| {
            let plan = &array.plans[plan as usize];
            plan.purpose == Purpose::Append && plan.is_under_way
        };
        if !self.wait_for_all(id, is_append) {
            return false;
        }
        self.requests[id as usize].drained = true;
        true
    }

    /// Handles the loss of a member.
    pub(super) fn elastic_lost(&mut self, member: u16) {
        self.stop_rebuild(member);
        if let Some(durable) = self.elastic.as_mut().and_then(|log| log.durable.as_mut()) {
            durable.is_news = true;
            durable.sync.gone |= 1 << member;
        }
        self.review_groups();
    }

    /// Handles the loss or return of a member. Segments of groups that can hold no stripes are not opened until they can
    /// again.
    pub(crate) fn review_groups(&mut self) {
        if self.elastic.is_none() {
            return;
        }
        let groups = self.geometry.groups;
        for group in 0..groups {
            let takes_stripes = self.data_of_group(group) > 0;
            let log = self.elastic_mut();
            match (takes_stripes, log.segments.is_retired(group)) {
                (false, false) => log.segments.retire(group, groups),
                (true, true) => {
                    log.segments.readmit(group, groups);
                    log.is_full = false;
                }
                _ => {}
            }
        }
    }

    /// Makes all chunks in controller memory due.
    pub(super) fn drain_elastic(&mut self) {
        let Some(log) = &mut self.elastic else { return };
        for queue in &mut log.buffer.queues {
            queue.due = queue.count;
        }
    }

    /// Treats the first `chunks` chunks as written, in consecutive full stripes, in the layout of the coldest and
    /// read-intensive chunks.
    pub(super) fn elastic_assume_written(&mut self, chunks: u64) {
        let Some(log) = &mut self.elastic else { return };
        let (data, parity) = (u64::from(self.geometry.data), u64::from(self.geometry.parity()));
        let end = chunks.min(log.capacity);
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
