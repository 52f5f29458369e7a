//! The MTTDL by simulation: histories of failures and repairs, drawn from a seed.
//!
//! Neither simulation uses a formula for the result, only the model: the life of a member and the time of a repair
//! are exponential. [`direct`] simulates whole lives of arrays, which takes as many events as there are repairs
//! before a loss: some (μ/λ)^parity. [`biased`] simulates the cycles between two times with all members working,
//! makes failures likelier than they are, and weights the results with the ratio of likelihoods.

mod biased;
mod direct;

use stripewise_base::prng::Prng;

pub use biased::biased;
pub use direct::direct;

/// Events between two calls of `may_continue`.
const PATIENCE: u64 = 1 << 16;

/// The number of losses from which a mean counts as normally distributed.
const LOSSES_MIN: u64 = 30;

/// Quantile 0.995 of the standard normal distribution.
const Z99: f64 = 2.575_829_303_548_901;

/// An estimate of the MTTDL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate, in years.
    pub mean_years: f64,
    /// Its standard error, in years.
    pub standard_error_years: f64,
    /// The number of histories or cycles.
    pub samples: u64,
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEstimate {
    /// Too few losses for a valid interval.
    #[error(
        "{losses} losses in {samples} samples, and at least {LOSSES_MIN} are needed; ask for more samples"
    )]
    FewLosses {
        /// Losses in the simulation.
        losses: u64,
        /// Simulated histories or cycles.
        samples: u64,
    },
    /// The caller stopped the simulation.
    #[error("stopped")]
    Stopped,
}

impl Estimate {
    /// The interval that holds the MTTDL with 99 % confidence, in years: 2.576 standard errors to either side.
    pub fn interval_years(&self) -> (f64, f64) {
        let half = Z99 * self.standard_error_years;
        (self.mean_years - half, self.mean_years + half)
    }

    /// Whether the interval contains `years`.
    pub fn holds(&self, years: f64) -> bool {
        let (low, high) = self.interval_years();
        (low..=high).contains(&years)
    }
}

/// Mean and variance of a stream of numbers.
///
/// Source: B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", Technometrics 4(3),
/// 1962.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let gap = value - self.mean;
        self.mean += gap / self.count as f64;
        self.squares += gap * (value - self.mean);
    }

    /// Variance of the mean; undefined for a single number.
    fn variance_of_mean(&self) -> f64 {
        let count = self.count as f64;
        self.squares / (count - 1.0) / count
    }
}

/// The time until an event of this `rate`.
fn exponential(prng: &mut Prng, rate: f64) -> f64 {
    -libm::log(1.0 - prng.unit()) / rate
}

/// Counts events, and calls `may_continue` from time to time.
struct Patience<'a> {
    events: u64,
    may_continue: &'a mut dyn FnMut() -> bool,
}

impl<'a> Patience<'a> {
    fn new(may_continue: &'a mut dyn FnMut() -> bool) -> Self {
        Self { events: 0, may_continue }
    }

    fn event(&mut self) -> Result<(), NoEstimate> {
        self.events += 1;
        if self.events.is_multiple_of(PATIENCE) && !(self.may_continue)() {
            return Err(NoEstimate::Stopped);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_textbook() {
        let mut moments = Moments::default();
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|value| moments.add(value));
        assert_eq!(moments.mean, 5.0);
        // The squared gaps sum to 32; over 7, over 8.
        assert!((moments.variance_of_mean() - 32.0 / 7.0 / 8.0).abs() < 1e-15);
    }

    #[test]
    fn exponential_times_have_the_mean_and_spread_of_their_rate() {
        let mut prng = Prng::new(3);
        let mut moments = Moments::default();
        (0..100_000).for_each(|_| moments.add(exponential(&mut prng, 4.0)));
        // Mean and deviation are 1/4; the mean of this many deviates by 0.0008.
        assert!((moments.mean - 0.25).abs() < 4.0 * 0.0008, "{}", moments.mean);
        let deviation = (moments.variance_of_mean() * 1e5).sqrt();
        assert!((deviation - 0.25).abs() < 0.005, "{deviation}");
    }
}
