//! Intervals between requests by an inverse distribution function, dealt without replacement.
//!
//! Between two points of the distribution, ln(1 + interval) runs linearly with the share ("log-linear"; the 1 ns
//! admits intervals of zero). The points leave the mean interval open. Where the profile gives it as well, the curve
//! between two points is bent, t/8 + 7/8 t^k for t. The last segment is bent first, because it weighs most; earlier
//! ones are bent only when the bend of the later ones is not enough. The points themselves stay where they are. The
//! linear part keeps intervals from crowding at one of them, and is dropped last.
//!
//! The n-th smallest of N intervals is the curve at (n - 1/2) / N, and an [`Order`] decides its position. So share and
//! mean are met exactly, and no two traces have the same order.

use stripewise_base::prng::Prng;

use super::order::Order;

/// Most points in the table of the curve.
const TABLE: u64 = 1 << 15;
/// The largest exponent of a bend, and the inverse of the smallest.
const EXPONENT: f64 = 1024.0;
/// A mean this near is not changed: points that are known to a thousandth leave no more than that to bend.
const NEAR: f64 = 0.005;
/// The share of the straight line in a bent segment.
const STRAIGHT: f64 = 0.125;

/// All intervals of a trace.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    /// Where the trace is shorter than the table, its intervals, ascending; otherwise the curve at equal distances.
    table: Vec<u64>,
    count: u64,
    /// Points of the table a place in the order of intervals.
    scale: f64,
    order: Order,
}

/// The error without a curve: the mean that the points allow is `low..=high`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeanOutside {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Intervals {
    /// `count` exponential intervals of mean `mean_ns`.
    pub(super) fn exponential(mean_ns: u64, count: u64, correlation: f64, prng: &mut Prng) -> Self {
        let curve = |u: f64| -(mean_ns as f64) * libm::log(1.0 - u.min(1.0 - 0.25 / TABLE as f64));
        let places = places(count);
        let mut table: Vec<f64> = places.iter().map(|&u| curve(u)).collect();
        // The mean of the truncated tail is distributed over the other intervals.
        let mean = mean_of(&table, count);
        let scale = if mean > 0.0 { mean_ns as f64 / mean } else { 0.0 };
        table.iter_mut().for_each(|value| *value *= scale);
        Self::tabulated(&table, count, correlation, prng)
    }

    /// `count` intervals along `points` (share, nanoseconds), which begin at share 0, end at share 1 and never
    /// descend, with mean `mean_ns` where given.
    pub(super) fn along(
        points: &[(f64, u64)],
        mean_ns: Option<u64>,
        count: u64,
        correlation: f64,
        prng: &mut Prng,
    ) -> Result<Self, MeanOutside> {
        let places = places(count);
        let mut table = vec![0.0; places.len()];
        let segments: Vec<Segment> = segments(points, &places);
        segments.iter().for_each(|segment| segment.fill(Bend::NONE, &places, &mut table));
        if let Some(mean_ns) = mean_ns {
            bend(&segments, &places, &mut table, mean_ns as f64, count)?;
        }
        Ok(Self::tabulated(&table, count, correlation, prng))
    }

    fn tabulated(table: &[f64], count: u64, correlation: f64, prng: &mut Prng) -> Self {
        let table = table.iter().map(|&value| (value + 0.5) as u64).collect();
        let count = count.max(1);
        let scale = TABLE as f64 / count as f64;
        Self { table, count, scale, order: Order::new(count, correlation, prng) }
    }

    /// The next interval in nanoseconds.
    #[inline]
    pub(super) fn deal(&mut self) -> u64 {
        let place = self.order.next(self.count);
        if self.count <= TABLE {
            return self.table.get(place as usize).copied().unwrap_or(0);
        }
        let at = (place as f64 + 0.5) * self.scale;
        let left = (at as usize).min(TABLE as usize - 1);
        let (low, high) = (self.table[left], self.table[left + 1]);
        low + ((high - low) as f64 * (at - left as f64) + 0.5) as u64
    }
}

/// The shares in the table of the curve.
fn places(count: u64) -> Vec<f64> {
    if count <= TABLE {
        let middle = |at: u64| if at + 1 == count { 1.0 } else { (at as f64 + 0.5) / count as f64 };
        (0..count).map(middle).collect()
    } else {
        (0..=TABLE).map(|at| at as f64 / TABLE as f64).collect()
    }
}

/// The mean of the intervals that a table yields.
fn mean_of(table: &[f64], count: u64) -> f64 {
    let sum: f64 = table.iter().sum();
    match (table.first(), table.last()) {
        (Some(first), Some(last)) if count > TABLE => (sum - 0.5 * (first + last)) / TABLE as f64,
        _ => sum / table.len().max(1) as f64,
    }
}

/// The curve between two points, and the places of the table that lie there.
struct Segment {
    share: (f64, f64),
    ln: (f64, f64),
    places: std::ops::Range<usize>,
}

fn segments(points: &[(f64, u64)], places: &[f64]) -> Vec<Segment> {
    let ln = |gap: u64| libm::log1p(gap as f64);
    let ends = points.windows(2).scan(0, |from, pair| {
        let to = places.partition_point(|&u| u <= pair[1].0).max(*from);
        let segment =
            Segment { share: (pair[0].0, pair[1].0), ln: (ln(pair[0].1), ln(pair[1].1)), places: *from..to };
        *from = to;
        Some(segment)
    });
    ends.filter(|segment| !segment.places.is_empty()).collect()
}

/// The course of a segment from its first point (0) to its last (1).
#[derive(Clone, Copy)]
struct Bend {
    straight: f64,
    exponent: f64,
}

impl Bend {
    const NONE: Self = Self { straight: 1.0, exponent: 1.0 };

    /// From no bend (0) by larger exponents (1) to the power alone (2); `downwards` makes intervals shorter.
    fn of(strength: f64, downwards: bool) -> Self {
        let ln = strength.min(1.0) * libm::log(EXPONENT);
        let exponent = libm::exp(if downwards { ln } else { -ln });
        Self { straight: STRAIGHT * (2.0 - strength).min(1.0), exponent }
    }

    fn at(self, t: f64) -> f64 {
        if self.exponent == 1.0 {
            return t;
        }
        self.straight * t + (1.0 - self.straight) * libm::pow(t, self.exponent)
    }
}

impl Segment {
    fn fill(&self, bend: Bend, places: &[f64], table: &mut [f64]) {
        let width = self.share.1 - self.share.0;
        for at in self.places.clone() {
            let t = if width > 0.0 { (places[at] - self.share.0) / width } else { 1.0 };
            table[at] = libm::expm1(self.ln.0 + (self.ln.1 - self.ln.0) * bend.at(t));
        }
    }
}

/// Bends segments, the last first, until the table's mean is `wanted`.
fn bend(
    segments: &[Segment],
    places: &[f64],
    table: &mut [f64],
    wanted: f64,
    count: u64,
) -> Result<(), MeanOutside> {
    let extreme = |downwards: bool| {
        let mut table = table.to_vec();
        segments.iter().for_each(|segment| segment.fill(Bend::of(2.0, downwards), places, &mut table));
        mean_of(&table, count)
    };
    let (low, high) = (extreme(true), extreme(false));
    // Half a nanosecond and a thousandth are within the error of rounding.
    if wanted < low - 0.5 - 1e-3 * low || wanted > high + 0.5 + 1e-3 * high {
        return Err(MeanOutside { low, high });
    }
    let near = |mean: f64| (mean / wanted - 1.0).abs() < NEAR;
    let downwards = mean_of(table, count) > wanted;
    for limit in [1.0, 2.0] {
        if near(mean_of(table, count)) {
            return Ok(());
        }
        for segment in segments.iter().rev() {
            segment.fill(Bend::of(limit, downwards), places, table);
            if (mean_of(table, count) > wanted) == downwards {
                continue;
            }
            // The wanted mean lies between the previous attempt and the limit.
            let (mut weak, mut strong) = (limit - 1.0, limit);
            for _ in 0..40 {
                let middle = 0.5 * (weak + strong);
                segment.fill(Bend::of(middle, downwards), places, table);
                let reached = (mean_of(table, count) > wanted) != downwards;
                if reached { strong = middle } else { weak = middle }
            }
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(f64, u64); 6] =
        [(0.0, 0), (0.2, 100), (0.4, 300), (0.6, 1900), (0.8, 200_000), (1.0, 900_000_000)];

    fn deal_all(mut intervals: Intervals, count: u64) -> Vec<u64> {
        (0..count).map(|_| intervals.deal()).collect()
    }

    fn share_upto(dealt: &[u64], gap: u64) -> f64 {
        dealt.iter().filter(|&&value| value <= gap).count() as f64 / dealt.len() as f64
    }

    #[test]
    fn the_points_are_met_for_short_and_long_traces() {
        for count in [5_000, 200_000] {
            let dealt = deal_all(
                Intervals::along(&POINTS, None, count, 0.0, &mut Prng::new(1)).expect("no mean"),
                count,
            );
            // In whole nanoseconds some of the intervals below 100 ns are 0, so the first point is not checked; 100.4
            // ns count as 100.
            for &(share, gap) in &POINTS[1..] {
                assert!((share_upto(&dealt, gap) - share).abs() < 2e-3, "{share} of {count}");
            }
        }
    }

    #[test]
    fn a_given_mean_is_met_and_leaves_the_points_alone() {
        for (count, mean) in [(2_000, 30_000_000), (100_000, 30_000_000), (100_000, 500_000)] {
            let intervals = Intervals::along(&POINTS, Some(mean), count, 0.0, &mut Prng::new(1))
                .expect("a mean within reach");
            let dealt = deal_all(intervals, count);
            let got = dealt.iter().sum::<u64>() as f64 / count as f64;
            assert!((got / mean as f64 - 1.0).abs() < 6e-3, "{got} for {mean}");
            for &(share, gap) in &POINTS[1..] {
                assert!((share_upto(&dealt, gap) - share).abs() < 4e-3);
            }
        }
    }

    #[test]
    fn a_mean_that_the_points_forbid_is_refused_with_the_range_that_they_allow() {
        let outside = Intervals::along(&POINTS, Some(400_000_000), 1000, 0.0, &mut Prng::new(1)).map(|_| ());
        let MeanOutside { low, high } = outside.expect_err("at most a fifth of 0.9 s");
        // The longest interval occurs at least once.
        assert!(low < 1e6 && high > 1.78e8 && high < 1.82e8, "{low} {high}");
    }

    #[test]
    fn a_jump_in_the_distribution_is_one_value() {
        let points = [(0.0, 0), (0.5, 0), (0.5, 1000), (1.0, 1000)];
        let dealt =
            deal_all(Intervals::along(&points, None, 1000, 0.0, &mut Prng::new(2)).expect("no mean"), 1000);
        assert_eq!(dealt.iter().filter(|&&gap| gap == 0).count(), 500);
        assert_eq!(dealt.iter().filter(|&&gap| gap == 1000).count(), 500);
    }

    #[test]
    fn exponential_intervals_have_their_mean_and_their_quantiles() {
        for count in [1000, 100_000] {
            let dealt = deal_all(Intervals::exponential(1_000_000, count, 0.0, &mut Prng::new(3)), count);
            let mean = dealt.iter().sum::<u64>() as f64 / count as f64;
            assert!((mean / 1e6 - 1.0).abs() < 1e-3, "{mean}");
            // Half of the intervals are below mean x ln 2.
            assert!((share_upto(&dealt, 693_147) - 0.5).abs() < 5e-3);
        }
    }

    #[test]
    fn correlation_moves_intervals_and_changes_none() {
        for count in [2_000, 100_000] {
            let sorted = |correlation: f64| {
                let intervals =
                    Intervals::along(&POINTS, Some(30_000_000), count, correlation, &mut Prng::new(9));
                let mut dealt = deal_all(intervals.expect("a mean within reach"), count);
                let first = dealt.clone();
                dealt.sort_unstable();
                (dealt, first)
            };
            let ((independent, random), (correlated, clustered)) = (sorted(0.0), sorted(0.85));
            assert!(independent == correlated, "the same intervals");
            let changes =
                |dealt: &[u64]| dealt.windows(2).filter(|pair| (pair[0] < 1900) != (pair[1] < 1900)).count();
            // At the median, normal neighbours of correlation 0.85^2 x 0.9027 lie on different sides with probability
            // acos(0.652) / pi = 0.27, independent ones with 0.5; at 60 % the ratio is about the same.
            assert!(3 * changes(&clustered) < 2 * changes(&random), "in clusters");
        }
    }

    #[test]
    fn simultaneous_requests_are_possible() {
        assert_eq!(deal_all(Intervals::exponential(0, 10, 0.0, &mut Prng::new(1)), 10), [0; 10]);
    }
}
