//! The array behind the connections: requests go into the engine, their completions find the way back.

use std::hash::{BuildHasherDefault, Hasher};
use std::time::Instant;

use hashbrown::HashMap;
use stripewise_array::SubmitError;
use stripewise_base::Nanos;
use stripewise_engine::{Completion, Engine, Failed, Payload, Request, Ticket};
use stripewise_nbd::{self as nbd, Command, Connection, Extent, Fault, Pending, Reply};
use stripewise_trace as trace;

use crate::buffers::Buffers;
use crate::record::Recorder;
use crate::tally::{Kind, Tally};

/// Names a connection: never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId(pub(crate) u64);

/// A request of a client that the engine has.
#[derive(Debug)]
struct Waiting {
    session: SessionId,
    pending: Pending,
    kind: Kind,
    bytes: u64,
    arrived: Nanos,
}

/// A request on its way into the engine.
#[derive(Debug)]
pub(crate) struct Asked {
    request: Request,
    pending: Pending,
    arrived: Nanos,
}

/// Tickets are numbers given one after the other: multiplying spreads them well enough.
#[derive(Debug, Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 over the golden ratio, as Knuth's multiplicative hashing has it.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The array, and what is under way in it.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) engine: Engine,
    pub(crate) buffers: Buffers,
    pub(crate) tally: Tally,
    pub(crate) recorder: Option<Recorder>,
    waiting: HashMap<Ticket, Waiting, BuildHasherDefault<Spread>>,
    /// Whether the engine was given something since it was last asked.
    has_submitted: bool,
    started: Instant,
    now: Nanos,
}

impl Service {
    pub(crate) fn new(engine: Engine, recorder: Option<Recorder>) -> Self {
        Self {
            engine,
            buffers: Buffers::new(),
            tally: Tally::new(0),
            recorder,
            waiting: HashMap::default(),
            has_submitted: false,
            started: Instant::now(),
            now: 0,
        }
    }

    /// Nanoseconds since the start, as of the last [`Service::look_at_the_clock`].
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// Learns what time it is: once for all that is done in one go.
    pub(crate) fn look_at_the_clock(&mut self) -> Nanos {
        self.now = self.started.elapsed().as_nanos() as Nanos;
        self.now
    }

    /// A request that a client made, as the engine knows it. One that the engine need not see is answered at once.
    pub(crate) fn admit(
        &mut self,
        connection: &mut Connection<Payload>,
        request: nbd::Request<Payload>,
    ) -> Option<Asked> {
        let nbd::Request { command, pending } = request;
        let arrived = self.now;
        let (request, kind, forced) = match command {
            Command::Read { offset, bytes } => {
                let into = self.buffers.take(bytes as usize);
                (Request::Read { offset, into }, trace::Kind::Read, false)
            }
            Command::Write { offset, mut data, bytes, fua } => {
                data.truncate(bytes as usize);
                (Request::Write { offset, data, fua }, trace::Kind::Write, fua)
            }
            Command::Flush => (Request::Flush, trace::Kind::Flush, false),
            Command::Trim { offset, bytes, fua } => {
                (Request::Trim { offset, bytes: bytes.into(), fua }, trace::Kind::Trim, fua)
            }
            Command::WriteZeroes { offset, bytes, fua, keep_space } => {
                let kind = if keep_space { trace::Kind::Write } else { trace::Kind::Trim };
                (Request::Zero { offset, bytes: bytes.into(), fua, keep_space }, kind, fua)
            }
            Command::BlockStatus { bytes, .. } => {
                // Nothing is promised of what was never written, so all of it is told to be data.
                let all = Extent { bytes: bytes.into(), hole: false, zero: false };
                connection.reply(pending, Reply::Extents(&[all]));
                return None;
            }
        };
        if let Some(recorder) = &mut self.recorder {
            let (offset, bytes) = extent(&request);
            let mut record = |kind, offset, bytes: u64| {
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                recorder.record(trace::Request { time_ns: arrived, offset, bytes, volume: 0, kind });
            };
            record(kind, offset, bytes);
            if forced {
                record(trace::Kind::Flush, 0, 0);
            }
        }
        Some(Asked { request, pending, arrived })
    }

    /// Gives a request to the engine; back when that has too much to do.
    pub(crate) fn submit(
        &mut self,
        session: SessionId,
        connection: &mut Connection<Payload>,
        asked: Asked,
    ) -> Option<Asked> {
        let Asked { request, pending, arrived } = asked;
        let kind = match &request {
            Request::Read { .. } => Kind::Read,
            Request::Write { .. } => Kind::Write,
            Request::Zero { .. } | Request::Trim { .. } => Kind::Trim,
            Request::Flush => Kind::Flush,
        };
        let (_, bytes) = extent(&request);
        match self.engine.submit(request) {
            Ok(ticket) => {
                self.has_submitted = true;
                self.waiting.insert(ticket, Waiting { session, pending, kind, bytes, arrived });
                None
            }
            Err(rejected) if rejected.error == SubmitError::Busy => {
                Some(Asked { request: rejected.request, pending, arrived })
            }
            Err(rejected) => {
                self.tally.done(kind, bytes, self.now, 0, true);
                let fault =
                    if rejected.error == SubmitError::ReadOnly { Fault::Permission } else { Fault::Invalid };
                connection.reply(pending, Reply::Failed(fault, &rejected.error.to_string()));
                self.keep_buffer(rejected.request);
                None
            }
        }
    }

    /// Keeps the buffer of a request that goes nowhere.
    pub(crate) fn discard(&mut self, asked: Asked) {
        self.keep_buffer(asked.request);
    }

    fn keep_buffer(&mut self, request: Request) {
        if let Request::Read { into: buffer, .. } | Request::Write { data: buffer, .. } = request {
            self.buffers.give_back(buffer);
        }
    }

    /// Answers the client whose request is done, if it is still there.
    pub(crate) fn complete<'a>(
        &mut self,
        done: Completion,
        connection: impl FnOnce(SessionId) -> Option<&'a mut Connection<Payload>>,
    ) {
        let Some(waiting) = self.waiting.remove(&done.ticket) else {
            // Nobody else submits; a request of which nothing is known has nobody to be answered.
            return self.buffers.give_back(done.payload);
        };
        let Waiting { session, pending, kind, bytes, arrived } = waiting;
        self.tally.done(kind, bytes, self.now, self.now - arrived, done.result.is_err());
        let Some(connection) = connection(session) else {
            return self.buffers.give_back(done.payload);
        };
        match done.result {
            Ok(()) if kind == Kind::Read => connection.reply(pending, Reply::Data(done.payload)),
            Ok(()) => {
                connection.reply(pending, Reply::Done);
                self.buffers.give_back(done.payload);
            }
            Err(failed) => {
                let fault = if failed == Failed::NoSpace { Fault::NoSpace } else { Fault::Io };
                connection.reply(pending, Reply::Failed(fault, &failed.to_string()));
                self.buffers.give_back(done.payload);
            }
        }
    }

    /// Whether the engine was given something since this was last asked, so that it is to have a turn.
    pub(crate) fn take_submitted(&mut self) -> bool {
        std::mem::take(&mut self.has_submitted)
    }

    /// Requests that the engine has.
    pub(crate) fn under_way(&self) -> usize {
        self.waiting.len()
    }
}

/// First byte and length.
fn extent(request: &Request) -> (u64, u64) {
    match request {
        Request::Read { offset, into } => (*offset, into.len() as u64),
        Request::Write { offset, data, .. } => (*offset, data.len() as u64),
        Request::Zero { offset, bytes, .. } | Request::Trim { offset, bytes, .. } => (*offset, *bytes),
        Request::Flush => (0, 0),
    }
}
