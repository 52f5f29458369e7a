//! Errors of one member, in counters that only grow, so that a reader who looks from time to time misses none.

use stripewise_base::Nanos;
use stripewise_core::operation::{OperationKind, Outcome};

use crate::health::spots::Spots;

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
    /// Errors that the member itself reported, and timeouts, where errors near each other within a minute count as one.
    /// Content that does not match its checksum counts none: the limit applies to these, and no member fails for content
    /// that the other members repair.
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
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    counts: Troubles,
    spots: Spots,
}

impl Ledger {
    /// The counters.
    pub fn counts(&self) -> Troubles {
        self.counts
    }

    /// An operation at `page`, of `page_bytes`, ended with an error.
    pub fn failed(
        &mut self,
        now: Nanos,
        kind: OperationKind,
        outcome: Outcome,
        (page, page_bytes): (u32, u32),
    ) {
        match (kind, outcome) {
            (_, Outcome::Timeout) => self.counts.timeouts += 1,
            (OperationKind::Read, _) => {
                self.counts.read_errors += 1;
                self.counts.last_page = page;
            }
            _ => self.counts.write_errors += 1,
        }
        self.counts.spots += u64::from(self.spots.note(now, page, page_bytes));
    }

    /// The content read at `page` does not match its checksum.
    pub fn mismatched(&mut self, page: u32) {
        self.counts.mismatches += 1;
        self.counts.last_page = page;
    }

    /// A page that could not be read was written again with its content.
    pub fn repaired(&mut self) {
        self.counts.repairs += 1;
    }

    /// An operation took longer than a healthy device takes. Returns how often that happened.
    pub fn slow(&mut self) -> u64 {
        self.counts.slow += 1;
        self.counts.slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_kind() {
        let mut ledger = Ledger::default();
        ledger.failed(0, OperationKind::Read, Outcome::MediumError, (7, 4096));
        ledger.failed(0, OperationKind::Flush, Outcome::MediumError, (0, 4096));
        ledger.failed(0, OperationKind::Write, Outcome::Timeout, (0, 4096));
        ledger.mismatched(9);
        let Troubles { read_errors, write_errors, mismatches, timeouts, last_page, .. } = ledger.counts;
        assert_eq!((read_errors, write_errors, mismatches, timeouts, last_page), (1, 1, 1, 1, 9));
        assert_eq!(ledger.counts.errors(), 4);
        assert_eq!(ledger.counts.spots, 1, "three in one place, and content that does not match");
    }
}
