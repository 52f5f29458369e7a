//! Offers queued operations to the members.

use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_core::operation::OperationKind;

use crate::driver::{Admission, Driver};
use crate::{Executor, Placement};

impl<M: Memory> Executor<M> {
    /// Offers the queued operations of one level to `member`, until it takes no more.
    pub fn dispatch_level<P: Placement<M>, D: Driver<M>>(
        &mut self,
        member: MemberNo,
        level: usize,
        placement: &mut P,
        driver: &mut D,
    ) {
        let (mut before, mut id) = self.queues.next_offer(member, level, &mut self.slots);
        let mut refused = 0;
        let mut closed = false;
        while !id.is_none() && !closed {
            let slot = &mut self.slots[id.index()];
            let next = slot.link.next;
            if slot.is_held {
                (before, id) = (id, next);
                continue;
            }
            let admission = match slot.refused_for {
                0 => driver.admits(&slot.operation),
                reason if driver.still_refuses(&slot.operation, reason) => Admission::Refused(reason),
                _ => driver.admits(&slot.operation),
            };
            match admission {
                Admission::Admitted => {
                    slot.gc_ns = driver.gc_clock(member) - slot.gc_ns;
                    slot.started_at = self.now;
                    let operation = slot.operation;
                    if self.reads.observes {
                        let is_read = operation.kind == OperationKind::Read;
                        self.reads.observed.started(self.now, member, is_read);
                    }
                    self.queues.take(member, level, before, id, &mut self.slots);
                    let page = self.buffer_of(id, placement);
                    driver.start(id, &operation, page, &mut self.memory);
                }
                Admission::Refused(reason) => {
                    slot.refused_for = reason;
                    refused += 1;
                    closed = refused == self.scheme.dispatch.lookahead;
                    before = id;
                }
                Admission::Closed => {
                    // Where reads and writes share a list, one kind does not close the list for the other.
                    closed = !self.queues.is_mixed();
                    before = id;
                }
            }
            id = next;
        }
        if !before.is_none() {
            self.queues.refused(member, level, before, closed);
        }
    }
}
