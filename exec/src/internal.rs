//! The controller's own request, of which there is at most one at a time.

use crate::Executor;
use stripewise_core::memory::Memory;

/// State of the controller's own request, of which there is at most one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Internal {
    /// There is none.
    #[default]
    Idle,
    /// The request is not yet wholly split into plans.
    Splitting,
    /// The request waits for its plans.
    UnderWay,
    /// The request is over.
    Over {
        /// Whether some of its content was lost.
        failed: bool,
    },
}

impl<M: Memory> Executor<M> {
    /// The slot of the controller's own request, after those of hosts.
    #[inline]
    pub fn internal_id(&self) -> u32 {
        self.scheme.queues.requests
    }
}
