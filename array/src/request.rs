//! Host requests: what the controller is asked for.

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;

use crate::geometry::RowCursor;

/// What a host asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestKind {
    /// Read bytes.
    #[default]
    Read,
    /// Write bytes.
    Write,
    /// Declare bytes unused. Advisory: what is not a whole page (without parity) or a whole row (with parity) is kept.
    Trim,
    /// Make everything acknowledged durable.
    Flush,
}

/// A host request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRequest {
    /// The host's number for it, given back with the acknowledgement.
    pub tag: u64,
    /// When it arrived; not after the time of submission.
    pub arrival: Nanos,
    /// First byte.
    pub offset: u64,
    /// Length in bytes; zero only for flushes.
    pub bytes: u32,
    /// What is asked for.
    pub kind: RequestKind,
}

/// Why a request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The pending queue is full: try again after an acknowledgement.
    #[error("the array is busy: its queue of host requests is full")]
    Busy,
    /// The request ends behind the array.
    #[error("the request ends behind the array's {capacity} bytes")]
    OutOfRange {
        /// Size of the array.
        capacity: u64,
    },
    /// The request has no bytes, or over real bytes is not made of whole sectors.
    #[error("a request must be made of at least one whole sector of 512 bytes")]
    Shape,
    /// The array was opened for reading alone.
    #[error("the array was opened read-only: it takes no writes and no trims")]
    ReadOnly,
    /// A log has used up what tells versions of its chunks apart since it was opened.
    #[error("write sequence numbers are exhausted: the log takes no writes and no trims; restart the server")]
    EpochOver,
}

/// A slot of the table of host requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestSlot {
    pub(crate) host: HostRequest,
    /// Its number since the start, modulo 2^32; 0 for the controller's own.
    pub(crate) number: u32,
    /// First and last page.
    pub(crate) pages: (u64, u64),
    /// Whether the first or the last page is covered only in part.
    pub(crate) in_part: bool,
    /// Whether it writes on where one of the last writes ended.
    pub(crate) is_sequential: bool,
    /// What is left to be cut into plans.
    pub(crate) cursor: RowCursor,
    /// Over zones: of what was translated to pages of the array, the rest that is left to be cut.
    pub(crate) extent: RowCursor,
    /// Over zones: when it began, as they count, and the moves that there were before it.
    pub(crate) epoch: u64,
    pub(crate) moves: u64,
    /// Plans not yet complete, plus one while cutting goes on.
    pub(crate) remaining: u32,
    pub(crate) failed: bool,
    /// It failed because the array has no space.
    pub(crate) no_space: bool,
    /// A flush that waits, or waited, for what was in volatile controller memory.
    pub(crate) drained: bool,
    /// A flush that waits, or waited, for what was in a volatile write cache.
    pub(crate) emptied: bool,
    /// A flush that waits, or waited, for late parity.
    pub(crate) deferred_flushed: bool,
    /// A flush whose member flushes were issued.
    pub(crate) flushed: bool,
    /// Next free slot.
    pub(crate) next: u32,
}
