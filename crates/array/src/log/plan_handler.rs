//! How the log carries out its plans.

use stripewise_core::ids::{MemberNo, PlanId, RequestId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationId, OperationKind, Outcome};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::PlanView;
use stripewise_exec::{AfterErrors, Built, Executor, PlanHandler, TooManyLost};

use crate::job::{BuildResult, Cx, Job};
use crate::log::Log;
use crate::log::job::{Flush, Trust};

impl<M: Memory> PlanHandler<M> for Log {
    fn build<D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        self.jobs[plan].job.build(Cx { plan, placement: self, exec }, driver)
    }

    fn describe(&self, view: &mut PlanView<'_>) {
        view.is_stripe = self.jobs[view.id].job.facts().is_stripe;
    }

    fn combine(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            self.jobs[plan].job.combine(Cx { plan, placement: self, exec });
        }
    }

    fn store(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            self.store_chunks(plan, id, exec);
        }
    }

    fn verified(&mut self, id: OperationId, outcome: Outcome, exec: &mut Executor<M>) -> Outcome {
        self.verified_in_log(id, outcome, exec)
    }

    fn charges(&self, id: OperationId, exec: &Executor<M>) -> bool {
        self.charges_in_log(id, exec)
    }

    fn takes_error(&mut self, id: OperationId, exec: &mut Executor<M>) -> bool {
        let (plan, operation) = (exec.plan_of(id), exec.operation(id));
        if operation.kind != OperationKind::Read {
            return self.tolerates_write_error(plan, operation.member, exec);
        }
        let job = &mut self.jobs[plan];
        let is_summary = job.trust == Trust::Asks;
        job.unread |= u64::from(is_summary) << operation.column;
        is_summary
    }

    fn step_failed(&mut self, plan: PlanId, exec: &mut Executor<M>) -> AfterErrors {
        self.jobs[plan].job.step_failed(Cx { plan, placement: self, exec })
    }

    fn finished<D: Driver<M>>(&mut self, plan: PlanId, exec: &mut Executor<M>, driver: &mut D) {
        self.jobs[plan].job.finished(Cx { plan, placement: self, exec }, driver);
    }

    fn freed(&mut self, plan: PlanId, _exec: &mut Executor<M>) {
        self.jobs.clear(plan);
    }

    fn home_of(&self, plan: PlanId, column: u32, _exec: &Executor<M>) -> (MemberNo, u32) {
        self.member(self.homes(plan)[column as usize])
    }

    fn columns_of(&self, plan: PlanId, _exec: &Executor<M>) -> u64 {
        self.present(plan)
    }

    fn lost_of(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        self.slots_on_failed(plan, self.present(plan), exec)
    }

    fn sources_of(&self, plan: PlanId, lost: u64, exec: &Executor<M>) -> u64 {
        self.stripe_sources(self.present(plan), lost, exec.plan(plan).wanted, exec)
    }

    fn locks_to_decode(&self) -> bool {
        // Stripes never change.
        false
    }

    fn push_decoding(&mut self, plan: PlanId, sources: u64, exec: &mut Executor<M>) {
        self.push_slots(plan, sources, OperationKind::Read, |_| Class::Decode, exec);
    }

    fn decode_second(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        !M::CARRIES_DATA || self.decode_stripe_again(plan, exec)
    }
}

impl Job<Log> for Flush {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.exec.build_flush_of(cx.plan, |_| true);
        Ok(Built::Ready)
    }
}
