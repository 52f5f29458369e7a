//! Means with their uncertainty, from values that depend on their neighbours.

/// Number of batches that a run is split into.
pub(crate) const BATCHES: usize = 31;

/// Student's t for 30 degrees of freedom and 99.9 %, both sides: a page of some fifty intervals should raise no false
/// alarm, and runs are long enough to detect 5 % all the same.
const STUDENT: f64 = 3.646;

/// A mean and the half width of its confidence interval of 99.9 %.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// The value is within this distance of the true one, 999 times of 1000.
    pub half_width: f64,
}

/// The method of batch means: neighbouring waits depend on each other, means of long batches hardly do.
#[derive(Clone, Debug)]
pub(crate) struct BatchMeans {
    batch: u64,
    count: u64,
    sum: f64,
    means: Vec<f64>,
}

impl BatchMeans {
    /// For `total` values; values at the end that do not fill a batch are ignored.
    pub(crate) fn new(total: u64) -> Self {
        Self {
            batch: (total / BATCHES as u64).max(1),
            count: 0,
            sum: 0.0,
            means: Vec::with_capacity(BATCHES),
        }
    }

    /// Adds the next value.
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        if self.count == self.batch {
            self.means.push(self.sum / self.batch as f64);
            (self.sum, self.count) = (0.0, 0);
        }
    }

    /// The mean of all batches. Infinitely uncertain with fewer than [`BATCHES`].
    pub(crate) fn mean(&self) -> Mean {
        let means = &self.means[..self.means.len().min(BATCHES)];
        let count = means.len() as f64;
        let value = means.iter().sum::<f64>() / count;
        let squares: f64 = means.iter().map(|mean| (mean - value) * (mean - value)).sum();
        if means.len() < BATCHES {
            return Mean { value, half_width: f64::INFINITY };
        }
        Mean { value, half_width: STUDENT * (squares / (count - 1.0) / count).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_base::prng::Prng;

    #[test]
    fn intervals_hold_the_true_mean_at_their_stated_rate() {
        // 2000 runs of independent values with mean 1/2: about 2 intervals miss it, and hardly ever more than 8.
        let misses = (0..2000).filter(|&seed| {
            let mut prng = Prng::new(seed);
            let mut batches = BatchMeans::new(310);
            (0..310).for_each(|_| batches.add(prng.unit()));
            let mean = batches.mean();
            (mean.value - 0.5).abs() > mean.half_width
        });
        let misses = misses.count();
        assert!((1..=8).contains(&misses), "{misses}");
    }

    #[test]
    fn dependence_between_neighbours_widens_the_interval() {
        let interval = |repeat: u64| {
            let mut prng = Prng::new(1);
            let mut batches = BatchMeans::new(31_000);
            let mut value = 0.0;
            for index in 0..31_000 {
                if index % repeat == 0 {
                    value = prng.unit();
                }
                batches.add(value);
            }
            batches.mean().half_width
        };
        assert!(interval(100) > 5.0 * interval(1));
    }

    #[test]
    fn too_few_values_say_nothing() {
        let mut batches = BatchMeans::new(3100);
        (0..3000).for_each(|_| batches.add(1.0));
        assert!(batches.mean().half_width.is_infinite());
    }
}
