//! Requests of the transmission phase: what a client asks for, judged before the host sees it.

use crate::export::Export;
use crate::fault::Fault;
use crate::handshake::Agreed;
use crate::wire::*;

/// A request that a client made, and what is needed to reply to it.
#[derive(Debug)]
pub struct Request<B> {
    /// What is asked for: whole blocks inside the export, at least one.
    pub command: Command<B>,
    /// Names the request in [`Connection::reply`](crate::Connection::reply).
    pub pending: Pending,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Command<B> {
    /// Read, and reply with [`Reply::Data`].
    Read {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u32,
    },
    /// Write.
    Write {
        /// First byte.
        offset: u64,
        /// What to write, at its front.
        data: B,
        /// How many bytes of it.
        bytes: u32,
        /// Whether it has to be durable before the reply.
        fua: bool,
    },
    /// Make durable every write, trim and zeroing that was replied to, on whatever connection.
    Flush,
    /// Declare bytes unused; they may read as anything.
    Trim {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u32,
        /// Whether it has to be durable before the reply.
        fua: bool,
    },
    /// Make bytes read as zeros.
    WriteZeroes {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u32,
        /// Whether it has to be durable before the reply.
        fua: bool,
        /// Whether later writes must find space here: the zeros may not become a hole.
        keep_space: bool,
    },
    /// Say what is allocated from `offset` on, and reply with [`Reply::Extents`].
    BlockStatus {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u32,
        /// Whether the client takes one extent alone.
        one: bool,
    },
}

/// A request that waits for its reply, of which it gets one.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a request without a reply keeps its client waiting"]
pub struct Pending {
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) command: u16,
    /// The client takes one extent alone.
    pub(crate) one: bool,
}

impl Pending {
    /// Whether its reply carries what was read.
    pub fn is_read(&self) -> bool {
        self.command == CMD_READ
    }

    /// Bytes of the request that count against the limits of its connection.
    pub(crate) fn payload(&self) -> u64 {
        if matches!(self.command, CMD_READ | CMD_WRITE) { self.bytes.into() } else { 0 }
    }
}

/// What became of a request.
#[derive(Debug)]
pub enum Reply<'a, B> {
    /// It is done. Not for [`Command::Read`] and [`Command::BlockStatus`].
    Done,
    /// What a read found: as many bytes as were asked for, at the front of the buffer.
    Data(B),
    /// What is allocated, from the request's first byte on, at least one extent. What lies beyond the request is not sent.
    Extents(&'a [Extent]),
    /// It failed, with a sentence for the client's user.
    Failed(Fault, &'a str),
}

/// A run of bytes of which the same is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many, at least one.
    pub bytes: u64,
    /// Whether nothing is stored for them, so that a write may find no space.
    pub hole: bool,
    /// Whether they read as zeros.
    pub zero: bool,
}

impl Extent {
    pub(crate) fn state(self) -> u32 {
        u32::from(self.hole) * STATE_HOLE + u32::from(self.zero) * STATE_ZERO
    }
}

/// What to do with a request that was received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Hand it to the host.
    Serve,
    /// It asks for no bytes and is done.
    Nothing,
    Refuse(Fault, &'static str),
}

/// Judges a request by what was agreed upon and by the export.
pub(crate) fn judge(header: &RequestHeader, export: &Export, agreed: Agreed) -> Verdict {
    let allowed = match header.command {
        // Clients are known to set FUA on all of them.
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
    // Where no hole may be made they are written.
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
