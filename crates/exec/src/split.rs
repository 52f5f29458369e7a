//! Taking plans for requests, and completing requests that are split.

use stripewise_core::geometry::RowPiece;
use stripewise_core::ids::{MemberNo, NONE, PlanId, RequestId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_core::request::RequestKind;

use crate::driver::{Acknowledgement, Driver};
use crate::plan::{NEVER, Path, Purpose};
use crate::{Executor, Placement, RequestSlot};

impl<M: Memory> Executor<M> {
    /// Takes a plan from the arena; there must be one.
    pub fn take_plan(&mut self, row: RowNo, purpose: Purpose) -> PlanId {
        let id = self.free_plan;
        debug_assert!(!id.is_none(), "a plan is taken, and none of {} is free", self.plans.count());
        let place = self.geometry.place(row);
        let plan = &mut self.plans[id];
        self.free_plan = plan.next;
        plan.take(row, place, purpose);
        if self.reads.is_active {
            plan.path = Path { life: plan.path.life.wrapping_add(1), ..Path::default() };
        }
        id
    }

    /// Lets request `id` wait for `plan`: with the plan's own attachment if it is the first, else with one of those for merged
    /// requests, of which one must be free.
    pub fn attach(&mut self, plan: PlanId, id: RequestId) {
        debug_assert!(self.requests[id].remaining > 0, "request {id} is to wait, and is over");
        debug_assert!(
            self.plans[plan].is_under_way,
            "request {id} is to wait for plan {plan}, which is free"
        );
        let first = self.plans[plan].first_request;
        let node = if first == NONE {
            self.attachments.take_of_plan(plan.number(), id);
            plan.number()
        } else {
            self.attachments.take(id, first)
        };
        let request = &mut self.requests[id];
        request.remaining += 1;
        let slot = &mut self.plans[plan];
        slot.first_request = node;
        // A flush also waits for plans that began without it.
        if first == NONE && slot.times.begun_at == NEVER {
            slot.request = request.number;
        }
    }

    /// Whether `count` attachments for merged requests are free.
    pub fn has_attachments(&self, count: usize) -> bool {
        self.attachments.has(count)
    }

    /// Lets the flush `id` wait for every plan for which `is_meant` returns true. Returns false if attachments are lacking;
    /// then the flush waits for no plan more than before.
    pub fn wait_for_all(&mut self, id: RequestId, is_meant: impl Fn(&Self, PlanId) -> bool) -> bool {
        let plans = self.plans.ids();
        let is_new = |array: &Self, plan: PlanId| is_meant(array, plan) && !array.is_attached(plan, id);
        let is_shared = |&plan: &PlanId| self.plans[plan].first_request != NONE && is_new(self, plan);
        if !self.has_attachments(plans.clone().filter(is_shared).count()) {
            return false;
        }
        for plan in plans {
            if is_new(self, plan) {
                self.attach(plan, id);
            }
        }
        true
    }

    /// Whether request `id` waits for `plan`.
    pub fn is_attached(&self, plan: PlanId, id: RequestId) -> bool {
        let mut node = self.plans[plan].first_request;
        while node != NONE && self.attachments[node].request != id {
            node = self.attachments[node].next;
        }
        node != NONE
    }

    /// The sectors of the array's `page` that request `id` covers.
    pub fn sectors_of_page(&self, id: RequestId, page: u64) -> u64 {
        let RequestSlot { host, pages: (first, last), .. } = &self.requests[id];
        let sector = u64::from(stripewise_core::request::SECTOR_BYTES);
        let mut sectors = self.whole_page;
        if page == *first {
            sectors &= u64::MAX << (self.bytes_into_page(host.offset) / sector);
        }
        let tail = self.bytes_into_page(host.offset + u64::from(host.bytes));
        if page == *last && tail != 0 {
            sectors &= u64::MAX >> (64 - tail.div_ceil(sector));
        }
        sectors
    }
}

impl<M: Memory> Executor<M> {
    /// The request is wholly split: it ends with its last plan, or now if it needs none.
    pub fn split_done<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: RequestId,
        placement: &mut P,
        driver: &mut D,
    ) {
        let slot = &mut self.requests[id];
        debug_assert!(slot.remaining > 0, "request {id} is split, and is over");
        slot.remaining -= 1;
        if slot.remaining > 0 {
            return;
        }
        let from_memory = slot.host.bytes > 0 && placement.has_memory();
        let acknowledgement = self.acknowledgement(id, placement);
        if from_memory {
            self.acknowledge_from_memory(id, acknowledgement, placement, driver);
        } else {
            self.acknowledge(id, &acknowledgement, placement, driver);
        }
    }

    /// Completes request `id` in controller memory, after the memory's latency.
    pub(crate) fn acknowledge_from_memory<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: RequestId,
        mut acknowledgement: Acknowledgement,
        placement: &mut P,
        driver: &mut D,
    ) {
        let latency = placement.latency_of(id, self);
        acknowledgement.at += latency;
        acknowledgement.buffer_ns += latency;
        if latency == 0 {
            return self.acknowledge(id, &acknowledgement, placement, driver);
        }
        // Most requests have the same latency.
        let at = self.buffered.iter().rposition(|(_, other)| other.at <= acknowledgement.at);
        self.buffered.insert(at.map_or(0, |at| at + 1), (id, acknowledgement));
        driver.set_timer(acknowledgement.at);
    }

    /// Flushes every member for request `id`; returns false if no plan is free.
    pub fn flush_members<P: Placement<M>, D: Driver<M>>(
        &mut self,
        id: RequestId,
        placement: &mut P,
        driver: &mut D,
    ) -> bool {
        if !self.has_free_plan() {
            return false;
        }
        let request = &mut self.requests[id];
        let kind = request.host.kind;
        assert!(kind == RequestKind::Flush, "request {id} flushes the members, and is a {kind:?}");
        assert!(!request.flushed, "request {id} flushes the members twice");
        request.flushed = true;
        let plan = self.take_plan(RowNo::new(0), Purpose::Flush);
        self.attach(plan, id);
        self.begin(plan, placement, driver);
        true
    }

    /// Whether a flush that has drained controller memory must flush the members.
    pub fn wants_members_flushed<P: Placement<M>>(&self, id: RequestId, placement: &P) -> bool {
        let slot = &self.requests[id];
        slot.remaining == 1 && !slot.flushed && placement.flushes_members(self)
    }

    /// Builds a step that flushes the members for which `is_meant` returns true.
    pub fn build_flush_of(&mut self, plan: PlanId, is_meant: impl Fn(MemberNo) -> bool) {
        self.push_step(plan, []);
        for member in MemberNo::first(self.members.count) {
            if !self.failed[member.index()] && is_meant(member) {
                let (kind, class) = (OperationKind::Flush, Class::Metadata);
                self.add_operation(plan, Operation { member, kind, class, ..Operation::default() });
            }
        }
        self.plans[plan].steps.acknowledge_here();
    }
}

/// The columns that a piece covers, as a mask.
#[inline]
pub fn mask_of(piece: &RowPiece) -> u64 {
    (u64::MAX >> (63 - piece.last)) & (u64::MAX << piece.first)
}
