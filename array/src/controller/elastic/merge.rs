//! Writes of parts of chunks that are in the log.

use super::super::Array;
use super::Written;
use crate::driver::Driver;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::placement::elastic::Location;
use crate::plan::{Plan, Purpose};

impl<M: Memory> Array<M> {
    /// Handles a write of part of a chunk in the log: reads the chunk first (paper 001, section IV-C, partial writes).
    pub(super) fn merge_chunk<D: Driver<M>>(
        &mut self,
        id: u32,
        chunk: u64,
        slot: u64,
        driver: &mut D,
    ) -> Written {
        if self.free_plan == NONE {
            return Written::Waits;
        }
        let stream = self.classify(id, chunk);
        self.elastic_mut().buffer.reserve(1);
        let plan = self.read_plan(chunk, slot, Purpose::Merge);
        self.elastic_mut().merges.push((chunk, plan));
        self.plans[plan as usize].stream = stream as u8;
        self.attach_writer(plan, id);
        self.begin(plan, driver);
        Written::Taken
    }

    /// Handles a write of a chunk that an earlier write is reading: it is applied to the result of the earlier write, so that
    /// the writes keep their order.
    pub(super) fn join_merge(&mut self, id: u32, plan: u32) -> Written {
        if !self.has_attachments(if self.is_durable() { 2 } else { 1 }) {
            return Written::Waits;
        }
        let chunk = self.requests[id as usize].cursor.remaining().0;
        self.plans[plan as usize].stream = self.classify(id, chunk) as u8;
        self.attach_writer(plan, id);
        Written::Taken
    }

    /// Lets request `id` wait for `plan`, and reserves the attachment with which it will wait for the chunk to be durable.
    fn attach_writer(&mut self, plan: u32, id: u32) {
        self.attach(plan, id);
        if self.is_durable() {
            self.attach(plan, id);
        }
    }

    /// The old content of a partly written chunk was read: applies the new sectors, one write after the other. All writes of
    /// the chunk join the first, so the content that was read is still current, even if collection has moved the chunk
    /// meanwhile; if the chunk was trimmed, the sectors are applied to zeros. A chunk that cannot be read can only be
    /// overwritten as a whole.
    pub(in super::super) fn merged<D: Driver<M>>(&mut self, plan: u32, driver: &mut D) {
        let Plan { wanted, gave_up, stream, .. } = self.plans[plan as usize];
        let stream = usize::from(stream);
        let column = wanted.trailing_zeros();
        let chunk = self.elastic().column(plan, column).chunk;
        self.log_read(plan);
        let log = self.elastic_mut();
        log.buffer.unreserve(1);
        log.merges.retain(|&(_, merge)| merge != plan);
        let mut node = self.turn_attachments(plan);
        while node != NONE {
            let id = self.attachments[node as usize].request;
            if self.is_durable() {
                let second = self.attachments[node as usize].next;
                self.attachments[node as usize].next = self.attachments[second as usize].next;
                self.free_attachment_of(second);
                self.requests[id as usize].remaining -= 1;
            }
            node = self.attachments[node as usize].next;
            let sectors = self.sectors_of_page(id, chunk);
            match self.elastic().location(chunk) {
                Location::Mapped(_) if gave_up && sectors != self.whole_page => {
                    self.requests[id as usize].failed = true;
                }
                Location::Mapped(_) if !gave_up => {
                    let page = self.take_content(plan, column);
                    self.load_host(page, chunk, id, sectors);
                    self.leave(chunk);
                    let place = self.elastic_mut().buffer.take(chunk, page);
                    self.enter(id, chunk, place, stream, driver);
                }
                Location::Lost if sectors != self.whole_page => self.requests[id as usize].failed = true,
                Location::Mapped(_) | Location::Lost | Location::Buffered(_) | Location::Unmapped => {
                    self.put(id, chunk, sectors, stream, driver)
                }
            }
        }
    }

    /// Reverses the list of requests that wait for `plan`, so that it begins with the first, and returns its head.
    fn turn_attachments(&mut self, plan: u32) -> u32 {
        let mut node = std::mem::replace(&mut self.plans[plan as usize].first_request, NONE);
        while node != NONE {
            let first = std::mem::replace(&mut self.plans[plan as usize].first_request, node);
            node = std::mem::replace(&mut self.attachments[node as usize].next, first);
        }
        self.plans[plan as usize].first_request
    }
}
