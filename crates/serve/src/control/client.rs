//! The client side of the control socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use serde::Deserialize;
use serde_json::Value;

use super::{Command, ControlError, rpc};
use crate::deadline::Deadline;
use crate::status::Status;

/// The default timeout of an answer. The server itself waits 30 s for its array, and then reports that.
const PATIENCE: Duration = Duration::from_secs(40);

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No server listens on the socket.
    #[error("no server is listening on `{0}`")]
    NoServer(String),
    /// The server did not answer in time.
    #[error(
        "no answer within {} s from the server at `{path}`: it is stopped, or waits for its members; look at its process, or \
         allow it more time",
        .patience.as_secs_f64()
    )]
    NoAnswer {
        /// Its control socket.
        path: String,
        /// The timeout.
        patience: Duration,
    },
    /// The connection failed.
    #[error("the control socket: {0}")]
    Io(#[from] io::Error),
    /// The server's answer is invalid.
    #[error("the server's answer cannot be read: {0}")]
    Answer(String),
    /// The server answered with an error.
    #[error(transparent)]
    Refused(#[from] ControlError),
}

impl ClientError {
    /// Whether the error is temporary: the server has too much to do.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Refused(error) if error.code == ControlError::BUSY)
    }
}

/// A connection to a server's control socket.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    path: String,
    /// The timeout of an answer.
    patience: Duration,
    last_id: u64,
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
    /// When no server is listening there, and the errors of the operating system.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        Self::connect_within(path, PATIENCE)
    }

    /// The same, with a timeout for connecting and for each answer. Commands that may take long on the server have no
    /// timeout: stopping it, and adding a file.
    ///
    /// # Errors
    /// Those of [`Client::connect`], and [`ClientError::NoAnswer`].
    pub fn connect_within(path: &Path, patience: Duration) -> Result<Self, ClientError> {
        let name = path.display().to_string();
        let late = || ClientError::NoAnswer { path: name.clone(), patience };
        let stream = connect(path, patience).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::NoServer(name.clone()),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => late(),
            _ => ClientError::Io(error),
        })?;
        Ok(Self { stream, path: name, patience, last_id: 0 })
    }

    /// The status of the server and its array.
    ///
    /// # Errors
    /// Those of [`Client::ask`]. The status of a server of another version may be unreadable.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        serde_json::from_value(self.ask(&Command::Status)?).map_err(|error| {
            ClientError::Answer(format!("its status: {error}; it may be of another version"))
        })
    }

    /// Sends `command`, and waits for its answer.
    ///
    /// # Errors
    /// The server's, and those of the connection.
    pub fn ask(&mut self, command: &Command) -> Result<Value, ClientError> {
        self.last_id += 1;
        let line =
            rpc::request(self.last_id, command).map_err(|error| ClientError::Answer(error.to_string()))?;
        let is_limited =
            !matches!(command, Command::Stop | Command::Replace { .. } | Command::AddSpare { .. });
        let line = self.exchange(&line, is_limited.then_some(self.patience)).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                ClientError::NoAnswer { path: self.path.clone(), patience: self.patience }
            }
            _ => ClientError::Io(error),
        })?;
        if line.is_empty() {
            return Err(ClientError::Answer("it hung up".to_owned()));
        }
        let answered: Answered =
            serde_json::from_str(&line).map_err(|error| ClientError::Answer(error.to_string()))?;
        if let Some(error) = answered.error {
            return Err(error.into());
        }
        if answered.id != self.last_id {
            return Err(ClientError::Answer(format!("it is for request {}", answered.id)));
        }
        Ok(answered.result)
    }

    /// Writes a line and reads one.
    fn exchange(&mut self, line: &[u8], patience: Option<Duration>) -> io::Result<String> {
        let mut answer = String::new();
        let Some(patience) = patience else {
            set_socket_timeout(&self.stream, Timeout::Send, None)?;
            set_socket_timeout(&self.stream, Timeout::Recv, None)?;
            self.stream.write_all(line)?;
            BufReader::new(&self.stream).read_line(&mut answer)?;
            return Ok(answer);
        };
        let mut stream = Deadline::after(patience, &self.stream);
        stream.write_all(line)?;
        // Nothing follows the line: one answer is requested at a time.
        BufReader::new(stream).read_line(&mut answer)?;
        Ok(answer)
    }
}

/// Connects, with a timeout: a stopped server accepts no connections, and its queue may be full.
fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    rustix::net::connect(&socket, &address)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use super::*;

    /// A stopped server: the kernel accepts connections for it until the queue is full.
    #[test]
    fn a_server_that_does_not_answer_is_left_after_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ctl");
        let listener = UnixListener::bind(&path).unwrap();
        let patience = Duration::from_millis(50);
        let begun = Instant::now();
        let mut clients = Vec::new();
        let connecting = loop {
            match Client::connect_within(&path, patience) {
                Ok(client) => clients.push(client),
                Err(error) => break error,
            }
            assert!(clients.len() < 100_000, "the queue has an end");
        };
        let asking = clients[0].status().unwrap_err();
        for error in [connecting, asking] {
            assert!(matches!(error, ClientError::NoAnswer { .. }), "{error}");
            assert!(error.to_string().contains("x.ctl`: it is stopped"), "{error}");
        }
        assert!(begun.elapsed() < Duration::from_secs(10));
        drop(listener);
        assert!(matches!(Client::connect_within(&path, patience), Err(ClientError::NoServer(_))));
    }
}
