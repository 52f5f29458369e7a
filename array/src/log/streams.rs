//! Counters of each stream of a log, for observers.
//!
//! Source: paper 001, section III (the streams themselves; the counts are ours)

use crate::log::Log;

/// Counters of a stream since the array was assembled, and its current state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Whether collection fills it, rather than hosts.
    pub is_of_relocations: bool,
    /// Data chunks that it wrote.
    pub chunks: u64,
    /// Segments that it opened; 0 for live chunks that go to the coldest stream of hosts.
    pub opened: u64,
    /// Whether a segment of the stream is open now.
    pub is_open: bool,
    /// Chunks that wait in memory for a stripe.
    pub waiting: u32,
}

impl Log {
    /// Counters of each stream, those of hosts first.
    pub(crate) fn streams(&self) -> impl Iterator<Item = StreamCounts> + '_ {
        self.stream_counts.iter().enumerate().map(|(stream, counts)| StreamCounts {
            is_of_relocations: stream >= self.hosts(),
            is_open: self.open[stream].is_some(),
            waiting: self.buffer.queues[stream].count,
            ..*counts
        })
    }
}
