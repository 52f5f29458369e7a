//! The outside events of an array, always with the time: a request arrived, an operation ended, a member failed. Each makes
//! all work happen that has become possible.

use stripewise_base::Nanos;
use stripewise_core::geometry::RowCursor;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, Outcome, Timing};
use stripewise_core::request::{HostRequest, RequestKind, SECTOR_BYTES, SubmitError};
use stripewise_format::FailReason;
use stripewise_policy::dispatch::LEVELS;

use crate::driver::Driver;
use crate::plan::{OVER, Plan, Race, Step};
use crate::{Executor, Placement, RequestSlot};

impl<M: Memory> Executor<M> {
    /// Whether the array accepts `host`.
    ///
    /// # Errors
    /// The defect of the request.
    pub fn check<P: Placement<M>>(&self, host: &HostRequest, placement: &P) -> Result<(), SubmitError> {
        if host.kind == RequestKind::Flush {
            return Ok(());
        }
        if self.read_only && host.kind != RequestKind::Read {
            return Err(SubmitError::ReadOnly);
        }
        if host.kind != RequestKind::Read && placement.refuses_changes() {
            return Err(SubmitError::EpochOver);
        }
        if host.kind == RequestKind::Trim && self.scheme.has_overlapping_updates() {
            return Err(SubmitError::Overlapping);
        }
        let sector = u64::from(SECTOR_BYTES);
        let whole = host.offset.is_multiple_of(sector) && u64::from(host.bytes).is_multiple_of(sector);
        if host.bytes == 0 || (M::CARRIES_DATA && !whole) {
            return Err(SubmitError::Shape);
        }
        match host.offset.checked_add(u64::from(host.bytes)) {
            Some(end) if end <= self.capacity => Ok(()),
            _ => Err(SubmitError::OutOfRange { capacity: self.capacity }),
        }
    }

    /// Accepts a host request with its payload: bytes to write, or room for bytes to read.
    ///
    /// # Errors
    /// Busy if the queue of requests is full; otherwise the defect of the request. The payload is returned.
    pub fn submit<P: Placement<M>, D: Driver<M>>(
        &mut self,
        now: Nanos,
        host: HostRequest,
        payload: M::Host,
        placement: &mut P,
        driver: &mut D,
    ) -> Result<(), (SubmitError, M::Host)> {
        self.advance(now);
        debug_assert!(
            host.arrival <= now,
            "a request is submitted at {now}, and arrives at {}",
            host.arrival
        );
        if let Err(error) = self.check(&host, placement) {
            return Err((error, payload));
        }
        let Some(id) = self.requests.first_free() else {
            return Err((SubmitError::Busy, payload));
        };
        let is_flush = host.kind == RequestKind::Flush;
        // A flush covers the whole array, regardless of its range.
        let host = if is_flush { HostRequest { offset: 0, bytes: 0, ..host } } else { host };
        let end = host.offset + u64::from(host.bytes);
        let pages = if is_flush { (0, 0) } else { (self.page_of(host.offset), self.page_of(end - 1)) };
        let cursor =
            if is_flush { RowCursor::default() } else { RowCursor::new(pages.0, pages.1 - pages.0 + 1) };
        let in_part = self.bytes_into_page(host.offset) | self.bytes_into_page(end) != 0 && !self.rounds_up();
        self.last_number = self.last_number.wrapping_add(1).max(1);
        let fresh = RequestSlot { remaining: 1, number: self.last_number, ..RequestSlot::default() };
        self.requests.take(RequestSlot { host, cursor, pages, in_part, ..fresh });
        self.payloads[id.index()] = Some(payload);
        self.under_way += 1;
        self.last_active = now;
        placement.arrived(id, self);
        self.take_request(id, placement, driver);
        self.poll(placement, driver);
        Ok(())
    }

    /// An operation ended.
    #[inline]
    pub fn completed<P: Placement<M>, D: Driver<M>>(
        &mut self,
        now: Nanos,
        id: OperationId,
        outcome: Outcome,
        timing: Timing,
        placement: &mut P,
        driver: &mut D,
    ) {
        self.advance(now);
        if self.slots[id.index()].started_at > now {
            self.refuse_end(id);
        }
        self.operation_over(id, outcome, timing, placement, driver);
        self.poll(placement, driver);
    }

    #[cold]
    fn refuse_end(&self, id: OperationId) -> ! {
        let is_over = self.slots[id.index()].started_at == OVER;
        let why = if is_over { "is over" } else { "has not started" };
        panic!("operation {id} ends at {}, and {why}", self.now)
    }

    /// The parity computation of `plan` ended.
    #[inline]
    pub fn computed<P: Placement<M>, D: Driver<M>>(
        &mut self,
        now: Nanos,
        plan: PlanId,
        placement: &mut P,
        driver: &mut D,
    ) {
        self.advance(now);
        let Plan { is_under_way, path, steps, .. } = &self.plans[plan];
        let computes = match path.race {
            Race::Computing | Race::Decided => steps.outstanding > 0,
            Race::None | Race::Armed | Race::Running => matches!(steps.now(), Some(Step::Compute { .. })),
        };
        assert!(*is_under_way, "a computation of plan {} ends, and the plan is free", plan.number());
        assert!(
            computes,
            "a computation of plan {} ends in step {}, and the step has none",
            plan.number(),
            steps.current
        );
        self.computation_over(plan, placement, driver);
        self.poll(placement, driver);
    }

    /// A timer that was set has expired.
    pub fn timer<P: Placement<M>, D: Driver<M>>(&mut self, now: Nanos, placement: &mut P, driver: &mut D) {
        self.advance(now);
        while let Some(&(id, acknowledgement)) = self.buffered.front().filter(|(_, ack)| ack.at <= now) {
            self.buffered.pop_front();
            self.acknowledge(id, &acknowledgement, placement, driver);
        }
        placement.timer(self, driver);
        let activity = self.activity();
        if let Some(coordination) = &mut self.coordination {
            coordination.timer(now, activity, driver);
        }
        self.poll(placement, driver);
    }

    /// A member is lost for `reason`: operations queued for it end. Operations in flight on it must still be reported.
    pub fn member_failed<P: Placement<M>, D: Driver<M>>(
        &mut self,
        now: Nanos,
        member: MemberNo,
        reason: FailReason,
        placement: &mut P,
        driver: &mut D,
    ) {
        self.advance(now);
        self.fail(member, reason, placement, driver);
        self.poll(placement, driver);
    }

    /// A member has not answered for some time, or answers again.
    pub fn member_slow<P: Placement<M>, D: Driver<M>>(
        &mut self,
        now: Nanos,
        member: MemberNo,
        is_slow: bool,
        placement: &mut P,
        driver: &mut D,
    ) {
        self.advance(now);
        let is_slow = is_slow && !self.failed[member.index()];
        self.slow.set(member, is_slow);
        if is_slow {
            for plan in self.plans.ids() {
                if self.waits_for(plan, member, placement) {
                    self.note_returned(plan);
                    self.begin_second(plan, placement, driver);
                }
            }
            self.reads.is_active = true;
        }
        self.poll(placement, driver);
    }

    /// A member without permission needs to collect, or a member with permission finished a block.
    pub fn gc_event<D: Driver<M>>(&mut self, now: Nanos, member: MemberNo, driver: &mut D) {
        self.advance(now);
        let activity = self.activity();
        if let Some(coordination) = &mut self.coordination {
            coordination.gc_event(now, member, activity, driver);
        }
    }

    /// Makes due what waits in controller memory to gather more: at the end of a run.
    pub fn drain<P: Placement<M>, D: Driver<M>>(&mut self, now: Nanos, placement: &mut P, driver: &mut D) {
        self.advance(now);
        placement.drain(self);
        self.poll(placement, driver);
    }

    /// Offers queued operations to every member that may accept one.
    #[inline]
    pub fn dispatch<P: Placement<M>, D: Driver<M>>(&mut self, placement: &mut P, driver: &mut D) {
        while let Some(member) = self.queues.take_ready() {
            for level in 0..LEVELS {
                if self.queues.has_offer(member, level) {
                    self.dispatch_level(member, level, placement, driver);
                }
            }
        }
    }
}
