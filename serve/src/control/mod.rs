//! The control socket: what may be asked of a server, as JSON-RPC 2.0, one line a message (docs/control.md).

mod client;
pub(crate) mod rpc;
mod server;

use std::path::PathBuf;
use std::sync::mpsc::SyncSender;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::candidate::{Candidate, Place, Vacancy};
use crate::members::Refusal;

pub use client::{Client, ClientError};
pub(crate) use server::{Control, ask};

/// What may be asked of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// All that the server knows of its array: [`crate::Status`].
    Status,
    /// Take a member out of service.
    Fail {
        /// Its number.
        #[serde(rename = "element")]
        member: u16,
        /// Whether it may take more out than parity tolerates.
        #[serde(default)]
        force: bool,
    },
    /// Put a file or device in the place of a member that is out of service, and rebuild it.
    Replace {
        /// The number of the member.
        #[serde(rename = "element")]
        member: u16,
        /// The file or device.
        path: PathBuf,
        /// Whether what it holds may be lost.
        #[serde(default)]
        force: bool,
    },
    /// Keep a file or device as a hot spare: it replaces the first member that fails.
    AddSpare {
        /// The file or device.
        path: PathBuf,
        /// Whether what it holds may be lost.
        #[serde(default)]
        force: bool,
    },
    /// Read everything, hold it against checksums and parity, and repair what is damaged.
    Scrub,
    /// End a scrub before it is done.
    StopScrub,
    /// How fast rebuilds may go.
    RebuildRate {
        /// Bytes a second; none for as fast as can be.
        bytes_per_second: Option<u64>,
    },
    /// Finish what is under way, make it durable and end. Answered when it is done.
    Stop,
}

/// Why a server did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ControlError {
    /// The kind: one of JSON-RPC's, or of [`ControlError::REFUSED`], [`ControlError::BUSY`], [`ControlError::ENDED`].
    pub code: i64,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl ControlError {
    /// Not JSON.
    pub const PARSE: i64 = -32700;
    /// JSON, and no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Parameters that the method does not take.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The array cannot do it, as it is now.
    pub const REFUSED: i64 = 1;
    /// The server has too much to do; ask again.
    pub const BUSY: i64 = 2;
    /// The server ends.
    pub const ENDED: i64 = 3;

    /// An error of kind `code` that says `message`.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The array cannot do it: `message` says why.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Self::REFUSED, message)
    }
}

/// What a command is answered with.
pub(crate) type Answer = Result<Value, ControlError>;

/// What the loop is asked, and where its answer goes.
#[derive(Debug)]
pub(crate) enum Asked {
    /// To carry out a command that brings no file and does not end it.
    Command { command: Command, answer: SyncSender<Answer> },
    /// To end. Whoever asked learns from [`Control::ended`] how it did.
    Stop,
    /// What it wants of a file or device for a place.
    Vacancy { place: Place, answer: SyncSender<Result<Vacancy, Refusal>> },
    /// To take a file or device.
    Candidate { candidate: Box<Candidate>, answer: SyncSender<Answer> },
}
