//! The client's side of a connection, for tests and for checks. It is strict, so that it finds a server's errors, and
//! simple: it copies all that it sends and receives.

use std::collections::{BTreeMap, VecDeque};

use crate::export::BlockSizes;
use crate::fault::Fault;
use crate::request::Extent;
use crate::wire::*;

mod handshake;
mod reply;

use handshake::Negotiation;
use reply::ExpectedReply;

/// The features that the client requests from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// Structured replies (replies in chunks).
    pub structured: bool,
    /// The context `base:allocation`, for [`Client::block_status`]. It requires structured replies.
    pub allocation: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { structured: true, allocation: true }
    }
}

/// The server's description of its export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// Its size.
    pub bytes: u64,
    /// Its transmission flags.
    pub flags: u16,
    /// Limits of request lengths, if the server sent any.
    pub block: Option<BlockSizes>,
}

/// Identifies a request of this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cookie(pub u64);

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request.
    pub cookie: Cookie,
    /// The result, or why the request failed, with the server's message.
    pub outcome: Result<Found, (Fault, String)>,
}

/// The result of a successful request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// No result, for requests that have none.
    Nothing,
    /// The data of a read.
    Data(Vec<u8>),
    /// The allocation, from the first byte of the request on.
    Extents(Vec<Extent>),
}

/// A violation of the protocol by the server, or its refusal of the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// A message begins with the wrong number.
    #[error("{what} begins with {found:#x}")]
    Magic {
        /// The expected message.
        what: &'static str,
        /// The number found.
        found: u64,
    },
    /// It does not reply to options, so nothing can be negotiated.
    #[error("the server greets with flags {flags:#x}, without fixed newstyle; it is too old for this client")]
    NotFixed {
        /// Its flags.
        flags: u16,
    },
    /// A reply to an option that was not sent, or of a wrong kind.
    #[error("reply {kind:#x} to option {option}, which is not what was asked or how it may be answered")]
    OptionReply {
        /// Its option.
        option: u32,
        /// Its kind.
        kind: u32,
    },
    /// The server refuses an option that the client requires.
    #[error("the server refuses option {option} with {kind:#x}: {text}")]
    Refused {
        /// The option.
        option: u32,
        /// The error.
        kind: u32,
        /// The server's message.
        text: String,
    },
    /// A reply to no request.
    #[error("a reply to request {cookie}, which does not wait for one")]
    Cookie {
        /// The cookie of the reply.
        cookie: u64,
    },
    /// A reply that does not match its request.
    #[error("the reply to request {cookie} {what}")]
    Reply {
        /// The request.
        cookie: u64,
        /// The mismatch.
        what: &'static str,
    },
}

/// The client's side of one connection, without the socket.
#[derive(Debug)]
pub struct Client {
    outgoing: Vec<u8>,
    /// Requests that were made before the handshake was complete.
    later: Vec<u8>,
    received: Vec<u8>,
    negotiation: Negotiation,
    expected: BTreeMap<u64, ExpectedReply>,
    answers: VecDeque<Answer>,
    next: u64,
}

impl Client {
    /// A client of the export `name`. An empty name is the default export.
    pub fn new(name: &str, wishes: Wishes) -> Self {
        Self {
            outgoing: Vec::new(),
            later: Vec::new(),
            received: Vec::new(),
            negotiation: Negotiation::new(name, wishes),
            expected: BTreeMap::new(),
            answers: VecDeque::new(),
            next: 1,
        }
    }

    /// Takes the bytes to send.
    pub fn take_outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outgoing)
    }

    /// The server's export, as soon as it is known.
    pub fn export(&self) -> Option<&ExportInfo> {
        self.negotiation.export()
    }

    /// Requests without an answer.
    pub fn in_flight(&self) -> usize {
        self.expected.len()
    }

    /// Reads `bytes`.
    pub fn read(&mut self, offset: u64, bytes: u32) -> Cookie {
        self.request(CMD_READ, 0, offset, bytes, &[])
    }

    /// Writes `data`.
    pub fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> Cookie {
        self.request(CMD_WRITE, u16::from(fua) * CMD_FLAG_FUA, offset, data.len() as u32, data)
    }

    /// Makes all answered writes durable.
    pub fn flush(&mut self) -> Cookie {
        self.request(CMD_FLUSH, 0, 0, 0, &[])
    }

    /// Declares `bytes` unused.
    pub fn trim(&mut self, offset: u64, bytes: u32, fua: bool) -> Cookie {
        self.request(CMD_TRIM, u16::from(fua) * CMD_FLAG_FUA, offset, bytes, &[])
    }

    /// Makes `bytes` read as zeros.
    pub fn write_zeroes(&mut self, offset: u64, bytes: u32, fua: bool) -> Cookie {
        self.request(CMD_WRITE_ZEROES, u16::from(fua) * CMD_FLAG_FUA, offset, bytes, &[])
    }

    /// Asks for the allocation of a range.
    pub fn block_status(&mut self, offset: u64, bytes: u32) -> Cookie {
        self.request(CMD_BLOCK_STATUS, 0, offset, bytes, &[])
    }

    /// Makes a request of any kind, valid or not, followed by `data`.
    pub fn request(&mut self, command: u16, flags: u16, offset: u64, bytes: u32, data: &[u8]) -> Cookie {
        let cookie = self.next;
        self.next += 1;
        self.expected.insert(cookie, ExpectedReply::new(command, offset, bytes));
        self.send(RequestHeader { flags, command, cookie, offset, bytes }, data);
        Cookie(cookie)
    }

    /// Disconnects. No request may follow.
    pub fn disconnect(&mut self) {
        self.send(RequestHeader { flags: 0, command: CMD_DISC, cookie: 0, offset: 0, bytes: 0 }, &[]);
    }

    /// Processes bytes from the server.
    ///
    /// # Errors
    /// A violation of the protocol, and a refusal of an option that this client needs.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), ServerError> {
        self.received.extend(bytes);
        let mut used = 0;
        loop {
            let mut fields = Fields(&self.received[used..]);
            let before = fields.0.len();
            let is_some = if self.negotiation.is_done() {
                reply::take(
                    &mut fields,
                    self.negotiation.is_structured(),
                    &mut self.expected,
                    &mut self.answers,
                )?
            } else {
                let is_some = self.negotiation.take(&mut fields, &mut self.outgoing)?;
                if self.negotiation.is_done() {
                    self.outgoing.append(&mut self.later);
                }
                is_some
            };
            if !is_some {
                break;
            }
            used += before - fields.0.len();
        }
        self.received.drain(..used);
        Ok(())
    }

    /// The next answer.
    pub fn next_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    fn send(&mut self, header: RequestHeader, data: &[u8]) {
        let out = if self.negotiation.is_done() { &mut self.outgoing } else { &mut self.later };
        out.extend(header.encode());
        out.extend(data);
    }
}
