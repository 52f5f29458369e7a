//! Requests of the transmission phase, checked before the host sees them.

use crate::export::Export;
use crate::fault::Fault;
use crate::handshake::Agreed;
use crate::wire::*;

/// A request of a client, with the information for its reply.
#[derive(Debug)]
pub struct Request<B> {
    /// The command: whole blocks inside the export, at least one.
    pub command: Command<B>,
    /// Identifies the request in [`Connection::reply`](crate::Connection::reply).
    pub pending: Pending,
}

/// The command of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Command<B> {
    /// Read, and reply with [`Reply::Data`].
    Read {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u32,
    },
    /// Write.
    Write {
        /// First byte.
        offset: u64,
        /// The data, at the front of the buffer.
        data: B,
        /// Number of bytes of data.
        bytes: u32,
        /// Whether it must be durable before the reply.
        fua: bool,
    },
    /// Make every write, trim and zeroing durable that was replied to, on any connection.
    Flush,
    /// Declare bytes unused. They may read as anything.
    Trim {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u32,
        /// Whether it must be durable before the reply.
        fua: bool,
    },
    /// Make bytes read as zeros.
    WriteZeroes {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u32,
        /// Whether it must be durable before the reply.
        fua: bool,
        /// Whether the zeros may not become a hole, because later writes must find space here.
        keep_space: bool,
    },
    /// Report the allocation from `offset` on, and reply with [`Reply::Extents`].
    BlockStatus {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u32,
        /// Whether the client accepts only one extent.
        one: bool,
    },
}

/// A request that waits for its reply. It gets exactly one.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a request without a reply keeps its client waiting"]
pub struct Pending {
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) command: u16,
    /// Whether the client accepts only one extent.
    pub(crate) one: bool,
}

impl Pending {
    /// Whether it asks for a flush.
    pub fn is_flush(&self) -> bool {
        self.command == CMD_FLUSH
    }

    /// Whether its reply carries the data of a read.
    pub fn is_read(&self) -> bool {
        self.command == CMD_READ
    }

    /// Bytes of the request that count against the limits of its connection.
    pub(crate) fn payload(&self) -> u64 {
        if matches!(self.command, CMD_READ | CMD_WRITE) { self.bytes.into() } else { 0 }
    }
}

/// The reply to a request.
#[derive(Debug)]
pub enum Reply<'a, B> {
    /// Success. Not for [`Command::Read`] and [`Command::BlockStatus`].
    Done,
    /// The data of a read: as many bytes as requested, at the front of the buffer.
    Data(B),
    /// The allocation from the request's first byte on, at least one extent. Extents beyond the request are not sent.
    Extents(&'a [Extent]),
    /// Failure, with a message for the client's user.
    Failed(Fault, &'a str),
}

/// A run of bytes with the same allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of bytes, at least one.
    pub bytes: u64,
    /// Whether no space is allocated for them, so that a write may find no space.
    pub hole: bool,
    /// Whether they read as zeros.
    pub zero: bool,
}

impl Extent {
    pub(crate) fn state(self) -> u32 {
        u32::from(self.hole) * STATE_HOLE + u32::from(self.zero) * STATE_ZERO
    }
}

/// The result of checking a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Pass it to the host.
    Serve,
    /// It requests no bytes and is complete.
    Nothing,
    Refuse(Fault, &'static str),
}

/// Checks a request against the negotiated features and the export.
pub(crate) fn judge(header: &RequestHeader, export: &Export, agreed: Agreed) -> Verdict {
    let allowed = match header.command {
        // Some clients set FUA on all of them.
        CMD_READ if agreed.structured => CMD_FLAG_FUA | CMD_FLAG_DF,
        CMD_READ | CMD_WRITE | CMD_FLUSH | CMD_TRIM => CMD_FLAG_FUA,
        CMD_WRITE_ZEROES => CMD_FLAG_FUA | CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO,
        CMD_BLOCK_STATUS => CMD_FLAG_FUA | CMD_FLAG_REQ_ONE,
        _ => return Verdict::Refuse(Fault::Invalid, "the server does not know this request"),
    };
    let refuse = |text| Verdict::Refuse(Fault::Invalid, text);
    if header.flags & !allowed != 0 {
        return refuse("the request has a flag that it cannot have");
    }
    let writes = matches!(header.command, CMD_WRITE | CMD_TRIM | CMD_WRITE_ZEROES);
    if writes && export.read_only {
        return Verdict::Refuse(Fault::Permission, "the export is read-only");
    }
    if header.command == CMD_FLUSH {
        let bare = header.offset == 0 && header.bytes == 0;
        return if bare { Verdict::Serve } else { refuse("a flush has neither offset nor length") };
    }
    let end = header.offset.checked_add(header.bytes.into());
    if end.is_none_or(|end| end > export.bytes) {
        let fault = if writes { Fault::NoSpace } else { Fault::Invalid };
        return Verdict::Refuse(fault, "the request ends beyond the export");
    }
    let block = export.block;
    if !header.offset.is_multiple_of(block.minimum.into()) || !header.bytes.is_multiple_of(block.minimum) {
        return refuse("offset and length must be multiples of the minimum block size");
    }
    if matches!(header.command, CMD_READ | CMD_WRITE) && header.bytes > block.maximum {
        return refuse("the request is longer than the maximum block size");
    }
    // Where no hole may be made, zeros are written.
    let is_slow = !export.zeroes_fast || header.flags & CMD_FLAG_NO_HOLE != 0;
    if header.flags & CMD_FLAG_FAST_ZERO != 0 && is_slow {
        return Verdict::Refuse(Fault::NotSupported, "zeros are no faster here than a write");
    }
    if header.command == CMD_BLOCK_STATUS && !agreed.allocation {
        return refuse("no metadata context was selected");
    }
    match header.bytes {
        0 if header.command == CMD_BLOCK_STATUS => refuse("the status of no bytes"),
        0 => Verdict::Nothing,
        _ => Verdict::Serve,
    }
}
