//! A request in the form that every reader, generator and replay uses, and the stream that carries requests.

use crate::TraceError;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Read bytes.
    Read = 0,
    /// Write bytes.
    Write = 1,
    /// Declare bytes unused (TRIM, discard).
    Trim = 2,
    /// Make everything acknowledged durable; carries no bytes.
    Flush = 3,
}

/// One block request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival, in nanoseconds since the trace's first request.
    pub time_ns: u64,
    /// First byte on its volume.
    pub offset: u64,
    /// Length in bytes; zero only for [`Kind::Flush`].
    pub bytes: u32,
    /// Volume, disk or ASU as the trace numbers it.
    pub volume: u32,
    /// Its kind.
    pub kind: Kind,
}

/// A stream of requests, in order of arrival, in constant memory.
pub trait Source {
    /// Clears `batch`, then fills it with the next requests up to its capacity (at least one unless the stream has
    /// ended). An empty batch is the end.
    ///
    /// # Errors
    /// Input that the reader could not understand, with file, line, column and the expected content.
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError>;

    /// Share of the stream already delivered, in `0.0..=1.0`, where it is known (for progress bars).
    fn progress(&self) -> Option<f64> {
        None
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        (**self).next_batch(batch)
    }

    fn progress(&self) -> Option<f64> {
        (**self).progress()
    }
}
