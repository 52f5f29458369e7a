//! What a printed result and a measured one have to do with each other, in a word.

use std::fmt;
use std::str::FromStr;

use stripewise_base::suggest::unknown;

/// A measured gain agrees with a printed one from this share of it ...
const SHARE: f64 = 0.25;
/// ... or from this many parts of one, whichever is more.
const PARTS: f64 = 0.03;
/// Less than this is no effect.
const NOTHING: f64 = 0.005;

/// The word, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Within a quarter of the printed value, or within 3 percentage points of it, and of its sign.
    Agrees,
    /// Of the same sign, and at least half a percentage point; but further away.
    SameDirection,
    /// Of the other sign, or no effect.
    Differs,
    /// The text does not decide how it is to be read: in how many of the readings the result agrees.
    AgreesIn {
        /// Readings in which it agrees.
        readings: usize,
        /// Readings in which it was measured.
        of: usize,
    },
    /// A parameter was fitted to this result, so that it says nothing.
    Fitted,
    /// No reading can have it together with other results that the paper prints.
    Contradicts,
    /// The paper does not print what the result depends on.
    Unknown,
    /// One seed measured it, which says nothing of chance.
    OneSeed,
    /// There is nothing to judge.
    NotMeasured,
}

impl Verdict {
    /// Those that an expression may give.
    const ALL: [Self; 4] = [Self::Agrees, Self::SameDirection, Self::Differs, Self::NotMeasured];
    /// Those that a paper's file may say of a claim, whatever is measured.
    const SETTLED: [Self; 3] = [Self::Fitted, Self::Contradicts, Self::Unknown];

    /// The worst of some words, where something was measured.
    pub(crate) fn worst(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let measured = verdicts.into_iter().filter(|word| *word != Self::NotMeasured);
        measured.max().unwrap_or(Self::NotMeasured)
    }

    /// The verdict over readings of a text that does not decide, where something was measured: the word that all of them have, or
    /// in how many of them the result agrees.
    pub(crate) fn over_readings(verdicts: &[Self]) -> Self {
        let measured = || verdicts.iter().filter(|word| **word != Self::NotMeasured);
        let Some(first) = measured().next() else { return Self::NotMeasured };
        if measured().all(|word| word == first) {
            return *first;
        }
        Self::AgreesIn {
            readings: measured().filter(|word| **word == Self::Agrees).count(),
            of: measured().count(),
        }
    }

    /// The word of a claim that no measurement can change.
    ///
    /// # Errors
    /// Any other word.
    pub(crate) fn settled(text: &str) -> Result<Self, String> {
        word_of(&Self::SETTLED, text)
    }
}

fn word_of(all: &[Verdict], text: &str) -> Result<Verdict, String> {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    let found = all.iter().find(|word| word.to_string() == text);
    found
        .copied()
        .ok_or_else(|| unknown("verdict", text, &names.iter().map(String::as_str).collect::<Vec<_>>()))
}

impl FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        word_of(&Self::ALL, text)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AgreesIn { readings, of } => return write!(f, "agrees in {readings} of {of} readings"),
            Self::Fitted => "fitted",
            Self::Contradicts => "contradicts",
            Self::Unknown => "unknown",
            Self::Agrees => "agrees",
            Self::SameDirection => "same direction",
            Self::Differs => "differs",
            Self::OneSeed => "one seed",
            Self::NotMeasured => "not measured",
        })
    }
}

/// Judges a measured gain (0.25 is 25 % better) against the printed one.
pub fn judge(printed: f64, measured: Option<f64>) -> Verdict {
    let Some(measured) = measured.filter(|measured| measured.is_finite()) else {
        return Verdict::NotMeasured;
    };
    let same_sign = measured.abs() >= NOTHING && (measured > 0.0) == (printed > 0.0);
    match (measured - printed).abs() <= (printed.abs() * SHARE).max(PARTS) {
        _ if !same_sign => Verdict::Differs,
        true => Verdict::Agrees,
        false => Verdict::SameDirection,
    }
}

/// Judges measured gains against the range that the printed ones span, both ends included: they agree when all lie in it
/// or as near to it as [`judge`] allows a single one, and have the same direction when all have its sign.
pub fn judge_range((low, high): (f64, f64), measured: &[f64]) -> Verdict {
    let one = |gain: &f64| judge(gain.clamp(low, high), Some(*gain));
    let worst = measured.iter().map(one).max();
    worst.unwrap_or(Verdict::NotMeasured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_follow_sign_and_distance() {
        assert_eq!(judge(0.248, Some(0.20)), Verdict::Agrees);
        assert_eq!(judge(0.248, Some(0.30)), Verdict::Agrees);
        assert_eq!(judge(0.248, Some(0.10)), Verdict::SameDirection);
        assert_eq!(judge(0.248, Some(0.90)), Verdict::SameDirection, "far more is no agreement");
        assert_eq!(judge(0.03, Some(0.01)), Verdict::Agrees, "within three points");
        assert_eq!(judge(0.03, Some(0.004)), Verdict::Differs, "no effect");
        assert_eq!(judge(0.03, Some(-0.01)), Verdict::Differs, "the other way, however near");
        assert_eq!(judge(0.03, Some(f64::NAN)), Verdict::NotMeasured);
        assert_eq!(judge(0.03, None), Verdict::NotMeasured);
    }

    #[test]
    fn a_range_is_met_when_every_value_is_in_or_near_it() {
        let of = |measured: &[f64]| judge_range((0.3, 0.432), measured);
        assert_eq!(of(&[0.30, 0.432, 0.35]), Verdict::Agrees);
        assert_eq!(of(&[0.23, 0.53]), Verdict::Agrees, "a quarter of the nearer end away");
        assert_eq!(of(&[0.35, 0.20]), Verdict::SameDirection);
        assert_eq!(of(&[0.35, 0.60]), Verdict::SameDirection, "far more is no agreement");
        assert_eq!(of(&[0.35, -0.01]), Verdict::Differs);
        assert_eq!(of(&[]), Verdict::NotMeasured);
    }

    #[test]
    fn readings_that_differ_are_counted() {
        use Verdict::{Agrees, AgreesIn, Differs, NotMeasured, SameDirection};
        assert_eq!(Verdict::over_readings(&[Agrees, NotMeasured, Agrees]), Agrees);
        assert_eq!(Verdict::over_readings(&[Differs, Differs]), Differs);
        assert_eq!(
            Verdict::over_readings(&[Agrees, Differs, SameDirection]),
            AgreesIn { readings: 1, of: 3 }
        );
        assert_eq!(Verdict::over_readings(&[SameDirection, Differs]), AgreesIn { readings: 0, of: 2 });
        assert_eq!(Verdict::over_readings(&[NotMeasured]), NotMeasured);
        assert_eq!(AgreesIn { readings: 1, of: 3 }.to_string(), "agrees in 1 of 3 readings");
        assert_eq!(Verdict::settled("fitted"), Ok(Verdict::Fitted));
        assert!(Verdict::settled("agrees").is_err(), "only a measurement can say so");
    }
}
