//! The plans that RAID in place owns: they write its metadata, and the executor never frees them.

use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
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
        exec.take_own(plan, job.facts().purpose);
    }

    /// Appends a step to one of the placement's own plans: the operations, each with its member and page.
    pub(crate) fn push_own<M: Memory>(
        &mut self,
        plan: PlanId,
        operations: impl Iterator<Item = (OperationKind, MemberNo, u32)>,
        exec: &mut Executor<M>,
    ) {
        let class = Class::Metadata;
        let of = |(kind, member, page)| Operation { page, member, kind, class, ..Operation::default() };
        exec.push_step(plan, operations.map(of));
    }
}
