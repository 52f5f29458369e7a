//! A connection of the verifying client: bytes between its socket and its state machine.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;

use stripewise_nbd::client::{Client, Cookie, ExportInfo, Found, Wishes};

use super::Broken;
use crate::model::Update;

/// Size of the receive buffer, in bytes.
const RECEIVED_BYTES: usize = 256 << 10;

/// A request, and the condition that its answer must meet.
#[derive(Debug)]
pub(super) enum HostRequest {
    /// A read; for each of its sectors, the oldest allowed version.
    Read { first: u64, floors: Vec<Update> },
    /// A change of sectors.
    Change { update: Update, first: u64, count: u64, kind: Change },
    /// A flush; for every sector, the version that it makes durable.
    Flush { promised: Vec<Update> },
}

/// The kind of change of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Write,
    DurableWrite,
    Trim,
    Zeroes,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    socket: UnixStream,
    pub(super) client: Client,
    pending: BTreeMap<Cookie, HostRequest>,
    /// Bytes to send, and the number of bytes already sent.
    outgoing: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
}

impl Link {
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            client: Client::new("", Wishes::default()),
            pending: BTreeMap::new(),
            outgoing: Vec::new(),
            sent: 0,
            received: vec![0; RECEIVED_BYTES],
        })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The server's export, after the handshake.
    pub(super) fn export(&self) -> Option<&ExportInfo> {
        self.client.export()
    }

    /// Number of unanswered requests.
    pub(super) fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// Records a request.
    pub(super) fn ask(&mut self, cookie: Cookie, pending: HostRequest) {
        self.pending.insert(cookie, pending);
    }

    /// The requests that were never answered.
    pub(super) fn into_unanswered(self) -> impl Iterator<Item = HostRequest> {
        self.pending.into_values()
    }

    /// Whether there are bytes to send.
    pub(super) fn wants_to_send(&mut self) -> bool {
        if self.sent == self.outgoing.len() {
            (self.outgoing, self.sent) = (self.client.take_outgoing(), 0);
        }
        self.sent < self.outgoing.len()
    }

    /// Sends and receives as much as possible without waiting, and passes each answer to `answered`. False if the
    /// server is gone.
    pub(super) fn turn(
        &mut self,
        mut answered: impl FnMut(HostRequest, Found) -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        while self.wants_to_send() {
            match self.socket.write(&self.outgoing[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A server that is gone may have left answers.
                Err(_) => break,
            }
        }
        let lives = loop {
            match self.socket.read(&mut self.received) {
                Ok(0) => break false,
                Ok(bytes) => {
                    let received = self.client.receive(&self.received[..bytes]);
                    received.map_err(|error| Broken(format!("the server breaks the protocol: {error}")))?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break error.kind() == ErrorKind::WouldBlock,
            }
        };
        while let Some(answer) = self.client.next_answer() {
            let pending = self.pending.remove(&answer.cookie).expect("the client answers what was asked");
            let found = answer.outcome.map_err(|(fault, text)| {
                Broken(format!("a request failed with {fault:?}, `{text}`: {}", summary(&pending)))
            })?;
            answered(pending, found)?;
        }
        Ok(lives)
    }
}

fn summary(pending: &HostRequest) -> String {
    match pending {
        HostRequest::Read { first, floors } => format!("a read of {} sectors from {first} on", floors.len()),
        HostRequest::Change { update, first, count, kind } => {
            format!("update {update}, {kind:?} of {count} sectors from {first} on")
        }
        HostRequest::Flush { .. } => "a flush".into(),
    }
}
