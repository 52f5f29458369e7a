//! A load, and a sink that keeps rows of collections.
#![allow(dead_code, unreachable_pub)]

use stripewise_base::prng::Prng;
use stripewise_sim::tables::{GcRow, GcSliceRow, RequestRow, Sink};
use stripewise_trace::{Kind, Request, Source, TraceError};

/// Requests of 8 KiB at random places, at fixed intervals.
pub struct Mixed {
    pub prng: Prng,
    pub count: u64,
    pub every_ns: u64,
    pub read_percent: u64,
    pub span: u64,
    pub sent: u64,
}

impl Source for Mixed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.sent < self.count {
            self.sent += 1;
            let offset = self.prng.below(self.span / 8192) * 8192;
            let kind = if self.prng.below(100) < self.read_percent { Kind::Read } else { Kind::Write };
            batch.push(Request { time_ns: self.sent * self.every_ns, offset, bytes: 8192, volume: 0, kind });
        }
        Ok(())
    }
}

/// Rows of collections, of slices of time and of requests.
#[derive(Default)]
pub struct Collections {
    pub gcs: Vec<GcRow>,
    pub slices: Vec<GcSliceRow>,
    pub first_arrival_ns: Option<u64>,
}

impl Sink for Collections {
    fn gc(&mut self, row: &GcRow) {
        self.gcs.push(*row);
    }
    fn gc_slice(&mut self, row: &GcSliceRow) {
        self.slices.push(*row);
    }
    fn request(&mut self, row: &RequestRow) {
        let first = self.first_arrival_ns.get_or_insert(row.arrival_ns);
        *first = row.arrival_ns.min(*first);
    }
}
