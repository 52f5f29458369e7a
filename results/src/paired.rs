//! Paired differences with confidence intervals: which differences a comparison over several seeds may call
//! significant.
//!
//! Runs of one seed share their requests and the first state of the flash, so schemes are compared seed by seed.
//! Intervals are Student's. Several schemes compared with one first scheme share the error rate by Holm's procedure
//! (Scandinavian Journal of Statistics 6, 1979).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The chance that any interval of a column misses.
const ERROR_RATE: f64 = 0.05;

/// How often intervals may miss, and how often they are looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The chance that any of them misses.
    pub miss: f64,
    /// The number of looks, at any of which the seeds may end ([`crate::replicate`]).
    pub looks: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self::FIXED
    }
}

impl Rate {
    /// At 95 %, for a number of seeds that was chosen before.
    pub const FIXED: Self = Self { miss: ERROR_RATE, looks: 1 };
    /// The most by which several looks widen an interval. It only matters where there are few seeds, whose quantiles grow
    /// fast as the error rate falls.
    const WIDEST: f64 = 1.3;

    /// Half the width of an interval in standard errors, where `share` intervals share the error rate.
    ///
    /// Seeds that end when an interval is narrow end early when their deviation is small by chance, so Student's interval
    /// misses too often: 7 to 11 times in a hundred instead of 5. As with Pocock's boundary (Biometrika 64, 1977) every look
    /// has the same, lower rate. It falls only with the logarithm of the looks, because a mean does not depend on the
    /// deviation that ends the seeds. A test holds the coverage.
    fn quantile(self, student: &StudentsT, share: f64) -> f64 {
        let miss = self.miss / share;
        let fixed = student.inverse_cdf(1.0 - miss / 2.0);
        if self.looks == 1 {
            return fixed;
        }
        let spent = miss / (1.0 + 0.5 * libm::log(f64::from(self.looks)));
        student.inverse_cdf(1.0 - spent / 2.0).min(Self::WIDEST * fixed)
    }
}

/// A mean of paired differences, and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean over the seeds.
    pub mean: f64,
    /// Half the width of its interval.
    pub margin: f64,
    /// Whether the interval excludes zero.
    pub is_significant: bool,
}

/// Two samples: the value of the first and the other's, seed by seed.
pub type Pairs = Vec<(f64, f64)>;

/// The mean differences of several samples, each from the first of its pairs, with intervals at 95 % for all
/// together. None where there are fewer than two pairs.
pub fn differences(samples: &[&Pairs]) -> Vec<Option<Difference>> {
    differences_at(samples, Rate::FIXED)
}

/// [`differences`] with intervals of another error rate.
pub fn differences_at(samples: &[&Pairs], rate: Rate) -> Vec<Option<Difference>> {
    // For each sample that has an interval: its index, the mean, the standard error, and the distribution.
    let mut means: Vec<(usize, f64, f64, StudentsT)> = Vec::new();
    for (place, pairs) in samples.iter().enumerate() {
        let differences: Vec<f64> = pairs.iter().map(|(first, other)| other - first).collect();
        if let Some((mean, error, student)) = mean_and_error(&differences) {
            means.push((place, mean, error, student));
        }
    }
    // The probability of a difference at least this large where there is none.
    let chance = |(_, mean, error, student): &(usize, f64, f64, StudentsT)| match *error {
        0.0 if *mean == 0.0 => 1.0,
        0.0 => 0.0,
        error => 2.0 * (1.0 - student.cdf((mean / error).abs())),
    };
    let chances: Vec<f64> = means.iter().map(chance).collect();
    let mut order: Vec<usize> = (0..means.len()).collect();
    order.sort_by(|&a, &b| chances[a].total_cmp(&chances[b]));
    let mut found = vec![None; samples.len()];
    let mut share = 1.0;
    let mut holds = true;
    for (rank, &at) in order.iter().enumerate() {
        let (place, mean, error, ref student) = means[at];
        let margin = |share| if error == 0.0 { 0.0 } else { error * rate.quantile(student, share) };
        // Each has a larger share of the error rate than the previous one, until one misses its share.
        if holds {
            share = (means.len() - rank) as f64;
            holds = mean.abs() > margin(share);
        }
        found[place] = Some(Difference { mean, margin: margin(share), is_significant: holds });
    }
    found
}

/// Half the width of the 95 % interval of the values' mean. None where there are fewer than two.
pub fn margin(values: &[f64]) -> Option<f64> {
    margin_at(values, Rate::FIXED, 1)
}

/// [`margin`] at another error rate, which `share` intervals share.
pub fn margin_at(values: &[f64], rate: Rate, share: usize) -> Option<f64> {
    let (_, error, student) = mean_and_error(values)?;
    Some(if error == 0.0 { 0.0 } else { error * rate.quantile(&student, share.max(1) as f64) })
}

/// The mean of the values, its standard error, and the distribution of their quotient. None where there are fewer than two.
fn mean_and_error(values: &[f64]) -> Option<(f64, f64, StudentsT)> {
    let count = values.len() as f64;
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0);
    Some((mean, (variance / count).sqrt(), student))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several samples compared with a first one.
    fn differences(first: &[f64], others: &[Vec<f64>]) -> Vec<Option<Difference>> {
        let pair = |other: &Vec<f64>| first.iter().copied().zip(other.iter().copied()).collect();
        let pairs: Vec<Pairs> = others.iter().map(pair).collect();
        super::differences(&pairs.iter().collect::<Vec<_>>())
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3
    }

    /// By hand: differences 1, 2, 3, 4, 5; mean 3, standard error sqrt(2.5 / 5), t(0.975, 4) = 2.776.
    #[test]
    fn one_difference_has_the_interval_of_student() {
        let found = differences(&[0.0; 5], &[vec![1.0, 2.0, 3.0, 4.0, 5.0]])[0].unwrap();
        assert!(close(found.mean, 3.0) && close(found.margin, 2.7764 * 0.5f64.sqrt()), "{found:?}");
        assert!(found.is_significant);
    }

    /// t(1 - 0.025 / 2, 4) = 3.495 for the more certain of two, t(0.975, 4) for the other.
    #[test]
    fn several_share_the_error_rate_by_holm() {
        let sure = vec![10.0, 10.1, 9.9, 10.2, 9.8];
        let less = vec![1.0, 2.0, 3.0, 4.0, 5.0];
        let found = differences(&[0.0; 5], &[less.clone(), sure.clone()]);
        let (of_less, of_sure) = (found[0].unwrap(), found[1].unwrap());
        assert!(close(of_sure.margin, 3.4954 * (0.025f64 / 5.0).sqrt()), "{of_sure:?}");
        assert!(close(of_less.margin, 2.7764 * 0.5f64.sqrt()), "{of_less:?}");
    }

    #[test]
    fn behind_one_that_misses_none_is_significant_and_every_interval_says_so() {
        let noise = [3.0, -2.0, 1.0, -4.0, 2.5];
        let others: Vec<Vec<f64>> =
            (0..4).map(|shift| noise.iter().map(|value| value + 0.9 * f64::from(shift)).collect()).collect();
        for difference in differences(&[0.0; 5], &others).into_iter().flatten() {
            assert_eq!(
                difference.is_significant,
                difference.mean.abs() > difference.margin,
                "{difference:?}"
            );
        }
    }

    #[test]
    fn equal_samples_do_not_differ_and_a_constant_difference_is_sure() {
        let first = [5.0, 6.0, 7.0];
        let found = differences(&first, &[first.to_vec(), vec![6.0, 7.0, 8.0]]);
        assert_eq!(found[0].map(|it| (it.mean, it.is_significant)), Some((0.0, false)));
        assert_eq!(found[1].map(|it| (it.mean, it.margin, it.is_significant)), Some((1.0, 0.0, true)));
    }

    #[test]
    fn one_pair_says_nothing() {
        assert_eq!(differences(&[1.0], &[vec![2.0]]), [None]);
        assert_eq!((margin(&[1.0]), margin(&[])), (None, None));
    }

    /// Standard error sqrt(2.5 / 5), t(0.975, 4) = 2.776; t(0.975, 1) = 12.706.
    #[test]
    fn a_mean_has_the_interval_of_student() {
        assert!(margin(&[1.0, 2.0, 3.0, 4.0, 5.0]).is_some_and(|it| close(it, 2.7764 * 0.5f64.sqrt())));
        assert!(margin(&[1.0, 3.0]).is_some_and(|it| (it - 12.7062).abs() < 1e-2));
    }

    /// 2,000 comparisons of two equal schemes with each of 3 others: about 5 % call one of them different.
    #[test]
    fn equal_schemes_are_called_different_one_time_in_twenty() {
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut wrong = 0;
        for _ in 0..2000 {
            let mut sample = || (0..5).map(|_| normal()).collect::<Vec<f64>>();
            let (first, others) = (sample(), [sample(), sample(), sample()]);
            let found = differences(&first, &others);
            wrong += u32::from(found.into_iter().flatten().any(|it| it.is_significant));
        }
        assert!((40..140).contains(&wrong), "{wrong} of 2000");
    }
}
