//! What a run counts of host requests: means, percentiles, largest values.

use hdrhistogram::Histogram;
use stripewise_base::Nanos;

/// Response times of one kind of request. Means are exact; percentiles to three digits.
#[derive(Clone, Debug)]
pub struct Responses {
    /// Requests.
    pub count: u64,
    /// Sum of response times.
    pub sum_ns: u128,
    /// Sum of squares, for the deviation.
    sum_squares: u128,
    /// Largest.
    pub max_ns: Nanos,
    histogram: Histogram<u64>,
}

impl Responses {
    fn new() -> Self {
        // All of its range at once: recording that saturates never widens it.
        let histogram = Histogram::new_with_bounds(1, u64::MAX / 2, 3).expect("the bounds are allowed");
        Self { count: 0, sum_ns: 0, sum_squares: 0, max_ns: 0, histogram }
    }

    #[inline]
    fn record(&mut self, ns: Nanos) {
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.sum_squares += u128::from(ns) * u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
        self.histogram.saturating_record(ns);
    }

    /// Those of `self` and `other` together.
    pub fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.count += other.count;
        both.sum_ns += other.sum_ns;
        both.sum_squares += other.sum_squares;
        both.max_ns = both.max_ns.max(other.max_ns);
        both.histogram.add(&other.histogram).expect("both grow as they must");
        both
    }

    /// Mean, rounded to the nanosecond; 0 without requests.
    pub fn mean_ns(&self) -> Nanos {
        if self.count == 0 { 0 } else { (self.sum_ns / u128::from(self.count)) as Nanos }
    }

    /// Standard deviation of the population, in nanoseconds; 0 without requests.
    pub fn deviation_ns(&self) -> Nanos {
        if self.count == 0 {
            return 0;
        }
        let count = u128::from(self.count);
        // Var = E[x²] - E[x]², with the square of the sum divided twice to stay inside 128 bits.
        let mean = self.sum_ns / count;
        let rest = self.sum_ns % count;
        let square_of_mean = mean * mean + 2 * mean * rest / count;
        (self.sum_squares / count).saturating_sub(square_of_mean).isqrt() as Nanos
    }

    /// The smallest value that this share (in parts of 10,000) of the requests do not exceed.
    pub fn percentile_ns(&self, parts_of_10000: u32) -> Nanos {
        if self.count == 0 {
            return 0;
        }
        let rank = (u128::from(self.count) * u128::from(parts_of_10000)).div_ceil(10_000).max(1) as u64;
        let mut seen = 0;
        for value in self.histogram.iter_recorded() {
            seen += value.count_at_value();
            if seen >= rank {
                return value.value_iterated_to().min(self.max_ns);
            }
        }
        self.max_ns
    }
}

/// Counters over the host requests of a run, without warm-up.
#[derive(Clone, Debug)]
pub struct Metrics {
    warmup: u64,
    /// Reads.
    pub reads: Responses,
    /// Writes.
    pub writes: Responses,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests that failed.
    pub failed: u64,
}

impl Metrics {
    /// Nothing yet; the first `warmup` requests will not count.
    pub fn new(warmup: u64) -> Self {
        Self {
            warmup,
            reads: Responses::new(),
            writes: Responses::new(),
            trims: 0,
            flushes: 0,
            read_bytes: 0,
            written_bytes: 0,
            failed: 0,
        }
    }

    /// Whether a request comes after the warm-up.
    #[inline]
    pub(crate) fn counts(&self, index: u64) -> bool {
        index >= self.warmup
    }

    #[inline]
    pub(crate) fn request(&mut self, index: u64, kind: u8, bytes: u32, latency_ns: Nanos, failed: bool) {
        if !self.counts(index) {
            return;
        }
        self.failed += u64::from(failed);
        match kind {
            0 => {
                self.reads.record(latency_ns);
                self.read_bytes += u64::from(bytes);
            }
            1 => {
                self.writes.record(latency_ns);
                self.written_bytes += u64::from(bytes);
            }
            2 => self.trims += 1,
            _ => self.flushes += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_values_to_three_digits() {
        let mut responses = Responses::new();
        (1..=10_000u64).rev().for_each(|n| responses.record(n * 1_000));
        for (parts, exact) in
            [(5_000, 5_000_000), (9_900, 9_900_000), (9_990, 9_990_000), (10_000, 10_000_000)]
        {
            let found = responses.percentile_ns(parts);
            assert!(found.abs_diff(exact) * 1_000 <= exact, "{parts}: {found} instead of {exact}");
        }
        assert_eq!((responses.mean_ns(), responses.max_ns), (5_000_500, 10_000_000));
        assert_eq!(responses.with(&responses).percentile_ns(5_000), responses.percentile_ns(5_000));
    }
}
