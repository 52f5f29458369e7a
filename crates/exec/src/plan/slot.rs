//! What belongs to plans in other arenas: operations, and the requests that wait.

use stripewise_base::Nanos;
use stripewise_core::ids::RequestId;
use stripewise_core::operation::Operation;
use stripewise_policy::dispatch::{Link, Queued};

/// A slot of the operation arena.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// The operation.
    pub operation: Operation,
    /// Its place in the queue of its member.
    pub link: Link,
    /// The time when it entered that queue.
    pub queued_at: Nanos,
    /// The time when the operation was started; [`NOT_STARTED`] while it waits in its member's queue, [`OVER`] once it has
    /// completed.
    pub started_at: Nanos,
    /// The member's clock of garbage collection when the operation was queued; while the operation is in flight, the time that
    /// it waited for garbage collection in the queue.
    pub gc_ns: Nanos,
    /// Why its member refused it last, as the driver numbers reasons, or 0.
    pub refused_for: u64,
    /// Whether it stays in the queue until an earlier write of its page is over.
    pub is_held: bool,
}

/// Marks an operation that has not started.
pub const NOT_STARTED: Nanos = Nanos::MAX;

/// The mark of an operation that has completed.
pub const OVER: Nanos = Nanos::MAX - 1;

impl AsMut<Link> for Slot {
    #[inline]
    fn as_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl Queued for Slot {
    #[inline]
    fn page(&self) -> u32 {
        self.operation.page
    }
}

/// One host request that waits for one plan.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The slot of the request.
    pub request: RequestId,
    /// The next attachment of the plan, or [`NONE`](stripewise_core::ids::NONE).
    pub next: u32,
}
