//! Numbers and messages of the protocol, all of them big-endian.
//!
//! Source: The NBD protocol, doc/proto.md of the Network Block Device project.

/// First word of the server's greeting.
pub const NBD_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// Second word of the greeting, and first of each option.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// First word of the reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// First word of a request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// First word of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// First word of a chunk of a structured reply.
pub const CHUNK_MAGIC: u32 = 0x668e_33ef;

/// Bytes of the greeting: two words and the handshake flags.
pub const GREETING_BYTES: usize = 18;
/// Bytes before the data of an option.
pub const OPTION_BYTES: usize = 16;
/// Bytes before the data of a reply to an option.
pub const OPTION_REPLY_BYTES: usize = 20;
/// Bytes of a request, before the payload of a write.
pub const REQUEST_BYTES: usize = 28;
/// Bytes of a simple reply, before the payload of a read.
pub const SIMPLE_REPLY_BYTES: usize = 16;
/// Bytes before the payload of a chunk.
pub const CHUNK_BYTES: usize = 20;
/// Zeros after the reply to `OPT_EXPORT_NAME`, where the client did not decline them.
pub const EXPORT_NAME_ZEROES: usize = 124;
/// The longest string.
pub const STRING_BYTES_MAX: usize = 4096;

/// Handshake flag of the server, and the same bit of the client: options have replies.
pub const FLAG_FIXED_NEWSTYLE: u16 = 1 << 0;
/// Handshake flag of the server, and the same bit of the client: no zeros after `OPT_EXPORT_NAME`.
pub const FLAG_NO_ZEROES: u16 = 1 << 1;

/// Transmission flag: the flags are valid.
pub const FLAG_HAS_FLAGS: u16 = 1 << 0;
/// Transmission flag: the export is read-only.
pub const FLAG_READ_ONLY: u16 = 1 << 1;
/// Transmission flag: `CMD_FLUSH` is supported.
pub const FLAG_SEND_FLUSH: u16 = 1 << 2;
/// Transmission flag: `CMD_FLAG_FUA` is supported.
pub const FLAG_SEND_FUA: u16 = 1 << 3;
/// Transmission flag: `CMD_TRIM` is supported.
pub const FLAG_SEND_TRIM: u16 = 1 << 5;
/// Transmission flag: `CMD_WRITE_ZEROES` is supported.
pub const FLAG_SEND_WRITE_ZEROES: u16 = 1 << 6;
/// Transmission flag: `CMD_FLAG_DF` is supported.
pub const FLAG_SEND_DF: u16 = 1 << 7;
/// Transmission flag: a flush on one connection covers all connections.
pub const FLAG_CAN_MULTI_CONN: u16 = 1 << 8;
/// Transmission flag: `CMD_FLAG_FAST_ZERO` is supported.
pub const FLAG_SEND_FAST_ZERO: u16 = 1 << 11;

/// Option: select the export and start the transmission, without an error reply.
pub const OPT_EXPORT_NAME: u32 = 1;
/// Option: end the session.
pub const OPT_ABORT: u32 = 2;
/// Option: list the exports.
pub const OPT_LIST: u32 = 3;
/// Option: start TLS.
pub const OPT_STARTTLS: u32 = 5;
/// Option: information about an export.
pub const OPT_INFO: u32 = 6;
/// Option: information about an export, and start the transmission.
pub const OPT_GO: u32 = 7;
/// Option: structured replies.
pub const OPT_STRUCTURED_REPLY: u32 = 8;
/// Option: list metadata contexts.
pub const OPT_LIST_META_CONTEXT: u32 = 9;
/// Option: select metadata contexts.
pub const OPT_SET_META_CONTEXT: u32 = 10;

/// Reply to an option: done.
pub const REP_ACK: u32 = 1;
/// Reply to an option: an export.
pub const REP_SERVER: u32 = 2;
/// Reply to an option: information about the export.
pub const REP_INFO: u32 = 3;
/// Reply to an option: a metadata context.
pub const REP_META_CONTEXT: u32 = 4;
/// The bit of replies to options that are errors.
pub const REP_ERROR: u32 = 1 << 31;
/// Reply to an option: not supported.
pub const REP_ERR_UNSUP: u32 = REP_ERROR + 1;
/// Reply to an option: it is invalid.
pub const REP_ERR_INVALID: u32 = REP_ERROR + 3;
/// Reply to an option: there is no such export.
pub const REP_ERR_UNKNOWN: u32 = REP_ERROR + 6;
/// Reply to an option: the server is ending.
pub const REP_ERR_SHUTDOWN: u32 = REP_ERROR + 7;
/// Reply to an option: it is too long.
pub const REP_ERR_TOO_BIG: u32 = REP_ERROR + 9;

/// Information: size and transmission flags.
pub const INFO_EXPORT: u16 = 0;
/// Information: the export's name.
pub const INFO_NAME: u16 = 1;
/// Information: the export's description.
pub const INFO_DESCRIPTION: u16 = 2;
/// Information: minimum, preferred and maximum block.
pub const INFO_BLOCK_SIZE: u16 = 3;

/// The metadata context of allocation.
pub const BASE_ALLOCATION: &str = "base:allocation";
/// Status: a hole.
pub const STATE_HOLE: u32 = 1 << 0;
/// Status: reads as zeros.
pub const STATE_ZERO: u32 = 1 << 1;

/// Request: read.
pub const CMD_READ: u16 = 0;
/// Request: write.
pub const CMD_WRITE: u16 = 1;
/// Request: end the session.
pub const CMD_DISC: u16 = 2;
/// Request: make durable.
pub const CMD_FLUSH: u16 = 3;
/// Request: declare unused.
pub const CMD_TRIM: u16 = 4;
/// Request: write zeros.
pub const CMD_WRITE_ZEROES: u16 = 6;
/// Request: block status (allocation).
pub const CMD_BLOCK_STATUS: u16 = 7;

/// Command flag: durable before the reply.
pub const CMD_FLAG_FUA: u16 = 1 << 0;
/// Command flag: zeros may not become a hole.
pub const CMD_FLAG_NO_HOLE: u16 = 1 << 1;
/// Command flag: do not fragment the data.
pub const CMD_FLAG_DF: u16 = 1 << 2;
/// Command flag: one extent only.
pub const CMD_FLAG_REQ_ONE: u16 = 1 << 3;
/// Command flag: write zeros only if that is faster than writing data.
pub const CMD_FLAG_FAST_ZERO: u16 = 1 << 4;

/// Flag of a chunk: the last one of its reply.
pub const CHUNK_DONE: u16 = 1 << 0;
/// Chunk: no content.
pub const CHUNK_NONE: u16 = 0;
/// Chunk: data.
pub const CHUNK_OFFSET_DATA: u16 = 1;
/// Chunk: zeros.
pub const CHUNK_OFFSET_HOLE: u16 = 2;
/// Chunk: extents.
pub const CHUNK_BLOCK_STATUS: u16 = 5;
/// The bit of chunks that are errors.
pub const CHUNK_ERROR_BIT: u16 = 1 << 15;
/// Chunk: an error.
pub const CHUNK_ERROR: u16 = CHUNK_ERROR_BIT + 1;

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// Command flags.
    pub flags: u16,
    /// The command.
    pub command: u16,
    /// The client's identifier of the request; the reply carries it.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u32,
}

impl RequestHeader {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut sent = [0; REQUEST_BYTES];
        sent[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        sent[4..6].copy_from_slice(&self.flags.to_be_bytes());
        sent[6..8].copy_from_slice(&self.command.to_be_bytes());
        sent[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        sent[16..24].copy_from_slice(&self.offset.to_be_bytes());
        sent[24..].copy_from_slice(&self.bytes.to_be_bytes());
        sent
    }

    /// Parses a header.
    ///
    /// # Errors
    /// The magic number found, if it is not that of requests.
    pub fn parse(sent: &[u8; REQUEST_BYTES]) -> Result<Self, u32> {
        let mut fields = Fields(sent);
        let magic = fields.u32().unwrap_or(0);
        if magic != REQUEST_MAGIC {
            return Err(magic);
        }
        let mut header = || {
            Some(Self {
                flags: fields.u16()?,
                command: fields.u16()?,
                cookie: fields.u64()?,
                offset: fields.u64()?,
                bytes: fields.u32()?,
            })
        };
        Ok(header().expect("a header has these fields"))
    }
}

/// Parses fields from the front of a message. `None` when it is too short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*front)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A string after its length of 32 bits.
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let bytes = self.u32()?;
        self.take(bytes as usize)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
