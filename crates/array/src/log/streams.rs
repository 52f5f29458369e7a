//! Counters of each stream of a log, for observers.
//!
//! Source: paper 001, section III (the streams themselves; the counts are ours)

use crate::log::{Log, StreamCounts};

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
