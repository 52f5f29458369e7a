//! Whether a request continues a recent one, and the runs that such requests make.

use serde::{Deserialize, Serialize};

/// A request is sequential when it starts where one of this many requests before it ended: enough to follow some
/// interleaved streams, few enough that chance does not count.
pub const RECENT: usize = 8;

/// Where the last [`RECENT`] requests ended.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    ends: [(u32, u64); RECENT],
    next: usize,
}

impl Default for Recent {
    fn default() -> Self {
        // No request ends at byte 0, since it would have no bytes.
        Self { ends: [(0, 0); RECENT], next: 0 }
    }
}

impl Recent {
    /// Whether a request at `offset` of `volume` continues one of the recent ones.
    pub(crate) fn continues(&self, volume: u32, offset: u64) -> bool {
        offset > 0 && self.ends.contains(&(volume, offset))
    }

    /// Remembers that a request ended before byte `end` of `volume`.
    pub(crate) fn push(&mut self, volume: u32, end: u64) {
        self.ends[self.next] = (volume, end);
        self.next = (self.next + 1) % RECENT;
    }

    /// Recent ends, youngest first.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u64> + '_ {
        (1..=RECENT).map(|age| self.ends[(self.next + RECENT - age) % RECENT].1).filter(|&end| end > 0)
    }
}

/// Runs of two or more reads and writes, each of which starts where the one before it ended, with fewer than
/// [`RECENT`] others in between. A request continues one run only, and only one request continues each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// Number of runs.
    pub runs: u64,
    /// Share of reads and writes that belong to one.
    pub share: f64,
    /// Mean length in requests.
    pub mean_requests: f64,
    /// Mean length in bytes.
    pub mean_bytes: f64,
    /// The longest, in requests.
    pub longest_requests: u64,
}

/// A run so far.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    volume: u32,
    end: u64,
    requests: u64,
    bytes: u64,
}

/// Counts [`Runs`].
#[derive(Debug, Default)]
pub(super) struct RunCounter {
    /// The runs that the last requests ended. One that was continued has no requests.
    open: [Run; RECENT],
    next: usize,
    runs: u64,
    requests: u64,
    bytes: u64,
    longest: u64,
}

impl RunCounter {
    pub(super) fn add(&mut self, volume: u32, offset: u64, bytes: u32) {
        let (bytes, end) = (u64::from(bytes), offset.saturating_add(u64::from(bytes)));
        let follows = |run: &&mut Run| run.requests > 0 && run.volume == volume && run.end == offset;
        let before = self.open.iter_mut().find(follows).map(std::mem::take).unwrap_or_default();
        let run =
            Run { volume, end, requests: before.requests + 1, bytes: before.bytes.saturating_add(bytes) };
        match before.requests {
            0 => {}
            1 => {
                self.runs += 1;
                self.requests += 2;
                self.bytes = self.bytes.saturating_add(run.bytes);
            }
            _ => {
                self.requests += 1;
                self.bytes = self.bytes.saturating_add(bytes);
            }
        }
        if run.requests > 1 {
            self.longest = self.longest.max(run.requests);
        }
        self.open[self.next] = run;
        self.next = (self.next + 1) % RECENT;
    }

    /// The runs among `requests` reads and writes.
    pub(super) fn summary(&self, requests: u64) -> Runs {
        let mean = |sum: u64| sum as f64 / self.runs.max(1) as f64;
        Runs {
            runs: self.runs,
            share: self.requests as f64 / requests.max(1) as f64,
            mean_requests: mean(self.requests),
            mean_bytes: mean(self.bytes),
            longest_requests: self.longest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_runs_are_distinguished_and_each_request_belongs_to_one() {
        let mut counter = RunCounter::default();
        // Two runs, of three and of two requests; a second request at the end of the first is alone.
        let requests = [(0, 10), (500, 20), (10, 10), (900, 5), (520, 20), (20, 10), (10, 10)];
        requests.iter().for_each(|&(offset, bytes)| counter.add(0, offset, bytes));
        let expected =
            Runs { runs: 2, share: 5.0 / 7.0, mean_requests: 2.5, mean_bytes: 35.0, longest_requests: 3 };
        assert_eq!(counter.summary(7), expected);
        counter.add(1, 30, 10);
        assert_eq!(counter.summary(7).runs, 2, "another volume");
    }

    #[test]
    fn a_request_is_sequential_to_the_last_eight_and_no_further() {
        let mut recent = Recent::default();
        assert!(!recent.continues(0, 0), "nothing came before");
        recent.push(3, 4096);
        assert!(recent.continues(3, 4096));
        assert!(!recent.continues(2, 4096), "another volume");
        for end in 0..7 {
            recent.push(3, 1_000_000 + end);
        }
        assert!(recent.continues(3, 4096));
        recent.push(3, 2_000_000);
        assert!(!recent.continues(3, 4096));
        assert_eq!(recent.ends().next(), Some(2_000_000));
        assert_eq!(recent.ends().count(), 8);
    }
}
