//! What a line or a binary record holds, and why none could be read.

use super::cursor::Expected;
use crate::{Kind, Request};

/// The request in a line, before times are made relative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Time in the format's own ticks, see [`LineFormat::tick_ns`](super::LineFormat::tick_ns).
    pub(crate) time: u64,
    pub(crate) kind: Kind,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) volume: u32,
}

/// The content of a line that its format understands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    Request(Record),
    /// Another event: another stage of a request, the opening of a file.
    Event,
    /// Text around the data.
    Header,
}

/// Why the reading of a block stopped before its end: the line at the current position is not a record.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Not understood from this byte of the line on.
    Unreadable { at: usize, expected: Expected },
    /// Older than the line before it, which the caller refuses.
    Backward { back_ns: u64, previous_ns: u64 },
}

impl Record {
    /// The request, which arrives at `time_ns`.
    #[inline]
    pub(super) fn request(self, time_ns: u64) -> Request {
        Request { time_ns, offset: self.offset, bytes: self.bytes, volume: self.volume, kind: self.kind }
    }
}
