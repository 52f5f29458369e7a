//! The array as a controller among others.

use stripewise_base::Nanos;
use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::loads::Loads;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, Outcome, Timing};
use stripewise_core::request::{HostRequest, SubmitError};
use stripewise_exec::Controller;
use stripewise_exec::driver::Driver;
use stripewise_format::FailReason;
use stripewise_policy::coordination::Ahead;
use stripewise_scheme::Scheme;

use crate::array::{Array, each};

impl<M: Memory> Controller<M> for Array<M> {
    #[inline]
    fn submit<D: Driver<M>>(
        &mut self,
        now: Nanos,
        host: HostRequest,
        payload: M::Host,
        driver: &mut D,
    ) -> Result<(), (SubmitError, M::Host)> {
        each!(mut self, array => array.submit(now, host, payload, driver))
    }

    #[inline]
    fn completed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        id: OperationId,
        outcome: Outcome,
        timing: Timing,
        driver: &mut D,
    ) {
        each!(mut self, array => array.completed(now, id, outcome, timing, driver));
    }

    #[inline]
    fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: PlanId, driver: &mut D) {
        each!(mut self, array => array.computed(now, plan, driver));
    }

    #[inline]
    fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        each!(mut self, array => array.timer(now, driver));
    }

    #[inline]
    fn dispatch<D: Driver<M>>(&mut self, driver: &mut D) {
        each!(mut self, array => array.dispatch(driver));
    }

    #[inline]
    fn member_ready(&mut self, member: MemberNo) {
        each!(mut self, array => array.member_ready(member));
    }

    #[inline]
    fn member_failed<D: Driver<M>>(
        &mut self,
        now: Nanos,
        member: MemberNo,
        reason: FailReason,
        driver: &mut D,
    ) {
        each!(mut self, array => array.member_failed(now, member, reason, driver));
    }

    #[inline]
    fn member_slow<D: Driver<M>>(&mut self, now: Nanos, member: MemberNo, is_slow: bool, driver: &mut D) {
        each!(mut self, array => array.member_slow(now, member, is_slow, driver));
    }

    #[inline]
    fn gc_event<D: Driver<M>>(&mut self, now: Nanos, member: MemberNo, driver: &mut D) {
        each!(mut self, array => array.gc_event(now, member, driver));
    }

    #[inline]
    fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        each!(mut self, array => array.drain(now, driver));
    }

    #[inline]
    fn gc_control(&self) -> Option<Ahead> {
        each!(self, array => array.gc_control())
    }

    #[inline]
    fn queued_at(&self, id: OperationId) -> Nanos {
        each!(self, array => array.queued_at(id))
    }

    #[inline]
    fn loads(&self) -> &Loads {
        each!(self, array => array.loads())
    }

    #[inline]
    fn memory(&mut self) -> &mut M {
        each!(mut self, array => array.memory())
    }

    #[inline]
    fn scheme(&self) -> &Scheme {
        each!(self, array => array.scheme())
    }

    #[inline]
    fn members(&self) -> u32 {
        each!(self, array => array.members())
    }

    #[inline]
    fn is_failed(&self, member: MemberNo) -> bool {
        each!(self, array => array.is_failed(member))
    }

    #[inline]
    fn homes(&self, byte: u64) -> Option<(MemberNo, Option<MemberNo>, u32)> {
        let exec = self.exec();
        if byte >= exec.capacity() {
            return None;
        }
        let geometry = exec.geometry();
        let (row, column) = self.as_in_place()?.locate(exec.page_of(byte), exec)?;
        let place = geometry.place(row);
        let parity = (geometry.parity() > 0).then(|| geometry.member(place, geometry.data));
        Some((geometry.member(place, column), parity, place.page))
    }
}
