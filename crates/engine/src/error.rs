//! Errors of the engine, each with its remedy.

use std::io;
use std::path::PathBuf;

use stripewise_array::{AssembleError, MemberNo, RejoinError, SchemeError, SubmitError};

use crate::jobs::Request;
use crate::owner::OwnerError;

/// A member file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("member file `{}`: {trouble}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Why it cannot be used.
    pub trouble: FileTrouble,
}

/// Why a member file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileTrouble {
    /// There is no such file.
    #[error("does not exist; check the path, or create the array first")]
    Missing,
    /// There is one where a new one was to be made.
    #[error("exists already; open the array instead, or remove the file if its content is not needed")]
    Exists,
    /// Another engine has it open, or it was named twice.
    #[error("is in use by another engine, or was named twice; stop the other one, or name each file once")]
    Locked,
    /// It has no whole page, or too many.
    #[error("has {bytes} bytes, but must have at least one page of {page_bytes} bytes and fewer than 2^32")]
    Size {
        /// Its size.
        bytes: u64,
        /// The page.
        page_bytes: u32,
    },
    /// It differs in size from the first.
    #[error(
        "has {bytes} bytes, but `{}` has {first_bytes}; all members of an array are equally large",
        first.display()
    )]
    Unequal {
        /// Its size.
        bytes: u64,
        /// The first file.
        first: PathBuf,
        /// Size of the first file.
        first_bytes: u64,
    },
    /// It is a block device in use: a mounted file system, swap, another array.
    #[error("is a block device that is in use; unmount it, or stop what has it")]
    Busy,
    /// It is a block device whose blocks are larger than pages.
    #[error(
        "has blocks of {block_bytes} bytes, and the array has pages of {page_bytes}; use pages at least as large"
    )]
    Blocks {
        /// Its logical block.
        block_bytes: u32,
        /// The page.
        page_bytes: u32,
    },
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Why an accepted request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// More of a row or stripe is lost than its parity can tolerate.
    #[error("more members of a row are lost than its parity tolerates; a part of the data is lost")]
    Lost,
    /// The array has no space for what it writes.
    #[error("the array is out of space; trim unused data, or give its members more space")]
    NoSpace,
}

/// A request that was not accepted, returned with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Rejected {
    /// The reason. [`SubmitError::Busy`] is temporary: submit the request again after a completion.
    pub error: SubmitError,
    /// The request.
    pub request: Request,
}

/// Why an operation of the engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A member file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another host owns the array.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The scheme cannot run over these members.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The array cannot be assembled.
    #[error(transparent)]
    Open(#[from] AssembleError),
    /// A transcript cannot be written. The array itself is not affected.
    #[error("the transcript `{}` cannot be written: {error}; name a new file where there is room", path.display())]
    Transcript {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The request was not accepted.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The request failed.
    #[error(transparent)]
    Failed(#[from] Failed),
    /// A member cannot be added.
    #[error(transparent)]
    Rejoin(#[from] RejoinError),
    /// A member that is offered is not the one that it should be.
    #[error("member {member} cannot return from `{}`: {reason}", path.display())]
    NotThat {
        /// The member.
        member: MemberNo,
        /// The file that was offered.
        path: PathBuf,
        /// The mismatch, and the remedy.
        reason: String,
    },
    /// A member cannot be replaced while operations on it are in flight.
    #[error(
        "member {member} has {operations} operations in flight yet; wait until it returns them, or until they time out"
    )]
    InFlight {
        /// The member.
        member: MemberNo,
        /// Operations in flight.
        operations: u32,
    },
    /// Requests are in flight, and no event can complete them.
    #[error("requests wait for nothing; this is a bug: please report it. Data that a flush covered is safe")]
    Stuck,
    /// No identifier can be generated.
    #[error("the system has no random numbers for identifiers")]
    NoRandomness,
    /// No such member.
    #[error("there is no member {member}: the array has {members}, counted from 0")]
    NoMember {
        /// The number given.
        member: MemberNo,
        /// Number of members.
        members: usize,
    },
}

impl From<Rejected> for EngineError {
    fn from(rejected: Rejected) -> Self {
        Self::Submit(rejected.error)
    }
}
