//! The table of host requests.

use std::ops::{Index, IndexMut};

use stripewise_core::ids::RequestId;
use stripewise_core::request::RequestSlot;

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
