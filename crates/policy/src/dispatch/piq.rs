//! PIQ, parallel issue queuing: requests that share no member are issued together, as a batch.
//!
//! A round consists of the requests that wait when it begins. Algorithm 1 deals them to batches: each request joins the first
//! batch of its kind with which it shares no member, or makes a new one. Batches of reads are issued before batches of writes,
//! so that a write waits behind the reads then pending and before those that arrive later.
//!
//! Source: paper 002, sections II-D and III-D, Algorithm 1, after Gao et al., MSST 2014. Our choices: a round consists of the
//! requests that wait when it begins; a request joins none but the last `overtake` + 1 batches; a flush ends its round; a
//! write that overlaps another write of the round waits for the next one, because members without room may let the later of
//! two batches go first.
//!
//! The walk over a round costs nothing for requests that cannot be issued: a batch is visited once when its turn has come, and
//! again only for a member that had no room and has room now.

use std::collections::VecDeque;

use stripewise_core::ids::RequestId;

use super::members::MemberSet;

/// The batches that a request may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// Batches of reads.
    Read,
    /// Batches of writes and trims.
    Write,
    /// None: it goes alone, when the rest of its round is issued.
    Flush,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    targets: MemberSet,
    kind: BatchKind,
    /// Its first and last page of the array.
    pages: (u64, u64),
    /// The next request of its batch.
    next: RequestId,
}

#[derive(Clone, Copy, Debug)]
struct Batch {
    /// The members of its remaining requests.
    targets: MemberSet,
    first: RequestId,
    last: RequestId,
    is_flush: bool,
}

/// The position of a walk.
#[derive(Clone, Copy, Debug)]
struct Position {
    batch: usize,
    /// The request of the batch in front of `request`, or [`RequestId::NONE`].
    before: RequestId,
    request: RequestId,
}

/// Requests that wait under PIQ.
#[derive(Debug)]
pub struct Piq {
    /// Number of younger batches that a request may overtake.
    overtake: usize,
    /// Whether a batch is issued when the previous one is acknowledged.
    pub is_sync: bool,
    /// Requests that arrived since the round began.
    arrived: VecDeque<RequestId>,
    /// Batches of the round: reads, then writes, then a flush.
    round: Vec<Batch>,
    /// Batches of writes while a round is formed.
    writes: Vec<Batch>,
    /// Pages of the writes of the round, and of those deferred while it is formed.
    written: Vec<(u64, u64)>,
    /// Writes deferred to the next round while this one is formed.
    put_off: Vec<RequestId>,
    /// Requests by number.
    requests: Vec<Request>,
    /// Number of requests of the round that are not wholly issued.
    left: u32,
    /// Number of batches whose turn has come.
    open: usize,
    /// Of those: batches that were wholly visited. Their remaining requests wait for room.
    visited: usize,
    /// Number of batches at the front without remaining requests.
    done: usize,
    at: Position,
}

impl Piq {
    /// An empty queue for at most `requests` requests.
    pub fn new(overtake: u32, is_sync: bool, requests: u32) -> Self {
        let requests = requests as usize;
        let vacant = Request {
            targets: MemberSet::default(),
            kind: BatchKind::Read,
            pages: (0, 0),
            next: RequestId::NONE,
        };
        Self {
            overtake: overtake as usize,
            is_sync,
            arrived: VecDeque::with_capacity(requests),
            round: Vec::with_capacity(requests),
            writes: Vec::with_capacity(requests),
            written: Vec::with_capacity(requests),
            put_off: Vec::with_capacity(requests),
            requests: vec![vacant; requests],
            left: 0,
            open: 0,
            visited: 0,
            done: 0,
            at: Position { batch: 0, before: RequestId::NONE, request: RequestId::NONE },
        }
    }

    /// Number of requests that are not wholly issued.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.left + self.arrived.len() as u32
    }

    /// Adds request `id` for these pages, the first and the last, to the requests that wait for the next round.
    pub fn push(&mut self, id: RequestId, kind: BatchKind, pages: (u64, u64), targets: MemberSet) {
        self.requests[id.index()] = Request { targets, kind, pages, next: RequestId::NONE };
        self.arrived.push_back(id);
    }

    /// Forms the next round if there is none and any request waits.
    fn begin_round(&mut self) {
        self.round.clear();
        (self.open, self.visited, self.done) = (0, 0, 0);
        self.written.clear();
        let mut flush = RequestId::NONE;
        while flush == RequestId::NONE
            && let Some(id) = self.arrived.pop_front()
        {
            match self.requests[id.index()].kind {
                BatchKind::Read => add(&mut self.round, &mut self.requests, self.overtake, id),
                BatchKind::Write if is_rewrite(&mut self.written, self.requests[id.index()].pages) => {
                    self.put_off.push(id);
                    continue;
                }
                BatchKind::Write => add(&mut self.writes, &mut self.requests, self.overtake, id),
                BatchKind::Flush if self.put_off.is_empty() => flush = id,
                BatchKind::Flush => {
                    // The flush covers the deferred writes.
                    self.put_off.push(id);
                    break;
                }
            }
            self.left += 1;
        }
        while let Some(id) = self.put_off.pop() {
            self.arrived.push_front(id);
        }
        self.round.append(&mut self.writes);
        if flush != RequestId::NONE {
            let targets = MemberSet::default();
            self.round.push(Batch { targets, first: flush, last: flush, is_flush: true });
        }
    }

    /// Begins a walk, with a new round if the last one is over. `is_idle`: no issued request is in progress. Returns whether
    /// there may be requests to issue, given that `freed` members have room again.
    pub fn begin_walk(&mut self, freed: &MemberSet, is_idle: bool) -> bool {
        if self.left == 0 {
            if self.arrived.is_empty() {
                return false;
            }
            self.begin_round();
        }
        while self.done < self.round.len() && self.round[self.done].first == RequestId::NONE {
            self.done += 1;
        }
        if !self.is_sync {
            self.open = self.round.len();
        } else if is_idle && self.done >= self.open {
            self.open = self.done + 1;
        }
        self.visited = self.visited.max(self.done);
        self.enter(self.done);
        self.visited < self.open || !freed.is_empty()
    }

    /// Continues the visit at the first request of `batch`.
    pub fn enter(&mut self, batch: usize) {
        let request = self.round.get(batch).map_or(RequestId::NONE, |batch| batch.first);
        self.at = Position { batch, before: RequestId::NONE, request };
    }

    /// The next request that may have room: all requests of batches that were not visited, and those that need one of `freed`.
    /// The caller reports the result with [`Self::issued`] or [`Self::wants_room`], or ends the walk.
    pub fn next(&mut self, freed: &MemberSet) -> Option<RequestId> {
        loop {
            let is_new = self.at.batch >= self.visited;
            if self.at.batch >= self.open || (!is_new && freed.is_empty() && self.visited >= self.open) {
                return None;
            }
            if !is_new && freed.is_empty() {
                self.enter(self.visited);
                continue;
            }
            let batch = &self.round[self.at.batch];
            if batch.is_flush && self.left > 1 {
                return None;
            }
            if self.at.request == RequestId::NONE || !(is_new || batch.targets.meets(freed)) {
                self.visited = self.visited.max(self.at.batch + 1);
                self.enter(self.at.batch + 1);
            } else if is_new || self.requests[self.at.request.index()].targets.meets(freed) {
                return Some(self.at.request);
            } else {
                self.wants_room();
            }
        }
    }

    /// The request from [`Self::next`] waits on: one of its members has no room.
    pub fn wants_room(&mut self) {
        self.at.before = self.at.request;
        self.at.request = self.requests[self.at.request.index()].next;
    }

    /// The request from [`Self::next`] is wholly issued. Returns its target members.
    pub fn issued(&mut self) -> MemberSet {
        let Request { targets, next, .. } = self.requests[self.at.request.index()];
        let batch = &mut self.round[self.at.batch];
        // No two requests of a batch share a member.
        batch.targets.take_away(&targets);
        if self.at.before == RequestId::NONE {
            batch.first = next;
        } else {
            self.requests[self.at.before.index()].next = next;
        }
        if next == RequestId::NONE {
            batch.last = self.at.before;
        }
        self.at.request = next;
        self.left -= 1;
        targets
    }
}

/// Whether one of `written` overlaps the write of these pages, which are added to them.
fn is_rewrite(written: &mut Vec<(u64, u64)>, pages: (u64, u64)) -> bool {
    let is_rewrite = written.iter().any(|other| pages.0 <= other.1 && other.0 <= pages.1);
    written.push(pages);
    is_rewrite
}

/// Algorithm 1: deals request `id` to the first batch, of the last ones that it may join, with which it shares no member.
fn add(batches: &mut Vec<Batch>, requests: &mut [Request], overtake: usize, id: RequestId) {
    let targets = requests[id.index()].targets;
    let first = batches.len().saturating_sub(overtake + 1);
    match batches[first..].iter_mut().find(|batch| !batch.targets.meets(&targets)) {
        Some(batch) => {
            requests[batch.last.index()].next = id;
            batch.last = id;
            batch.targets.add(&targets);
        }
        None => batches.push(Batch { targets, first: id, last: id, is_flush: false }),
    }
}

#[cfg(test)]
mod tests;
