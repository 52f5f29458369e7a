//! The stripe-fill threshold: the number of chunks of a stream that leave controller memory together.
//!
//! Source: paper 001, section III-B, Algorithm 2; that large writes do not wait for the threshold is ours.

use super::classes::Classes;
use stripewise_core::geometry::Geometry;
use stripewise_core::memory::Persistence;
use stripewise_scheme::Scheme;
use stripewise_scheme::placement::{AcknowledgeWrites, BufferUnit, unit};

/// Bytes of a write that does not wait for the threshold: its chunks leave stripe by stripe. The threshold saves members short
/// runs, and a write of this size makes long runs by itself. Chunks that waited for more would only leave the processor's
/// cache: their copies, parity and map entries take up to 1 MiB of it.
pub const LARGE_WRITE_BYTES: u32 = 256 << 10;

#[derive(Debug)]
pub(crate) struct StripeFill {
    /// For each stream the number of chunks that leave together, and the number that a large write makes leave: those of its
    /// stripes.
    units: Vec<(u32, u32)>,
    /// Pages of a large write.
    large: u64,
}

impl StripeFill {
    pub(crate) fn new(scheme: &Scheme, classes: &Classes, geometry: &Geometry, page_bytes: u32) -> Self {
        let section = &scheme.elastic;
        // Memory that survives a loss of power keeps chunks as the policy says; and a write that makes a unit leave waits for
        // all of it.
        let is_held = scheme.placement.buffer_persistence == Persistence::Persistent
            || section.acknowledge == AcknowledgeWrites::TriggerWaits;
        let units = (0..classes.streams()).map(|stream| {
            let depth = classes.depth(stream);
            let least = if is_held { section.buffer } else { BufferUnit::Stripe };
            let of = |buffer| unit(section, buffer, depth, geometry) as u32;
            (of(section.buffer), of(least))
        });
        Self { units: units.collect(), large: (LARGE_WRITE_BYTES / page_bytes).into() }
    }

    /// Number of chunks of a stream that leave together.
    #[inline]
    pub(crate) fn of(&self, stream: usize) -> u32 {
        self.units[stream].0
    }

    /// Number of chunks of a stream that leave together when a request of this number of pages writes one.
    #[inline]
    pub(crate) fn of_write(&self, stream: usize, pages: u64) -> u32 {
        let (all, least) = self.units[stream];
        if pages < self.large { all } else { least }
    }
}
