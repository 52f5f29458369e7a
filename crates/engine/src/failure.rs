//! Why members are out of service.

use std::time::Duration;
use std::{fmt, io};

use stripewise_array::format::FailReason;
use stripewise_array::{Operation, OperationKind};

/// Why a member is out of service.
#[derive(Debug)]
pub enum Failure {
    /// The caller failed it with [`crate::Engine::fail`].
    Requested,
    /// It was absent when the array was assembled, or its content was stale.
    Absent,
    /// Its file has become smaller than the part that the array uses.
    Shrunk {
        /// Bytes that the file has.
        bytes: u64,
        /// Bytes that the array uses.
        needed: u64,
    },
    /// An operation on it ended with an error that a serving member must not return.
    Error {
        /// The operation.
        operation: Operation,
        /// The error of the operating system.
        error: io::Error,
    },
    /// It completed nothing while writes of a log waited for it. It is taken back if it answers in time.
    Hung {
        /// How long it had completed nothing.
        waited: Duration,
    },
    /// The caller failed it with [`crate::Engine::fail_for`], for this reason.
    Unreliable {
        /// What it means for its content.
        reason: FailReason,
        /// The reason, for people.
        text: String,
    },
    /// Its owner page was not confirmed within the timeout of an operation, while writes waited for the confirmation.
    Unconfirmed {
        /// How long writes waited.
        waited: Duration,
    },
}

impl Failure {
    /// What it means for the content of the member, if the member returns.
    pub fn reason(&self) -> FailReason {
        match self {
            Self::Requested => FailReason::Requested,
            Self::Absent => FailReason::Unknown,
            Self::Shrunk { .. } => FailReason::Damage,
            Self::Error { .. } | Self::Unconfirmed { .. } | Self::Hung { .. } => FailReason::Gone,
            Self::Unreliable { reason, .. } => *reason,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, error) = match self {
            Self::Requested => return f.write_str("it was taken out of service"),
            Self::Unreliable { text, .. } => return f.write_str(text),
            Self::Unconfirmed { waited } => {
                return write!(
                    f,
                    "it did not answer the heartbeat of the owner for {waited:?}, and writes waited for it"
                );
            }
            Self::Hung { waited } => {
                return write!(
                    f,
                    "it did not answer for {waited:?}, and writes of the log waited for it: the log continues without it until \
                     it answers"
                );
            }
            Self::Absent => return f.write_str("it was absent or stale at assembly"),
            Self::Shrunk { bytes, needed } => {
                return write!(
                    f,
                    "its file has {bytes} bytes, and the array uses {needed}: it was cut short"
                );
            }
            Self::Error { operation, error } => (operation, error),
        };
        match operation.kind {
            OperationKind::Read => write!(f, "reading page {}: {error}", operation.page),
            OperationKind::Write => write!(f, "writing page {}: {error}", operation.page),
            OperationKind::Trim => write!(f, "trimming page {}: {error}", operation.page),
            OperationKind::Flush => write!(f, "flushing: {error}"),
        }
    }
}
