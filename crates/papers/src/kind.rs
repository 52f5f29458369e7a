//! How the numbers of a claim are compared between seeds.
//!
//! Times, rates and counts are compared by their ratio, as everywhere ([`stripewise_results::paired`]): the typical value
//! of a ratio is a geometric mean, and its interval is that of the mean logarithm. A gain is 1 minus a ratio.

use std::str::FromStr;

use stripewise_base::suggest::unknown;
use stripewise_results::paired::margin;

/// What a number of a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 1 minus a ratio: 0.25 is a quarter less.
    Gain,
    /// A ratio minus 1: 0.25 is a quarter more.
    Change,
    /// A ratio, or a value that is compared by ratios: a time, a count.
    Ratio,
    /// Compared by differences: shares, and what may be 0 or negative.
    Difference,
}

impl Kind {
    const ALL: [(&'static str, Self); 4] = [
        ("gain", Self::Gain),
        ("change", Self::Change),
        ("ratio", Self::Ratio),
        ("difference", Self::Difference),
    ];

    /// The ratio that a number stands for; none of a difference.
    fn ratio(self, number: f64) -> Option<f64> {
        match self {
            Self::Gain => Some(1.0 - number),
            Self::Change => Some(1.0 + number),
            Self::Ratio => Some(number),
            Self::Difference => None,
        }
    }

    /// The number that stands for a ratio.
    fn number(self, ratio: f64) -> f64 {
        match self {
            Self::Gain => 1.0 - ratio,
            Self::Change => ratio - 1.0,
            Self::Ratio | Self::Difference => ratio,
        }
    }

    /// Lower end, typical value and upper end of a number over several seeds. Where a ratio is not above zero, they are those of
    /// the differences. None for one seed.
    pub(crate) fn interval(self, seeds: &[f64]) -> Option<[f64; 3]> {
        let first = *seeds.first()?;
        if seeds.len() > 1 && seeds.iter().all(|number| *number == first) {
            return Some([first; 3]);
        }
        let logarithm = |number: &f64| self.ratio(*number).filter(|ratio| *ratio > 0.0).map(libm::log);
        let Some(logarithms) = seeds.iter().map(logarithm).collect::<Option<Vec<f64>>>() else {
            let (mean, margin) = (mean(seeds), margin(seeds)?);
            return Some([mean - margin, mean, mean + margin]);
        };
        let (mean, margin) = (mean(&logarithms), margin(&logarithms)?);
        let mut ends = [mean - margin, mean, mean + margin].map(|it| self.number(libm::exp(it)));
        if self == Self::Gain {
            ends.reverse();
        }
        Some(ends)
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, kind)| kind).ok_or_else(|| unknown("kind", text, &Self::ALL.map(|(name, _)| name)))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<[f64; 3]>, expected: [f64; 3]) -> bool {
        found.is_some_and(|found| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3))
    }

    /// By hand: ratios 1/2, 1/4 and 1/8, so 1/4 typically, times or over exp(4.3027 ln 2 / sqrt 3) = 5.5948.
    #[test]
    fn a_gain_is_1_minus_the_typical_ratio() {
        let found = Kind::Gain.interval(&[0.5, 0.75, 0.875]);
        assert!(close(found, [1.0 - 0.25 * 5.5948, 0.75, 1.0 - 0.25 / 5.5948]), "{found:?}");
        let less = Kind::Change.interval(&[-0.5, -0.75, -0.875]);
        assert!(close(less, [0.25 / 5.5948 - 1.0, -0.75, 0.25 * 5.5948 - 1.0]), "{less:?}");
        let ratio = Kind::Ratio.interval(&[0.5, 0.25, 0.125]);
        assert!(close(ratio, [0.25 / 5.5948, 0.25, 0.25 * 5.5948]), "{ratio:?}");
    }

    /// By hand: standard error 1 / sqrt(3), and 4.3027 for two degrees of freedom.
    #[test]
    fn what_has_no_logarithm_is_compared_by_differences() {
        let expected = [2.0 - 2.4841, 2.0, 2.0 + 2.4841];
        assert!(close(Kind::Difference.interval(&[1.0, 2.0, 3.0]), expected));
        assert!(close(Kind::Gain.interval(&[1.0, 2.0, 3.0]), expected), "nothing is left in a seed");
        assert!(close(Kind::Ratio.interval(&[-1.0, 0.0, 1.0]), [-2.4841, 0.0, 2.4841]));
    }

    #[test]
    fn equal_seeds_keep_their_value_and_one_seed_has_no_interval() {
        assert_eq!(Kind::Gain.interval(&[0.1; 3]), Some([0.1; 3]));
        assert_eq!(Kind::Gain.interval(&[0.1]), None);
        assert!("gian".parse::<Kind>().unwrap_err().contains("did you mean `gain`?"));
    }
}
