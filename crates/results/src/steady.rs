//! Whether the warm-up of a run is over, by MSER-5: White, Cobb and Spratt, Proceedings of the Winter Simulation Conference
//! 2000; Hoad, Robinson and Davies, Journal of the Operational Research Society 61, 2010.
//!
//! The values of a run are joined five at a time. Leaving out the first d of these means leaves others with a standard error;
//! the d with the smallest one is where the warm-up ends. If it lies in the second half, the run is too short to decide.

/// Values that are joined at first.
const JOINED: u64 = 5;
/// Means that are kept. Beyond, two neighbours become one, so memory is bounded and a mean joins 10, 20, ... values.
const KEPT: usize = 4096;
/// Means at the end that are never alone: a few equal ones would look steady.
const LAST: usize = 5;

/// The answer about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steady {
    /// The warm-up ends before this value, counted from 0.
    From(u64),
    /// The values still drift in the second half: the run is too short.
    NotYet,
    /// There are too few values to decide.
    Unknown,
}

/// Receives the values of a run in order.
#[derive(Clone, Debug)]
pub struct Warmup {
    means: Vec<f64>,
    /// Values in one mean.
    joined: u64,
    sum: f64,
    summed: u64,
}

impl Default for Warmup {
    fn default() -> Self {
        Self { means: Vec::new(), joined: JOINED, sum: 0.0, summed: 0 }
    }
}

impl Warmup {
    /// Adds a value.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.sum += value;
        self.summed += 1;
        if self.summed == self.joined {
            self.means.push(self.sum / self.joined as f64);
            (self.sum, self.summed) = (0.0, 0);
            if self.means.len() == KEPT {
                self.halve();
            }
        }
    }

    fn halve(&mut self) {
        let (pairs, _) = self.means.as_chunks::<2>();
        self.means = pairs.iter().map(|[one, other]| (one + other) / 2.0).collect();
        self.joined *= 2;
    }

    /// Where the warm-up ends.
    pub fn verdict(&self) -> Steady {
        let count = self.means.len();
        if count < 4 * LAST {
            return Steady::Unknown;
        }
        // From the end on, each step adds one mean: Welford's update keeps the sum of squares exact enough.
        let (mut mean, mut squares) = (0.0, 0.0);
        let mut best = (f64::INFINITY, count);
        for (kept, (first, value)) in (1u32..).zip(self.means.iter().enumerate().rev()) {
            let kept = f64::from(kept);
            let off = value - mean;
            mean += off / kept;
            squares += off * (value - mean);
            let error = squares / (kept * kept);
            // Of equal ones the earliest: a run without any variation is steady from its first value.
            if count - first >= LAST && error <= best.0 {
                best = (error, first);
            }
        }
        if best.1 * 2 > count { Steady::NotYet } else { Steady::From(best.1 as u64 * self.joined) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_base::prng::Prng;

    fn verdict(values: impl IntoIterator<Item = f64>) -> Steady {
        let mut warmup = Warmup::default();
        values.into_iter().for_each(|value| warmup.push(value));
        warmup.verdict()
    }

    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut random = Prng::new(seed);
        move || (random.next_u64() >> 40) as f64 / (1u64 << 24) as f64
    }

    /// The definition, term by term.
    fn naive(values: &[f64]) -> Steady {
        let (means, _) = values.as_chunks::<5>();
        let means: Vec<f64> = means.iter().map(|five| five.iter().sum::<f64>() / 5.0).collect();
        let error = |first: usize| {
            let kept = &means[first..];
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            kept.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (kept.len() as f64).powi(2)
        };
        let first = (0..=means.len() - LAST).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap();
        if first * 2 > means.len() { Steady::NotYet } else { Steady::From(first as u64 * 5) }
    }

    #[test]
    fn the_verdict_is_that_of_the_definition() {
        for seed in 0..200 {
            let mut noise = noise(seed);
            let (slow, length) = (seed as usize % 37 * 20, 1000 + seed as usize % 7);
            let values: Vec<f64> =
                (0..length).map(|at| noise() + 3.0 * (slow as f64 - at as f64).max(0.0) / 100.0).collect();
            assert_eq!(verdict(values.iter().copied()), naive(&values), "seed {seed}");
        }
    }

    #[test]
    fn a_warm_up_of_known_length_is_found() {
        let mut noise = noise(1);
        let values: Vec<f64> = (0..2000).map(|at| noise() + if at < 400 { 5.0 } else { 0.0 }).collect();
        let Steady::From(first) = verdict(values) else { panic!("it is steady from 400 on") };
        assert!((400..500).contains(&first), "{first}");
    }

    #[test]
    fn values_that_grow_to_the_end_are_not_steady() {
        let mut noise = noise(2);
        assert_eq!(verdict((0..2000).map(|at| noise() + f64::from(at) / 50.0)), Steady::NotYet);
    }

    #[test]
    fn equal_values_are_steady_from_the_first_and_few_say_nothing() {
        assert_eq!(verdict([3.0; 500]), Steady::From(0));
        assert_eq!(verdict([3.0; 99]), Steady::Unknown);
    }

    #[test]
    fn memory_is_bounded_and_a_long_warm_up_is_still_found() {
        let (mut noise, mut warmup) = (noise(3), Warmup::default());
        (0..1_000_000).for_each(|at| warmup.push(noise() + if at < 200_000 { 2.0 } else { 0.0 }));
        assert!(warmup.means.len() < KEPT && warmup.means.capacity() <= 2 * KEPT);
        let Steady::From(first) = warmup.verdict() else { panic!("it is steady from 200,000 on") };
        assert!((200_000..210_000).contains(&first), "{first}");
    }
}
