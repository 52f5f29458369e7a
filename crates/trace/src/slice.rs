//! A part of a trace: some of its time, its requests, its volumes.

use crate::{Request, Source, TraceError};

/// The requests to keep. All conditions must hold; the counts apply to the requests that the other conditions keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Not before this many nanoseconds after the trace's start.
    pub from_ns: u64,
    /// Before this many nanoseconds after the trace's start.
    pub until_ns: Option<u64>,
    /// Only these volumes; all if empty.
    pub volumes: Vec<u32>,
    /// Skip this many requests first.
    pub skip: u64,
    /// End after this many requests.
    pub take: Option<u64>,
}

/// The requests of a source that a [`Selection`] keeps, the first of them at time zero.
#[derive(Debug)]
pub struct Slice<S> {
    source: S,
    selection: Selection,
    /// Time of the first request kept.
    start_ns: Option<u64>,
    skipped: u64,
    taken: u64,
    ended: bool,
    /// The number of requests that the source delivered, and the time of the latest.
    seen: u64,
    latest_ns: u64,
    /// The batch of the source, and the number of its requests that were examined.
    delivered: Vec<Request>,
    next: usize,
}

impl Selection {
    /// Whether the selection can leave out every request of a trace that has some.
    fn leaves_out(&self) -> bool {
        self.from_ns > 0 || self.until_ns.is_some() || !self.volumes.is_empty() || self.skip > 0
    }
}

impl<S: Source> Slice<S> {
    /// The part of `source` that `selection` keeps.
    ///
    /// # Errors
    /// If the end is not after the start.
    pub fn new(source: S, selection: Selection) -> Result<Self, TraceError> {
        if selection.until_ns.is_some_and(|until| until <= selection.from_ns) {
            return Err(TraceError::Setting("the end of the slice does not lie after its start".to_owned()));
        }
        let delivered = Vec::with_capacity(4096);
        Ok(Self {
            source,
            selection,
            start_ns: None,
            skipped: 0,
            taken: 0,
            ended: false,
            seen: 0,
            latest_ns: 0,
            delivered,
            next: 0,
        })
    }

    /// The source underneath.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Whether the request is kept. Ends the slice when no further request can be kept.
    fn keep(&mut self, request: &Request) -> bool {
        let selection = &self.selection;
        if selection.until_ns.is_some_and(|until| request.time_ns >= until)
            || selection.take.is_some_and(|take| self.taken >= take)
        {
            self.ended = true;
            return false;
        }
        if request.time_ns < selection.from_ns
            || !(selection.volumes.is_empty() || selection.volumes.contains(&request.volume))
        {
            return false;
        }
        if self.skipped < selection.skip {
            self.skipped += 1;
            return false;
        }
        self.taken += 1;
        true
    }
}

impl<S: Source> Source for Slice<S> {
    /// A selection that keeps no request is an error.
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        if batch.capacity() == 0 {
            batch.reserve(4096);
        }
        while batch.len() < batch.capacity() && !self.ended {
            if self.next == self.delivered.len() {
                self.next = 0;
                self.source.next_batch(&mut self.delivered)?;
                self.ended = self.delivered.is_empty();
                continue;
            }
            let mut request = self.delivered[self.next];
            self.next += 1;
            self.seen += 1;
            self.latest_ns = self.latest_ns.max(request.time_ns);
            if self.keep(&request) {
                request.time_ns -= *self.start_ns.get_or_insert(request.time_ns);
                batch.push(request);
            }
        }
        if self.ended && self.taken == 0 && self.selection.leaves_out() {
            return Err(TraceError::EmptySlice { requests: self.seen, latest_ns: self.latest_ns });
        }
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        if self.ended { Some(1.0) } else { self.source.progress() }
    }
}
