//! The budget of rows: what the tables of single requests, updates, collections and samples of a comparison may take on disk.

use std::sync::atomic::{AtomicU64, Ordering};

use stripewise_base::units::Bytes;
use stripewise_sim::Progress;
use stripewise_sim::tables::{GcRow, GcSliceRow, LatencyRow, RequestRow, SampleRow, Sink, UpdateRow};

use crate::error::Error;
use crate::observer::Observer;

/// The budget unless another is given.
pub const DEFAULT_BUDGET: Bytes = Bytes(1 << 30);

/// Bytes of a row on disk, about: what rows of paper 000's hm_0 take. Samples that repeat take less.
pub(crate) const REQUEST: u64 = 40;
const UPDATE: u64 = 40;
const GC: u64 = 40;
pub(crate) const SAMPLE: u64 = 12;

/// Bytes after which a run reports to the others what it has kept.
const STEP: u64 = 1 << 16;

/// Bytes that the rows of a comparison take so far, of all its runs.
#[derive(Debug, Default)]
pub(crate) struct Kept(AtomicU64);

impl Kept {
    fn exceeds(&self, budget: Bytes) -> bool {
        self.0.load(Ordering::Relaxed) > budget.0
    }
}

/// Counts the rows that it passes on.
pub(crate) struct Counted<'a> {
    sink: &'a mut dyn Sink,
    kept: &'a Kept,
    /// Bytes that `kept` does not have yet.
    own: u64,
}

impl<'a> Counted<'a> {
    pub(crate) fn new(sink: &'a mut dyn Sink, kept: &'a Kept) -> Self {
        Self { sink, kept, own: 0 }
    }

    #[inline]
    fn count(&mut self, bytes: u64) {
        self.own += bytes;
        if self.own >= STEP {
            self.kept.0.fetch_add(std::mem::take(&mut self.own), Ordering::Relaxed);
        }
    }
}

impl Sink for Counted<'_> {
    #[inline]
    fn request(&mut self, row: &RequestRow) {
        self.count(REQUEST);
        self.sink.request(row);
    }

    #[inline]
    fn sample(&mut self, row: &SampleRow) {
        self.count(SAMPLE);
        self.sink.sample(row);
    }

    #[inline]
    fn update(&mut self, row: &UpdateRow) {
        self.count(UPDATE);
        self.sink.update(row);
    }

    #[inline]
    fn gc(&mut self, row: &GcRow) {
        self.count(GC);
        self.sink.gc(row);
    }

    fn latency(&mut self, row: &LatencyRow) {
        self.sink.latency(row);
    }

    fn gc_slice(&mut self, row: &GcSliceRow) {
        self.sink.gc_slice(row);
    }
}

/// Stops a comparison when its rows exceed the budget, or its observer does.
pub(crate) struct Bounded<'a> {
    pub(crate) observer: &'a dyn Observer,
    pub(crate) kept: &'a Kept,
    pub(crate) budget: Bytes,
}

impl Bounded<'_> {
    /// The error that ended a run: the budget's where it was exceeded.
    pub(crate) fn reason(&self, error: Error) -> Error {
        match error {
            Error::Stopped if self.kept.exceeds(self.budget) => Error::Budget(self.budget),
            other => other,
        }
    }
}

impl Observer for Bounded<'_> {
    fn may_continue(&self) -> bool {
        !self.kept.exceeds(self.budget) && self.observer.may_continue()
    }

    fn began(&self, run: usize, scheme: &str) {
        self.observer.began(run, scheme);
    }

    fn advanced(&self, run: usize, progress: Progress) {
        self.observer.advanced(run, progress);
    }

    fn ended(&self, run: usize) {
        self.observer.ended(run);
    }
}
