//! Getters of the executor, for its placement and its array.

use stripewise_base::Nanos;

use crate::exec::Executor;
use crate::geometry::Geometry;
use crate::memory::Memory;

impl<M: Memory> Executor<M> {
    /// See [`crate::Array::geometry`].
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// See [`crate::Array::earliest_pending`].
    #[inline]
    pub(crate) fn earliest_pending(&self, member: u16) -> Option<Nanos> {
        let id = self.earliest.as_ref()?.of(member, self.splitting)?;
        Some(self.requests[id as usize].host.arrival)
    }

    /// Marks `member` as absent: the array is assembled without it.
    pub(crate) fn take_out(&mut self, member: u16) {
        self.failed[member as usize] = true;
        self.any_failed = true;
    }

    /// Makes the array read-only: nothing is written to members from now on.
    pub(crate) fn only_read(&mut self) {
        self.read_only = true;
    }

    /// See [`crate::Array::host_pages`].
    pub(crate) fn host_pages(&self) -> u64 {
        self.capacity / u64::from(self.members.page_bytes)
    }
}
