//! A distribution of latencies, exact or from a histogram's buckets.

/// Cumulative counts: how many values are at or below each of some values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Distribution {
    /// Values in ascending order, each with the number of values that do not exceed it.
    steps: Vec<(u64, u64)>,
}

/// Most steps in the drawing of a tail.
const STEPS_DRAWN: usize = 160;

impl Distribution {
    /// The distribution of values in any order.
    #[cfg(test)]
    pub(crate) fn of_values(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for (index, value) in values.into_iter().enumerate() {
            let seen = index as u64 + 1;
            match steps.last_mut() {
                Some(last) if last.0 == value => last.1 = seen,
                _ => steps.push((value, seen)),
            }
        }
        Self { steps }
    }

    /// The distribution of buckets in ascending order: a value, and the number of values that do not exceed it.
    pub(crate) fn of_steps(steps: Vec<(u64, u64)>) -> Option<Self> {
        let rising = steps.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        rising.then_some(Self { steps })
    }

    /// The distribution of the values of both.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let rises = |of: &Self| {
            let mut before = 0;
            let rise = |&(value, seen): &(u64, u64)| (value, seen - std::mem::replace(&mut before, seen));
            of.steps.iter().map(rise).collect::<Vec<_>>()
        };
        let mut all = [rises(self), rises(other)].concat();
        all.sort_unstable();
        let mut steps: Vec<(u64, u64)> = Vec::with_capacity(all.len());
        let mut seen = 0;
        for (value, count) in all {
            seen += count;
            match steps.last_mut() {
                Some(last) if last.0 == value => last.1 = seen,
                _ => steps.push((value, seen)),
            }
        }
        Self { steps }
    }

    /// The number of values.
    pub(crate) fn count(&self) -> u64 {
        self.steps.last().map_or(0, |last| last.1)
    }

    /// The least value that is not exceeded by this share, in parts of 100,000, of all values; none without values.
    pub(crate) fn quantile(&self, parts: u64) -> Option<u64> {
        let rank = (u128::from(self.count()) * u128::from(parts)).div_ceil(100_000).max(1) as u64;
        self.steps.iter().find(|step| step.1 >= rank).map(|step| step.0)
    }

    /// The stairs from the least value to the largest, so that steps lie about evenly on an axis of `nines` nines:
    /// latency and percentage.
    pub(crate) fn whole(&self, nines: usize) -> Vec<(f64, f64)> {
        let count = self.count() as f64;
        let least = libm::pow(10.0, -(nines as f64));
        // The number of nines that a share below has.
        let place = |seen: u64| -libm::log10((1.0 - seen as f64 / count).max(least));
        let gap = nines as f64 / STEPS_DRAWN as f64;
        let mut points: Vec<(f64, f64)> = Vec::new();
        let (mut reached, mut drawn) = (0.0, 0.0);
        for (index, &(value, seen)) in self.steps.iter().enumerate() {
            let is_end = index == 0 || index + 1 == self.steps.len();
            if is_end || place(seen) - drawn >= gap {
                points.push((value as f64, reached));
                reached = seen as f64 * 100.0 / count;
                points.push((value as f64, reached));
                drawn = place(seen);
            }
        }
        points.dedup();
        points
    }

    /// The number of nines of an axis on which the largest of the values is seen: 3 for a thousand values, from 2 to 7.
    pub(crate) fn nines(&self) -> usize {
        (libm::log10(self.count().max(1) as f64) as usize).clamp(2, 7)
    }

    /// The stairs from `from` percent to 100: latency and percentage.
    pub(crate) fn tail(&self, from: f64) -> Vec<(f64, f64)> {
        let count = self.count();
        let percent = |seen: u64| seen as f64 * 100.0 / count as f64;
        let tail: Vec<(u64, u64)> =
            self.steps.iter().copied().filter(|step| percent(step.1) >= from).collect();
        // Of neighbours that are too close to distinguish, the last one is kept: its position is exact.
        let every = tail.len().div_ceil(STEPS_DRAWN).max(1);
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut reached = from;
        for (index, (value, seen)) in tail.iter().enumerate() {
            let drawn = (index + 1) % every == 0 || index + 1 == tail.len() || index == 0;
            if drawn {
                points.push((*value as f64, reached));
                reached = percent(*seen);
                points.push((*value as f64, reached));
            }
        }
        points.dedup();
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let values = Distribution::of_values((1..=10_000).rev().collect());
        assert_eq!(values.count(), 10_000);
        assert_eq!(
            [50_000, 99_000, 99_900, 100_000].map(|parts| values.quantile(parts)),
            [Some(5_000), Some(9_900), Some(9_990), Some(10_000)]
        );
        assert_eq!(Distribution::default().quantile(99_900), None);
    }

    #[test]
    fn two_joined_are_that_of_all_their_values() {
        let (a, b) = (vec![1, 2, 2, 9], vec![2, 5, 5, 7]);
        let joined = Distribution::of_values(a.clone()).with(&Distribution::of_values(b.clone()));
        assert_eq!(joined, Distribution::of_values([a, b].concat()));
    }

    #[test]
    fn the_tail_goes_up_in_stairs_from_99_to_100() {
        let values = Distribution::of_values((1..=1_000).collect());
        let tail = values.tail(99.0);
        assert_eq!(tail.first(), Some(&(990.0, 99.0)));
        assert_eq!(tail.last(), Some(&(1_000.0, 100.0)));
        assert!(tail.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1), "{tail:?}");
        assert_eq!(Distribution::of_values(vec![7; 5]).tail(99.0), [(7.0, 99.0), (7.0, 100.0)]);
        let long = Distribution::of_values((0..1_000_000).collect()).tail(99.0);
        assert!(long.len() <= 2 * STEPS_DRAWN + 4, "{}", long.len());
    }

    #[test]
    fn the_whole_distribution_is_drawn_in_steps_that_are_even_on_its_axis() {
        let values = Distribution::of_values((1..=100_000).collect());
        assert_eq!((values.nines(), Distribution::default().nines()), (5, 2));
        let points = values.whole(values.nines());
        assert_eq!((points.first(), points.last()), (Some(&(1.0, 0.0)), Some(&(100_000.0, 100.0))));
        assert!(points.len() <= 2 * STEPS_DRAWN + 4, "{}", points.len());
        for (value, percent) in points.iter().skip(1).step_by(2) {
            assert!((percent - value / 1_000.0).abs() < 1e-9, "a drawn step is exact: {value} {percent}");
        }
        let beyond = points.iter().filter(|point| point.1 > 99.0).count();
        assert!(beyond > points.len() / 3, "more than a third of the steps is in the last percent: {beyond}");
    }

    #[test]
    fn buckets_that_do_not_rise_are_no_distribution() {
        assert!(Distribution::of_steps(vec![(1, 5), (2, 4)]).is_none());
        assert!(Distribution::of_steps(vec![(2, 1), (2, 4)]).is_none());
        assert_eq!(Distribution::of_steps(vec![(1, 5), (9, 8)]).map(|steps| steps.count()), Some(8));
    }
}
