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
    let (sign, typical, low, high) = match high < 1.0 && has_inverse(typical) {
        true => ('÷', 1.0 / typical, 1.0 / high, 1.0 / low),
        false => ('×', typical, low, high),
    };
    match low == high {
        true => format!("{sign}{}", two(typical)),
        false => format!("{sign}{} [{}, {}]", two(typical), two(low), two(high)),
    }
}

/// A ratio of two means, as [`factor`] shows one.
pub fn of_means(ratio: f64) -> String {
    match ratio < 1.0 && has_inverse(ratio) {
        true => format!("÷{}", two(1.0 / ratio)),
        false => format!("×{}", two(ratio)),
    }
}

/// Whether one over a ratio is a number: it is not for the smallest ones.
fn has_inverse(ratio: f64) -> bool {
    1.0 / ratio < LARGEST
}

/// From here on a number, rounded to two digits, is beyond the range of numbers.
const LARGEST: f64 = 1.75e308;

/// From here on numbers are written with an exponent: zeros and commas are hard to count.
const LARGE: f64 = 1e12;
/// The same for numbers below.
const SMALL: f64 = 1e-6;

/// Two significant digits: an interval over a few seeds knows no more. The end of an interval may have left the range of
/// numbers, and is 0 or ∞ then.
fn two(value: f64) -> String {
    let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    match rounded {
        0.0 => "0".to_owned(),
        _ if value >= LARGEST => "∞".to_owned(),
        rounded if !(SMALL..LARGE).contains(&rounded) => format!("{value:.1e}"),
        rounded if rounded >= 100.0 => significant(rounded).split('.').next().unwrap_or_default().to_owned(),
        rounded if rounded >= 10.0 => format!("{rounded:.0}"),
        rounded if rounded >= 1.0 => format!("{rounded:.1}"),
        rounded => significant(rounded).trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn the_ends_of_the_range_of_numbers_are_shown() {
        assert_eq!(factor(ratio(1e-15, 3e-16, 4e3)), "×1.0e-15 [3.0e-16, 4,000]");
        assert_eq!(factor(ratio(2e-13, 1e-14, 0.5)), "÷5.0e12 [2.0, 1.0e14]");
        assert_eq!(factor(ratio(3.0, 0.0, f64::INFINITY)), "×3.0 [0, ∞]");
        assert_eq!(factor(ratio(0.1, 0.0, 0.5)), "÷10 [2.0, ∞]");
        assert_eq!(of_means(5e-324), "×4.9e-324");
        assert_eq!(
            (of_means(5.563e-309), of_means(1.74e308)),
            ("×5.6e-309".to_owned(), "×1.7e308".to_owned())
        );
        assert_eq!(of_means(f64::MAX), "×∞");
        assert_eq!((of_means(9.99e11), of_means(1e-6)), ("×1.0e12".to_owned(), "÷1,000,000".to_owned()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        /// Every positive number, whatever its exponent, as each part of the text and as a ratio of means.
        #[test]
        fn every_ratio_is_a_number_that_is_read_as_it_was_rounded(bits in 1..LARGEST.to_bits()) {
            let value = f64::from_bits(bits);
            let read = |text: &str| text.replace(',', "").parse::<f64>().map_err(|_| format!("{value:e}: `{text}`"));
            // Half of the last of two digits, of a first digit that may be 1.
            let is_near = |value: f64, read: f64| (read - value).abs() <= 0.05 * value + f64::from_bits(1);
            for text in [two(value), factor(ratio(1.0, value, value.max(1.0)))] {
                prop_assert!(!text.ends_with('.') && !text.contains(".]") && !text.contains(".,"), "{text}");
            }
            prop_assert!(is_near(value, read(&two(value)).unwrap()), "{value:e}: {}", two(value));
            let text = of_means(value);
            let of = read(text.trim_start_matches(['÷', '×'])).unwrap();
            let shown = if text.starts_with('÷') { 1.0 / value } else { value };
            prop_assert!(is_near(shown, of), "{value:e}: {text}");
        }
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
