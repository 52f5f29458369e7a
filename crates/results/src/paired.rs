//! Paired comparisons with confidence intervals: which effects a comparison over several seeds may call significant.
//!
//! Runs of one seed share their requests and the first state of the flash, so schemes are compared seed by seed.
//! Intervals are Student's. Several schemes compared with one first scheme share the error rate by Holm's procedure
//! (Scandinavian Journal of Statistics 6, 1979).
//!
//! Times, rates and counts are compared by their *ratio*: Student's interval is that of the mean of the logarithms, so
//! the typical ratio is a geometric mean. A queue that overflows makes times that differ by orders of magnitude between
//! seeds; the ratio of two schemes hardly differs there, where the deviation of their difference exceeds its mean.
//! (Fleming and Wallace, Communications of the ACM 29, 1986, on ratios and geometric means.)

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

/// How two values of a total are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By their ratio: times, rates and counts. Where a value is not above zero, by their difference.
    Ratio,
    /// By their difference in points: shares of one.
    Share,
    /// By their difference: values that may be zero or negative.
    Difference,
    /// Not at all: the largest of many values follows no distribution that a few seeds show.
    Bare,
}

impl Kind {
    /// The kind of a total, by its name. [`crate::totals`] lists the names.
    pub fn of(total: &str) -> Self {
        if total.ends_with("_max_ns") {
            Self::Bare
        } else if total.ends_with("_share") || total.contains("_share_") || total.ends_with("utilisation") {
            Self::Share
        } else if total == "warmup_unfinished" {
            Self::Difference
        } else {
            Self::Ratio
        }
    }

    /// Its name in documents and for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Share => "share",
            Self::Difference => "difference",
            Self::Bare => "none",
        }
    }
}

/// The typical ratio of one scheme's values to the first one's: the geometric mean over the seeds, and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric mean.
    pub typical: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ratio {
    /// Whether the interval lies within a factor of two of 1, so that percent are easy to read.
    pub fn is_near(self) -> bool {
        self.low >= 0.5 && self.high <= 2.0
    }

    /// Whether the ratio of two means agrees with the typical ratio: the interval contains it.
    pub fn contains(self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }
}

/// An effect over several seeds, and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean of the paired differences, in the unit of the total.
    pub mean: f64,
    /// Half the width of its interval.
    pub margin: f64,
    /// The typical ratio, of totals that are compared by their ratio.
    pub ratio: Option<Ratio>,
    /// Whether the interval of the ratio excludes 1, or that of the difference 0.
    pub is_significant: bool,
    /// Whether ratio or difference is the same in all seeds. Such values say nothing of chance: none is significant.
    pub is_constant: bool,
}

impl Difference {
    /// Half the width of the interval relative to the first scheme: of a ratio, the factor less one by which its ends
    /// differ from it; otherwise the share of `first`, the mean of the first scheme.
    pub fn relative_width(&self, first: f64) -> f64 {
        match self.ratio {
            Some(ratio) => ratio.high / ratio.typical - 1.0,
            None => self.margin / first.abs(),
        }
    }

    /// Whether the effect is a decrease.
    pub fn is_lower(&self) -> bool {
        self.ratio.map_or(self.mean < 0.0, |ratio| ratio.typical < 1.0)
    }
}

/// Two samples: the value of the first and the other's, seed by seed.
pub type Pairs = Vec<(f64, f64)>;

/// The effects of several samples, each compared with the first of its pairs, with intervals at 95 % for all together.
/// None where there are fewer than two pairs.
pub fn differences(samples: &[&Pairs], kind: Kind) -> Vec<Option<Difference>> {
    differences_at(samples, kind, Rate::FIXED)
}

/// A sample on the scale on which it is judged.
struct Judged {
    /// Its index.
    place: usize,
    mean: f64,
    error: f64,
    student: StudentsT,
    is_ratio: bool,
}

impl Judged {
    fn of(place: usize, pairs: &Pairs, kind: Kind) -> Option<Self> {
        let is_ratio = kind == Kind::Ratio && pairs.iter().all(|(first, other)| *first > 0.0 && *other > 0.0);
        let judged: Vec<f64> = match is_ratio {
            true => pairs.iter().map(|(first, other)| libm::log(other / first)).collect(),
            false => pairs.iter().map(|(first, other)| other - first).collect(),
        };
        let (mean, error, student) = mean_and_error(&judged)?;
        // Equal ratios differ in their last bit.
        let error = if is_ratio && error < 1e-13 { 0.0 } else { error };
        Some(Self { place, mean, error, student, is_ratio })
    }

    /// The probability of an effect at least this large where there is none.
    fn chance(&self) -> f64 {
        if self.error == 0.0 { 1.0 } else { 2.0 * (1.0 - self.student.cdf((self.mean / self.error).abs())) }
    }
}

/// [`differences`] with intervals of another error rate.
pub fn differences_at(samples: &[&Pairs], kind: Kind, rate: Rate) -> Vec<Option<Difference>> {
    let mut found = vec![None; samples.len()];
    if kind == Kind::Bare {
        return found;
    }
    let judged: Vec<Judged> =
        samples.iter().enumerate().filter_map(|(place, pairs)| Judged::of(place, pairs, kind)).collect();
    let chances: Vec<f64> = judged.iter().map(Judged::chance).collect();
    let mut order: Vec<usize> = (0..judged.len()).collect();
    order.sort_by(|&a, &b| chances[a].total_cmp(&chances[b]));
    let mut share = 1.0;
    let mut holds = true;
    for (rank, &at) in order.iter().enumerate() {
        let it = &judged[at];
        let margin =
            |error: f64, share| if error == 0.0 { 0.0 } else { error * rate.quantile(&it.student, share) };
        let is_constant = it.error == 0.0;
        // Each has a larger share of the error rate than the previous one, until one misses its share.
        if holds {
            share = (judged.len() - rank) as f64;
            holds = !is_constant && it.mean.abs() > margin(it.error, share);
        }
        let own = margin(it.error, share);
        let additive: Vec<f64> = samples[it.place].iter().map(|(first, other)| other - first).collect();
        let (mean, error) = mean_and_error(&additive).map_or((0.0, 0.0), |(mean, error, _)| (mean, error));
        found[it.place] = Some(Difference {
            mean,
            margin: margin(error, share),
            ratio: it.is_ratio.then(|| Ratio {
                typical: libm::exp(it.mean),
                low: libm::exp(it.mean - own),
                high: libm::exp(it.mean + own),
            }),
            is_significant: holds,
            is_constant,
        });
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
    use stripewise_base::prng::Prng;

    /// Several samples compared with a first one.
    fn differences(first: &[f64], others: &[Vec<f64>]) -> Vec<Option<Difference>> {
        let pair = |other: &Vec<f64>| first.iter().copied().zip(other.iter().copied()).collect();
        let pairs: Vec<Pairs> = others.iter().map(pair).collect();
        super::differences(&pairs.iter().collect::<Vec<_>>(), Kind::Difference)
    }

    fn ratios(first: &[f64], other: &[f64]) -> Difference {
        let pairs: Pairs = first.iter().copied().zip(other.iter().copied()).collect();
        super::differences(&[&pairs], Kind::Ratio)[0].unwrap()
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
    fn what_is_the_same_in_all_seeds_is_said_and_is_never_significant() {
        let first = [5.0, 6.0, 7.0];
        let found = differences(&first, &[first.to_vec(), vec![6.0, 7.0, 8.0]]);
        let summary = |it: Difference| (it.mean, it.margin, it.is_significant, it.is_constant);
        assert_eq!(found[0].map(summary), Some((0.0, 0.0, false, true)));
        assert_eq!(found[1].map(summary), Some((1.0, 0.0, false, true)));
        let tenth = ratios(&first, &first.map(|value| value * 1.1));
        assert!(tenth.is_constant && !tenth.is_significant, "{tenth:?}");
        assert!(tenth.ratio.is_some_and(|ratio| close(ratio.typical, 1.1)), "{tenth:?}");
    }

    /// By hand: logarithms ln 2, ln 4, ln 8, so mean ln 4, standard error ln 2 / sqrt(3), t(0.975, 2) = 4.3027.
    #[test]
    fn a_ratio_has_the_interval_of_the_mean_logarithm() {
        let found = ratios(&[1.0, 10.0, 100.0], &[2.0, 40.0, 800.0]);
        let Ratio { typical, low, high } = found.ratio.unwrap();
        let factor = libm::exp(4.3027 * libm::log(2.0) / 3f64.sqrt());
        assert!(
            close(typical, 4.0) && close(low, 4.0 / factor) && (high - 4.0 * factor).abs() < 1e-2,
            "{found:?}"
        );
        assert!(!found.is_significant && !found.ratio.unwrap().is_near());
        assert!((found.relative_width(1.0) - (factor - 1.0)).abs() < 1e-3);
    }

    #[test]
    fn where_a_value_is_not_above_zero_there_is_no_ratio() {
        let found = ratios(&[0.0, 1.0, 2.0], &[1.0, 2.5, 3.0]);
        assert_eq!((found.ratio, close(found.mean, 3.5 / 3.0)), (None, true));
        let pairs: Pairs = vec![(1.0, 2.0), (1.0, 4.0)];
        assert_eq!(super::differences(&[&pairs], Kind::Bare), [None]);
    }

    /// A queue that overflows: five seeds of 1 to 600 ms against 30 us. The additive interval contains zero.
    #[test]
    fn the_largest_effects_are_significant() {
        let mut random = Prng::new(11);
        let mut additive = 0;
        for _ in 0..1000 {
            let first: Vec<f64> = (0..5).map(|_| 2e8 * libm::exp(1.2 * normal(&mut random))).collect();
            let other: Vec<f64> = (0..5).map(|_| 3.4e4 * libm::exp(0.1 * normal(&mut random))).collect();
            assert!(ratios(&first, &other).is_significant);
            additive += usize::from(differences(&first, &[other])[0].is_some_and(|it| it.is_significant));
        }
        assert!(additive < 700, "differences find {additive} of 1000");
    }

    /// 2,000 comparisons of log-normal times with a typical ratio of 1.3 that each seed scatters.
    #[test]
    fn the_interval_of_a_ratio_covers_it_19_times_in_20() {
        let mut random = Prng::new(5);
        for deviation in [0.02, 0.5, 2.0] {
            let covered = (0..2000).filter(|_| {
                let first: Vec<f64> = (0..5).map(|_| libm::exp(3.0 * normal(&mut random))).collect();
                let other: Vec<f64> =
                    first.iter().map(|it| it * 1.3 * libm::exp(deviation * normal(&mut random))).collect();
                ratios(&first, &other).ratio.is_some_and(|ratio| ratio.contains(1.3))
            });
            let covered = covered.count();
            assert!((1870..=1930).contains(&covered), "{covered} of 2000 with a deviation of {deviation}");
        }
    }

    /// The largest of many values has no interval, shares are compared in points, all else by ratios.
    #[test]
    fn each_total_has_a_kind() {
        let of = |kind: Kind| -> Vec<&str> {
            let all = crate::totals::TOTALS.iter().chain(crate::totals::OF_WARMUP);
            all.map(|(name, _)| *name).filter(|name| Kind::of(name) == kind).collect()
        };
        assert_eq!(of(Kind::Bare), ["response_max_ns", "read_max_ns", "write_max_ns"]);
        let shares = of(Kind::Share);
        assert!(shares.contains(&"gc_any_share") && shares.contains(&"die_utilisation"), "{shares:?}");
        assert!(shares.contains(&"busy_share_before") && !shares.contains(&"response_mean_ns"), "{shares:?}");
        assert_eq!(of(Kind::Difference), ["warmup_unfinished"]);
    }

    /// A normal value, by Box and Muller.
    fn normal(random: &mut Prng) -> f64 {
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let (one, other) = (1.0 - uniform(), uniform());
        libm::sqrt(-2.0 * libm::log(one)) * libm::cos(std::f64::consts::TAU * other)
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
