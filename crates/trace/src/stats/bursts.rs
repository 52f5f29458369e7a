//! How arrivals cluster, in fixed memory: dispersion of counts, correlation of intervals, long-range dependence.

use serde::{Deserialize, Serialize};

/// Windows in which [`Dispersion`] counts requests, in nanoseconds: 1 ms to 60 s. Each is a multiple of the one before.
pub const WINDOWS_NS: [u64; 6] =
    [1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 60_000_000_000];

/// Fewest whole windows of a length over which its dispersion is given.
pub const FEWEST_WINDOWS: u64 = 10;

/// The shortest window of the Hurst estimate: 2^16 ns, some 66 us. Each further one is twice as long.
const SHORTEST_BITS: u32 = 16;
const DOUBLINGS: usize = 46;
/// Fewest whole windows of a length, and fewest lengths, of the Hurst estimate.
const HURST_WINDOWS: u64 = 32;
const HURST_LENGTHS: usize = 4;

/// How arrivals cluster in time. A number that the trace is too short for is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Burstiness {
    /// Correlation of each interval's logarithm, ln(1 + nanoseconds), with that of the next one, -1 to 1; absent where
    /// all intervals are equal. Independent intervals have 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_gap_lag1: Option<f64>,
    /// The Hurst exponent by aggregated variance: half the slope of log2(variance of counts) over log2(window), by
    /// least squares over windows of 2^16 ns, doubled, from the first in which a request or more arrives on average to
    /// the last of which the trace has 32; absent where fewer than four remain. 0.5 for a Poisson process, towards 1
    /// with long-range dependence.
    ///
    /// Source: Taqqu, Teverovsky and Willinger, "Estimators for long-range dependence: an empirical study", Fractals
    /// 3(4), 1995, section 3.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hurst: Option<f64>,
    /// The dispersion in each of [`WINDOWS_NS`] of which the trace has at least [`FEWEST_WINDOWS`].
    #[serde(default)]
    pub dispersion: Vec<Dispersion>,
}

/// Index of dispersion of counts: the variance of the requests in a window over their mean. 1 for a Poisson process.
///
/// Source: Gusella, "Characterizing the variability of arrival processes with indexes of dispersion", IEEE JSAC 9(2),
/// 1991.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dispersion {
    /// Length of a window in nanoseconds.
    pub window_ns: u64,
    /// Whole windows from the first request on, empty ones included.
    pub windows: u64,
    /// Variance over mean.
    pub index: f64,
}

/// Counts in windows of one length.
#[derive(Clone, Copy, Default)]
struct Level {
    width_ns: u64,
    /// The open window and its count so far.
    window: u64,
    count: u64,
    /// Over the windows before it.
    sum: u64,
    squares: u128,
}

impl Level {
    /// Mean and variance of the counts of the whole windows; none without a window.
    fn moments(&self) -> Option<(f64, f64)> {
        let whole = u128::from(self.window);
        if whole == 0 {
            return None;
        }
        let sum = u128::from(self.sum);
        let square = (whole as f64) * (whole as f64);
        // In whole numbers, because a small variance of large counts would drown in the error of floats.
        let spread = whole.saturating_mul(self.squares).saturating_sub(sum.saturating_mul(sum));
        Some((self.sum as f64 / whole as f64, spread as f64 / square))
    }
}

/// Windows of several lengths, each a multiple of the one before: a window that closes is added to the next longer.
struct Nested<const N: usize>([Level; N]);

impl<const N: usize> Nested<N> {
    fn new(width_ns: impl Fn(usize) -> u64) -> Self {
        Self(std::array::from_fn(|at| Level { width_ns: width_ns(at), ..Level::default() }))
    }

    #[inline]
    fn add(&mut self, since_ns: u64) {
        let mut carry = None;
        for level in &mut self.0 {
            let now = since_ns / level.width_ns;
            level.count += carry.unwrap_or(0);
            if now == level.window {
                break;
            }
            carry = Some(level.count);
            level.sum += level.count;
            level.squares += u128::from(level.count) * u128::from(level.count);
            (level.window, level.count) = (now, 0);
        }
        self.0[0].count += 1;
    }
}

/// Sums for the correlation of each value with the next.
#[derive(Default)]
struct Lag {
    /// The first value: all others are taken less this, so that large ones lose no digits.
    origin: f64,
    last: f64,
    count: u64,
    sum: f64,
    squares: f64,
    products: f64,
}

impl Lag {
    fn add(&mut self, value: f64) {
        if self.count == 0 {
            self.origin = value;
        }
        let value = value - self.origin;
        self.products += self.last * value;
        self.sum += value;
        self.squares += value * value;
        self.last = value;
        self.count += 1;
    }

    /// Sum of (x - m) (next x - m) over sum of (x - m)^2. The first value is zero, as if it followed itself.
    fn correlation(&self) -> Option<f64> {
        let mean = self.sum / self.count.max(1) as f64;
        let spread = self.squares - mean * self.sum;
        let pairs = self.count.saturating_sub(1) as f64;
        let together = self.products - mean * (2.0 * self.sum - self.last) + pairs * mean * mean;
        (spread > 1e-9 * self.squares).then(|| together / spread)
    }
}

/// Collects [`Burstiness`].
pub(super) struct Bursts {
    first_ns: Option<u64>,
    latest_ns: u64,
    counts: Nested<{ WINDOWS_NS.len() }>,
    doubled: Nested<DOUBLINGS>,
    lag: Lag,
}

impl Default for Bursts {
    fn default() -> Self {
        let counts = Nested::new(|at| WINDOWS_NS[at]);
        let doubled = Nested::new(|at| 1 << (SHORTEST_BITS + at as u32));
        Self { first_ns: None, latest_ns: 0, counts, doubled, lag: Lag::default() }
    }
}

impl Bursts {
    /// Adds the time of the next request. A time before the latest counts as that.
    pub(super) fn add(&mut self, time_ns: u64) {
        let Some(first_ns) = self.first_ns else {
            (self.first_ns, self.latest_ns) = (Some(time_ns), time_ns);
            self.counts.add(0);
            return self.doubled.add(0);
        };
        let gap_ns = time_ns.saturating_sub(self.latest_ns);
        self.lag.add(libm::log1p(gap_ns as f64));
        self.latest_ns += gap_ns;
        self.counts.add(self.latest_ns - first_ns);
        self.doubled.add(self.latest_ns - first_ns);
    }

    pub(super) fn summary(&self) -> Burstiness {
        let enough = self.counts.0.iter().filter(|level| level.window >= FEWEST_WINDOWS);
        let dispersion = enough.filter_map(|level| {
            let (mean, variance) = level.moments().filter(|(mean, _)| *mean > 0.0)?;
            Some(Dispersion { window_ns: level.width_ns, windows: level.window, index: variance / mean })
        });
        Burstiness {
            log_gap_lag1: self.lag.correlation(),
            hurst: self.hurst(),
            dispersion: dispersion.collect(),
        }
    }

    fn hurst(&self) -> Option<f64> {
        let points = self.doubled.0.iter().enumerate().filter_map(|(doublings, level)| {
            let (mean, variance) = level.moments()?;
            let counts = level.window >= HURST_WINDOWS && mean >= 1.0 && variance > 0.0;
            counts.then(|| (doublings as f64, libm::log2(variance)))
        });
        // Not collected: least squares from sums, over at most 46 points.
        let (mut n, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (doublings, log_variance) in points {
            n += 1.0;
            x += doublings;
            y += log_variance;
            xx += doublings * doublings;
            xy += doublings * log_variance;
        }
        (n >= HURST_LENGTHS as f64).then(|| 0.5 * (n * xy - x * y) / (n * xx - x * x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_base::prng::Prng;

    fn bursts(times: impl IntoIterator<Item = u64>) -> Burstiness {
        let mut bursts = Bursts::default();
        times.into_iter().for_each(|time| bursts.add(time));
        bursts.summary()
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn twelve_windows_by_hand() {
        // Windows of 1 ms hold 3, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0; the request at 12 ms opens one that is not whole.
        let times = [0, 1, MS - 1, MS, 4 * MS, 4 * MS + 7, 12 * MS];
        // Mean 6/12, mean square 14/12: variance 14/12 - 1/4 = 11/12, over 1/2.
        let found = bursts(times).dispersion;
        assert_eq!(found.len(), 1, "one window of 10 ms is too few");
        assert_eq!((found[0].window_ns, found[0].windows), (MS, 12));
        assert!((found[0].index - 11.0 / 6.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn even_arrivals_have_no_dispersion_in_any_window() {
        let found = bursts((0..=7_000).map(|n| n * 100 * MS));
        assert_eq!(found.dispersion.len(), 6);
        // Every 1 ms window in a hundred holds a request: variance 0.01 - 0.0001 over 0.01.
        assert!((found.dispersion[0].index - 0.99).abs() < 1e-9);
        assert!(found.dispersion[2..].iter().all(|window| window.index == 0.0), "{found:?}");
        assert_eq!(found.log_gap_lag1, None, "equal intervals");
    }

    #[test]
    fn four_intervals_by_hand() {
        // ln(1 + gap) = 0, a, a, 0 with a = ln 2 (in turn 0, 1, 1, 0 ns): m = a/2, products of neighbours
        // -1/4, 1/4, -1/4 over 4/4 of a^2.
        let found = bursts([5, 5, 6, 7, 7]).log_gap_lag1.expect("intervals differ");
        assert!((found + 0.25).abs() < 1e-12, "{found}");
        // Short, long in turn: -3/4 of the spread, since there is one pair less than values.
        let found = bursts([0, 0, 1, 1, 2]).log_gap_lag1.expect("intervals differ");
        assert!((found + 0.75).abs() < 1e-12, "{found}");
    }

    #[test]
    fn independent_intervals_have_a_hurst_exponent_of_a_half_and_slow_changes_a_higher_one() {
        let mut prng = Prng::new(1);
        let mut time = 0;
        let poisson: Vec<u64> = (0..200_000)
            .map(|_| {
                time += (-libm::log(1.0 - prng.unit()) * 1e6) as u64;
                time
            })
            .collect();
        let found = bursts(poisson.iter().copied());
        let hurst = found.hurst.expect("long enough");
        assert!((hurst - 0.5).abs() < 0.06, "{hurst}");
        assert!(found.log_gap_lag1.expect("differ").abs() < 0.01);
        assert!(found.dispersion[..4].iter().all(|window| (window.index - 1.0).abs() < 0.1), "{found:?}");
        // The rate changes by a factor of sixteen every 10,000 requests.
        time = 0;
        let slow = poisson.windows(2).enumerate().map(|(at, pair)| {
            time += (pair[1] - pair[0]) << (4 * (at / 10_000 % 2));
            time
        });
        let hurst = bursts(slow).hurst.expect("long enough");
        assert!(hurst > 0.8, "{hurst}");
    }

    #[test]
    fn a_step_back_and_the_longest_time_are_no_trouble() {
        assert_eq!(bursts([]), Burstiness::default());
        assert_eq!(bursts([9, 3, u64::MAX]).dispersion.len(), 6);
    }
}
