//! Requests built one by one by a closure: small workloads whose every request a check can reason about.

use stripewise_base::Nanos;
use stripewise_base::prng::Prng;
use stripewise_sim::tables::{RequestRow, Sink};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Requests that `make` builds from their positions.
pub(crate) struct Made<F> {
    next: u64,
    end: u64,
    make: F,
}

impl<F: FnMut(u64) -> Request> Made<F> {
    /// `count` requests.
    pub(crate) fn new(count: u64, make: F) -> Self {
        Self { next: 0, end: count, make }
    }
}

impl<F: FnMut(u64) -> Request> Source for Made<F> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let count = (batch.capacity().max(1) as u64).min(self.end - self.next);
        batch.extend((self.next..self.next + count).map(&mut self.make));
        self.next += count;
        Ok(())
    }
}

/// A request of whole pages of `page_bytes`, the first of them `page`.
pub(crate) fn pages(kind: Kind, time_ns: Nanos, page: u64, count: u64, page_bytes: u64) -> Request {
    Request { time_ns, offset: page * page_bytes, bytes: (count * page_bytes) as u32, volume: 0, kind }
}

/// Arrivals of a Poisson process.
#[derive(Clone, Debug)]
pub(crate) struct Poisson {
    prng: Prng,
    mean_ns: f64,
    /// The time of the last arrival, unrounded: rounding each interval would shift the rate.
    time: f64,
}

impl Poisson {
    /// Arrivals from `start` on, with a mean distance of `mean_ns`.
    pub(crate) fn new(seed: u64, start: Nanos, mean_ns: f64) -> Self {
        Self { prng: Prng::stream(seed, 0x706F_6973), mean_ns, time: start as f64 }
    }

    /// The time of the next arrival.
    #[inline]
    pub(crate) fn next(&mut self) -> Nanos {
        self.time -= self.mean_ns * libm::log(1.0 - self.prng.unit());
        self.time as Nanos
    }
}

/// The completion times of requests: throughput without the ends of a run, where it fills and drains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    at: Vec<Nanos>,
}

impl Ends {
    /// Requests a second over the middle eight tenths of the requests.
    pub(crate) fn rate(&mut self) -> f64 {
        self.at.sort_unstable();
        let (first, last) = (self.at.len() / 10, self.at.len() * 9 / 10);
        (last - first) as f64 * 1e9 / (self.at[last] - self.at[first]) as f64
    }
}

impl Sink for Ends {
    fn request(&mut self, row: &RequestRow) {
        self.at.push(row.arrival_ns + row.latency_ns);
    }
}
