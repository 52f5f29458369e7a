//! Getters of the executor, for its placement and its array.

use stripewise_base::Nanos;
use stripewise_core::geometry::Geometry;
use stripewise_core::memory::Memory;

use crate::Executor;

impl<M: Memory> Executor<M> {
    /// The places of rows on the members.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The earliest arrival among the requests that wait in the controller.
    #[inline]
    pub fn earliest_pending(&self, member: u16) -> Option<Nanos> {
        let id = self.earliest.as_ref()?.of(member, self.splitting)?;
        Some(self.requests[id].host.arrival)
    }

    /// Marks `member` as absent: the array is assembled without it.
    pub fn take_out(&mut self, member: u16) {
        self.failed[member as usize] = true;
        self.any_failed = true;
    }

    /// Makes the array read-only: nothing is written to members from now on.
    pub fn only_read(&mut self) {
        self.read_only = true;
    }

    /// Number of pages that hosts can address.
    pub fn host_pages(&self) -> u64 {
        self.capacity / u64::from(self.members.page_bytes)
    }
}
