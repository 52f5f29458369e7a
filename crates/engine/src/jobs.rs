//! Requests of hosts, and the parts of them that the controller receives.
//!
//! The controller receives the parts of requests in the order in which the requests arrived: no part of an earlier
//! request overwrites data that a later request was acknowledged for. A forced write (FUA) ends with a flush after its
//! data.

mod outage;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use stripewise_array::log::LARGE_WRITE_BYTES;
use stripewise_array::{Acknowledgement, HostRequest, RequestKind};
use stripewise_base::Nanos;

use crate::backend::Payload;
use crate::error::Failed;
use outage::Outage;

/// A request of a host. Offsets and lengths are whole sectors of 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read `into.len()` bytes.
    Read {
        /// First byte.
        offset: u64,
        /// The buffer to fill.
        into: Payload,
    },
    /// Write bytes.
    Write {
        /// First byte.
        offset: u64,
        /// The bytes to write.
        data: Payload,
        /// Whether the write must be durable when it completes.
        fua: bool,
    },
    /// Make bytes read as zeros.
    Zero {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
        /// Whether the request must be durable when it completes.
        fua: bool,
        /// Whether zeros are written. Otherwise whole pages of a log give their space back.
        keep_space: bool,
    },
    /// Declare bytes unused. They then read as zeros or, in place, as before.
    Trim {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
        /// Whether the request must be durable when it completes.
        fua: bool,
    },
    /// Make all requests durable that completed before this one.
    Flush,
}

impl Request {
    /// A read into a new buffer.
    pub fn read(offset: u64, bytes: usize) -> Self {
        Self::Read { offset, into: Payload::zeroed(bytes) }
    }

    /// A write of a copy of `data`, without FUA.
    pub fn write(offset: u64, data: &[u8]) -> Self {
        Self::Write { offset, data: data.into(), fua: false }
    }

    /// A trim without FUA.
    pub fn trim(offset: u64, bytes: u64) -> Self {
        Self::Trim { offset, bytes, fua: false }
    }
}

/// Identifies a request in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

/// A completed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub ticket: Ticket,
    /// Whether it succeeded, or why not.
    pub result: Result<(), Failed>,
    /// The buffer that the request brought. A read that succeeded has filled it.
    pub payload: Payload,
    /// Nanoseconds from submission to completion.
    pub response_ns: Nanos,
}

/// Most bytes of a part that carries data. The limit gives other requests their turn.
const DATA_BYTES: u64 = 4 << 20;
/// Most bytes of a part that is written to a log: a part of this size reaches members before more of the request is
/// copied. In place, such a part could change a piece of each chunk of a stripe, and its parity update would need
/// reads.
const LOG_BYTES: u64 = LARGE_WRITE_BYTES as u64;
/// Most bytes of a part that trims. The controller handles a trim in one call, which must not take long.
const TRIM_BYTES: u64 = 4 << 20;
/// Bytes of zeros of one request that the controller has at once, so that a long request leaves other requests their
/// turn.
const CLEAR_BYTES: u64 = 32 << 20;
/// The part number of the flush after a forced write.
const FLUSH: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Read,
    Write,
    /// Whole pages are trimmed, and their edges are written.
    Erase,
    /// Zeros are written.
    Clear,
    Trim,
    Flush,
}

#[derive(Debug, Default)]
struct InFlightRequest {
    ticket: Ticket,
    arrival: Nanos,
    kind: Kind,
    /// The range that is not split into parts yet.
    next: u64,
    end: u64,
    fua: bool,
    /// The payload that no part has taken yet. Of a completed request, the whole payload.
    payload: Payload,
    /// Completed parts, where there is more than one.
    back: Vec<(u32, Payload)>,
    parts: u32,
    outstanding: u32,
    failed: Option<Failed>,
    /// Whether the caller still waits for its completion.
    is_awaited: bool,
}

/// Requests in flight, up to a limit.
#[derive(Debug)]
pub(crate) struct Jobs {
    jobs: Vec<InFlightRequest>,
    free: Vec<u32>,
    page_bytes: u64,
    write_bytes: u64,
    /// Requests that have parts left, in order of arrival.
    backlog: VecDeque<u32>,
    /// Requests that need their flush.
    forced: VecDeque<u32>,
    /// A part that the controller was too busy to accept.
    held: Option<(HostRequest, Payload)>,
    outage: Outage,
    /// Parts in flight that are not reads, and their limit. The rest of the room is for reads only.
    changing: u32,
    changing_max: u32,
    done: VecDeque<Completion>,
    tickets: u64,
}

impl Jobs {
    /// Room for `most` requests, over pages of `page_bytes`.
    pub(crate) fn new(most: u32, page_bytes: u32, is_log: bool) -> Self {
        let most = most.max(1);
        Self {
            jobs: (0..most).map(|_| InFlightRequest::default()).collect(),
            free: (0..most).rev().collect(),
            page_bytes: page_bytes.into(),
            write_bytes: if is_log { LOG_BYTES } else { DATA_BYTES },
            backlog: VecDeque::with_capacity(most as usize),
            forced: VecDeque::with_capacity(most as usize),
            held: None,
            outage: Outage::default(),
            changing: 0,
            changing_max: most - most / 8,
            done: VecDeque::with_capacity(most as usize),
            tickets: 0,
        }
    }

    /// Most bytes of a part of a write.
    pub(crate) fn write_bytes(&self) -> u64 {
        self.write_bytes
    }

    pub(crate) fn page_bytes(&self) -> u32 {
        self.page_bytes as u32
    }

    /// Whether `request` is refused now. Some room is reserved for reads: other requests may wait for long, as writes
    /// without space do.
    pub(crate) fn is_full(&self, request: &Request) -> bool {
        let is_read = matches!(request, Request::Read { .. });
        self.free.is_empty() || !is_read && self.under_way() >= self.changing_max
    }

    /// Takes a request that arrives now. The caller checks [`Self::is_full`] first. `erases` says whether trimmed bytes
    /// read as zeros.
    pub(crate) fn push(&mut self, now: Nanos, request: Request, erases: bool) -> Ticket {
        let id = self.free.pop().expect("whoever pushes asks for room before");
        let (kind, offset, bytes, fua, payload) = match request {
            Request::Read { offset, into } => (Kind::Read, offset, into.len() as u64, false, into),
            Request::Write { offset, data, fua } => (Kind::Write, offset, data.len() as u64, fua, data),
            Request::Zero { offset, bytes, fua, keep_space } => {
                let kind = if erases && !keep_space { Kind::Erase } else { Kind::Clear };
                (kind, offset, bytes, fua, Payload::new())
            }
            Request::Trim { offset, bytes, fua } => (Kind::Trim, offset, bytes, fua, Payload::new()),
            Request::Flush => (Kind::Flush, 0, 1, false, Payload::new()),
        };
        let ticket = self.next_ticket();
        let job = &mut self.jobs[id as usize];
        let back = std::mem::take(&mut job.back);
        let (next, end) = (offset, offset + bytes);
        *job = InFlightRequest {
            ticket,
            arrival: now,
            kind,
            next,
            end,
            fua,
            payload,
            back,
            is_awaited: true,
            ..InFlightRequest::default()
        };
        self.backlog.push_back(id);
        ticket
    }

    /// Takes a request and completes it at once, because there is no space for its data.
    pub(crate) fn refuse(&mut self, request: Request) -> Ticket {
        let payload = match request {
            Request::Read { into: payload, .. } | Request::Write { data: payload, .. } => payload,
            Request::Zero { .. } | Request::Trim { .. } | Request::Flush => Payload::new(),
        };
        let ticket = self.next_ticket();
        self.done.push_back(Completion { ticket, result: Err(Failed::NoSpace), payload, response_ns: 0 });
        ticket
    }

    fn next_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets - 1)
    }

    /// Fails the requests that arrived at or before `latest` and may need space, because there is none. The parts that
    /// the controller has complete when there is space, before any later request for the same bytes; the other parts
    /// are dropped. Returns whether there was any such request.
    pub(crate) fn refuse_stuck(&mut self, now: Nanos, latest: Nanos) -> bool {
        let before = self.done.len();
        for (id, job) in (0..).zip(&mut self.jobs) {
            if !job.is_awaited || job.kind == Kind::Read || job.arrival > latest {
                continue;
            }
            (job.is_awaited, job.fua, job.next) = (false, false, job.end);
            job.back.clear();
            self.done.push_back(Completion {
                ticket: job.ticket,
                result: Err(Failed::NoSpace),
                payload: std::mem::take(&mut job.payload),
                response_ns: now - job.arrival,
            });
            if job.outstanding == 0 {
                self.free.push(id);
            }
        }
        // The part that the controller was too busy to accept is dropped too.
        let is_dropped = |(host, _): &mut (HostRequest, Payload)| !self.jobs[job_of(host.tag)].is_awaited;
        if let Some((host, _)) = self.held.take_if(is_dropped) {
            self.over(host.tag);
        }
        self.backlog.retain(|&id| self.jobs[id as usize].is_awaited);
        self.forced.retain(|&id| self.jobs[id as usize].is_awaited);
        self.done.len() > before
    }

    /// The next part for the controller.
    pub(crate) fn next_part(&mut self) -> Option<(HostRequest, Payload)> {
        let part = self.choose_part()?;
        self.outage.offer(&part.0);
        Some(part)
    }

    fn choose_part(&mut self) -> Option<(HostRequest, Payload)> {
        if let Some(part) = self.outage.next() {
            return Some(part);
        }
        if let Some(part) = self.held.take() {
            return Some(part);
        }
        if !self.outage.is_held
            && let Some(id) = self.forced.pop_front()
        {
            let job = &mut self.jobs[id as usize];
            job.outstanding = 1;
            self.changing += 1;
            let tag = tag(id, FLUSH);
            let arrival = job.arrival;
            return Some((
                HostRequest { tag, arrival, kind: RequestKind::Flush, ..HostRequest::default() },
                Payload::new(),
            ));
        }
        let nth = self.next_job()?;
        let id = self.backlog[nth];
        let job = &mut self.jobs[id as usize];
        let part = job.cut(id, self.page_bytes, self.write_bytes);
        self.changing += u32::from(job.kind != Kind::Read);
        if job.next == job.end {
            self.backlog.remove(nth);
        }
        Some(part)
    }

    /// The position in the backlog of the next request to serve. It is the first one, except for a request that has to
    /// wait and the later requests that overlap it.
    fn next_job(&self) -> Option<usize> {
        let waits = |job: &InFlightRequest| match job.kind {
            Kind::Read => false,
            _ if self.outage.is_held => true,
            Kind::Clear if u64::from(job.outstanding) * self.write_bytes >= CLEAR_BYTES => true,
            _ => self.changing >= self.changing_max,
        };
        let job = |nth: usize| &self.jobs[self.backlog[nth] as usize];
        let mut waiting: Vec<&InFlightRequest> = Vec::new();
        (0..self.backlog.len()).find(|&nth| {
            let job = job(nth);
            // A flush covers the requests that completed before it came.
            let overlaps = |other: &&InFlightRequest| {
                let is_flush = job.kind == Kind::Flush || other.kind == Kind::Flush;
                !is_flush && job.next < other.end && other.next < job.end
            };
            let must_wait = waits(job) || waiting.iter().any(overlaps);
            if must_wait {
                waiting.push(job);
            }
            !must_wait
        })
    }

    /// Keeps a part that the controller was too busy to accept; it comes first next time.
    pub(crate) fn hold(&mut self, host: HostRequest, payload: Payload) {
        self.outage.take_back(host.tag);
        self.held = Some((host, payload));
    }

    /// Counts a part as completed. Returns whether the caller still waits for its request; if not, that request has
    /// been answered already.
    fn over(&mut self, tag: u64) -> bool {
        let id = job_of(tag);
        let job = &mut self.jobs[id];
        job.outstanding -= 1;
        self.changing -= u32::from(job.kind != Kind::Read);
        if !job.is_awaited && job.outstanding == 0 {
            self.free.push(id as u32);
        }
        job.is_awaited
    }

    /// The controller has completed a part.
    pub(crate) fn part_over(&mut self, acknowledgement: &Acknowledgement, mut payload: Payload) {
        let offered = self.outage.take_back(acknowledgement.tag);
        let is_lost = acknowledgement.failed && !acknowledgement.no_space;
        if let Some(host) = offered.filter(|_| is_lost && self.jobs[job_of(acknowledgement.tag)].is_awaited) {
            match self.outage.keep(host, payload) {
                Some(back) => payload = back,
                None => return,
            }
        }
        self.end_part(acknowledgement, payload);
    }

    fn end_part(&mut self, acknowledgement: &Acknowledgement, payload: Payload) {
        let (id, nth) = (job_of(acknowledgement.tag) as u32, acknowledgement.tag as u32);
        if !self.over(acknowledgement.tag) {
            return;
        }
        let job = &mut self.jobs[id as usize];
        if acknowledgement.failed {
            let why = if acknowledgement.no_space { Failed::NoSpace } else { Failed::Lost };
            job.failed.get_or_insert(why);
        }
        if nth == FLUSH {
            // The payload was joined before.
        } else if job.parts == 1 && job.next == job.end {
            job.payload = payload;
        } else if matches!(job.kind, Kind::Read | Kind::Write) {
            job.back.push((nth, payload));
        }
        if job.outstanding > 0 || job.next < job.end {
            return;
        }
        if !job.back.is_empty() {
            job.put_together();
        }
        if std::mem::take(&mut job.fua) && job.failed.is_none() {
            self.forced.push_back(id);
            return;
        }
        job.is_awaited = false;
        self.done.push_back(Completion {
            ticket: job.ticket,
            result: job.failed.take().map_or(Ok(()), Err),
            payload: std::mem::take(&mut job.payload),
            response_ns: acknowledgement.at - job.arrival,
        });
        self.free.push(id);
    }

    /// The oldest completion that was not taken yet.
    pub(crate) fn take_done(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }

    /// The completion of one request, if it has completed.
    pub(crate) fn take_done_of(&mut self, ticket: Ticket) -> Option<Completion> {
        let index = self.done.iter().position(|completion| completion.ticket == ticket)?;
        self.done.remove(index)
    }

    /// Whether no request is in flight. Completions that were not taken do not count.
    pub(crate) fn is_idle(&self) -> bool {
        self.free.len() == self.jobs.len()
    }

    /// Requests in flight.
    pub(crate) fn under_way(&self) -> u32 {
        (self.jobs.len() - self.free.len()) as u32
    }
}

impl InFlightRequest {
    /// Splits off the next part.
    fn cut(&mut self, id: u32, page_bytes: u64, write_bytes: u64) -> (HostRequest, Payload) {
        let (offset, left) = (self.next, self.end - self.next);
        // A longer request is split at multiples of `most`, so that pages stay whole.
        let within = |most: u64| if left <= most { left } else { most - offset % most };
        let into_page = offset % page_bytes;
        let (kind, bytes) = match self.kind {
            Kind::Read => (RequestKind::Read, within(DATA_BYTES)),
            Kind::Write | Kind::Clear => (RequestKind::Write, within(write_bytes)),
            Kind::Trim => (RequestKind::Trim, within(TRIM_BYTES)),
            Kind::Flush => (RequestKind::Flush, 0),
            Kind::Erase if into_page != 0 || left < page_bytes => {
                (RequestKind::Write, left.min(page_bytes - into_page))
            }
            Kind::Erase => {
                let bytes = within(TRIM_BYTES);
                (RequestKind::Trim, bytes - bytes % page_bytes)
            }
        };
        let tag = tag(id, self.parts);
        self.parts += 1;
        self.outstanding += 1;
        self.next = if self.kind == Kind::Flush { self.end } else { offset + bytes };
        let offset = if self.kind == Kind::Flush { 0 } else { offset };
        let payload = match (self.kind, kind) {
            (Kind::Read | Kind::Write, _) if bytes == left => std::mem::take(&mut self.payload),
            (Kind::Read | Kind::Write, _) => self.payload.split_to(bytes as usize),
            (_, RequestKind::Write) => Payload::zeroed(bytes as usize),
            _ => Payload::new(),
        };
        (HostRequest { tag, arrival: self.arrival, offset, bytes: bytes as u32, kind }, payload)
    }

    /// Joins the payload of all parts, in order. The parts are adjacent in memory, so nothing is copied.
    fn put_together(&mut self) {
        self.back.sort_unstable_by_key(|&(nth, _)| nth);
        for (_, part) in self.back.drain(..) {
            self.payload.unsplit(part);
        }
    }
}

fn tag(job: u32, part: u32) -> u64 {
    u64::from(job) << 32 | u64::from(part)
}

fn job_of(tag: u64) -> usize {
    (tag >> 32) as usize
}
