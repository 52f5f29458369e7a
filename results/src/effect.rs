//! An effect in words: `-12.3 [-15.0, -9.1]` in percent, `÷6,500 [2,900, 15,000]`, or a difference.

use crate::paired::{Difference, Kind, Ratio};
use crate::summary::significant;

/// The sign that marks a significant effect.
pub const STAR: &str = "*";

/// What an effect says, without its star.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Percent of change, with the ends of the interval.
    Percent(f64, f64, f64),
    /// A factor beyond two, with the ends of the interval.
    Factor(Ratio),
    /// Points of a share, with half the width of the interval.
    Points(f64, f64),
    /// A difference in the unit of the total, with half the width of its interval.
    Plain(f64, f64),
}

impl Effect {
    /// The effect on a total of that kind.
    pub fn of(kind: Kind, found: &Difference) -> Self {
        match (found.ratio, kind) {
            (Some(ratio), _) if ratio.is_near() => {
                let percent = |ratio: f64| (ratio - 1.0) * 100.0;
                Self::Percent(percent(ratio.typical), percent(ratio.low), percent(ratio.high))
            }
            (Some(ratio), _) => Self::Factor(ratio),
            (None, Kind::Share) => Self::Points(found.mean * 100.0, found.margin * 100.0),
            (None, _) => Self::Plain(found.mean, found.margin),
        }
    }
}

/// A factor with its interval: `÷6,500 [2,900, 15,000]` where all of it is below 1, `×1.7 [0.90, 3.2]` otherwise.
pub fn factor(ratio: Ratio) -> String {
    let Ratio { typical, low, high } = ratio;
    let (sign, typical, low, high) =
        if high < 1.0 { ('÷', 1.0 / typical, 1.0 / high, 1.0 / low) } else { ('×', typical, low, high) };
    match low == high {
        true => format!("{sign}{}", two(typical)),
        false => format!("{sign}{} [{}, {}]", two(typical), two(low), two(high)),
    }
}

/// A ratio of two means, as [`factor`] shows one.
pub fn of_means(ratio: f64) -> String {
    if ratio < 1.0 { format!("÷{}", two(1.0 / ratio)) } else { format!("×{}", two(ratio)) }
}

/// Two significant digits: an interval over a few seeds knows no more.
fn two(value: f64) -> String {
    let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    match rounded {
        rounded if rounded >= 100.0 => significant(rounded).split('.').next().unwrap_or_default().to_owned(),
        rounded if rounded >= 10.0 => format!("{rounded:.0}"),
        rounded if rounded >= 1.0 => format!("{rounded:.1}"),
        rounded => significant(rounded).trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(typical: f64, low: f64, high: f64) -> Ratio {
        Ratio { typical, low, high }
    }

    #[test]
    fn a_factor_has_two_digits_and_its_interval() {
        assert_eq!(factor(ratio(1.0 / 6512.0, 1.0 / 14_960.0, 1.0 / 2_911.0)), "÷6,500 [2,900, 15,000]");
        assert_eq!(factor(ratio(2.52, 1.38, 4.61)), "×2.5 [1.4, 4.6]");
        assert_eq!(factor(ratio(0.55, 0.1, 3.04)), "×0.55 [0.1, 3.0]");
        assert_eq!(factor(ratio(40.4, 40.4, 40.4)), "×40");
        assert_eq!((of_means(1.0 / 7_700.0), of_means(3.0)), ("÷7,700".to_owned(), "×3.0".to_owned()));
    }

    #[test]
    fn percent_where_the_interval_is_within_a_factor_of_two() {
        let found =
            |ratio| Difference { mean: 5.0, margin: 1.0, ratio, is_significant: true, is_constant: false };
        let near = Effect::of(Kind::Ratio, &found(Some(ratio(0.75, 0.5, 1.5))));
        assert_eq!(near, Effect::Percent(-25.0, -50.0, 50.0));
        let far = ratio(0.75, 0.49, 1.5);
        assert_eq!(Effect::of(Kind::Ratio, &found(Some(far))), Effect::Factor(far));
        assert_eq!(Effect::of(Kind::Share, &found(None)), Effect::Points(500.0, 100.0));
        assert_eq!(Effect::of(Kind::Ratio, &found(None)), Effect::Plain(5.0, 1.0));
    }
}
