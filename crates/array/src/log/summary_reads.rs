//! Reading summaries: only the members store the content of the slots of a batch. Walks over segments read one summary for
//! each batch; other reads do so only if their decoded content is wrong, to find out which columns of the stripe are right.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::{Built, Executor, TooManyLost};

use crate::job::{BuildResult, Cx, Job};
use crate::log::Log;
use crate::log::contents::{Content, Walker};
use crate::log::job::{ReadSummary, Trust};

impl Log {
    /// Reads the summary of the batch of `slot`, which is wholly on the members, for `walker`, which does not know it yet.
    /// Returns false if it is being read already, or no plan is free.
    pub(crate) fn ask_contents<M: Memory, D: Driver<M>>(
        &mut self,
        walker: Walker,
        slot: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let copy = self.directory.batch(slot).0;
        if !exec.has_free_plan() || self.durable().known[walker as usize].requested == Some(copy) {
            return false;
        }
        let plan = self.take_plan(copy, ReadSummary { walker }, exec);
        self.jobs[plan].trust = Trust::Asks;
        self.durable_mut().known[walker as usize].requested = Some(copy);
        let segment = self.segment_of(copy);
        self.segments.lock(segment);
        exec.begin(plan, self, driver);
        true
    }

    /// Builds the step of reading a summary: a copy that was not found bad.
    fn build_summary_read<M: Memory>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
    ) -> Result<(), TooManyLost> {
        self.push_copy(plan, exec)?;
        exec.acknowledge_here(plan);
        Ok(())
    }

    /// Appends the step of reading a copy of the summary of the batch of `plan`: a copy that is readable as far as the plan
    /// knows.
    pub(crate) fn push_copy<M: Memory>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
    ) -> Result<(), TooManyLost> {
        let row = exec.plan(plan).first_slot();
        let first = self.directory.batch(row).0;
        let copy = self.good_copy(first, self.jobs[plan].unread, None, exec).ok_or(TooManyLost)?;
        let (member, page) = self.member(copy);
        let column = (copy % u64::from(exec.geometry().width)) as u8;
        let (kind, class) = (OperationKind::Read, Class::Metadata);
        exec.push_step(plan, [Operation { page, member, kind, class, column, ..Operation::default() }]);
        Ok(())
    }

    /// Gives `plan`, which needs the checksums of its stripe, these checksums from memory, if the batch is still being
    /// written.
    pub(crate) fn contents_from_batch<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        let row = exec.plan(plan).first_slot();
        let present = self.present(plan);
        let Some(durable) = &self.durable else { return false };
        let Some(nth) = durable.batches.iter().position(|batch| (batch.first..batch.end).contains(&row))
        else {
            return false;
        };
        for column in columns(present) {
            let content = self.durable().batches[nth].content(self.homes(plan)[column as usize]);
            self.set_content(plan, column, content);
        }
        self.jobs[plan].trust = Trust::Sources;
        true
    }

    /// Gives `plan`, which has read a summary, the checksums of its stripe; its steps are built again.
    pub(crate) fn contents_from_summary<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let row = exec.plan(plan).first_slot();
        let present = self.present(plan);
        let page = exec.buffer_of(exec.first_operation(plan), self);
        let copy = self.directory.batch(row).0;
        let known = self.read_summary(copy, Some(exec.memory().bytes(page)), Vec::new());
        for column in columns(present) {
            let content = self.look_up(&known, self.homes(plan)[column as usize]);
            self.set_content(plan, column, content.unwrap_or(Content::UNKNOWN));
        }
        self.jobs[plan].trust = Trust::Sources;
        exec.build_again(plan);
    }

    /// A summary was read, or none of its copies can be read.
    fn summary_read<M: Memory>(&mut self, plan: PlanId, walker: Walker, exec: &mut Executor<M>) {
        let (copy, is_abandoned) = (exec.plan(plan).first_slot(), exec.plan(plan).is_abandoned);
        let page =
            (M::CARRIES_DATA && !is_abandoned).then(|| exec.buffer_of(exec.first_operation(plan), self));
        let log = &mut *self;
        let segment = log.segment_of(copy);
        log.segments.let_go(segment);
        log.learn(walker, copy, page.map(|page| exec.memory().bytes(page)));
        if exec.has_bug(Bug::LaterBatchPassed) {
            let slots = log.segment_slots() as usize;
            log.durable_mut().known[walker as usize].contents.resize(slots, Content::UNKNOWN);
        }
    }
}

impl Job<Log> for ReadSummary {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_summary_read(cx.plan, cx.exec)?;
        Ok(Built::Ready)
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.summary_read(cx.plan, self.walker, cx.exec);
    }
}
