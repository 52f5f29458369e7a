//! The table of host requests.

use std::ops::{Index, IndexMut};

use stripewise_core::geometry::RowCursor;
use stripewise_core::ids::RequestId;
use stripewise_core::request::HostRequest;

/// A slot of the table of host requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestSlot {
    /// The request as the host gave it.
    pub host: HostRequest,
    /// The number of the request since the start, modulo 2^32; 0 for the controller's own requests.
    pub number: u32,
    /// First and last page.
    pub pages: (u64, u64),
    /// Whether the first or the last page is covered only in part.
    pub in_part: bool,
    /// Whether the request continues where one of the last writes ended.
    pub is_sequential: bool,
    /// The part that is not yet split into plans.
    pub cursor: RowCursor,
    /// Over zones: the part that is translated to pages of the array and not yet split.
    pub extent: RowCursor,
    /// Over zones: the epoch in which the request began, and the number of moves before it.
    pub epoch: u64,
    /// Over zones: the number of moves before the request began.
    pub moves: u64,
    /// Plans not yet complete, plus one while the request is being split.
    pub remaining: u32,
    /// The request failed.
    pub failed: bool,
    /// The request failed because the array is out of space.
    pub no_space: bool,
    /// A flush that waits, or waited, for the content of volatile controller memory.
    pub drained: bool,
    /// A flush that waits, or waited, for the content of a volatile write cache.
    pub emptied: bool,
    /// A flush that waits, or waited, for deferred parity.
    pub deferred_flushed: bool,
    /// A flush whose member flushes were issued.
    pub flushed: bool,
    /// Next free slot.
    pub next: RequestId,
}

/// The slots of host requests, and after them the slot of the controller's own request.
#[derive(Debug)]
pub struct Requests {
    slots: Vec<RequestSlot>,
    /// The first free slot.
    free: RequestId,
}

impl Requests {
    /// `count` free slots for hosts, and the controller's own.
    pub(crate) fn new(count: u32) -> Self {
        let next = |number: u32| if number < count { RequestId::new(number) } else { RequestId::NONE };
        let slots =
            (1..=count + 1).map(|number| RequestSlot { next: next(number), ..RequestSlot::default() });
        Self { slots: slots.collect(), free: RequestId::new(0) }
    }

    /// The slot that the next request of a host takes.
    #[inline]
    pub(crate) fn first_free(&self) -> Option<RequestId> {
        (!self.free.is_none()).then_some(self.free)
    }

    /// The first free slot takes the request of `slot`.
    #[inline]
    pub(crate) fn take(&mut self, slot: RequestSlot) {
        let id = self.free;
        self.free = self[id].next;
        self[id] = slot;
    }

    /// Frees a slot.
    #[inline]
    pub(crate) fn release(&mut self, id: RequestId) {
        self[id].next = self.free;
        self.free = id;
    }

    /// The slot of the controller's own request.
    #[inline]
    pub(crate) fn own(&self) -> RequestId {
        RequestId::new(self.slots.len() as u32 - 1)
    }
}

impl Index<RequestId> for Requests {
    type Output = RequestSlot;

    #[inline]
    fn index(&self, id: RequestId) -> &RequestSlot {
        &self.slots[id.index()]
    }
}

impl IndexMut<RequestId> for Requests {
    #[inline]
    fn index_mut(&mut self, id: RequestId) -> &mut RequestSlot {
        &mut self.slots[id.index()]
    }
}
