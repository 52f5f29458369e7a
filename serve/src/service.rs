//! The array behind the connections: requests go into the engine, their completions find the way back.

use std::hash::{BuildHasherDefault, Hasher};
use std::time::Instant;

use hashbrown::HashMap;
use stripewise_array::SubmitError;
use stripewise_base::Nanos;
use stripewise_engine::{Completion, Engine, Failed, Payload, Request, Ticket};
use stripewise_nbd::Pending;
use stripewise_trace as trace;

use crate::buffers::Buffers;
use crate::record::Recorder;
use crate::tally::{Kind, Tally};
use crate::vhost;

/// Names a connection: never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId(pub(crate) u64);

/// Whom to answer.
#[derive(Debug)]
pub(crate) enum Asker {
    /// A request of an NBD connection.
    Nbd(SessionId, Pending),
    /// A request of a guest.
    #[cfg_attr(not(feature = "vhost-user"), expect(dead_code, reason = "no guest comes"))]
    Guest(Box<vhost::Pending>),
}

/// A request that the engine has.
#[derive(Debug)]
struct Waiting {
    asker: Asker,
    kind: Kind,
    bytes: u64,
    arrived: Nanos,
}

/// A request on its way into the engine.
#[derive(Debug)]
pub(crate) struct Asked {
    request: Request,
    asker: Asker,
    arrived: Nanos,
}

/// Why the engine has not taken a request.
#[derive(Debug)]
pub(crate) enum Unsubmitted {
    /// It has too much to do: ask again.
    Busy(Asked),
    /// It never will.
    Refused(SubmitError, Asker),
}

/// A request that is done, or failed.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) asker: Asker,
    pub(crate) result: Result<(), Failed>,
    /// The buffer that came with it; of a read that was done, what was read.
    pub(crate) payload: Payload,
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

    /// Lets the recorder hand on what it has kept for long enough.
    pub(crate) fn look_at_the_recorder(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.look(self.now);
        }
    }

    /// Takes a request of a client on its way into the engine.
    pub(crate) fn admit(&mut self, request: Request, asker: Asker) -> Asked {
        let arrived = self.now;
        if let Some(recorder) = &mut self.recorder {
            let (kind, forced) = match request {
                Request::Read { .. } => (trace::Kind::Read, false),
                Request::Write { fua, .. } | Request::Zero { fua, keep_space: true, .. } => {
                    (trace::Kind::Write, fua)
                }
                Request::Zero { fua, .. } | Request::Trim { fua, .. } => (trace::Kind::Trim, fua),
                Request::Flush => (trace::Kind::Flush, false),
            };
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
        Asked { request, asker, arrived }
    }

    /// Gives a request to the engine.
    ///
    /// # Errors
    /// When that has too much to do, and when it is none that it could do.
    pub(crate) fn submit(&mut self, asked: Asked) -> Result<(), Unsubmitted> {
        let Asked { request, asker, arrived } = asked;
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
                self.waiting.insert(ticket, Waiting { asker, kind, bytes, arrived });
                Ok(())
            }
            Err(rejected) if rejected.error == SubmitError::Busy => {
                Err(Unsubmitted::Busy(Asked { request: rejected.request, asker, arrived }))
            }
            Err(rejected) => {
                self.tally.done(kind, bytes, self.now, 0, true);
                self.keep_buffer(rejected.request);
                Err(Unsubmitted::Refused(rejected.error, asker))
            }
        }
    }

    /// Keeps the buffer of a request that goes nowhere. Who asked.
    pub(crate) fn discard(&mut self, asked: Asked) -> Asker {
        self.keep_buffer(asked.request);
        asked.asker
    }

    fn keep_buffer(&mut self, request: Request) {
        if let Request::Read { into: buffer, .. } | Request::Write { data: buffer, .. } = request {
            self.buffers.give_back(buffer);
        }
    }

    /// A request that the engine is done with.
    pub(crate) fn take_done(&mut self) -> Option<Done> {
        loop {
            let Completion { ticket, result, payload, .. } = self.engine.take_completion()?;
            let Some(waiting) = self.waiting.remove(&ticket) else {
                // Nobody else submits; a request of which nothing is known has nobody to be answered.
                self.buffers.give_back(payload);
                continue;
            };
            let Waiting { asker, kind, bytes, arrived } = waiting;
            self.tally.done(kind, bytes, self.now, self.now - arrived, result.is_err());
            return Some(Done { asker, result, payload });
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
