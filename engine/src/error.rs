//! What can go wrong, with the remedy.

use std::io;
use std::path::PathBuf;

use stripewise_array::{OpenError, SchemeError, SubmitError};

/// An element file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("element file `{}`: {trouble}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub trouble: FileTrouble,
}

/// What is wrong with an element file.
#[derive(Debug, thiserror::Error)]
pub enum FileTrouble {
    /// There is no such file.
    #[error("does not exist; check the path, or create the array first")]
    Missing,
    /// There is one where a new one was to be made.
    #[error("exists already; open the array instead, or remove the file if nobody needs its content")]
    Exists,
    /// Somebody else has it open as an element.
    #[error("is in use by another engine, or was named twice; stop the other one, or name each file once")]
    Locked,
    /// Its size is not made of whole pages, or of too few or too many.
    #[error(
        "has {bytes} bytes, but must have whole pages of {page_bytes} bytes, at least one and fewer than 2^32"
    )]
    Size {
        /// Its size.
        bytes: u64,
        /// The page.
        page_bytes: u32,
    },
    /// It differs in size from the first.
    #[error(
        "has {bytes} bytes, but `{}` has {first_bytes}; all elements of an array are equally large",
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
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// More members of a row are lost than its parity can bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more elements of a row are lost than its parity can bear; what the request covers is not all there")]
pub struct Lost;

/// Why the engine did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An element file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The scheme cannot run over these elements.
    #[error(transparent)]
    Scheme(#[from] SchemeError),
    /// The array is not opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The request was not taken.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The request failed.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// A request of 4 GiB or more.
    #[error("a request has fewer than 4294967296 bytes, not {bytes}; split it")]
    TooLong {
        /// Its length.
        bytes: u64,
    },
    /// No such element.
    #[error("there is no element {element}: the array has {elements}, counted from 0")]
    NoElement {
        /// The number given.
        element: u16,
        /// How many there are.
        elements: usize,
    },
}
