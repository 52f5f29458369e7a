//! Errors that a failed request returns to its client, and violations that end a connection.

/// Why a request failed, by the error numbers of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fault {
    /// The export is read-only.
    Permission = 1,
    /// The medium failed.
    Io = 5,
    /// No memory.
    Memory = 12,
    /// The request is invalid.
    Invalid = 22,
    /// No space is left, or the request exceeds the end of the export.
    NoSpace = 28,
    /// The reply does not fit into one chunk.
    Overflow = 75,
    /// The request is not supported as requested.
    NotSupported = 95,
    /// The server is ending.
    ShuttingDown = 108,
}

impl Fault {
    /// The error number of the protocol.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The fault of an error number. A number that the protocol does not define counts as [`Fault::Invalid`], as the
    /// protocol requires.
    pub fn of(number: u32) -> Self {
        match number {
            1 => Self::Permission,
            5 => Self::Io,
            12 => Self::Memory,
            28 => Self::NoSpace,
            75 => Self::Overflow,
            95 => Self::NotSupported,
            108 => Self::ShuttingDown,
            _ => Self::Invalid,
        }
    }
}

/// A violation of the protocol by a client, after which its bytes cannot be interpreted or no reply is possible. Close
/// the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// It set flags that were not offered.
    #[error("the client answers the greeting with flags {flags:#x}; 0x1 and 0x2 were offered")]
    ClientFlags {
        /// Its flags.
        flags: u32,
    },
    /// An option does not begin with its magic number.
    #[error("an option begins with {found:#018x} in place of `IHAVEOPT`; is the client one of NBD?")]
    OptionMagic {
        /// The number found.
        found: u64,
    },
    /// A client that reads no replies to options sent an option other than `NBD_OPT_EXPORT_NAME`.
    #[error("option {option} of a client without fixed newstyle, which may choose an export alone")]
    NotFixed {
        /// The option.
        option: u32,
    },
    /// `NBD_OPT_EXPORT_NAME`, which has no error reply, names an unknown export.
    #[error("the client asks for an export that there is not; the default export has an empty name")]
    UnknownExport,
    /// A request does not begin with its magic number.
    #[error("a request begins with {found:#010x} in place of 0x25609513")]
    RequestMagic {
        /// The number found.
        found: u32,
    },
}
