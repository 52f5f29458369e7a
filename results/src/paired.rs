//! Paired differences with confidence intervals: what a comparison over several seeds may call significant.
//!
//! Runs of one seed share their requests and the first state of the flash, so schemes are compared seed by seed. Intervals are
//! Student's; several schemes beside one first scheme share the error rate by Holm's procedure (Scandinavian Journal of
//! Statistics 6, 1979).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The chance that any interval of a column misses.
const ERROR_RATE: f64 = 0.05;

/// A mean of paired differences, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean over the seeds.
    pub mean: f64,
    /// Half the width of its interval.
    pub margin: f64,
    /// Whether the interval excludes zero.
    pub is_significant: bool,
}

/// The mean of a sample, with its interval at 95 %. None where there are fewer than two values.
pub fn mean(sample: &[f64]) -> Option<Difference> {
    differences(&vec![0.0; sample.len()], &[sample.to_vec()]).pop().flatten()
}

/// Differences of several samples from a first one, pair by pair, each with its interval at 95 % for all together. None where
/// there are fewer than two pairs.
///
/// # Panics
/// When a sample is not as long as the first.
pub fn differences(first: &[f64], others: &[Vec<f64>]) -> Vec<Option<Difference>> {
    let pairs = first.len();
    if pairs < 2 {
        return vec![None; others.len()];
    }
    let Ok(student) = StudentsT::new(0.0, 1.0, (pairs - 1) as f64) else { return vec![None; others.len()] };
    let means: Vec<(f64, f64)> = others.iter().map(|other| mean_of_differences(first, other)).collect();
    // The chance to see as much where there is no difference.
    let chance = |&(mean, error): &(f64, f64)| match error {
        0.0 if mean == 0.0 => 1.0,
        0.0 => 0.0,
        _ => 2.0 * (1.0 - student.cdf((mean / error).abs())),
    };
    let chances: Vec<f64> = means.iter().map(chance).collect();
    let mut order: Vec<usize> = (0..others.len()).collect();
    order.sort_by(|&a, &b| chances[a].total_cmp(&chances[b]));
    let mut found = vec![None; others.len()];
    let mut level = 0.0;
    let mut holds = true;
    for (rank, &at) in order.iter().enumerate() {
        // Each has a larger share of the error rate than the one before it, until one misses its share.
        if holds {
            level = ERROR_RATE / (others.len() - rank) as f64;
            holds = chances[at] <= level;
        }
        let (mean, error) = means[at];
        let margin = if error == 0.0 { 0.0 } else { error * student.inverse_cdf(1.0 - level / 2.0) };
        found[at] = Some(Difference { mean, margin, is_significant: holds });
    }
    found
}

/// The mean of `other` less `first`, and its standard error.
fn mean_of_differences(first: &[f64], other: &[f64]) -> (f64, f64) {
    assert_eq!(first.len(), other.len(), "samples are paired");
    let count = first.len() as f64;
    let pairs = || other.iter().zip(first).map(|(other, first)| other - first);
    let mean = pairs().sum::<f64>() / count;
    let variance =
        pairs().map(|difference| (difference - mean) * (difference - mean)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// t(1 - 0.025 / 2, 4) = 3.495 for the surer of two, t(0.975, 4) for the other.
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

    /// The sample by hand above: mean 3, t(0.975, 4) = 2.776 times sqrt(2.5 / 5).
    #[test]
    fn a_mean_has_the_interval_of_student() {
        let found = mean(&[5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
        assert!(close(found.mean, 3.0) && close(found.margin, 2.7764 * 0.5f64.sqrt()), "{found:?}");
    }

    #[test]
    fn one_pair_says_nothing() {
        assert_eq!(differences(&[1.0], &[vec![2.0]]), [None]);
        assert_eq!(mean(&[1.0]), None);
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
