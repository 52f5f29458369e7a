//! The interface between the executor of plans and a placement: where content lies on the members, and what keeps it right.
//!
//! The executor takes requests, runs plans, and decides between direct and decoding reads. It asks its placement for all else:
//! to split requests into plans, to carry the plans out ([`PlanHandler`]), for the work that has become possible meanwhile, and
//! about its metadata ([`Metadata`]). Placement and executor are borrowed apart, so each may change the other.

use stripewise_base::Nanos;
use stripewise_core::ids::{MemberNo, RequestId};
use stripewise_core::memory::Memory;

use crate::driver::Driver;
use crate::metadata::Metadata;
use crate::plan_handler::PlanHandler;
use crate::{Executor, Split};

/// When work of a placement may be done.
///
/// If no operation is in flight, no event polls again after this time. So what a refusal of [`Placement::split`] makes
/// necessary, such as the collection of a row, belongs to the turns that come after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before all else: plans that waited for metadata continue.
    Waiting,
    /// Before the requests of hosts.
    BeforeHosts,
    /// After the requests of hosts.
    AfterHosts,
    /// When nothing else can be done.
    Last,
}

/// Where content lies on the members, and what keeps it right.
///
/// The smallest placement implements [`split`](Self::split), and [`build`](PlanHandler::build) and
/// [`store`](PlanHandler::store) of its plans. The other functions have defaults: those of a placement without controller
/// memory, metadata, rebuild or work of its own.
pub trait Placement<M: Memory>: PlanHandler<M> + Metadata<M> + Sized {
    /// Whether `host` must be refused because the placement accepts no more changes.
    fn refuses_changes(&self) -> bool {
        false
    }

    /// Request `id` was accepted.
    fn arrived(&mut self, _id: RequestId, _exec: &mut Executor<M>) {}

    /// Request `id` is over.
    fn ended(&mut self, _id: RequestId, _failed: bool, _exec: &mut Executor<M>) {}

    /// Builds plans for the rest of request `id`, as far as possible, and moves the request's cursor over what is built.
    ///
    /// A flush comes here, too: where [`Executor::wants_members_flushed`] says so, it needs [`Executor::flush_members`]. A trim
    /// may be ignored. A read of a page that was never written needs no plan, but its payload needs zeros.
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

    /// Whether a flush of a host ends with a flush of every member, which [`split`](Self::split) starts.
    fn flushes_members(&self, exec: &Executor<M>) -> bool {
        exec.members.volatile_cache
    }

    /// Whether content that was acknowledged from memory is lost.
    fn has_lost_in_memory(&self) -> bool {
        false
    }

    /// Whether a read or write of the host's `page` would use `member`.
    fn targets(&self, _page: u64, _is_write: bool, _member: MemberNo, _exec: &Executor<M>) -> bool {
        false
    }

    /// Whether a read without row lock that does not match its checksum may be due to a concurrent write.
    fn may_doubt(&self) -> bool {
        false
    }

    /// `member` was taken out of service.
    fn lost(&mut self, _member: MemberNo, _exec: &mut Executor<M>) {}

    /// Whether nothing but plans of hosts can be due now.
    fn is_plain(&self) -> bool {
        false
    }

    /// Does one piece of work that has become possible, if its turn is now. Returns false if nothing is due: the executor asks
    /// again and again until then.
    fn poll<D: Driver<M>>(&mut self, _when: When, _exec: &mut Executor<M>, _driver: &mut D) -> bool {
        false
    }

    /// A timer has expired.
    fn timer<D: Driver<M>>(&mut self, _exec: &mut Executor<M>, _driver: &mut D) {}

    /// Makes due what waits in controller memory to gather more: at the end of a run.
    fn drain(&mut self, _exec: &mut Executor<M>) {}
}
