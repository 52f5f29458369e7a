//! Errors of one member, in counters that only grow, so that a reader who looks from time to time misses none.

use std::time::{Duration, Instant};

use stripewise_array::{OperationKind, Outcome};
use stripewise_base::Nanos;

/// Errors this close to each other belong to one damaged spot: a bad erase block or a few bad tracks.
const SPOT_BYTES: u64 = 1 << 20;
/// How long a spot is remembered. A later error there counts again.
const SPOT_TIME: Duration = Duration::from_secs(60);
/// Number of spots that are remembered.
const SPOTS: usize = 8;
/// An operation that takes longer than this is noted as slow: a healthy drive that retries a weak sector answers within
/// a second or two.
pub(crate) const SLOW_NS: Nanos = 3_000_000_000;

/// Errors of a member, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    /// Reads that the member answered with an error.
    pub read_errors: u64,
    /// Writes, trims and flushes that it answered with an error.
    pub write_errors: u64,
    /// Reads that it answered with content that does not match its checksum.
    pub mismatches: u64,
    /// Operations that it did not answer in time.
    pub timeouts: u64,
    /// All of these errors, where errors near each other within a minute count as one.
    pub spots: u64,
    /// The page of the last bad read.
    pub last_page: u32,
    /// Pages that could not be read and were written again with their content.
    pub repairs: u64,
    /// Operations that took longer than a healthy device takes.
    pub slow: u64,
}

impl Troubles {
    /// Reads that returned no good content.
    pub fn bad_reads(&self) -> u64 {
        self.read_errors + self.mismatches
    }

    /// Errors of all kinds.
    pub fn errors(&self) -> u64 {
        self.read_errors + self.write_errors + self.mismatches + self.timeouts
    }
}

/// The counters of one member, and its known spots.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) counts: Troubles,
    /// The latest spots, and when each was counted.
    spots: [Option<(u64, Instant)>; SPOTS],
    next: usize,
}

impl Ledger {
    /// An operation at `page`, of `page_bytes`, ended with an error.
    pub(crate) fn failed(&mut self, kind: OperationKind, outcome: Outcome, page: u32, page_bytes: u32) {
        match (kind, outcome) {
            (_, Outcome::Timeout) => self.counts.timeouts += 1,
            (OperationKind::Read, _) => {
                self.counts.read_errors += 1;
                self.counts.last_page = page;
            }
            _ => self.counts.write_errors += 1,
        }
        self.count_spot(page, page_bytes, Instant::now());
    }

    /// The content read at `page` does not match its checksum.
    pub(crate) fn mismatched(&mut self, page: u32, page_bytes: u32) {
        self.counts.mismatches += 1;
        self.counts.last_page = page;
        self.count_spot(page, page_bytes, Instant::now());
    }

    fn count_spot(&mut self, page: u32, page_bytes: u32, now: Instant) {
        let spot = u64::from(page) * u64::from(page_bytes) / SPOT_BYTES;
        let is_it = |known: &Option<(u64, Instant)>| {
            known.is_some_and(|(other, at)| other == spot && now.duration_since(at) < SPOT_TIME)
        };
        if self.spots.iter().any(is_it) {
            return;
        }
        self.counts.spots += 1;
        self.spots[self.next] = Some((spot, now));
        self.next = (self.next + 1) % SPOTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_near_each_other_within_a_minute_are_one_spot() {
        let mut ledger = Ledger::default();
        let begun = Instant::now();
        let (near, far) = (256, 512);
        for page in 0..near {
            ledger.count_spot(page, 4096, begun);
        }
        assert_eq!(ledger.counts.spots, 1, "a mebibyte");
        ledger.count_spot(near, 4096, begun);
        ledger.count_spot(far, 4096, begun);
        assert_eq!(ledger.counts.spots, 3);
        ledger.count_spot(0, 4096, begun + SPOT_TIME / 2);
        assert_eq!(ledger.counts.spots, 3, "it is remembered");
        ledger.count_spot(0, 4096, begun + SPOT_TIME);
        assert_eq!(ledger.counts.spots, 4, "it fails again");
    }

    #[test]
    fn errors_are_counted_by_kind() {
        let mut ledger = Ledger::default();
        ledger.failed(OperationKind::Read, Outcome::MediumError, 7, 4096);
        ledger.failed(OperationKind::Flush, Outcome::MediumError, 0, 4096);
        ledger.failed(OperationKind::Write, Outcome::Timeout, 0, 4096);
        ledger.mismatched(9, 4096);
        let Troubles { read_errors, write_errors, mismatches, timeouts, last_page, .. } = ledger.counts;
        assert_eq!((read_errors, write_errors, mismatches, timeouts, last_page), (1, 1, 1, 1, 9));
        assert_eq!(ledger.counts.errors(), 4);
    }
}
