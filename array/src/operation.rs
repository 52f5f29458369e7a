//! Member operations: what the controller asks of a member, and what comes back.

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;

/// Names an operation in flight; dense, reused after completion.
pub type OperationId = u32;

/// What a member is asked to do with one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum OperationKind {
    /// Read the page.
    #[default]
    Read,
    /// Write the page.
    Write,
    /// Declare the page unused.
    Trim,
    /// Make all completed writes durable.
    Flush,
}

/// On whose behalf an operation runs; dispatch policies order by it and results count by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Class {
    /// Data that a host reads.
    #[default]
    HostRead,
    /// Data that a host writes.
    HostWrite,
    /// What an update must read before it can write.
    PreRead,
    /// Parity.
    Parity,
    /// Deltas of parity that are written to a log.
    Log,
    /// What a degraded or redirected read decodes from.
    Decode,
    /// Content written back after it was decoded.
    Repair,
    /// Valid chunks that array-level garbage collection reads.
    ArrayGcRead,
    /// The same chunks where it writes them.
    ArrayGcWrite,
    /// Flushes and everything else that carries no chunk.
    Metadata,
}

impl Class {
    /// Number of classes.
    pub const COUNT: usize = Self::ALL.len();

    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::HostRead,
        Self::HostWrite,
        Self::PreRead,
        Self::Parity,
        Self::Log,
        Self::Decode,
        Self::Repair,
        Self::ArrayGcRead,
        Self::ArrayGcWrite,
        Self::Metadata,
    ];

    /// The name that tables and plans print.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostRead => "host read",
            Self::HostWrite => "host write",
            Self::PreRead => "pre-read",
            Self::Parity => "parity",
            Self::Log => "log",
            Self::Decode => "decode",
            Self::Repair => "repair",
            Self::ArrayGcRead => "array GC read",
            Self::ArrayGcWrite => "array GC write",
            Self::Metadata => "metadata",
        }
    }
}

/// One page operation on one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Page of the member.
    pub page: u32,
    /// The member.
    #[serde(rename = "element")]
    pub member: u16,
    /// What to do.
    pub kind: OperationKind,
    /// On whose behalf.
    pub class: Class,
    /// The row's member that the page belongs to (0 for flushes); of a delta, the parity member that it changes.
    #[serde(rename = "member")]
    pub column: u8,
    /// Of a write: the member keeps the version that it replaces, unless it keeps an older one already, until
    /// [`crate::Driver::release`]. Of a read: the kept version is read where there is one.
    pub old_version: bool,
    /// Of a write: the stream whose erase blocks take it, below [`crate::Members::streams`] (NVMe calls it a placement
    /// handle). 0 is the default stream, which all writes share that name none.
    pub stream: u8,
    /// The host request that it serves: its number since the start, modulo 2^32. 0 for work of the controller's own. A device
    /// that is given commands gets the operations of one request, kind and instant as one.
    pub request: u32,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Done.
    Done,
    /// The page cannot be read or written; the member lives.
    MediumError,
    /// The member returned content that it knows, or the checksum shows, to be wrong.
    Corrupt,
    /// No answer in time: the member is taken for failed.
    Timeout,
    /// The member is gone.
    Gone,
}

/// Where the time of a finished operation went inside its member. The rest of it was queueing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Transfers.
    pub bus_ns: Nanos,
    /// Cell time.
    pub cell_ns: Nanos,
    /// Waiting for garbage collection.
    pub gc_wait_ns: Nanos,
}
