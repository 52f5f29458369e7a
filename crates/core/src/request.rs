//! Host requests: reads, writes, trims and flushes.

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;

use crate::geometry::RowCursor;
use crate::ids::RequestId;

/// Bytes of a sector, the granularity of host requests.
pub const SECTOR_BYTES: u32 = 512;

/// The kind of a host request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestKind {
    /// Read bytes.
    #[default]
    Read,
    /// Write bytes.
    Write,
    /// Declare bytes unused. Advisory: pages (without parity) or rows (with parity) that are only covered in part keep
    /// their content.
    Trim,
    /// Make all acknowledged writes durable.
    Flush,
}

/// A host request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRequest {
    /// The host's tag for the request, returned with the acknowledgement.
    pub tag: u64,
    /// When the request arrived; not later than the time of submission.
    pub arrival: Nanos,
    /// First byte.
    pub offset: u64,
    /// Length in bytes; zero only for flushes.
    pub bytes: u32,
    /// The kind of the request.
    pub kind: RequestKind,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The queue of requests is full: try again after an acknowledgement.
    #[error("the array is busy: its queue of host requests is full")]
    Busy,
    /// The request ends beyond the array.
    #[error("the request ends behind the array's {capacity} bytes")]
    OutOfRange {
        /// Size of the array.
        capacity: u64,
    },
    /// The request has no bytes, or an array of real bytes got a request that is not made of whole sectors.
    #[error("a request must be made of at least one whole sector of 512 bytes")]
    Shape,
    /// The array is read-only.
    #[error("the array is read-only: it takes no writes and no trims")]
    ReadOnly,
    /// A log has used up what tells versions of its chunks apart since the assembly.
    #[error("write sequence numbers are exhausted: the log takes no writes and no trims; restart the server")]
    EpochOver,
}

/// A slot of the table of host requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestSlot {
    /// The request as the host gave it.
    pub host: HostRequest,
    /// The number of the request since the start, modulo 2^32; 0 for the controller's own requests.
    pub number: u32,
    /// First and last page.
    pub pages: (u64, u64),
    /// Whether the first or the last page is covered only in part.
    pub in_part: bool,
    /// Whether the request continues where one of the last writes ended.
    pub is_sequential: bool,
    /// The part that is not yet split into plans.
    pub cursor: RowCursor,
    /// Over zones: the part that is translated to pages of the array and not yet split.
    pub extent: RowCursor,
    /// Over zones: the epoch in which the request began, and the number of moves before it.
    pub epoch: u64,
    /// Over zones: the number of moves before the request began.
    pub moves: u64,
    /// Plans not yet complete, plus one while the request is being split.
    pub remaining: u32,
    /// The request failed.
    pub failed: bool,
    /// The request failed because the array is out of space.
    pub no_space: bool,
    /// A flush that waits, or waited, for the content of volatile controller memory.
    pub drained: bool,
    /// A flush that waits, or waited, for the content of a volatile write cache.
    pub emptied: bool,
    /// A flush that waits, or waited, for deferred parity.
    pub deferred_flushed: bool,
    /// A flush whose member flushes were issued.
    pub flushed: bool,
    /// Next free slot.
    pub next: RequestId,
}
