//! Groups that are beyond parity: metadata calls no more members missing, and updates that wait for metadata fail.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};

use crate::in_place::InPlace;
use crate::in_place::job::PlanState;

impl InPlace {
    /// The members that metadata is to call missing, where it called those of the mask `recorded` missing before. In a group that
    /// has lost more than parity tolerates, these are the members that it called missing before the loss. If metadata called
    /// all of them missing, the array could never be assembled again, even if its members returned.
    pub(crate) fn missing_to_record<M: Memory>(&self, recorded: u64, exec: &Executor<M>) -> u64 {
        let failed = exec.failed_members();
        if failed == 0 || exec.has_bug(Bug::AllMissingRecorded) {
            return failed;
        }
        (0..exec.geometry().groups).fold(0, |mask, group| {
            let its = exec.geometry().group(group).fold(0u64, |its, member| its | member.bit());
            mask | its & if self.is_beyond(group, 0, exec) { recorded } else { failed }
        })
    }

    /// Fails the updates that wait for the journal or the bitmap in groups that have meanwhile lost more than parity tolerates:
    /// their writes would be durable, but no metadata would record where they are missing. Returns false if there are none.
    pub(crate) fn fails_beyond<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if !self.is_any_beyond(exec) {
            return false;
        }
        // No record is freed until members return, so a full journal stays full.
        let is_full = self.journal.as_ref().is_some_and(|journal| journal.is_full);
        let is_beyond = |plan: PlanId| {
            let Plan { purpose, .. } = *exec.plan(plan);
            let PlanState { covers, .. } = self.jobs[plan];
            purpose != Purpose::Flush && (is_full && covers == 0 || self.is_in_beyond(plan, exec))
        };
        let journal = self.journal.iter().flat_map(|journal| journal.waiting.iter());
        let intent = self.intent.iter().flat_map(|intent| intent.waiting.iter());
        let beyond: Vec<PlanId> = journal.chain(intent).copied().filter(|&plan| is_beyond(plan)).collect();
        if let Some(journal) = &mut self.journal {
            journal.waiting.retain(|plan| !beyond.contains(plan));
        }
        if let Some(intent) = &mut self.intent {
            intent.waiting.retain(|plan| !beyond.contains(plan));
        }
        for &plan in &beyond {
            exec.end_wait(plan);
            if !exec.has_bug(Bug::FailedWriteDeferred) {
                self.stop_deferring(plan, exec);
            }
            exec.fail_plan(plan, self, driver);
        }
        !beyond.is_empty()
    }
}
