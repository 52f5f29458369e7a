//! The export, and the limits of a connection.

use crate::wire::{
    FLAG_CAN_MULTI_CONN, FLAG_HAS_FLAGS, FLAG_READ_ONLY, FLAG_SEND_DF, FLAG_SEND_FAST_ZERO, FLAG_SEND_FLUSH,
    FLAG_SEND_FUA, FLAG_SEND_TRIM, FLAG_SEND_WRITE_ZEROES, STRING_BYTES_MAX,
};

/// Limits of request lengths, in bytes, powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths must be multiples of it.
    pub minimum: u32,
    /// Multiples of it are fastest.
    pub preferred: u32,
    /// The longest payload of a read or a write.
    pub maximum: u32,
}

/// A block device as clients see it. Clients name it, or ask for the default export with an empty name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// A description for people.
    pub description: String,
    /// Its size.
    pub bytes: u64,
    /// Limits of request lengths.
    pub block: BlockSizes,
    /// Whether writes, trims and zeros are refused.
    pub read_only: bool,
    /// Whether writing zeros is faster than a write of as many bytes, where it may make a hole.
    pub zeroes_fast: bool,
}

impl Export {
    /// Its transmission flags.
    pub(crate) fn flags(&self, structured: bool) -> u16 {
        let mut flags = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_CAN_MULTI_CONN;
        flags |= if self.read_only {
            FLAG_READ_ONLY
        } else {
            FLAG_SEND_TRIM | FLAG_SEND_WRITE_ZEROES | FLAG_SEND_FAST_ZERO
        };
        if structured {
            flags |= FLAG_SEND_DF;
        }
        flags
    }

    /// Whether a client's name selects this export.
    pub(crate) fn is_called(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.name.as_bytes()
    }

    /// Asserts the requirements of the protocol.
    pub(crate) fn assert_sound(&self) {
        let BlockSizes { minimum, preferred, maximum } = self.block;
        let powers = [minimum, preferred, maximum].iter().all(|bytes| bytes.is_power_of_two());
        assert!(powers && minimum <= preferred && preferred <= maximum, "{:?}", self.block);
        assert!(preferred >= 512 && minimum <= 64 << 10, "{:?}", self.block);
        assert!(self.bytes.is_multiple_of(minimum.into()), "{} bytes are no whole blocks", self.bytes);
        assert!(self.name.len() <= STRING_BYTES_MAX && self.description.len() <= STRING_BYTES_MAX);
    }
}

/// The limits of requests in flight on one connection: requests that were taken and whose replies are not completely
/// sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests.
    pub requests: u32,
    /// Bytes of their payloads. One request of the maximum block is always accepted.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: 128, bytes: 32 << 20 }
    }
}
