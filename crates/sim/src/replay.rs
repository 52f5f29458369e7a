//! Replay of a trace: pacing of its requests, and records of each request.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use stripewise_array::update::{Choice, ParityUpdate, Routine};
use stripewise_array::{
    Acknowledgement, HostRequest, MemberLoad, NoMemory, Operation, OperationKind, RequestKind, SubmitError,
};
use stripewise_base::Nanos;
use stripewise_base::units::parse_duration;
use stripewise_trace::{Kind, Request, Source, TraceError};

use crate::metrics::Metrics;
use crate::simulation::{Host, Next};
use crate::tables::{RequestRow, Sink, UpdateRow};
use crate::updates::Chooser;

/// How the requests of a trace are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pacing {
    /// At their time stamps, accelerated by the factor `numerator / denominator`.
    Open {
        /// Numerator of the speed-up.
        numerator: u64,
        /// Denominator of the speed-up.
        denominator: u64,
    },
    /// A fixed number of requests at a time: the next is sent when one is acknowledged. Time stamps are ignored.
    Closed {
        /// Requests in flight.
        depth: u32,
    },
    /// A number of users: each sends its next request this long after its last was acknowledged.
    Think {
        /// Users.
        users: u32,
        /// Pause of a user, in nanoseconds.
        think_ns: Nanos,
    },
}

impl Default for Pacing {
    fn default() -> Self {
        Self::Open { numerator: 1, denominator: 1 }
    }
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Open { numerator, denominator: 1 } => write!(f, "open:{numerator}"),
            Self::Open { numerator, denominator } => write!(f, "open:{numerator}/{denominator}"),
            Self::Closed { depth } => write!(f, "closed:{depth}"),
            Self::Think { users, think_ns } => write!(f, "think:{users},{think_ns}ns"),
        }
    }
}

impl FromStr for Pacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected `open`, `open:SPEED-UP` (as open:100 or open:1/2), `closed:DEPTH` or `think:USERS,TIME`";
        let refuse = |what: &str| format!("`{text}`: {what}; {expected}");
        let (mode, rest) = text.split_once(':').unwrap_or((text, ""));
        let positive = |text: &str| text.parse::<u64>().ok().filter(|&number| number > 0);
        match (mode, rest) {
            ("open", "") => Ok(Self::default()),
            ("open", speed) => {
                let (over, under) = speed.split_once('/').unwrap_or((speed, "1"));
                let (Some(numerator), Some(denominator)) = (positive(over), positive(under)) else {
                    return Err(refuse("a speed-up is a positive whole number or a fraction of two"));
                };
                Ok(Self::Open { numerator, denominator })
            }
            ("closed", depth) => match depth.parse::<u32>() {
                Ok(depth) if depth > 0 => Ok(Self::Closed { depth }),
                _ => Err(refuse("a depth is a positive whole number")),
            },
            ("think", rest) => {
                let (users, time) = rest.split_once(',').ok_or_else(|| refuse("a think time is missing"))?;
                let users = users.parse::<u32>().ok().filter(|&users| users > 0);
                let users = users.ok_or_else(|| refuse("the number of users is a positive whole number"))?;
                let think_ns = parse_duration(time).map_err(|error| refuse(&error.to_string()))?;
                Ok(Self::Think { users, think_ns })
            }
            _ => Err(refuse("no such pacing")),
        }
    }
}

/// Time limit of a simulation: no request is sent at this simulated time or later (292 years). Requests in flight
/// then have the same span of time again to finish.
pub const LATEST: Nanos = 1 << 63;

/// When a request with this time stamp is sent, at this speed-up; `None` if that is at [`LATEST`] or later.
#[inline]
fn sent_at(time: Nanos, numerator: u64, denominator: u64) -> Option<Nanos> {
    if numerator == denominator {
        return Some(time).filter(|&at| at < LATEST);
    }
    let at = u128::from(time) * u128::from(denominator) / u128::from(numerator);
    Nanos::try_from(at).ok().filter(|&at| at < LATEST)
}

fn kind_of(kind: Kind) -> RequestKind {
    match kind {
        Kind::Read => RequestKind::Read,
        Kind::Write => RequestKind::Write,
        Kind::Trim => RequestKind::Trim,
        Kind::Flush => RequestKind::Flush,
    }
}

/// Requests fetched from the source at a time.
const BATCH: usize = 4096;

/// Requests previewed at a time.
const PREVIEW: usize = 16;

/// State of a request in flight.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    index: u64,
    offset: u64,
    bytes: u32,
    volume: u32,
    kind: u8,
}

/// A host that replays a trace.
pub struct Replay<'a> {
    source: &'a mut dyn Source,
    pacing: Pacing,
    batch: Vec<Request>,
    at: usize,
    error: Option<TraceError>,
    /// Requests sent so far.
    sent: u64,
    outstanding: u32,
    /// Think time: when the pausing users send again, in order.
    back_at: std::collections::VecDeque<Nanos>,
    under_way: Vec<UnderWay>,
    free: Vec<u32>,
    /// Requests of the batch before this one have been previewed.
    previewed: usize,
    preview: [u64; PREVIEW],
    limit: u64,
    refused: Option<SubmitError>,
    /// Whether the next request would be sent at [`LATEST`] or later.
    is_late: bool,
    pub(crate) metrics: Metrics,
    sink: &'a mut dyn Sink,
    wants_rows: bool,
    warmup: u64,
    chooser: Option<&'a mut dyn Chooser>,
    /// Number of requests that arrived, for the run loop, which counts blocked operations at each arrival.
    pub(crate) arrivals: u64,
    /// Number of acknowledged requests after warm-up, for the same purpose.
    pub(crate) served: u64,
}

impl fmt::Debug for Replay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("pacing", &self.pacing)
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}

impl<'a> Replay<'a> {
    /// Replays at most `limit` requests of `source` on an array of `members` members. The first `warmup` requests are
    /// not counted.
    pub fn new(
        source: &'a mut dyn Source,
        pacing: Pacing,
        members: u32,
        limit: u64,
        warmup: u64,
        wants_rows: bool,
        sink: &'a mut dyn Sink,
    ) -> Self {
        Self {
            source,
            pacing,
            batch: Vec::with_capacity(BATCH),
            at: 0,
            error: None,
            sent: 0,
            outstanding: 0,
            back_at: std::collections::VecDeque::new(),
            under_way: Vec::new(),
            free: Vec::new(),
            previewed: 0,
            preview: [0; PREVIEW],
            limit,
            refused: None,
            is_late: false,
            metrics: Metrics::new(warmup, members),
            sink,
            wants_rows,
            warmup,
            chooser: None,
            arrivals: 0,
            served: 0,
        }
    }

    /// Asks `chooser` for routines if the scheme leaves the choice to the user.
    pub(crate) fn choosing(mut self, chooser: Option<&'a mut dyn Chooser>) -> Self {
        self.chooser = chooser;
        self
    }

    /// The next request, if there is one.
    #[inline]
    fn peek(&mut self) -> Option<&Request> {
        if self.at == self.batch.len() {
            if self.error.is_some() || self.sent >= self.limit {
                return None;
            }
            self.at = 0;
            self.previewed = 0;
            if let Err(error) = self.source.next_batch(&mut self.batch) {
                self.batch.clear();
                self.error = Some(error);
            }
        }
        if self.sent >= self.limit { None } else { self.batch.get(self.at) }
    }

    /// The next request is due now, unless it is too late.
    fn at_once(&mut self, now: Nanos) -> Next {
        self.is_late = now >= LATEST;
        if self.is_late { Next::End } else { Next::At(now) }
    }

    /// The error that stopped the replay early, if any.
    pub(crate) fn take_error(&mut self) -> Option<ReplayError> {
        if let Some(error) = self.error.take() {
            return Some(ReplayError::Trace(error));
        }
        if self.is_late {
            return Some(ReplayError::Late { request: self.sent });
        }
        self.refused.take().map(|error| ReplayError::Refused { request: self.sent, error })
    }

    /// Requests sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Share of the trace that was sent, if known.
    pub fn progress(&self) -> Option<f64> {
        self.source.progress()
    }

    /// The sink, for rows other than those of requests.
    pub(crate) fn sink(&mut self) -> &mut dyn Sink {
        self.sink
    }
}

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace could not be read further.
    #[error(transparent)]
    Trace(TraceError),
    /// Simulated time would exceed its limit.
    #[error(
        "request {request} would be sent after 2^63 ns (292 years) of simulated time, which is the most; speed the trace up \
         (`--pacing open:N`), or cut off the requests whose times are wrong (`stripewise trace slice`)"
    )]
    Late {
        /// The request's number, from 0.
        request: u64,
    },
    /// The array refused a request.
    #[error("request {request}: {error}")]
    Refused {
        /// The request's number, from 0.
        request: u64,
        /// The error.
        error: SubmitError,
    },
}

impl Host<NoMemory> for Replay<'_> {
    const IS_STEADY: bool = true;

    #[inline]
    fn next(&mut self, now: Nanos) -> Next {
        if self.refused.is_some() || self.is_late {
            return Next::End;
        }
        let pacing = self.pacing;
        let Some(request) = self.peek() else { return Next::End };
        match pacing {
            Pacing::Open { numerator, denominator } => {
                let at = sent_at(request.time_ns, numerator, denominator);
                self.is_late = at.is_none();
                at.map_or(Next::End, Next::At)
            }
            Pacing::Closed { depth } if self.outstanding < depth => self.at_once(now),
            Pacing::Think { users, .. } if self.outstanding + (self.back_at.len() as u32) < users => {
                self.at_once(now)
            }
            Pacing::Think { .. } => self.back_at.front().map_or(Next::Waiting, |&at| Next::At(at)),
            Pacing::Closed { .. } => Next::Waiting,
        }
    }

    #[inline]
    fn updated(&mut self, update: &ParityUpdate) {
        // Counting begins with the first request after warm-up.
        if self.sent > 0 && self.metrics.counts(self.sent - 1) {
            self.metrics.updates.add(update);
            self.sink.update(&UpdateRow::from(update));
        }
    }

    fn choose(&mut self, choice: &Choice<'_>, state: &dyn MemberLoad) -> Option<Routine> {
        self.chooser.as_mut()?.choose(choice, state)
    }

    fn next_arrival(
        &mut self,
        until: Nanos,
        is_meant: &mut dyn FnMut(&HostRequest) -> bool,
    ) -> Option<Nanos> {
        // Without open pacing, a request is sent when the array is ready for it, so its time is not known in advance.
        let Pacing::Open { numerator, denominator } = self.pacing else { return None };
        let coming = self.batch.iter().skip(self.at);
        let timed =
            coming.map_while(|request| Some((sent_at(request.time_ns, numerator, denominator)?, request)));
        let mut near = timed.take_while(|&(at, _)| at < until);
        near.find_map(|(arrival, request)| {
            let kind = kind_of(request.kind);
            let host = HostRequest { tag: 0, arrival, offset: request.offset, bytes: request.bytes, kind };
            is_meant(&host).then_some(arrival)
        })
    }

    #[inline]
    fn preview(&mut self) -> &[u64] {
        if self.at < self.previewed {
            return &[];
        }
        let next = &self.batch[self.at..self.batch.len().min(self.at + PREVIEW)];
        self.previewed = self.at + next.len();
        for (byte, request) in self.preview.iter_mut().zip(next) {
            *byte = request.offset;
        }
        &self.preview[..next.len()]
    }

    #[inline]
    fn take(&mut self, now: Nanos) -> (HostRequest, ()) {
        let due = if matches!(self.pacing, Pacing::Open { .. }) { self.next(now) } else { Next::Waiting };
        let arrival = if let Next::At(at) = due { at } else { now };
        if let Pacing::Think { users, .. } = self.pacing
            && self.outstanding + self.back_at.len() as u32 >= users
        {
            self.back_at.pop_front();
        }
        let request = self.batch[self.at];
        self.at += 1;
        let tag = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(UnderWay::default());
            self.under_way.len() as u32 - 1
        });
        let host_kind = kind_of(request.kind);
        self.under_way[tag as usize] = UnderWay {
            index: self.sent,
            offset: request.offset,
            bytes: request.bytes,
            volume: request.volume,
            kind: request.kind as u8,
        };
        self.sent += 1;
        self.outstanding += 1;
        self.arrivals += 1;
        let host = HostRequest {
            tag: u64::from(tag),
            arrival,
            offset: request.offset,
            bytes: request.bytes,
            kind: host_kind,
        };
        (host, ())
    }

    #[inline]
    fn submitted(&mut self, busy_before: u32, busy_after: u32) {
        self.metrics.arrival(self.sent - 1, busy_before, busy_after);
    }

    fn refused(&mut self, request: HostRequest, (): (), error: SubmitError) {
        self.at -= 1;
        self.sent -= 1;
        self.outstanding -= 1;
        self.arrivals -= 1;
        self.free.push(request.tag as u32);
        if error != SubmitError::Busy {
            self.refused = Some(error);
        }
    }

    #[inline]
    fn operated(&mut self, operation: &Operation, latency_ns: Nanos) {
        let is_page = matches!(operation.kind, OperationKind::Read | OperationKind::Write);
        if is_page && self.arrivals > self.warmup {
            self.metrics.operation(operation.member, latency_ns);
        }
    }

    #[inline]
    fn acknowledged(&mut self, now: Nanos, acknowledgement: &Acknowledgement, (): ()) {
        self.outstanding -= 1;
        if let Pacing::Think { think_ns, .. } = self.pacing {
            match now.checked_add(think_ns).filter(|&at| at < LATEST) {
                Some(at) => self.back_at.push_back(at),
                None => self.is_late = true,
            }
        }
        let tag = acknowledgement.tag as u32;
        let UnderWay { index, offset, bytes, volume, kind } = self.under_way[tag as usize];
        self.free.push(tag);
        self.served += u64::from(self.metrics.counts(index));
        let latency_ns = acknowledgement.at - acknowledgement.arrival;
        self.metrics.request(index, kind, bytes, acknowledgement);
        if self.wants_rows && self.metrics.counts(index) {
            self.sink.request(&RequestRow {
                request: index,
                arrival_ns: acknowledgement.arrival,
                kind,
                volume,
                offset_bytes: offset,
                size_bytes: bytes,
                latency_ns,
                pending_ns: acknowledgement.pending_ns,
                pre_read_ns: acknowledgement.pre_read_ns,
                parity_ns: acknowledgement.parity_ns,
                member_queue_ns: acknowledgement.queue_ns,
                gc_wait_ns: acknowledgement.gc_wait_ns,
                bus_ns: acknowledgement.bus_ns,
                cell_ns: acknowledgement.cell_ns,
                buffer_ns: acknowledgement.buffer_ns,
                failed: u8::from(acknowledgement.failed),
            });
        }
    }
}
