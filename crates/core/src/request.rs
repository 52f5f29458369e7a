//! Host requests: reads, writes, trims and flushes.

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;

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
    #[error("the request extends past the array's {capacity} bytes")]
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
    /// A log has used up the write sequence numbers of its epoch.
    #[error("write sequence numbers are exhausted: the log takes no writes and no trims; restart the server")]
    EpochOver,
    /// A trim, while updates of a row overlap.
    #[error(
        "a trim needs its row to hold still, which parity.updates = \"each\" does not let it; use \"row\", or a trace without \
         trims"
    )]
    Overlapping,
}
