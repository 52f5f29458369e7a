//! Member operations: what the controller asks of a member, and the result.

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;

use crate::ids::MemberNo;
pub use crate::ids::OperationId;

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

/// The purpose of an operation; dispatch policies order by class and results count by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Class {
    /// Data that a host reads.
    #[default]
    HostRead,
    /// Data that a host writes.
    HostWrite,
    /// Content that an update must read before it can write.
    PreRead,
    /// Parity.
    Parity,
    /// Deltas of parity that are written to a parity log.
    Log,
    /// Content from which a degraded or redirected read decodes.
    Decode,
    /// Decoded content that is written back.
    Repair,
    /// Valid chunks that the garbage collection of the array reads.
    ArrayGcRead,
    /// The same chunks when they are written to their new place.
    ArrayGcWrite,
    /// Flushes and everything else that carries no chunk.
    Metadata,
}

impl Class {
    /// Number of classes.
    pub const COUNT: usize = Self::ALL.len();

    /// All classes, in order.
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
    pub member: MemberNo,
    /// What to do.
    pub kind: OperationKind,
    /// On whose behalf.
    pub class: Class,
    /// The column of the row that the page belongs to (0 for flushes); for a delta, the parity column that it changes.
    pub column: u8,
    /// For a write: the member keeps the version that it replaces until `Driver::release`, unless it already
    /// keeps an older one. For a read: the kept version is read, if there is one.
    pub old_version: bool,
    /// For a write: the stream whose erase blocks take the page, below [`crate::members::Members::streams`] (in NVMe, a placement
    /// handle). 0 is the default stream, shared by all writes that name no stream.
    pub stream: u8,
    /// The number of the host request that the operation serves, counted from the start, modulo 2^32; 0 for the
    /// controller's own work. A device that receives commands gets the operations of one request, kind and time as one
    /// command.
    pub request: u32,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Done.
    Done,
    /// The page cannot be read or written; the member still works.
    MediumError,
    /// The member returned content that is wrong, by the member's own report or by the checksum.
    Corrupt,
    /// No answer in time: the member is treated as failed.
    Timeout,
    /// The member is gone.
    Gone,
}

/// The time of a finished operation inside its member, by part. The rest was queueing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Transfers.
    pub bus_ns: Nanos,
    /// Cell time.
    pub cell_ns: Nanos,
    /// Waiting for garbage collection.
    pub gc_wait_ns: Nanos,
}
