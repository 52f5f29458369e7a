//! Runs that leave no tables, and whose response times are watched: whether the warm-up is over.

use stripewise_results::steady::{Steady, Warmup};
use stripewise_results::{DigestSink, DigestedRun, RunInputs};
use stripewise_sim::tables::{GcRow, GcSliceRow, LatencyRow, RequestRow, SampleRow, Sink, UpdateRow};

/// A run that is in memory alone: its totals, and the digest of its results.
#[derive(Clone, Debug)]
pub struct InMemory {
    /// Its inputs.
    pub inputs: RunInputs,
    /// Its results.
    pub run: DigestedRun,
    /// Whether the warm-up of its response times was over.
    pub steady: Steady,
    /// Its processor time in nanoseconds.
    pub cpu_ns: u64,
}

/// Looks at response times alone.
#[derive(Default)]
pub(crate) struct ResponseTimes(Warmup);

impl ResponseTimes {
    /// Whether the warm-up was over, and where.
    pub(crate) fn verdict(&self) -> Steady {
        self.0.verdict()
    }
}

impl Sink for ResponseTimes {
    #[inline]
    fn request(&mut self, row: &RequestRow) {
        self.0.push(row.latency_ns as f64);
    }
}

/// Passes all rows on.
#[derive(Default)]
pub(crate) struct Watching {
    sink: DigestSink,
    warmup: Warmup,
}

impl Watching {
    /// The rows, and the verdict.
    pub(crate) fn finish(self) -> (DigestSink, Steady) {
        (self.sink, self.warmup.verdict())
    }
}

impl Sink for Watching {
    #[inline]
    fn request(&mut self, row: &RequestRow) {
        self.warmup.push(row.latency_ns as f64);
        self.sink.request(row);
    }

    #[inline]
    fn update(&mut self, row: &UpdateRow) {
        self.sink.update(row);
    }

    #[inline]
    fn sample(&mut self, row: &SampleRow) {
        self.sink.sample(row);
    }

    #[inline]
    fn gc(&mut self, row: &GcRow) {
        self.sink.gc(row);
    }

    #[inline]
    fn latency(&mut self, row: &LatencyRow) {
        self.sink.latency(row);
    }

    #[inline]
    fn gc_slice(&mut self, row: &GcSliceRow) {
        self.sink.gc_slice(row);
    }
}
