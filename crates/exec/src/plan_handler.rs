//! What the executor asks a placement about one plan.

use stripewise_core::ids::{MemberNo, PlanId, RequestId};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::{Class, OperationId, OperationKind, Outcome};

use crate::driver::Driver;
use crate::plan::PlanView;
use crate::{AfterErrors, Built, Executor, TooManyLost};

/// How a placement carries out its plans: their steps, their bytes, and what follows each of them.
///
/// The defaults about columns are right where a plan works on a row of the geometry.
pub trait PlanHandler<M: Memory>: Sized {
    /// Whether request `id` waits for columns `mask` of the plan's row.
    fn concerns(&self, _id: RequestId, _plan: PlanId, _mask: u64, _exec: &Executor<M>) -> bool {
        true
    }

    /// Builds the steps of `plan`, and says after which of them hosts are acknowledged ([`Executor::acknowledge_here`]). It is
    /// called again if errors, or [`Executor::build_again`], require other steps.
    fn build<D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<Built, TooManyLost>;

    /// Adds to the view of a plan what only the placement knows.
    fn describe(&self, _view: &mut PlanView<'_>) {}

    /// `plan` waits until metadata durably has what its next steps write. Returns false if it need not wait.
    fn await_record(&mut self, _plan: PlanId, _exec: &mut Executor<M>) -> bool {
        false
    }

    /// The bytes of a computing step. The default decodes what a read could not read.
    fn combine(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if M::CARRIES_DATA {
            exec.decode_row(plan);
        }
    }

    /// The step of `plan` is complete after which hosts are acknowledged, if there are any. A plan that fails does not get
    /// here: work that needs its success belongs here, not in [`finished`](Self::finished).
    fn marked(&mut self, _plan: PlanId, _exec: &mut Executor<M>) {}

    /// The host writes of `plan` are done, as far as possible.
    fn written(&mut self, _plan: PlanId, _exec: &mut Executor<M>) {}

    /// Copies the content that the read `plan` has for request `id` into the host's payload.
    fn store(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>);

    /// The outcome of operation `id`, after what it read was verified.
    fn verified(&mut self, _id: OperationId, outcome: Outcome, _exec: &mut Executor<M>) -> Outcome {
        outcome
    }

    /// Whether content that operation `id` read, and that does not match its checksum, counts as an error of its member. What
    /// a member lacks until it is rebuilt does not count, nor do pages without live content.
    fn charges(&self, _id: OperationId, _exec: &Executor<M>) -> bool {
        true
    }

    /// Write `id` of a plan with [`RowLock::SharedWrite`] is over.
    ///
    /// [`RowLock::SharedWrite`]: crate::row_locks::RowLock::SharedWrite
    fn page_written(&mut self, _id: OperationId, _is_good: bool, _exec: &mut Executor<M>) {}

    /// Whether the placement takes the error of operation `id` upon itself: the column of a bad read is not lost to the plan,
    /// and the member of a failed write stays in service.
    fn takes_error(&mut self, _id: OperationId, _exec: &mut Executor<M>) -> bool {
        false
    }

    /// A step of `plan` that did not read had errors.
    fn step_failed(&mut self, plan: PlanId, exec: &mut Executor<M>) -> AfterErrors {
        let lost = self.lost_of(plan, exec) & self.columns_of(plan, exec);
        if lost.count_ones() > exec.geometry.parity() { AfterErrors::Fail } else { AfterErrors::NextStep }
    }

    /// `plan` is over, also if it failed: then its buffers may hold anything. The executor frees it, unless the placement owns
    /// it.
    fn finished<D: Driver<M>>(&mut self, _plan: PlanId, _exec: &mut Executor<M>, _driver: &mut D) {}

    /// `plan` was freed.
    fn freed(&mut self, _plan: PlanId, _exec: &mut Executor<M>) {}

    /// The buffer of operation `nth` of `plan`, if the plan is the placement's own.
    fn own_buffer(&self, _plan: PlanId, _nth: u32) -> Option<PageId> {
        None
    }

    /// The location of `column` of the plan's row or stripe: member and page. The default uses the place that the plan was
    /// taken with, also after [`Executor::set_row`].
    fn home_of(&self, plan: PlanId, column: u32, exec: &Executor<M>) -> (MemberNo, u32) {
        let place = exec.plans[plan].place;
        (exec.geometry.member(place, column), place.page)
    }

    /// The columns that the plan's row or stripe has.
    fn columns_of(&self, _plan: PlanId, exec: &Executor<M>) -> u64 {
        exec.geometry.all_columns()
    }

    /// The columns of the plan's row or stripe that cannot be read, besides those that the plan itself could not read. The
    /// default uses the place that the plan was taken with, as [`home_of`](Self::home_of) does.
    fn lost_of(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        exec.columns_on_failed(plan)
    }

    /// The columns to read when those in `lost` are not readable.
    fn sources_of(&self, _plan: PlanId, lost: u64, exec: &Executor<M>) -> u64 {
        exec.sources(lost)
    }

    /// Whether the members have everything that decoding columns of the plan's row or stripe needs, up to date.
    fn is_decodable(&self, _plan: PlanId, _exec: &Executor<M>) -> bool {
        true
    }

    /// Whether decoding needs a shared lock of the row.
    fn locks_to_decode(&self) -> bool {
        true
    }

    /// Adds a step to `plan` that reads `sources` to decode from them.
    fn push_decoding(&mut self, plan: PlanId, sources: u64, exec: &mut Executor<M>) {
        let place = exec.plans[plan].place;
        exec.push_operations(plan, sources, OperationKind::Read, |_| Class::Decode, place);
    }

    /// The bytes of the second side of a hedged read. Returns false if the decoded content is wrong.
    fn decode_second(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        exec.decode_second_row(plan)
    }
}
