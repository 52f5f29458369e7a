//! The server's side of one connection.

use std::io::IoSlice;
use std::sync::Arc;

use crate::export::{Export, Limits};
use crate::fault::{Fault, Violation};
use crate::handshake::{ALLOCATION_ID, Agreed, Next, OPTION_BYTES_MAX, greet, reply};
use crate::inbox::Inbox;
use crate::outbox::{Outbox, Sent};
use crate::request::{Command, Pending, Reply, Request, Verdict, judge};
use crate::wire::*;

/// Bytes that are received at once while no payload is expected: requests without payload, or the beginning of a write,
/// which is then copied.
const INBOX_BYTES: usize = 1024;
/// Most extents of one reply.
const EXTENTS_MAX: usize = 1024;
/// The longest message of an error reply.
const REASON_BYTES_MAX: usize = 256;

/// The meaning of the next received bytes.
#[derive(Debug)]
enum Phase<B> {
    ClientFlags,
    Option,
    OptionData {
        option: u32,
        bytes: usize,
    },
    /// Data of an option that is too long to be processed.
    OptionRest {
        option: u32,
        bytes: u64,
    },
    Request,
    Payload {
        pending: Pending,
        data: B,
        filled: usize,
        fua: bool,
    },
    /// Payload of a write that is refused.
    Refused {
        cookie: u64,
        fault: Fault,
        reason: &'static str,
        bytes: u64,
    },
    /// No more bytes are processed or expected.
    Over,
}

/// The server's side of one connection, without the socket. `B` is the type of payload buffers, which the host chooses.
///
/// Received bytes go into [`Connection::space`], [`Connection::next_request`] parses requests from them,
/// [`Connection::reply`] answers them in any order, and [`Connection::slices`] returns the bytes to send. Nothing grows
/// beyond the [`Limits`]: when they are reached, `space` is empty until replies are sent.
#[derive(Debug)]
pub struct Connection<B> {
    export: Arc<Export>,
    limits: Limits,
    agreed: Agreed,
    phase: Phase<B>,
    inbox: Inbox,
    outbox: Outbox<B>,
    /// Requests that were taken and whose replies are not completely sent. Of these, `unanswered` counts the requests
    /// that the host has.
    requests: u32,
    unanswered: u32,
    /// Bytes of their payloads.
    bytes: u64,
    /// Whether the limits prevent the next request from being taken.
    is_held_back: bool,
    is_shutting_down: bool,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Connection<B> {
    /// A connection that was just accepted.
    ///
    /// # Panics
    /// If the export's block sizes are not powers of two in ascending order, its size is not a multiple of the minimum
    /// block, or its name is longer than 4096 bytes.
    pub fn new(export: Arc<Export>, limits: Limits) -> Self {
        export.assert_sound();
        let limits =
            Limits { requests: limits.requests.max(1), bytes: limits.bytes.max(export.block.maximum.into()) };
        let mut outbox = Outbox::new(limits.requests as usize);
        outbox.push(false, None, greet);
        Self {
            export,
            limits,
            agreed: Agreed::default(),
            phase: Phase::ClientFlags,
            inbox: Inbox::new(INBOX_BYTES),
            outbox,
            requests: 0,
            unanswered: 0,
            bytes: 0,
            is_held_back: false,
            is_shutting_down: false,
        }
    }

    /// The space for received bytes, for a vectored read: first the one slice, then the other. If there is no space,
    /// nothing is to be received now.
    pub fn space(&mut self) -> [&mut [u8]; 2] {
        match &mut self.phase {
            Phase::Over => [&mut [], &mut []],
            _ if self.is_held_back => [&mut [], &mut []],
            // A request follows a payload. Often it is another write, with a payload that should not land in the inbox.
            Phase::Payload { pending, data, filled, .. } => {
                let rest = &mut data.as_mut()[*filled..pending.bytes as usize];
                [rest, self.inbox.space(REQUEST_BYTES)]
            }
            _ => [self.inbox.space(INBOX_BYTES), &mut []],
        }
    }

    /// Notes that `bytes` were received into [`Connection::space`]. Then call [`Connection::next_request`] until it
    /// returns none.
    ///
    /// # Panics
    /// If `bytes` exceeds the space.
    pub fn received(&mut self, bytes: usize) {
        let mut bytes = bytes;
        if let Phase::Payload { pending, filled, .. } = &mut self.phase {
            let payload = bytes.min(pending.bytes as usize - *filled);
            *filled += payload;
            bytes -= payload;
        }
        self.inbox.fill(bytes);
    }

    /// The next request among the received bytes. `None` when more must be received, when replies must be sent first,
    /// or when `buffer`, which provides room for the payload of a write, returns none.
    ///
    /// # Errors
    /// The client's violation of the protocol. Close the connection.
    ///
    /// # Panics
    /// If `buffer` returns less room than requested.
    pub fn next_request(
        &mut self,
        mut buffer: impl FnMut(usize) -> Option<B>,
    ) -> Result<Option<Request<B>>, Violation> {
        self.is_held_back = false;
        let taken = self.take_request(&mut buffer);
        if taken.is_err() {
            self.phase = Phase::Over;
        }
        taken
    }

    /// Answers a request.
    ///
    /// # Panics
    /// If the kind of the reply does not match the request.
    pub fn reply(&mut self, pending: Pending, outcome: Reply<'_, B>) {
        self.unanswered -= 1;
        let Pending { cookie, offset, bytes, command, .. } = pending;
        let carries = match command {
            CMD_READ => matches!(outcome, Reply::Data(_)),
            CMD_BLOCK_STATUS => matches!(outcome, Reply::Extents(_)),
            _ => matches!(outcome, Reply::Done),
        };
        assert!(carries || matches!(outcome, Reply::Failed(..)), "no such reply to command {command}");
        if !matches!(outcome, Reply::Data(_)) {
            self.bytes -= pending.payload();
        }
        match outcome {
            Reply::Done => self.push_done(cookie),
            Reply::Data(data) if self.agreed.structured => {
                self.outbox.push(true, Some((data, bytes as usize)), |out| {
                    chunk(out, CHUNK_OFFSET_DATA, cookie, bytes + 8);
                    out.extend(offset.to_be_bytes());
                });
            }
            Reply::Data(data) => {
                self.outbox.push(true, Some((data, bytes as usize)), |out| simple(out, 0, cookie));
            }
            Reply::Extents(extents) => {
                let most = if pending.one { 1 } else { EXTENTS_MAX };
                let extents = &extents[..extents.len().min(most)];
                self.outbox.push(true, None, |out| status(out, cookie, bytes, extents));
            }
            Reply::Failed(fault, reason) => self.push_fault(cookie, fault, reason),
        }
    }

    /// The bytes to send next, for a vectored write: fills `slices` from the front, and returns how many it filled.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.outbox.slices(slices)
    }

    /// Notes that `bytes` of [`Connection::slices`] were sent, and passes buffers that are no longer needed to `spent`.
    /// Then call [`Connection::next_request`], because requests that were held back may continue.
    ///
    /// # Panics
    /// If `bytes` exceeds the bytes to send.
    pub fn sent(&mut self, bytes: usize, mut spent: impl FnMut(B)) {
        self.outbox.advance(bytes, |Sent { request, payload }| {
            self.requests -= u32::from(request);
            if let Some((payload, bytes)) = payload {
                self.bytes -= bytes as u64;
                spent(payload);
            }
        });
    }

    /// Whether there are bytes to send.
    pub fn wants_to_send(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether the handshake is complete.
    pub fn is_transmitting(&self) -> bool {
        matches!(self.phase, Phase::Request | Phase::Payload { .. } | Phase::Refused { .. })
    }

    /// Whether every request is answered and every reply sent.
    pub fn is_idle(&self) -> bool {
        self.unanswered == 0 && self.outbox.is_empty()
    }

    /// Whether the client disconnected or broke the protocol, and its earlier requests are complete. Close the socket
    /// then.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over) && self.is_idle()
    }

    /// Refuses further requests, because the server is ending. The host closes the socket when the connection is idle.
    pub fn shut_down(&mut self) {
        self.is_shutting_down = true;
    }

    fn take_request(
        &mut self,
        buffer: &mut impl FnMut(usize) -> Option<B>,
    ) -> Result<Option<Request<B>>, Violation> {
        loop {
            let received = self.inbox.filled();
            match &mut self.phase {
                Phase::Over => return Ok(None),
                Phase::ClientFlags => {
                    let Some(flags) = received.first_chunk() else { return Ok(None) };
                    self.agreed.flags(u32::from_be_bytes(*flags))?;
                    self.inbox.drop_front(4);
                    self.phase = Phase::Option;
                }
                Phase::Option => {
                    if !self.take_option()? {
                        return Ok(None);
                    }
                }
                Phase::OptionData { option, bytes } => {
                    let (option, bytes) = (*option, *bytes);
                    let Some(data) = received.get(..bytes) else { return Ok(None) };
                    let (agreed, export) = (&mut self.agreed, &self.export);
                    let mut next = Ok(Next::End);
                    let is_refused = self.is_shutting_down && option != OPT_ABORT;
                    self.outbox.push(false, None, |out| {
                        next = if is_refused {
                            reply(out, option, REP_ERR_SHUTDOWN, &[]);
                            Ok(Next::Option)
                        } else {
                            agreed.option(export, option, data, out)
                        };
                    });
                    self.inbox.drop_front(bytes);
                    self.phase = match next? {
                        Next::Option => Phase::Option,
                        Next::Transmission => Phase::Request,
                        Next::End => Phase::Over,
                    };
                }
                Phase::OptionRest { option, bytes } => {
                    let (option, skipped) = (*option, (*bytes).min(received.len() as u64));
                    *bytes -= skipped;
                    let is_rest = *bytes > 0;
                    self.inbox.drop_front(skipped as usize);
                    if is_rest {
                        return Ok(None);
                    }
                    let text = b"the data of the option is too long";
                    self.outbox.push(false, None, |out| reply(out, option, REP_ERR_TOO_BIG, &[text]));
                    self.phase = Phase::Option;
                }
                Phase::Request => match self.take_header(buffer)? {
                    Taken::Request(request) => return Ok(Some(request)),
                    Taken::Nothing => return Ok(None),
                    Taken::Header => {}
                },
                Phase::Payload { pending, data, filled, .. } => {
                    let room = &mut data.as_mut()[*filled..pending.bytes as usize];
                    let bytes = room.len().min(received.len());
                    room[..bytes].copy_from_slice(&received[..bytes]);
                    self.inbox.drop_front(bytes);
                    *filled += bytes;
                    if *filled < pending.bytes as usize {
                        return Ok(None);
                    }
                    let Phase::Payload { pending, data, fua, .. } =
                        std::mem::replace(&mut self.phase, Phase::Request)
                    else {
                        unreachable!("it was one a line ago");
                    };
                    let command = Command::Write { offset: pending.offset, data, bytes: pending.bytes, fua };
                    return Ok(Some(Request { command, pending }));
                }
                Phase::Refused { cookie, fault, reason, bytes } => {
                    let (cookie, fault, reason) = (*cookie, *fault, *reason);
                    let skipped = (*bytes).min(received.len() as u64);
                    *bytes -= skipped;
                    let is_rest = *bytes > 0;
                    self.inbox.drop_front(skipped as usize);
                    if is_rest {
                        return Ok(None);
                    }
                    self.push_fault(cookie, fault, reason);
                    self.phase = Phase::Request;
                }
            }
        }
    }

    /// Parses the header of an option. Returns false if it is incomplete, or if the client reads no replies.
    fn take_option(&mut self) -> Result<bool, Violation> {
        // The client must wait for the reply to an option before it sends the next.
        self.is_held_back = !self.outbox.is_empty();
        let received = self.inbox.filled();
        let Some(header) = received.get(..OPTION_BYTES).filter(|_| !self.is_held_back) else {
            return Ok(false);
        };
        let mut fields = Fields(header);
        let (Some(found), Some(option), Some(bytes)) = (fields.u64(), fields.u32(), fields.u32()) else {
            return Ok(false);
        };
        if found != OPTION_MAGIC {
            return Err(Violation::OptionMagic { found });
        }
        self.agreed.admit(option, bytes)?;
        self.inbox.drop_front(OPTION_BYTES);
        self.phase = if bytes as usize > OPTION_BYTES_MAX {
            Phase::OptionRest { option, bytes: bytes.into() }
        } else {
            self.inbox.reserve(bytes as usize);
            Phase::OptionData { option, bytes: bytes as usize }
        };
        Ok(true)
    }

    /// Parses the header of a request.
    fn take_header(&mut self, buffer: &mut impl FnMut(usize) -> Option<B>) -> Result<Taken<B>, Violation> {
        let Some(header) = self.inbox.filled().first_chunk() else { return Ok(Taken::Nothing) };
        let header = RequestHeader::parse(header).map_err(|found| Violation::RequestMagic { found })?;
        if header.command == CMD_DISC {
            self.phase = Phase::Over;
            return Ok(Taken::Nothing);
        }
        if self.requests >= self.limits.requests {
            self.is_held_back = true;
            return Ok(Taken::Nothing);
        }
        let RequestHeader { cookie, offset, bytes, command, flags } = header;
        let is_write = command == CMD_WRITE;
        let verdict = if self.is_shutting_down {
            Verdict::Refuse(Fault::ShuttingDown, "the server is about to end")
        } else {
            judge(&header, &self.export, self.agreed)
        };
        if verdict != Verdict::Serve {
            self.inbox.drop_front(REQUEST_BYTES);
            self.requests += 1;
            match verdict {
                Verdict::Refuse(fault, reason) if is_write => {
                    self.phase = Phase::Refused { cookie, fault, reason, bytes: bytes.into() };
                }
                Verdict::Refuse(fault, reason) => self.push_fault(cookie, fault, reason),
                Verdict::Nothing | Verdict::Serve => self.push_done(cookie),
            }
            return Ok(Taken::Header);
        }
        let pending = Pending { cookie, offset, bytes, command, one: flags & CMD_FLAG_REQ_ONE != 0 };
        let payload = pending.payload();
        if self.bytes + payload > self.limits.bytes && self.bytes > 0 {
            self.is_held_back = true;
            return Ok(Taken::Nothing);
        }
        let fua = flags & CMD_FLAG_FUA != 0;
        let command = match command {
            CMD_WRITE => {
                let Some(mut data) = buffer(bytes as usize) else {
                    self.is_held_back = true;
                    return Ok(Taken::Nothing);
                };
                assert!(data.as_mut().len() >= bytes as usize, "a buffer is shorter than it was asked for");
                self.accept(payload);
                self.phase = Phase::Payload { pending, data, filled: 0, fua };
                return Ok(Taken::Header);
            }
            CMD_READ => Command::Read { offset, bytes },
            CMD_FLUSH => Command::Flush,
            CMD_TRIM => Command::Trim { offset, bytes, fua },
            CMD_WRITE_ZEROES => {
                let keep_space = flags & CMD_FLAG_NO_HOLE != 0;
                Command::WriteZeroes { offset, bytes, fua, keep_space }
            }
            _ => Command::BlockStatus { offset, bytes, one: pending.one },
        };
        self.accept(payload);
        Ok(Taken::Request(Request { command, pending }))
    }

    /// Counts a request that the host will answer.
    fn accept(&mut self, payload: u64) {
        self.inbox.drop_front(REQUEST_BYTES);
        self.requests += 1;
        self.unanswered += 1;
        self.bytes += payload;
    }

    fn push_done(&mut self, cookie: u64) {
        let structured = self.agreed.structured;
        self.outbox.push(true, None, |out| match structured {
            // A read of no bytes requires a chunk; every other request allows one.
            true => chunk(out, CHUNK_NONE, cookie, 0),
            false => simple(out, 0, cookie),
        });
    }

    fn push_fault(&mut self, cookie: u64, fault: Fault, reason: &str) {
        let reason = &reason[..reason.floor_char_boundary(REASON_BYTES_MAX)];
        let structured = self.agreed.structured;
        self.outbox.push(true, None, |out| {
            if !structured {
                return simple(out, fault.number(), cookie);
            }
            chunk(out, CHUNK_ERROR, cookie, 6 + reason.len() as u32);
            out.extend(fault.number().to_be_bytes());
            out.extend((reason.len() as u16).to_be_bytes());
            out.extend(reason.as_bytes());
        });
    }
}

/// The result of parsing a header.
enum Taken<B> {
    Request(Request<B>),
    /// The header was processed, and another follows.
    Header,
    /// The header is incomplete, or must wait.
    Nothing,
}

fn simple(out: &mut Vec<u8>, fault: u32, cookie: u64) {
    out.extend(SIMPLE_REPLY_MAGIC.to_be_bytes());
    out.extend(fault.to_be_bytes());
    out.extend(cookie.to_be_bytes());
}

/// The header of a chunk that is the complete reply.
fn chunk(out: &mut Vec<u8>, kind: u16, cookie: u64, bytes: u32) {
    out.extend(CHUNK_MAGIC.to_be_bytes());
    out.extend(CHUNK_DONE.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(bytes.to_be_bytes());
}

/// The allocation of the first `bytes`.
fn status(out: &mut Vec<u8>, cookie: u64, bytes: u32, extents: &[crate::Extent]) {
    let header = out.len();
    chunk(out, CHUNK_BLOCK_STATUS, cookie, 0);
    out.extend(ALLOCATION_ID.to_be_bytes());
    let mut rest = u64::from(bytes);
    for extent in extents {
        let length = extent.bytes.min(rest);
        if length == 0 {
            break;
        }
        rest -= length;
        out.extend((length as u32).to_be_bytes());
        out.extend(extent.state().to_be_bytes());
    }
    assert!(rest < u64::from(bytes), "a status has at least one extent");
    let payload = (out.len() - header - CHUNK_BYTES) as u32;
    out[header + 16..header + CHUNK_BYTES].copy_from_slice(&payload.to_be_bytes());
}
