//! The asking side of the control socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{Command, ControlError, rpc};
use crate::status::Status;

/// Why a server was not asked, or did not do it.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens at the socket.
    #[error("nobody serves at `{0}`")]
    NobodyThere(String),
    /// The connection failed.
    #[error("the control socket: {0}")]
    Io(#[from] io::Error),
    /// The server's answer is none.
    #[error("the server's answer cannot be read: {0}")]
    Answer(String),
    /// The server answered with an error.
    #[error(transparent)]
    Refused(#[from] ControlError),
}

impl ClientError {
    /// Whether it may pass if the server is asked again, which has too much to do.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Refused(error) if error.code == ControlError::BUSY)
    }
}

/// A connection to a server's control socket.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    asked: u64,
}

#[derive(Deserialize)]
struct Answered {
    id: Value,
    #[serde(default)]
    result: Value,
    error: Option<ControlError>,
}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// When nobody listens there, and what the operating system refuses.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                ClientError::NobodyThere(path.display().to_string())
            }
            _ => ClientError::Io(error),
        })?;
        Ok(Self { stream: BufReader::new(stream), asked: 0 })
    }

    /// All that the server knows of its array.
    ///
    /// # Errors
    /// Those of [`Client::ask`]; a server of another version may tell what cannot be read.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        serde_json::from_value(self.ask(&Command::Status)?).map_err(|error| {
            ClientError::Answer(format!("its status: {error}; it may be of another version"))
        })
    }

    /// Asks for `command`, and waits for its answer.
    ///
    /// # Errors
    /// The server's, and those of the connection.
    pub fn ask(&mut self, command: &Command) -> Result<Value, ClientError> {
        self.asked += 1;
        let line =
            rpc::request(self.asked, command).map_err(|error| ClientError::Answer(error.to_string()))?;
        self.stream.get_mut().write_all(&line)?;
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(ClientError::Answer("it hung up".to_owned()));
        }
        let answered: Answered =
            serde_json::from_str(&line).map_err(|error| ClientError::Answer(error.to_string()))?;
        if let Some(error) = answered.error {
            return Err(error.into());
        }
        if answered.id != self.asked {
            return Err(ClientError::Answer(format!("it is for request {}", answered.id)));
        }
        Ok(answered.result)
    }
}
