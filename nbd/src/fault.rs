//! What is told to a client whose request fails, and why a connection is ended.

/// Why a request failed, in the numbers that the protocol knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fault {
    /// Nothing may be written here.
    Permission = 1,
    /// The medium failed.
    Io = 5,
    /// No memory.
    Memory = 12,
    /// The request makes no sense.
    Invalid = 22,
    /// No space is left, or the end of the export is exceeded.
    NoSpace = 28,
    /// The reply does not fit into one piece.
    Overflow = 75,
    /// Not to be had in the way that was asked for.
    NotSupported = 95,
    /// The server is about to end.
    ShuttingDown = 108,
}

impl Fault {
    /// The number as it is sent.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The fault of a number; one that the protocol does not define counts as [`Fault::Invalid`], as it asks for.
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

/// A client broke the protocol, so that nothing that it sends can be understood any more or no reply exists for it. The
/// connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// It set flags that were not offered.
    #[error("the client answers the greeting with flags {flags:#x}; 0x1 and 0x2 were offered")]
    ClientFlags {
        /// Its flags.
        flags: u32,
    },
    /// What should be an option is none.
    #[error("an option begins with {found:#018x} in place of `IHAVEOPT`; is the client one of NBD?")]
    OptionMagic {
        /// What it begins with.
        found: u64,
    },
    /// A client that takes no replies to options sent another than `NBD_OPT_EXPORT_NAME`.
    #[error("option {option} of a client without fixed newstyle, which may choose an export alone")]
    NotFixed {
        /// The option.
        option: u32,
    },
    /// `NBD_OPT_EXPORT_NAME`, which has no error reply, names no export.
    #[error("the client asks for an export that there is not; the default export has an empty name")]
    UnknownExport,
    /// What should be a request is none.
    #[error("a request begins with {found:#010x} in place of 0x25609513")]
    RequestMagic {
        /// What it begins with.
        found: u32,
    },
}
