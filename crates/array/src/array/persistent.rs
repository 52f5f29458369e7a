//! Persistent memory: what a scheme keeps beside its members and would lose data without after a loss of power.
//!
//! Counted are pages of acknowledged content that no member has, parity that only memory has, and the map of zones. The map of
//! a log is not counted, because a served array writes it to its members; the parity window is not counted, because a resync
//! restores its parity. Neither is the parity of rows that a cache is destaging.

use stripewise_core::memory::{Memory, Persistence};
use stripewise_scheme::placement::AcknowledgeWrites;

use crate::array::{Array, Placed};
use crate::in_place::InPlace;
use crate::in_place::first_encode::Encode;
use crate::in_place::gather::Gather;

impl<M: Memory> Array<M> {
    /// Bytes of persistent memory that the settings of the scheme provide; 0 if a write is on the members when it is
    /// acknowledged, or memory is volatile.
    pub fn persistent_bytes(&self) -> u64 {
        let pages = match &self.0 {
            Placed::Log(array) if self.has_persistent_log() => array.placement.buffer.len() as u64,
            Placed::Log(_) => 0,
            Placed::InPlace(array) => array.placement.persistent_pages(self),
        };
        pages * u64::from(self.exec().members().page_bytes) + self.persistent_map_bytes()
    }

    /// Pages of persistent memory in use now, without the map of zones.
    #[inline]
    pub fn persistent_pages_used(&self) -> u64 {
        match &self.0 {
            Placed::Log(array) if self.has_persistent_log() => array.placement.buffer.taken().into(),
            Placed::Log(_) => 0,
            Placed::InPlace(array) => array.placement.persistent_pages_used(self),
        }
    }

    /// Bytes of the map of zones, if it is in persistent memory: it has its whole size from the start.
    pub fn persistent_map_bytes(&self) -> u64 {
        let is_zoned = self.exec().scheme().placement.facts().has_zones;
        if is_zoned && self.has_persistent_buffer() { self.map_bytes() } else { 0 }
    }

    fn has_persistent_buffer(&self) -> bool {
        self.exec().scheme().placement.buffer_persistence == Persistence::Persistent
    }

    fn has_persistent_log(&self) -> bool {
        self.has_persistent_buffer() && self.exec().scheme().elastic.acknowledge != AcknowledgeWrites::Durable
    }
}

impl InPlace {
    fn persistent_pages<M: Memory>(&self, array: &Array<M>) -> u64 {
        let exec = array.exec();
        let cached = self.cache.as_ref().filter(|cache| !cache.is_volatile);
        let cached = cached.map_or(0, |_| exec.scheme().cache.pages_in_memory(exec.members().page_bytes));
        // A row whose first write is in flight is in memory too, and each has a plan.
        let rows = match (&self.gather, &self.encode) {
            (Some(_), _) if array.has_persistent_buffer() => 1 + u64::from(exec.scheme().queues.plans),
            (_, Some(encode)) if array.has_persistent_buffer() => {
                u64::from(encode.places()) + u64::from(exec.scheme().queues.plans)
            }
            _ => 0,
        };
        let kept = u64::from(exec.scheme().parity_memory_rows()) * u64::from(exec.geometry().parity());
        cached + rows * u64::from(exec.geometry().data) + kept
    }

    #[inline]
    fn persistent_pages_used<M: Memory>(&self, array: &Array<M>) -> u64 {
        let cached = self.cache.as_ref().filter(|cache| !cache.is_volatile);
        let first_writes = if array.has_persistent_buffer() {
            self.gather.as_ref().map_or(0, Gather::pages_in_memory)
                + self.encode.as_ref().map_or(0, Encode::pages_in_memory)
        } else {
            0
        };
        let kept = self.parity_memory.taken() * array.exec().geometry().parity();
        u64::from(cached.map_or(0, |cache| cache.occupied())) + u64::from(first_writes) + u64::from(kept)
    }
}
