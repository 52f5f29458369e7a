//! The order of intervals: at random, or correlated.
//!
//! Real intervals follow one another in clusters of many lengths: short ones come together for a few requests, and for
//! thousands. A correlated order takes the n-th smallest interval where the n-th smallest value of a random process
//! lies. The process is the mean of five autoregressive ones with unit variance, whose memories fade over 2 to 5,000
//! intervals, and of white noise. Each interval is still dealt exactly once, so distribution and mean stay.
//!
//! The process runs twice: when the order is made, to count its values in 65,536 bins, and when intervals are dealt.
//! So the memory does not grow with the trace. Within a bin, ranks ascend in the order of their arrival.
//!
//! Source of the process: autoregressive processes of several time constants approximate long-range dependence
//! (Granger, "Long memory relationships and the aggregation of dynamic models", Journal of Econometrics 14, 1980).

use stripewise_base::prng::Prng;

use crate::generate::shuffle::Shuffle;

/// Intervals after which the memory of each process has faded to 1/e: from pairs of requests to the phases of a load.
const MEMORIES: [f64; 5] = [2.0, 12.0, 80.0, 600.0, 5_000.0];
/// Bins for the values of the process, from `-REACH` to `REACH` standard deviations; values beyond are in the last.
const BINS: usize = 1 << 16;
const REACH: f64 = 5.0;

/// The place of the next interval in the order of their lengths.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// Any place, each once.
    Shuffled { shuffle: Shuffle, dealt: u64 },
    /// The rank of the process' value.
    Correlated(Ranks),
}

impl Order {
    /// An order of `count` intervals. `correlation` is that of the process with its autoregressive part, `0.0..=1.0`;
    /// without any, the order is random.
    pub(super) fn new(count: u64, correlation: f64, prng: &mut Prng) -> Self {
        if correlation > 0.0 {
            Self::Correlated(Ranks::new(count, correlation, prng.next_u64()))
        } else {
            Self::Shuffled { shuffle: Shuffle::new(count, prng), dealt: 0 }
        }
    }

    /// The next place of `0..count`. After the last, a random order begins again.
    #[inline]
    pub(super) fn next(&mut self, count: u64) -> u64 {
        match self {
            Self::Shuffled { shuffle, dealt } => {
                let place = shuffle.at(*dealt);
                *dealt = if *dealt + 1 == count { 0 } else { *dealt + 1 };
                place
            }
            Self::Correlated(ranks) => ranks.next().min(count - 1),
        }
    }
}

/// The process, and the ranks that its next values have.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    process: Process,
    /// For each bin, the rank of its next value.
    next: Vec<u64>,
}

impl Ranks {
    fn new(count: u64, correlation: f64, seed: u64) -> Self {
        let process = Process::new(correlation, seed);
        let mut next = vec![0; BINS];
        let mut trial = process.clone();
        (0..count).for_each(|_| next[trial.bin()] += 1);
        let mut below = 0;
        for bin in &mut next {
            below += *bin;
            *bin = below - *bin;
        }
        Self { process, next }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        let rank = &mut self.next[self.process.bin()];
        *rank += 1;
        *rank - 1
    }
}

/// The sum of the autoregressive processes and of noise.
#[derive(Clone, Debug)]
struct Process {
    values: [f64; MEMORIES.len()],
    /// For each process, the share of a value that remains, and the weight of what is new.
    steps: [(f64, f64); MEMORIES.len()],
    /// The weights of each process and of noise.
    weights: (f64, f64),
    prng: Prng,
}

impl Process {
    fn new(correlation: f64, seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let steps = MEMORIES.map(|memory| {
            let remains = libm::exp(-1.0 / memory);
            (remains, libm::sqrt(1.0 - remains * remains))
        });
        let weights = (
            correlation / libm::sqrt(MEMORIES.len() as f64),
            libm::sqrt((1.0 - correlation * correlation).max(0.0)),
        );
        // Each begins anywhere, as if it had always run.
        Self { values: std::array::from_fn(|_| noise(&mut prng)), steps, weights, prng }
    }

    /// The bin of the next value.
    #[inline]
    fn bin(&mut self) -> usize {
        let mut sum = 0.0;
        for (value, (remains, new)) in self.values.iter_mut().zip(self.steps) {
            *value = remains * *value + new * noise(&mut self.prng);
            sum += *value;
        }
        let value = self.weights.0 * sum + self.weights.1 * noise(&mut self.prng);
        let at = (value + REACH) * (BINS as f64 / (2.0 * REACH));
        // A conversion of a negative number gives 0.
        (at as usize).min(BINS - 1)
    }
}

/// A value of mean 0 and variance 1: the sum of four uniform ones, near enough to normal, since only ranks are used.
#[inline]
fn noise(prng: &mut Prng) -> f64 {
    let bits = prng.next_u64();
    let sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
    // Four times a variance of 1/12 of 65,536 squared: a deviation of 65,536 / sqrt(3).
    (sum as f64 - 131_070.0) * (1.732_050_807_568_877_2 / 65_536.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_dealt_once_whatever_the_correlation() {
        for (count, correlation) in
            [(1, 0.85), (2, 1.0), (1_000, 0.0), (1_000, 0.85), (100_000, 0.5), (50_000, 1.0)]
        {
            let mut order = Order::new(count, correlation, &mut Prng::new(count));
            let mut seen = vec![false; count as usize];
            for _ in 0..count {
                let place = order.next(count) as usize;
                assert!(!std::mem::replace(&mut seen[place], true), "{place} twice in {count}");
            }
            assert!(order.next(count) < count, "one more is within the range");
        }
    }

    #[test]
    fn ranks_correlate_as_the_processes_do() {
        // Neighbours: correlation^2 times the mean of exp(-1/memory), which is 0.9027; ranks of normal values have
        // 6/pi asin(r/2) of a correlation r.
        for correlation in [0.0, 0.5, 0.85, 1.0] {
            let count = 200_000;
            let mut order = Order::new(count, correlation, &mut Prng::new(7));
            let ranks: Vec<f64> = (0..count).map(|_| order.next(count) as f64 / count as f64 - 0.5).collect();
            let found = ranks.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() * 12.0 / count as f64;
            let expected = 6.0 / std::f64::consts::PI * (correlation * correlation * 0.9027 / 2.0).asin();
            // The longest memory has only some forty independent values.
            assert!((found - expected).abs() < 0.03, "{correlation}: {found} for {expected}");
        }
    }

    #[test]
    fn noise_has_mean_zero_and_variance_one() {
        let mut prng = Prng::new(2);
        let draws: Vec<f64> = (0..200_000).map(|_| noise(&mut prng)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.01, "{mean} {variance}");
    }
}
