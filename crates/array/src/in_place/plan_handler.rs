//! How RAID in place carries out its plans.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RequestId};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::{OperationId, OperationKind, Outcome};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::PlanView;
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::{AfterErrors, Built, Executor, PlanHandler, TooManyLost};

use crate::in_place::InPlace;
use crate::job::Cx;

impl<M: Memory> PlanHandler<M> for InPlace {
    fn concerns(&self, id: RequestId, plan: PlanId, mask: u64, exec: &Executor<M>) -> bool {
        let row = exec.plan(plan).row;
        columns(mask).any(|column| exec.means(id, self.array_page(row, column, exec)))
    }

    #[inline]
    fn build<D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        self.jobs[plan].job.build(Cx { plan, placement: self, exec }, driver)
    }

    #[inline]
    fn await_record(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        self.await_record(plan, exec)
    }

    #[inline]
    fn combine(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            exec.fold_deltas(plan);
            self.fill_blank(plan, exec);
            self.jobs[plan].job.combine(Cx { plan, placement: self, exec });
        }
    }

    #[inline]
    fn marked(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if exec.plan(plan).ends_in_memory {
            self.absorb(plan, exec);
        }
    }

    #[inline]
    fn written(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        self.plan_written_in_zones(plan, exec);
    }

    #[inline]
    fn store(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>) {
        self.store_row(plan, id, exec);
    }

    #[inline]
    fn verified(&mut self, id: OperationId, outcome: Outcome, exec: &mut Executor<M>) -> Outcome {
        if exec.operation(id).kind == OperationKind::Read {
            self.verified_in_place(id, outcome, exec)
        } else {
            outcome
        }
    }

    fn charges(&self, id: OperationId, exec: &Executor<M>) -> bool {
        self.charges_in_place(id, exec)
    }

    #[inline]
    fn page_written(&mut self, id: OperationId, is_good: bool, exec: &mut Executor<M>) {
        self.shared_page_written(id, is_good, exec);
    }

    fn step_failed(&mut self, plan: PlanId, exec: &mut Executor<M>) -> AfterErrors {
        if exec.plan(plan).defers {
            if exec.plan(plan).lock == RowLock::SharedWrite {
                self.write_rest_alone(plan, exec);
            } else {
                self.cover_at_once(plan, exec);
            }
            return AfterErrors::BuildAgain;
        }
        self.jobs[plan].job.step_failed(Cx { plan, placement: self, exec })
    }

    #[inline]
    fn finished<D: Driver<M>>(&mut self, plan: PlanId, exec: &mut Executor<M>, driver: &mut D) {
        self.jobs[plan].job.finished(Cx { plan, placement: self, exec }, driver);
        self.done_in_place(plan, exec);
    }

    #[inline]
    fn freed(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        self.jobs.clear(plan);
        self.gather_overdue(exec);
    }

    fn describe(&self, view: &mut PlanView<'_>) {
        view.destages = self.jobs[view.id].carried != 0;
    }

    #[inline]
    fn own_buffer(&self, plan: PlanId, nth: u32) -> Option<PageId> {
        if let Some(roster) = self.roster.as_ref().filter(|roster| plan == roster.plan) {
            return Some(roster.work.pages[nth as usize]);
        }
        if let Some(journal) = self.journal.as_ref().filter(|journal| plan >= journal.plan) {
            return Some(journal.page_of(plan, nth));
        }
        let intent = self.intent.as_ref().filter(|intent| plan >= intent.plan)?;
        Some(intent.work.pages[nth as usize])
    }

    fn lost_of(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        self.lost_columns(plan, exec) & !exec.plan(plan).lost
    }

    /// Parity was written, and is neither deferred nor in a log nor in the write cache.
    fn is_decodable(&self, plan: PlanId, exec: &Executor<M>) -> bool {
        let row = exec.plan(plan).row;
        (self.window.dirty(row) == 0 || exec.has_bug(Bug::LateRowRedirected))
            && self.deltas(row) == 0
            && self.covered_in_cache(row) == 0
            && self.blank.columns(row) == 0
            && !self.parity_memory.keeps(row)
            && self.is_encoded(row)
    }
}
