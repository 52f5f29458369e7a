//! Latencies of requests: since the start, and recently.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;

/// Longest latency that is distinguished, in nanoseconds: 100 s. Longer ones count as this.
const LONGEST_NS: u64 = 100_000_000_000;
/// Significant decimal digits of a quantile.
const DIGITS: u8 = 2;
/// *Recent* covers at least this long, and less than twice as long.
const WINDOW_NS: Nanos = 5_000_000_000;

/// Quantiles of a latency, in nanoseconds. All are 0 if there was no request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The median.
    pub p50_ns: u64,
    /// 99 % of the requests took no longer.
    pub p99_ns: u64,
    /// 99.9 % of the requests took no longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Latencies of one kind of request.
#[derive(Debug)]
pub(crate) struct Latencies {
    total: Histogram<u64>,
    sum_ns: u64,
    /// The current window, and the one before it.
    now: Histogram<u64>,
    before: Histogram<u64>,
    began: Nanos,
}

impl Latencies {
    pub(crate) fn new(now: Nanos) -> Self {
        let empty = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds are sound");
        Self { total: empty.clone(), sum_ns: 0, now: empty.clone(), before: empty, began: now }
    }

    /// Counts a request that completed at `now` and took `latency_ns`.
    pub(crate) fn record(&mut self, now: Nanos, latency_ns: u64) {
        self.turn(now);
        self.total.saturating_record(latency_ns);
        self.now.saturating_record(latency_ns);
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
    }

    /// Begins another window when the current one is over.
    fn turn(&mut self, now: Nanos) {
        let past = now.saturating_sub(self.began);
        if past < WINDOW_NS {
            return;
        }
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.reset();
        if past >= 2 * WINDOW_NS {
            self.before.reset();
        }
        self.began = now;
    }

    /// Latencies since the start.
    pub(crate) fn total(&self) -> Quantiles {
        quantiles(&self.total)
    }

    /// Latencies of the last 5 to 10 seconds.
    pub(crate) fn recent(&mut self, now: Nanos) -> Quantiles {
        self.turn(now);
        let mut both = self.before.clone();
        both.add(&self.now).expect("both have the same bounds");
        quantiles(&both)
    }

    /// Sum of all latencies, in nanoseconds.
    pub(crate) fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The number of requests that took no longer than each of `edges_ns`, which are ascending.
    pub(crate) fn cumulative(&self, edges_ns: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; edges_ns.len()];
        for value in self.total.iter_recorded() {
            // The histogram's step is finer than the edges. A step that an edge splits counts above it.
            let at = edges_ns.partition_point(|&edge| edge < value.value_iterated_to());
            if let Some(count) = counts.get_mut(at) {
                *count += value.count_at_value();
            }
        }
        let mut sum = 0;
        for count in &mut counts {
            sum += *count;
            *count = sum;
        }
        counts
    }
}

fn quantiles(histogram: &Histogram<u64>) -> Quantiles {
    Quantiles {
        p50_ns: histogram.value_at_quantile(0.5),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        max_ns: histogram.max(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn quantiles_are_those_of_the_requests_within_a_hundredth() {
        let mut latencies = Latencies::new(0);
        assert_eq!(latencies.total(), Quantiles::default());
        for nth in 1..=1000 {
            latencies.record(0, nth * 1000);
        }
        let Quantiles { p50_ns, p99_ns, p999_ns, max_ns } = latencies.total();
        for (found, expected) in
            [(p50_ns, 500_000), (p99_ns, 990_000), (p999_ns, 999_000), (max_ns, 1_000_000)]
        {
            assert!(found.abs_diff(expected) <= expected / 100, "{found} for {expected}");
        }
        assert_eq!(latencies.sum_ns(), 500_500_000);
        let counts = latencies.cumulative(&[100_000, 1 << 20, 1 << 30]);
        assert!(counts[0].abs_diff(100) <= 1 && counts[1..] == [1000, 1000], "{counts:?}");
    }

    #[test]
    fn what_is_long_past_is_not_of_late() {
        let mut latencies = Latencies::new(0);
        latencies.record(SECOND, 7000);
        assert!(latencies.recent(6 * SECOND).max_ns >= 7000, "the window before the present one");
        latencies.record(7 * SECOND, 50);
        assert!(latencies.recent(12 * SECOND).max_ns < 60);
        assert_eq!(latencies.recent(60 * SECOND), Quantiles::default());
        assert!(latencies.total().max_ns >= 7000);
        latencies.record(61 * SECOND, u64::MAX);
        assert!(latencies.total().max_ns >= LONGEST_NS, "as long as can be measured");
    }
}
