//! The array as a controller among others.

use stripewise_base::Nanos;
use stripewise_core::coordination::Ahead;
use stripewise_core::driver::Driver;
use stripewise_core::format::FailReason;
use stripewise_core::ids::PlanId;
use stripewise_core::loads::Loads;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{OperationId, Outcome, Timing};
use stripewise_core::request::{HostRequest, SubmitError};
use stripewise_core::scheme::Scheme;
use stripewise_exec::Controller;

use crate::array::Array;

impl<M: Memory> Controller<M> for Array<M> {
    #[inline]
    fn submit<D: Driver<M>>(
        &mut self,
        now: Nanos,
        host: HostRequest,
        payload: M::Host,
        driver: &mut D,
    ) -> Result<(), (SubmitError, M::Host)> {
        Self::submit(self, now, host, payload, driver)
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
        Self::completed(self, now, id, outcome, timing, driver);
    }

    #[inline]
    fn computed<D: Driver<M>>(&mut self, now: Nanos, plan: PlanId, driver: &mut D) {
        Self::computed(self, now, plan, driver);
    }

    #[inline]
    fn timer<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        Self::timer(self, now, driver);
    }

    #[inline]
    fn dispatch<D: Driver<M>>(&mut self, driver: &mut D) {
        Self::dispatch(self, driver);
    }

    #[inline]
    fn member_ready(&mut self, member: u16) {
        Self::member_ready(self, member);
    }

    #[inline]
    fn member_failed<D: Driver<M>>(&mut self, now: Nanos, member: u16, reason: FailReason, driver: &mut D) {
        Self::member_failed(self, now, member, reason, driver);
    }

    #[inline]
    fn member_slow<D: Driver<M>>(&mut self, now: Nanos, member: u16, is_slow: bool, driver: &mut D) {
        Self::member_slow(self, now, member, is_slow, driver);
    }

    #[inline]
    fn gc_news<D: Driver<M>>(&mut self, now: Nanos, member: u16, driver: &mut D) {
        Self::gc_news(self, now, member, driver);
    }

    #[inline]
    fn drain<D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        Self::drain(self, now, driver);
    }

    #[inline]
    fn gc_control(&self) -> Option<Ahead> {
        Self::gc_control(self)
    }

    #[inline]
    fn queued_at(&self, id: OperationId) -> Nanos {
        Self::queued_at(self, id)
    }

    #[inline]
    fn loads(&self) -> &Loads {
        Self::loads(self)
    }

    #[inline]
    fn memory(&mut self) -> &mut M {
        Self::memory(self)
    }

    #[inline]
    fn scheme(&self) -> &Scheme {
        Self::scheme(self)
    }

    #[inline]
    fn members(&self) -> u32 {
        Self::members(self)
    }

    #[inline]
    fn is_failed(&self, member: u16) -> bool {
        Self::is_failed(self, member)
    }

    #[inline]
    fn homes(&self, byte: u64) -> Option<(u16, Option<u16>, u32)> {
        Self::homes(self, byte)
    }
}
