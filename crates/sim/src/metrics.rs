//! Counters over host requests and operations of members: means, percentiles, largest values, distributions.

use stripewise_array::Acknowledgement;
use stripewise_array::MemberNo;
use stripewise_base::Nanos;

use crate::histogram::Histogram;
use crate::tables::{LatencyKind, LatencyRow};
use crate::updates::UpdateCounts;

/// Response times are exact to 1/1024.
const REQUEST_BITS: u32 = 10;
/// Times of operations, of which there are many more, are exact to 1/256.
const OPERATION_BITS: u32 = 8;

/// Response times of one kind of request, or times of one member's operations. Means are exact; percentiles are
/// accurate to 0.1 % for response times and to 0.4 % for operations.
#[derive(Clone, Debug)]
pub struct Responses {
    /// Number of requests.
    pub count: u64,
    /// Sum of response times.
    pub sum_ns: u128,
    /// Sum of squares, for the deviation.
    sum_squares: u128,
    /// Largest response time.
    pub max_ns: Nanos,
    histogram: Histogram,
}

impl Responses {
    /// A histogram of `2^bits` buckets per octave.
    fn new(bits: u32) -> Self {
        Self { count: 0, sum_ns: 0, sum_squares: 0, max_ns: 0, histogram: Histogram::new(bits) }
    }

    #[inline]
    fn record(&mut self, ns: Nanos) {
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.sum_squares += u128::from(ns) * u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
        self.histogram.record(ns);
    }

    /// The response times of `self` and `other` combined.
    pub fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.count += other.count;
        both.sum_ns += other.sum_ns;
        both.sum_squares += other.sum_squares;
        both.max_ns = both.max_ns.max(other.max_ns);
        both.histogram.add(&other.histogram);
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

    /// The cumulative distribution, as rows of `kind`: every bucket of the histogram from 99 %, for the tail; below,
    /// at most one row for each 0.1 % of the requests.
    fn rows(&self, kind: LatencyKind, member: u32, give: &mut dyn FnMut(&LatencyRow)) {
        let mut given = 0;
        for (latency_ns, seen) in self.histogram.cumulated() {
            let is_tail = u128::from(seen) * 100 >= u128::from(self.count) * 99;
            if is_tail || (seen - given) * 1000 >= self.count {
                given = seen;
                let latency_ns = latency_ns.min(self.max_ns);
                give(&LatencyRow { kind: kind as u8, member, latency_ns, count: seen });
            }
        }
    }

    /// The smallest value that this share (in parts of 10,000) of the requests does not exceed.
    pub fn percentile_ns(&self, parts_of_10000: u32) -> Nanos {
        if self.count == 0 {
            return 0;
        }
        let rank = (u128::from(self.count) * u128::from(parts_of_10000)).div_ceil(10_000).max(1) as u64;
        let reached = self.histogram.cumulated().find(|&(_, seen)| seen >= rank);
        reached.map_or(self.max_ns, |(value, _)| value.min(self.max_ns))
    }
}

/// The parts of the response times of one kind of request, as sums in nanoseconds. The remainder of a response time
/// is parity computation, or time in controller memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// Waiting, for any reason.
    pub wait_ns: u128,
    /// Transfers.
    pub bus_ns: u128,
    /// Cell time.
    pub cell_ns: u128,
}

impl Parts {
    fn add(&mut self, acknowledgement: &Acknowledgement) {
        self.wait_ns += u128::from(acknowledgement.wait_ns());
        self.bus_ns += u128::from(acknowledgement.transfer_ns());
        self.cell_ns += u128::from(acknowledgement.cells_ns());
    }
}

/// Counters over the host requests of a run, excluding warm-up.
#[derive(Clone, Debug)]
pub struct Metrics {
    warmup: u64,
    /// Reads.
    pub reads: Responses,
    /// Writes.
    pub writes: Responses,
    /// The parts of the response times of reads.
    pub read_parts: Parts,
    /// The parts of the response times of writes.
    pub write_parts: Parts,
    /// Requests that arrived.
    pub arrivals: u64,
    /// Members that had an operation queued or in flight when a request arrived, summed over requests.
    pub busy_before: u64,
    /// The same, including the request's own operations.
    pub busy_after: u64,
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
    /// Reads and writes of pages, by member.
    pub operations: Vec<Responses>,
    /// Parity updates.
    pub updates: UpdateCounts,
    /// When the counted requests came and were answered.
    pub times: RequestTimes,
}

/// When the first and the last of some requests came, and when the last was answered. For these times alone it does not matter
/// which request is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimes {
    /// The first arrival; the largest time without requests.
    first_ns: Nanos,
    /// The last arrival.
    last_ns: Nanos,
    /// The last answer.
    answered_ns: Nanos,
}

impl Default for RequestTimes {
    fn default() -> Self {
        Self { first_ns: Nanos::MAX, last_ns: 0, answered_ns: 0 }
    }
}

impl RequestTimes {
    #[inline]
    fn add(&mut self, arrival_ns: Nanos, answered_ns: Nanos) {
        self.first_ns = self.first_ns.min(arrival_ns);
        self.last_ns = self.last_ns.max(arrival_ns);
        self.answered_ns = self.answered_ns.max(answered_ns);
    }

    /// From the first arrival to the last answer; 0 without requests.
    pub fn window_ns(&self) -> Nanos {
        self.answered_ns.saturating_sub(self.first_ns)
    }

    /// From the first arrival to the last; 0 without requests.
    pub fn arrivals_ns(&self) -> Nanos {
        self.last_ns.saturating_sub(self.first_ns)
    }
}

impl Metrics {
    /// Empty counters for `members` members. The first `warmup` requests are not counted.
    pub fn new(warmup: u64, members: u32) -> Self {
        Self {
            warmup,
            reads: Responses::new(REQUEST_BITS),
            writes: Responses::new(REQUEST_BITS),
            read_parts: Parts::default(),
            write_parts: Parts::default(),
            arrivals: 0,
            busy_before: 0,
            busy_after: 0,
            trims: 0,
            flushes: 0,
            read_bytes: 0,
            written_bytes: 0,
            failed: 0,
            updates: UpdateCounts::default(),
            times: RequestTimes::default(),
            operations: (0..members).map(|_| Responses::new(OPERATION_BITS)).collect(),
        }
    }

    /// Every distribution, as rows of the table of latencies.
    pub fn latencies(&self, give: &mut dyn FnMut(&LatencyRow)) {
        self.reads.rows(LatencyKind::Read, 0, give);
        self.writes.rows(LatencyKind::Write, 0, give);
        self.reads.with(&self.writes).rows(LatencyKind::Both, 0, give);
        for (member, operations) in (0..).zip(&self.operations) {
            operations.rows(LatencyKind::Operation, member, give);
        }
    }

    /// Whether a request comes after the warm-up.
    #[inline]
    pub(crate) fn counts(&self, index: u64) -> bool {
        index >= self.warmup
    }

    /// Records the end of a page operation.
    #[inline]
    pub(crate) fn operation(&mut self, member: MemberNo, latency_ns: Nanos) {
        self.operations[member.index()].record(latency_ns);
    }

    /// Records the arrival of request `index`: the number of busy members before it, and with it.
    #[inline]
    pub(crate) fn arrival(&mut self, index: u64, busy_before: u32, busy_after: u32) {
        if self.counts(index) {
            self.arrivals += 1;
            self.busy_before += u64::from(busy_before);
            self.busy_after += u64::from(busy_after);
        }
    }

    /// Records the acknowledgement of request `index`.
    #[inline]
    pub(crate) fn request(&mut self, index: u64, kind: u8, bytes: u32, acknowledgement: &Acknowledgement) {
        if !self.counts(index) {
            return;
        }
        let latency_ns = acknowledgement.at - acknowledgement.arrival;
        self.failed += u64::from(acknowledgement.failed);
        self.times.add(acknowledgement.arrival, acknowledgement.at);
        match kind {
            0 => {
                self.reads.record(latency_ns);
                self.read_parts.add(acknowledgement);
                self.read_bytes += u64::from(bytes);
            }
            1 => {
                self.writes.record(latency_ns);
                self.write_parts.add(acknowledgement);
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
        let mut responses = Responses::new(REQUEST_BITS);
        (1..=10_000u64).rev().for_each(|n| responses.record(n * 1_000));
        for (parts, exact) in
            [(5_000, 5_000_000), (9_900, 9_900_000), (9_990, 9_990_000), (10_000, 10_000_000)]
        {
            let found = responses.percentile_ns(parts);
            assert!(found.abs_diff(exact) * 1_000 <= exact, "{parts}: {found} instead of {exact}");
        }
        assert_eq!((responses.mean_ns(), responses.max_ns), (5_000_500, 10_000_000));
        let mut rows = Vec::new();
        responses.rows(LatencyKind::Both, 7, &mut |row| rows.push(*row));
        assert!(rows.len() <= 990 + 100, "thinned below 99 %, nothing left out above: {}", rows.len());
        assert!(rows.iter().all(|row| row.member == 7 && row.kind == LatencyKind::Both as u8));
        assert!(rows.iter().all(|row| row.latency_ns.abs_diff(row.count * 1_000) * 1_000 <= row.latency_ns));
        assert_eq!(rows.last().map(|row| (row.latency_ns, row.count)), Some((10_000_000, 10_000)));
        assert_eq!(responses.with(&responses).percentile_ns(5_000), responses.percentile_ns(5_000));
    }
}
