//! Requests of many shapes, drawn from a seed.

use stripewise_base::prng::Prng;
use stripewise_trace::{Kind, Request, Source, TraceError};

const SECTOR: u64 = 512;

/// Reads, writes and, if wanted, trims: most small and in one tenth of the array, some long, some at the same time.
#[derive(Debug)]
pub(crate) struct Workload {
    prng: Prng,
    left: u32,
    time_ns: u64,
    /// Sectors that the requests touch.
    sectors: u64,
    trims: bool,
}

impl Workload {
    /// `requests` requests over the first `bytes` bytes.
    pub(crate) fn new(seed: u64, requests: u32, bytes: u64, trims: bool) -> Self {
        Self { prng: Prng::new(seed), left: requests, time_ns: 0, sectors: bytes / SECTOR, trims }
    }
}

impl Iterator for Workload {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let prng = &mut self.prng;
        if prng.chance(2, 3) {
            self.time_ns += prng.below(600_000);
        }
        let kind = match prng.below(10) {
            0..3 => Kind::Read,
            3 if self.trims => Kind::Trim,
            _ => Kind::Write,
        };
        let most = if prng.chance(1, 8) { 512 } else { 40 };
        let sectors = (1 + prng.below(most)).min(self.sectors);
        let span = if prng.chance(3, 4) { (self.sectors / 10).max(sectors) } else { self.sectors };
        let first = prng.below(span - sectors + 1);
        // Half of all requests begin at a page.
        let first = if prng.chance(1, 2) { first / 16 * 16 } else { first };
        let (offset, bytes) = (first * SECTOR, (sectors * SECTOR) as u32);
        Some(Request { time_ns: self.time_ns, offset, bytes, volume: 0, kind })
    }
}

impl Source for Workload {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let room = batch.capacity();
        batch.extend(self.take(room));
        Ok(())
    }
}
