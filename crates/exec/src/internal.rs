//! The controller's own request, of which there is at most one at a time.

use stripewise_core::geometry::RowCursor;
use stripewise_core::ids::RequestId;
use stripewise_core::memory::Memory;
use stripewise_core::request::HostRequest;

use crate::{Executor, RequestSlot};

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
    pub fn internal_id(&self) -> RequestId {
        self.requests.own()
    }

    /// The state of the controller's own request.
    #[inline]
    pub fn internal(&self) -> Internal {
        self.internal
    }

    /// Sets the state of the controller's own request.
    pub fn set_internal(&mut self, internal: Internal) {
        self.internal = internal;
    }

    /// Begins the controller's own request, for this number of pages from this one on.
    pub fn begin_internal(&mut self, host: HostRequest, (first, count): (u64, u64), payload: M::Host) {
        let id = self.internal_id();
        assert!(count > 0, "a request of the controller's own begins at page {first}, and has no pages");
        assert!(
            self.internal == Internal::Idle,
            "a request of the controller's own begins, and one is {:?}",
            self.internal
        );
        self.requests[id] = RequestSlot {
            host,
            cursor: RowCursor::new(first, count),
            pages: (first, first + count - 1),
            remaining: 1,
            ..RequestSlot::default()
        };
        self.payloads[id.index()] = Some(payload);
        self.under_way += 1;
        self.internal = Internal::Splitting;
    }

    /// A payload of `bytes` for the controller's own request: the one that was kept, if there is one.
    pub fn own_payload(&mut self, bytes: usize) -> M::Host {
        self.spare_payload.take().unwrap_or_else(|| self.memory.payload(bytes))
    }

    /// Takes the payload of the controller's own request, which is over.
    pub fn take_own_payload(&mut self) -> Option<M::Host> {
        let id = self.internal_id();
        self.payloads[id.index()].take()
    }

    /// Keeps a payload for the next request of the controller's own.
    pub fn keep_payload(&mut self, payload: M::Host) {
        self.spare_payload = Some(payload);
    }
}
