//! The array behind the connections: passes requests to the engine, and routes their completions back.

use std::hash::{BuildHasherDefault, Hasher};
use std::time::Instant;

use hashbrown::HashMap;
use stripewise_array::SubmitError;
use stripewise_base::Nanos;
use stripewise_engine::{Engine, Failed, Payload, Request, Ticket};
use stripewise_trace as trace;

use crate::buffers::Buffers;
use crate::counters::{Counters, Kind};
use crate::record::Recorder;

/// The receiver of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyTo {
    /// The frontend of the request.
    pub(crate) frontend: FrontendNo,
    /// The client. Only the frontend knows the meaning of this number and the next.
    pub(crate) client: u64,
    /// The request of the client.
    pub(crate) request: u32,
}

/// The position of a frontend in the server's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrontendNo(pub(crate) u8);

impl FrontendNo {
    pub(crate) fn index(self) -> usize {
        self.0.into()
    }
}

/// A request in the engine.
#[derive(Debug)]
struct Waiting {
    reply_to: ReplyTo,
    kind: Kind,
    bytes: u64,
    arrived: Nanos,
}

/// A request that is not in the engine yet.
#[derive(Debug)]
pub(crate) struct Submission {
    request: Request,
    reply_to: ReplyTo,
    arrived: Nanos,
}

/// Why the engine has not accepted a request.
#[derive(Debug)]
pub(crate) enum Unsubmitted {
    /// It has too much to do: retry.
    Busy(Submission),
    /// It never accepts this request.
    Refused(SubmitError, ReplyTo),
}

/// A completed request.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) reply_to: ReplyTo,
    pub(crate) result: Result<(), Failed>,
    /// The buffer of the request. For a successful read, the data.
    pub(crate) payload: Payload,
    /// If it was a flush: the number of outages so far, each of which one flush of each client must report.
    pub(crate) outages: Option<u64>,
}

/// Tickets are consecutive numbers: multiplying spreads them well enough.
#[derive(Debug, Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 over the golden ratio, as in Knuth's multiplicative hashing.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The array, and its requests in flight.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) engine: Engine,
    pub(crate) buffers: Buffers,
    pub(crate) counters: Counters,
    pub(crate) recorder: Option<Recorder>,
    /// Why a connection was dropped or refused last, until the monitor takes it.
    dropped_for: Option<String>,
    waiting: HashMap<Ticket, Waiting, BuildHasherDefault<Spread>>,
    /// Whether a request was submitted since [`Service::take_submitted`] was called last.
    has_submitted: bool,
    started: Instant,
    now: Nanos,
}

impl Service {
    pub(crate) fn new(engine: Engine, recorder: Option<Recorder>) -> Self {
        Self {
            engine,
            buffers: Buffers::new(),
            counters: Counters::new(0),
            recorder,
            dropped_for: None,
            waiting: HashMap::default(),
            has_submitted: false,
            started: Instant::now(),
            now: 0,
        }
    }

    /// Nanoseconds since the start, as of the last [`Service::read_clock`].
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// Reads the clock, once for all requests that are handled together.
    pub(crate) fn read_clock(&mut self) -> Nanos {
        self.now = self.started.elapsed().as_nanos() as Nanos;
        self.now
    }

    /// Lets the recorder pass on its buffer, if it has been kept for long enough.
    pub(crate) fn poll_recorder(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.look(self.now);
        }
    }

    /// Accepts a request of a client, to be submitted to the engine.
    pub(crate) fn admit(&mut self, request: Request, reply_to: ReplyTo) -> Submission {
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
        Submission { request, reply_to, arrived }
    }

    /// Submits a request to the engine.
    ///
    /// # Errors
    /// When the engine has too much to do, and when the request is invalid.
    pub(crate) fn submit(&mut self, submission: Submission) -> Result<(), Unsubmitted> {
        let Submission { request, reply_to, arrived } = submission;
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
                self.waiting.insert(ticket, Waiting { reply_to, kind, bytes, arrived });
                Ok(())
            }
            Err(rejected) if rejected.error == SubmitError::Busy => {
                Err(Unsubmitted::Busy(Submission { request: rejected.request, reply_to, arrived }))
            }
            Err(rejected) => {
                self.counters.done(kind, bytes, self.now, 0, true);
                self.keep_buffer(rejected.request);
                Err(Unsubmitted::Refused(rejected.error, reply_to))
            }
        }
    }

    /// Drops a request that is not submitted, and keeps its buffer. Returns the receiver of its answer.
    pub(crate) fn discard(&mut self, submission: Submission) -> ReplyTo {
        self.keep_buffer(submission.request);
        submission.reply_to
    }

    fn keep_buffer(&mut self, request: Request) {
        if let Request::Read { into: buffer, .. } | Request::Write { data: buffer, .. } = request {
            self.buffers.give_back(buffer);
        }
    }

    /// The next completed request.
    pub(crate) fn take_completion(&mut self) -> Option<Completion> {
        loop {
            let stripewise_engine::Completion { ticket, result, payload, .. } =
                self.engine.take_completion()?;
            let Some(waiting) = self.waiting.remove(&ticket) else {
                // No other code submits requests; an unknown request has no receiver.
                self.buffers.give_back(payload);
                continue;
            };
            let Waiting { reply_to, kind, bytes, arrived } = waiting;
            self.counters.done(kind, bytes, self.now, self.now - arrived, result.is_err());
            let outages = (kind == Kind::Flush).then(|| self.engine.outages());
            return Some(Completion { reply_to, result, payload, outages });
        }
    }

    /// Counts a connection that was dropped or refused, with the reason.
    pub(crate) fn drop_connection(&mut self, reason: String) {
        self.counters.dropped_connections += 1;
        self.dropped_for = Some(reason);
    }

    /// Takes the last reason of [`Service::drop_connection`] away.
    pub(crate) fn take_dropped_for(&mut self) -> Option<String> {
        self.dropped_for.take()
    }

    /// Whether a request was submitted since the last call, so that the engine needs a turn.
    pub(crate) fn take_submitted(&mut self) -> bool {
        std::mem::take(&mut self.has_submitted)
    }

    /// Requests in the engine.
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
