//! The plans that RAID in place owns: they write its metadata, and the executor never frees them.

use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_core::plan::Step;
use stripewise_exec::Executor;

use crate::in_place::InPlace;
use crate::in_place::job::AnyJob;

impl InPlace {
    /// Gives one of the placement's own plans another job, and clears its steps.
    pub(crate) fn clear_own<M: Memory>(
        &mut self,
        plan: PlanId,
        job: impl Into<AnyJob>,
        exec: &mut Executor<M>,
    ) {
        let job = job.into();
        self.jobs[plan].job = job;
        let slot = &mut exec.plans[plan];
        slot.purpose = job.facts().purpose;
        slot.is_under_way = true;
        slot.lost = 0;
        slot.clear_steps();
    }

    /// Appends a step to one of the placement's own plans: the operations, each with its member and page.
    pub(crate) fn push_own<M: Memory>(
        &mut self,
        plan: PlanId,
        operations: impl Iterator<Item = (OperationKind, u16, u32)>,
        exec: &mut Executor<M>,
    ) {
        let first = exec.plans[plan].steps.operations;
        exec.plans[plan].steps.push(Step::Operations { first, count: 0 });
        for (kind, member, page) in operations {
            let at = exec.first_operation(plan) as usize + exec.plans[plan].steps.operations as usize;
            exec.slots[at].operation =
                Operation { page, member, kind, class: Class::Metadata, ..Operation::default() };
            exec.plans[plan].steps.add_operation();
        }
    }
}
