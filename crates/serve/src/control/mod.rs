//! The control socket: commands for a server, as JSON-RPC 2.0, one line a message (docs/reference/control.md).

mod client;
pub(crate) mod rpc;
mod server;

use std::path::PathBuf;
use std::sync::mpsc::SyncSender;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stripewise_array::MemberNo;

use crate::candidate::{Candidate, CandidateRole, Vacancy};
use crate::members::Refusal;

pub use client::{Client, ClientError};
pub(crate) use server::{Control, ask};

/// A command for a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Report the status: [`crate::Status`].
    Status,
    /// Take a member out of service.
    Fail {
        /// Its number.
        // Servers of the previous release know the former name alone.
        #[serde(rename(serialize = "element"), alias = "element")]
        member: MemberNo,
        /// Whether the array may lose more members than parity tolerates.
        #[serde(default)]
        force: bool,
    },
    /// Put a file or device in the place of a member that is out of service, and rebuild it.
    Replace {
        /// The number of the member.
        // Servers of the previous release know the former name alone.
        #[serde(rename(serialize = "element"), alias = "element")]
        member: MemberNo,
        /// The file or device.
        path: PathBuf,
        /// Whether its content may be lost.
        #[serde(default)]
        force: bool,
    },
    /// Keep a file or device as a hot spare: it replaces the first member that fails.
    AddSpare {
        /// The file or device.
        path: PathBuf,
        /// Whether its content may be lost.
        #[serde(default)]
        force: bool,
    },
    /// Read everything, verify it against checksums and parity, and repair damage.
    Scrub,
    /// Stop a scrub.
    StopScrub,
    /// Set the rate of rebuilds.
    RebuildRate {
        /// Bytes a second. None for no limit.
        bytes_per_second: Option<u64>,
    },
    /// Finish the requests in flight, make them durable and end. Answered when that is complete.
    Stop,
}

/// Why a server did not execute a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ControlError {
    /// The kind: one of JSON-RPC's, or of [`ControlError::REFUSED`], [`ControlError::BUSY`], [`ControlError::ENDED`].
    pub code: i64,
    /// The reason, and the remedy.
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
    /// The array cannot do it in its present state.
    pub const REFUSED: i64 = 1;
    /// The server has too much to do; retry.
    pub const BUSY: i64 = 2;
    /// The server is ending.
    pub const ENDED: i64 = 3;

    /// An error of kind `code` with `message`.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The array cannot do it: `message` says why.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Self::REFUSED, message)
    }
}

/// The answer to a command.
pub(crate) type Answer = Result<Value, ControlError>;

/// A message to the loop, with the channel for its answer.
#[derive(Debug)]
pub(crate) enum ControlRequest {
    /// Execute a command other than stopping and adding a file.
    Command { command: Command, answer: SyncSender<Answer> },
    /// Stop. [`Control::ended`] reports the result to the client.
    Stop,
    /// Report the requirements for a file or device at a place.
    Vacancy { place: CandidateRole, answer: SyncSender<Result<Vacancy, Refusal>> },
    /// Accept a file or device.
    Candidate { candidate: Box<Candidate>, answer: SyncSender<Answer> },
}
