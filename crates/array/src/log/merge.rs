//! Writes of parts of chunks that are in the log.

use stripewise_core::ids::{NONE, PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::Class;
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Attachment, Plan, Purpose};

use crate::job::{BuildResult, Cx, Job};
use crate::log::job::Merge;
use crate::log::write::Written;
use crate::log::{Location, Log};

impl Log {
    /// Handles a write of part of a chunk in the log: reads the chunk first (paper 001, section IV-C, partial writes).
    pub(crate) fn merge_chunk<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        chunk: u64,
        slot: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Written {
        if !exec.has_free_plan() {
            return Written::Waits;
        }
        let stream = self.classify(id, chunk, exec);
        self.buffer.reserve(1);
        let plan = self.read_plan(chunk, slot, Merge { stream: stream as u8 }, exec);
        self.merges.push((chunk, plan));
        self.attach_writer(plan, id, exec);
        exec.begin(plan, self, driver);
        Written::Taken
    }

    /// Handles a write of a chunk that an earlier write is reading: it is applied to the result of the earlier write, so that
    /// the writes keep their order.
    pub(crate) fn join_merge<M: Memory>(
        &mut self,
        id: RequestId,
        plan: PlanId,
        exec: &mut Executor<M>,
    ) -> Written {
        if !exec.has_attachments(if self.is_durable(exec) { 2 } else { 1 }) {
            return Written::Waits;
        }
        let chunk = exec.request(id).cursor.remaining().0;
        let stream = self.classify(id, chunk, exec) as u8;
        self.jobs[plan].job = Merge { stream }.into();
        self.attach_writer(plan, id, exec);
        Written::Taken
    }

    /// Lets request `id` wait for `plan`, and reserves the attachment with which it will wait for the chunk to be durable.
    fn attach_writer<M: Memory>(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>) {
        exec.attach(plan, id);
        if self.is_durable(exec) {
            exec.attach(plan, id);
        }
    }

    /// The old content of a partly written chunk was read: applies the new sectors, one write after the other. All writes of
    /// the chunk join the first, so the content that was read is still current, even if collection has moved the chunk
    /// meanwhile; if the chunk was trimmed, the sectors are applied to zeros. A chunk that cannot be read can only be
    /// overwritten as a whole.
    fn merged<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        stream: usize,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let Plan { wanted, is_abandoned, .. } = *exec.plan(plan);
        let column = wanted.trailing_zeros();
        let chunk = self.column(plan, column).chunk;
        self.unlock_segment(plan, Purpose::Merge, exec);
        self.buffer.unreserve(1);
        self.merges.retain(|&(_, merge)| merge != plan);
        let mut node = exec.reverse_requests(plan);
        while node != NONE {
            let Attachment { request: id, next: second } = exec.attachments()[node];
            if self.is_durable(exec) {
                let next = exec.attachments()[second].next;
                exec.attachments_mut().set_next(node, next);
                exec.attachments_mut().release(second);
                exec.request_mut(id).remaining -= 1;
            }
            node = exec.attachments()[node].next;
            let sectors = exec.sectors_of_page(id, chunk);
            match self.location(chunk) {
                Location::Mapped(_) if is_abandoned && sectors != exec.whole_page() => {
                    exec.request_mut(id).failed = true;
                }
                Location::Mapped(_) if !is_abandoned => {
                    let page = self.take_content(plan, column, exec);
                    exec.load_host(page, chunk, id, sectors);
                    self.leave(chunk, exec);
                    let place = self.buffer.take(chunk, page);
                    self.enter(id, chunk, place, stream, exec, driver);
                }
                Location::Lost if sectors != exec.whole_page() => exec.request_mut(id).failed = true,
                Location::Mapped(_) | Location::Lost | Location::Buffered(_) | Location::Unmapped => {
                    self.put(id, chunk, sectors, stream, exec, driver)
                }
            }
        }
    }
}

impl Job<Log> for Merge {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_log_read(cx.plan, Class::PreRead, cx.exec, driver)
    }

    fn combine<M: Memory>(self, cx: Cx<'_, Log, M>) {
        cx.placement.decode_stripe(cx.plan, cx.exec);
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, driver: &mut impl Driver<M>) {
        cx.placement.merged(cx.plan, self.stream.into(), cx.exec, driver);
    }
}
