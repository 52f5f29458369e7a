//! The interface between the executor of plans and a placement: where content lies on the members, and what keeps it right.
//!
//! The executor takes requests, runs plans, and decides between direct and decoding reads. It asks its placement for all else:
//! to split requests into plans, to build the steps of a plan, to compute its bytes, to do what follows its end, and for the
//! work that has become possible meanwhile. Placement and executor are borrowed apart, so each may change the other.

use stripewise_base::Nanos;
use stripewise_core::driver::Driver;
use stripewise_core::format::Superblock;
use stripewise_core::ids::{PlanId, RequestId};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::{Class, OperationKind, Outcome};
use stripewise_core::plan::PlanView;

use crate::metadata_pieces::{Piece, PieceLocation};
use crate::metadata_walk::{ScrubCounts, Wanted};
use crate::rejoin::{RejoinError, Rejoining};
use crate::{AfterErrors, Built, Executor, Split, TooManyLost};

/// Where content lies on the members, and what keeps it right.
///
/// The smallest placement implements [`split`](Self::split), [`build`](Self::build) and [`store`](Self::store). The other
/// functions have defaults: those about columns are right where a plan works on a row of the geometry, and the rest are
/// those of a placement without controller memory, metadata, rebuild or work of its own.
pub trait Placement<M: Memory>: Sized {
    /// Whether `host` must be refused because the placement accepts no more changes.
    fn refuses_changes(&self) -> bool {
        false
    }

    /// Request `id` was accepted.
    fn arrived(&mut self, _id: RequestId, _exec: &mut Executor<M>) {}

    /// Request `id` is over.
    fn ended(&mut self, _id: RequestId, _failed: bool, _exec: &mut Executor<M>) {}

    /// Builds plans for the rest of request `id`, as far as possible.
    fn split<D: Driver<M>>(&mut self, id: RequestId, exec: &mut Executor<M>, driver: &mut D) -> Split;

    /// Whether a page has become free for which requests wait since the last call.
    fn has_freed_pages(&mut self) -> bool {
        false
    }

    /// Whether requests that need no plan of their own end in controller memory.
    fn has_memory(&self) -> bool {
        false
    }

    /// Whether writes wait for no member.
    fn takes_writes_to_memory(&self) -> bool {
        false
    }

    /// Latency of the controller memory in which request `id` ends.
    fn latency_of(&self, _id: RequestId, _exec: &Executor<M>) -> Nanos {
        0
    }

    /// Whether a flush of a host ends with a flush of every member.
    fn flushes_members(&self, exec: &Executor<M>) -> bool {
        exec.members.volatile_cache
    }

    /// Whether request `id` waits for columns `mask` of the plan's row.
    fn concerns(&self, _id: RequestId, _plan: PlanId, _mask: u64, _exec: &Executor<M>) -> bool {
        true
    }

    /// Whether content that was acknowledged from memory is lost.
    fn has_lost_in_memory(&self) -> bool {
        false
    }

    /// Whether a read or write of the host's `page` would use `member`.
    fn targets(&self, _page: u64, _is_write: bool, _member: u16, _exec: &Executor<M>) -> bool {
        false
    }

    /// Builds the steps of `plan`.
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

    /// The step of `plan` is complete after which hosts are acknowledged.
    fn marked(&mut self, _plan: PlanId, _exec: &mut Executor<M>) {}

    /// The host writes of `plan` are done, as far as possible.
    fn written(&mut self, _plan: PlanId, _exec: &mut Executor<M>) {}

    /// Copies the content that the read `plan` has for request `id` into the host's payload.
    fn store(&mut self, plan: PlanId, id: RequestId, exec: &mut Executor<M>);

    /// The outcome of operation `id`, after what it read was verified.
    fn verified(&mut self, _id: u32, outcome: Outcome, _exec: &mut Executor<M>) -> Outcome {
        outcome
    }

    /// Whether content that operation `id` read, and that does not match its checksum, counts as an error of its member. What
    /// a member lacks until it is rebuilt does not count, nor do pages without live content.
    fn charges(&self, _id: u32, _exec: &Executor<M>) -> bool {
        true
    }

    /// Write `id` of a plan with [`RowLock::SharedWrite`] is over.
    ///
    /// [`RowLock::SharedWrite`]: stripewise_core::row_locks::RowLock::SharedWrite
    fn page_written(&mut self, _id: u32, _is_good: bool, _exec: &mut Executor<M>) {}

    /// Whether a read without row lock that does not match its checksum may be due to a concurrent write.
    fn may_doubt(&self) -> bool {
        false
    }

    /// Whether the placement takes the error of operation `id` upon itself: the column of a bad read is not lost to the plan,
    /// and the member of a failed write stays in service.
    fn takes_error(&mut self, _id: u32, _exec: &mut Executor<M>) -> bool {
        false
    }

    /// A step of `plan` that did not read had errors.
    fn step_failed(&mut self, plan: PlanId, exec: &mut Executor<M>) -> AfterErrors {
        let lost = self.lost_of(plan, exec) & self.columns_of(plan, exec);
        if lost.count_ones() > exec.geometry.parity() { AfterErrors::Fail } else { AfterErrors::NextStep }
    }

    /// `plan` is over. The executor frees it, unless the placement owns it.
    fn finished<D: Driver<M>>(&mut self, _plan: PlanId, _exec: &mut Executor<M>, _driver: &mut D) {}

    /// `plan` was freed.
    fn freed(&mut self, _plan: PlanId, _exec: &mut Executor<M>) {}

    /// `member` was taken out of service.
    fn lost(&mut self, _member: u16, _exec: &mut Executor<M>) {}

    /// The buffer of operation `nth` of `plan`, if the plan is the placement's own.
    fn own_buffer(&self, _plan: PlanId, _nth: u32) -> Option<PageId> {
        None
    }

    /// The location of `column` of the plan's row or stripe: member and page.
    fn home_of(&self, plan: PlanId, column: u32, exec: &Executor<M>) -> (u16, u32) {
        let place = exec.plans[plan].place;
        (exec.geometry.member(place, column), place.page)
    }

    /// The columns that the plan's row or stripe has.
    fn columns_of(&self, _plan: PlanId, exec: &Executor<M>) -> u64 {
        exec.geometry.all_columns()
    }

    /// The columns of the plan's row or stripe that cannot be read, besides those that the plan itself could not read.
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

    /// Whether nothing but plans of hosts can be due now.
    fn is_plain(&self) -> bool {
        false
    }

    /// Continues plans that waited for metadata. Returns false if there are none.
    fn poll_waiting<D: Driver<M>>(&mut self, _exec: &mut Executor<M>, _driver: &mut D) -> bool {
        false
    }

    /// Does one piece of the work that goes before the requests of hosts. Returns false if nothing is due.
    fn poll_before<D: Driver<M>>(&mut self, _exec: &mut Executor<M>, _driver: &mut D) -> bool {
        false
    }

    /// Does one piece of the work that follows the requests of hosts. Returns false if nothing is due.
    fn poll_after<D: Driver<M>>(&mut self, _exec: &mut Executor<M>, _driver: &mut D) -> bool {
        false
    }

    /// Does one piece of the work that waits until nothing else can be done. Returns false if nothing is due.
    fn poll_last<D: Driver<M>>(&mut self, _exec: &mut Executor<M>, _driver: &mut D) -> bool {
        false
    }

    /// A timer has expired.
    fn timer<D: Driver<M>>(&mut self, _exec: &mut Executor<M>, _driver: &mut D) {}

    /// Makes due what waits in controller memory to gather more: at the end of a run.
    fn drain(&mut self, _exec: &mut Executor<M>) {}

    /// The member that is being rebuilt, with the number of segments or rows that are done, and the total.
    fn rebuilding(&self, _exec: &Executor<M>) -> Option<(u16, u32, u32)> {
        None
    }

    /// The counts of the last scrub of data, and whether it is still in progress.
    fn scrubbed(&self, _exec: &Executor<M>) -> (ScrubCounts, bool) {
        Default::default()
    }

    /// The newest superblock; `None` without metadata on the members.
    fn superblock_of(&self) -> Option<&Superblock> {
        None
    }

    /// Whether `member` may join the array.
    fn check_rejoin(&self, _member: u16, _how: Rejoining, _exec: &Executor<M>) -> Result<(), RejoinError> {
        Err(RejoinError::NoMetadata)
    }

    /// Brings `member` back, and begins to rebuild it.
    fn rejoin(&mut self, _member: u16, _how: Rejoining, _exec: &mut Executor<M>) {}

    /// The superblock as all members have it, except for its number and identifier; `None` if the array was not assembled.
    fn superblock_on_members(&self) -> Option<&Superblock> {
        None
    }

    /// The location of a copy of metadata.
    fn piece(&self, _piece: Piece, _exec: &Executor<M>) -> PieceLocation {
        PieceLocation::Over
    }

    /// Whether `bytes`, read at the location of `piece`, are its expected content.
    fn is_piece(&self, _piece: Piece, _bytes: &[u8], _exec: &Executor<M>) -> bool {
        true
    }

    /// The first record of the redo journal that is still needed, and the number of the next.
    fn records(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Requests the update that writes the damaged `piece` again.
    fn mend(&mut self, _piece: Piece, _wanted: &mut Wanted, _exec: &Executor<M>) {}

    /// Starts another update of superblocks, unless another is in progress. Returns false if there is nothing to start.
    fn tell_again(&mut self, _exec: &Executor<M>) -> bool {
        false
    }

    /// Whether the updates that were `wanted` are written, or cannot be written now. Those of superblocks do not count.
    fn is_mended(&mut self, _wanted: &Wanted) -> bool {
        true
    }
}
