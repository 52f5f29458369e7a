//! Intervals between requests: their distribution in fixed memory, accurate to a thousandth of each value.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// One point of a distribution: `share` of the intervals are at most `gap_ns` long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CdfPoint {
    /// Share of the intervals, `0.0..=1.0`.
    pub share: f64,
    /// Interval in nanoseconds.
    pub gap_ns: u64,
}

/// The distribution of intervals between consecutive requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GapStats {
    /// Intervals counted: one less than the requests.
    pub intervals: u64,
    /// Mean interval in nanoseconds, exact.
    pub mean_ns: f64,
    /// Longest interval in nanoseconds, to a thousandth.
    pub max_ns: u64,
    /// Share of intervals of zero: requests with the time stamp of the one before.
    pub ties: f64,
    /// Requests whose time stamp lies before the one before them; their interval counts as zero.
    pub backward_steps: u64,
    /// The distribution, ascending, with two points at each value: the share below it and the share up to it. A value
    /// represents all intervals that are recorded with it and is the largest of them.
    pub cdf: Vec<CdfPoint>,
}

/// The shares at which, or just above which, [`GapStats::cdf`] has a point.
const GRID: [f64; 30] = [
    0.0, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8,
    0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 0.9999, 1.0,
];

impl GapStats {
    /// The shortest interval that at least `share` of all intervals do not exceed, in nanoseconds; exact to a
    /// thousandth at the shares of the grid (every 5 %, and finer at the ends), the next point above elsewhere.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let point = self.cdf.iter().find(|point| point.share >= share - 1e-12);
        point.or(self.cdf.last()).map_or(0, |point| point.gap_ns)
    }
}

/// The largest interval that is recorded as the same as `gap_ns`: eleven binary digits are kept.
pub(crate) fn recorded_ns(gap_ns: u64) -> u64 {
    let dropped = (64 - gap_ns.leading_zeros()).saturating_sub(11);
    gap_ns | ((1 << dropped) - 1)
}

/// Counts of intervals.
pub(super) struct Gaps {
    histogram: Histogram<u64>,
    previous_ns: Option<u64>,
    first_ns: u64,
    last_ns: u64,
    total_ns: u128,
    backward_steps: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, u64::MAX / 2, 3);
        Self {
            histogram: histogram.expect("the bounds and the precision are valid"),
            previous_ns: None,
            first_ns: 0,
            last_ns: 0,
            total_ns: 0,
            backward_steps: 0,
        }
    }
}

impl Gaps {
    pub(super) fn add(&mut self, time_ns: u64) {
        match self.previous_ns {
            None => (self.first_ns, self.last_ns) = (time_ns, time_ns),
            Some(previous) => {
                let gap = time_ns.saturating_sub(previous);
                self.backward_steps += u64::from(time_ns < previous);
                self.total_ns += u128::from(gap);
                self.histogram.saturating_record(gap);
                self.last_ns = self.last_ns.max(time_ns);
            }
        }
        self.previous_ns = Some(time_ns);
    }

    /// From the first request to the latest, in nanoseconds.
    pub(super) fn span_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    pub(super) fn summary(&self) -> GapStats {
        let intervals = self.histogram.len();
        if intervals == 0 {
            return GapStats::default();
        }
        let mut cdf: Vec<CdfPoint> = Vec::new();
        let mut below = 0;
        let mut grid = GRID.iter().copied().peekable();
        for bucket in self.histogram.iter_recorded() {
            let (gap_ns, upto) = (bucket.value_iterated_to(), below + bucket.count_at_value());
            let reached = |share: f64| share * intervals as f64 <= upto as f64;
            if grid.next_if(|&share| reached(share)).is_some() {
                while grid.next_if(|&share| reached(share)).is_some() {}
                let point = |count: u64| CdfPoint { share: count as f64 / intervals as f64, gap_ns };
                cdf.extend([point(below), point(upto)]);
            }
            below = upto;
        }
        GapStats {
            intervals,
            mean_ns: self.total_ns as f64 / intervals as f64,
            max_ns: self.histogram.max(),
            ties: self.histogram.count_at(0) as f64 / intervals as f64,
            backward_steps: self.backward_steps,
            cdf,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(times: impl IntoIterator<Item = u64>) -> GapStats {
        let mut gaps = Gaps::default();
        times.into_iter().for_each(|time| gaps.add(time));
        gaps.summary()
    }

    #[test]
    fn equal_intervals_are_one_jump() {
        let stats = summary((0..101).map(|n| n * 1000));
        let point = |share, gap_ns| CdfPoint { share, gap_ns };
        assert_eq!(stats.cdf, [point(0.0, 1000), point(1.0, 1000)]);
        assert_eq!((stats.intervals, stats.mean_ns, stats.max_ns), (100, 1000.0, 1000));
        assert_eq!(stats.quantile_ns(0.2), 1000);
    }

    #[test]
    fn ties_and_backward_steps_are_intervals_of_zero() {
        let stats = summary([0, 10, 10, 5, 25]);
        assert_eq!((stats.backward_steps, stats.ties, stats.mean_ns), (1, 0.5, 7.5));
        assert_eq!(stats.quantile_ns(0.4), 0);
        assert_eq!(stats.quantile_ns(1.0), 20);
    }

    #[test]
    fn quantiles_are_true_to_a_thousandth() {
        let mut time = 0;
        let stats = summary((0..10_001u64).map(|n| {
            time += n * n * 1000;
            time
        }));
        for share in [0.2, 0.4, 0.6, 0.8, 1.0] {
            let expected = (share * 1e4) * (share * 1e4) * 1e3;
            let got = stats.quantile_ns(share) as f64;
            assert!((got / expected - 1.0).abs() < 1e-3, "{share}: {got} for {expected}");
        }
    }

    #[test]
    fn values_are_recorded_to_eleven_binary_digits() {
        for gap in [0, 1, 2047, 2048, 4095, 4096, 6_553_000, 6_553_599, 123_456_789_012_345, 1 << 62] {
            assert_eq!(recorded_ns(gap), summary([0, gap]).quantile_ns(1.0), "{gap}");
        }
    }

    #[test]
    fn one_request_has_no_interval() {
        assert_eq!(summary([77]), GapStats::default());
    }
}
