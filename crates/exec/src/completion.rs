//! Acknowledging host requests.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::{NONE, PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::request::RequestKind;

use crate::driver::{Acknowledgement, Driver};
use crate::internal::Internal;
use crate::plan::{Attachment, Plan, Purpose, Times};
use crate::{Executor, Placement};

impl<M: Memory> Executor<M> {
    /// Completes the part of `plan` that hosts wait for: each of its requests waits for one thing less. While the plan
    /// `continues` to write parity that follows data, flushes keep waiting: the data that they cover must tolerate the loss of a
    /// member.
    pub(crate) fn acknowledge_plan<P: Placement<M>, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        continues: bool,
        placement: &mut P,
        driver: &mut D,
    ) {
        let steps = &self.plans[plan].steps;
        if steps.current <= steps.ack_after {
            placement.written(plan, self);
        }
        let mut node = std::mem::replace(&mut self.plans[plan].first_request, NONE);
        while node != NONE {
            let attachment = self.attachments[node];
            if continues && self.requests[attachment.request].host.kind == RequestKind::Flush {
                node = self.attach_node(plan, node);
                continue;
            }
            self.attachments.release(node);
            node = attachment.next;
            let id = attachment.request;
            let too_early = self.has_bug(Bug::AcknowledgeFirstRow);
            let flushes = placement.flushes_members(self);
            if self.plans[plan].purpose == Purpose::Read && !self.requests[id].failed {
                placement.store(plan, id, self);
            }
            let request = &mut self.requests[id];
            request.remaining -= 1;
            let is_last = request.remaining == 0;
            if is_last && request.host.kind == RequestKind::Flush && !request.flushed && flushes {
                // The content that the flush had to drain first is on the members: now flush the members.
                request.remaining = 1;
                self.pending.push_front(id);
                continue;
            }
            let Plan { purpose, ends_in_memory, times: Times { begun_at, .. }, .. } = self.plans[plan];
            let drains = request.host.kind == RequestKind::Flush && purpose != Purpose::Flush;
            if is_last && (drains || request.host.arrival > begun_at) {
                // The request may have arrived long after the plan began: the plan's times are not those of the request.
                let acknowledgement = self.acknowledgement(id, placement);
                self.acknowledge_from(ends_in_memory, id, acknowledgement, placement, driver);
            } else if is_last {
                let slot = &self.plans[plan];
                let acknowledgement = Acknowledgement {
                    pending_ns: slot.times.begun_at - request.host.arrival + slot.times.rewait_ns,
                    pre_read_ns: slot.times.pre_read.all_ns,
                    pre_read_bus_ns: slot.times.pre_read.bus_ns,
                    pre_read_cell_ns: slot.times.pre_read.cell_ns,
                    parity_ns: slot.times.parity_ns,
                    queue_ns: slot.times.last.queue_ns,
                    gc_wait_ns: slot.times.last.timing.gc_wait_ns,
                    bus_ns: slot.times.last.timing.bus_ns,
                    cell_ns: slot.times.last.timing.cell_ns,
                    ..self.acknowledgement(id, placement)
                };
                self.acknowledge_from(ends_in_memory, id, acknowledgement, placement, driver);
            } else if too_early && request.host.kind == RequestKind::Write {
                self.acknowledge_early(id, placement, driver);
            }
        }
    }

    /// Acknowledges request `id`, whose last plan ended in controller memory or on the members.
    fn acknowledge_from<P: Placement<M>, D: Driver<M>>(
        &mut self,
        is_memory: bool,
        id: RequestId,
        acknowledgement: Acknowledgement,
        placement: &mut P,
        driver: &mut D,
    ) {
        if is_memory {
            self.acknowledge_from_memory(id, acknowledgement, placement, driver);
        } else {
            self.acknowledge(id, &acknowledgement, placement, driver);
        }
    }

    /// Marks those requests of `plan` as failed that cover a column of `mask`, and flushes that wait for the plan.
    pub fn fail_requests<P: Placement<M>>(&mut self, plan: PlanId, mask: u64, placement: &mut P) {
        if self.has_bug(Bug::FailureHidden) {
            return;
        }
        let Plan { wanted, dirty, first_request: mut node, .. } = self.plans[plan];
        let mask = mask & (wanted | dirty);
        if mask == 0 {
            return;
        }
        while node != NONE {
            let Attachment { request: id, next } = self.attachments[node];
            let is_flush = self.requests[id].host.kind == RequestKind::Flush;
            if is_flush || placement.concerns(id, plan, mask, self) {
                self.requests[id].failed = true;
            }
            node = next;
        }
    }

    /// Whether request `id` covers the array's `page`, in whole or in part.
    pub fn means(&self, id: RequestId, page: u64) -> bool {
        let (first, last) = self.requests[id].pages;
        (first..=last).contains(&page)
    }

    /// An acknowledgement of request `id` at the current time, which accounts only for the waiting time.
    pub fn acknowledgement<P: Placement<M>>(&self, id: RequestId, placement: &P) -> Acknowledgement {
        let request = &self.requests[id];
        Acknowledgement {
            tag: request.host.tag,
            failed: request.failed
                || (request.host.kind == RequestKind::Flush && self.has_lost_data(placement)),
            no_space: request.no_space,
            arrival: request.host.arrival,
            at: self.now,
            pending_ns: self.now - request.host.arrival,
            ..Acknowledgement::default()
        }
    }

    /// Whether more members are lost than parity tolerates, or acknowledged content is lost, so that nothing can be called
    /// durable.
    pub fn has_lost_data<P: Placement<M>>(&self, placement: &P) -> bool {
        placement.has_lost_in_memory() || self.any_failed && self.has_lost_group()
    }

    /// Whether more members of a group are lost than parity tolerates. Kept apart, so that acknowledgements of intact arrays
    /// stay small.
    #[cold]
    fn has_lost_group(&self) -> bool {
        (0..self.geometry.groups).any(|group| self.failed_of_group(group) > self.geometry.tolerance())
    }

    /// Number of members of `group` that are lost.
    pub fn failed_of_group(&self, group: u32) -> u32 {
        self.geometry.group(group).filter(|&member| self.failed[member.index()]).count() as u32
    }

    /// Reports completion to the host, and frees the request's slot.
    pub fn acknowledge<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: RequestId,
        acknowledgement: &Acknowledgement,
        placement: &mut P,
        driver: &mut D,
    ) {
        assert!(
            self.requests[id].remaining == 0,
            "request {} is acknowledged, and waits for {} plans",
            id.number(),
            self.requests[id].remaining
        );
        debug_assert!(
            self.payloads[id.index()].is_some() || self.has_bug(Bug::AcknowledgeFirstRow),
            "request {id} is acknowledged twice"
        );
        debug_assert_eq!(
            acknowledgement.at - acknowledgement.arrival,
            acknowledgement.pending_ns
                + acknowledgement.pre_read_ns
                + acknowledgement.parity_ns
                + acknowledgement.queue_ns
                + acknowledgement.gc_wait_ns
                + acknowledgement.bus_ns
                + acknowledgement.cell_ns
                + acknowledgement.buffer_ns,
            "the placement of a response time add up to it: {acknowledgement:?}"
        );
        self.under_way -= 1;
        self.last_active = self.now;
        let is_own = id == self.internal_id();
        if is_own {
            self.internal = Internal::Over { failed: acknowledgement.failed };
        } else {
            placement.ended(id, acknowledgement.failed, self);
            self.requests.release(id);
            if let Some(fifo) = &mut self.sync_fifo {
                fifo.ended(id);
            }
        }
        if self.under_way == 0
            && let Some(coordination) = &mut self.coordination
        {
            coordination.rests(self.now, driver);
        }
        if is_own {
            return;
        }
        if let Some(payload) = self.payloads[id.index()].take() {
            driver.acknowledge(acknowledgement, payload);
        }
    }

    /// Part of a planted bug: reports success to the host too early; the real completion is then not reported.
    fn acknowledge_early<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: RequestId,
        placement: &mut P,
        driver: &mut D,
    ) {
        if let Some(payload) = self.payloads[id.index()].take() {
            driver.acknowledge(&self.acknowledgement(id, placement), payload);
        }
    }
}
