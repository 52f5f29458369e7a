//! The definition of a check, and its results.

use std::path::PathBuf;

use crate::bend::Bend;

/// How much work a check may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds: for the tests.
    Quick,
    /// Minutes in total: for the page.
    Full,
}

/// The environment of a check.
#[derive(Clone, Debug)]
pub struct Lab {
    /// How much work it may take.
    pub effort: Effort,
    /// Seed of all random choices.
    pub seed: u64,
    /// A flaw in the model under test, to prove that the check would find it.
    pub bend: Option<Bend>,
    /// The directory of real traces, if there is one.
    pub traces: Option<PathBuf>,
}

impl Lab {
    /// One of the values, by effort.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        match self.effort {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// One check: a claim of theory or of another simulator, compared with ours.
#[derive(Debug)]
pub struct Check {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its heading on the page.
    pub title: &'static str,
    /// The compared values, the source, and the required accuracy.
    pub about: &'static str,
    /// Flaws that it must find.
    pub bends: &'static [Bend],
    /// Runs the check.
    pub run: fn(&Lab) -> anyhow::Result<Vec<ResultRow>>,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, shown as microseconds.
    Ns,
    /// A count.
    Count,
    /// A ratio or a mean without unit.
    Ratio,
    /// Operations a second.
    PerSecond,
}

/// One comparison.
#[derive(Clone, Debug)]
pub struct ResultRow {
    /// The case.
    pub case: String,
    /// The unit of the figures.
    pub unit: Unit,
    /// The prediction of theory or of the peer.
    pub expected: Expected,
    /// Our measurement; `None` when it was skipped.
    pub measured: Option<f64>,
    /// A note: the uncertainty of the measurement, or why it was skipped.
    pub note: String,
}

/// The prediction of theory or of a peer, and the tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// This value, within a tolerance.
    About {
        /// The predicted value.
        value: f64,
        /// The tolerance.
        give: f64,
    },
    /// A value from the first to the second.
    Between(f64, f64),
    /// No more than this.
    AtMost(f64),
    /// No prediction: the case could not run here.
    Nothing,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measurement agrees with the prediction.
    Agrees,
    /// The measurement differs from the prediction.
    Differs,
    /// The case did not run.
    Skipped,
}

impl ResultRow {
    fn new(case: impl Into<String>, unit: Unit, expected: Expected, measured: f64) -> Self {
        Self { case: case.into(), unit, expected, measured: Some(measured), note: String::new() }
    }

    /// A comparison in which both values must be equal.
    pub fn exact(case: impl Into<String>, unit: Unit, value: f64, measured: f64) -> Self {
        Self::new(case, unit, Expected::About { value, give: 0.0 }, measured)
    }

    /// A comparison in which the measurement must be within this share of `value`.
    pub fn within(case: impl Into<String>, unit: Unit, value: f64, share: f64, measured: f64) -> Self {
        Self::new(case, unit, Expected::About { value, give: (value * share).abs() }, measured)
    }

    /// A comparison in which the confidence interval must contain `value`.
    pub fn interval(case: impl Into<String>, unit: Unit, value: f64, mean: crate::stats::Mean) -> Self {
        Self::new(case, unit, Expected::About { value, give: mean.half_width }, mean.value)
    }

    /// A comparison in which the measurement must lie from `low` to `high`.
    pub fn between(case: impl Into<String>, unit: Unit, low: f64, high: f64, measured: f64) -> Self {
        Self::new(case, unit, Expected::Between(low, high), measured)
    }

    /// A comparison in which the measurement must not exceed `bound`.
    pub fn at_most(case: impl Into<String>, unit: Unit, bound: f64, measured: f64) -> Self {
        Self::new(case, unit, Expected::AtMost(bound), measured)
    }

    /// A skipped comparison, with the reason.
    pub fn skipped(case: impl Into<String>, reason: impl Into<String>) -> Self {
        let (unit, expected) = (Unit::Count, Expected::Nothing);
        Self { case: case.into(), unit, expected, measured: None, note: reason.into() }
    }

    /// The same comparison with a note.
    pub fn noting(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// The result of the comparison.
    pub fn verdict(&self) -> Verdict {
        let Some(measured) = self.measured else { return Verdict::Skipped };
        let agrees = match self.expected {
            Expected::About { value, give } => (measured - value).abs() <= give && give.is_finite(),
            Expected::Between(low, high) => (low..=high).contains(&measured),
            Expected::AtMost(bound) => measured <= bound,
            Expected::Nothing => false,
        };
        if agrees { Verdict::Agrees } else { Verdict::Differs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Mean;

    fn verdict(row: ResultRow) -> Verdict {
        row.verdict()
    }

    #[test]
    fn a_row_agrees_within_what_it_gives_and_not_beyond() {
        assert_eq!(verdict(ResultRow::exact("x", Unit::Count, 3.0, 3.0)), Verdict::Agrees);
        assert_eq!(verdict(ResultRow::exact("x", Unit::Count, 3.0, 4.0)), Verdict::Differs);
        assert_eq!(verdict(ResultRow::within("x", Unit::Ns, 100.0, 0.02, 102.0)), Verdict::Agrees);
        assert_eq!(verdict(ResultRow::within("x", Unit::Ns, 100.0, 0.02, 102.1)), Verdict::Differs);
        assert_eq!(verdict(ResultRow::between("x", Unit::Ratio, 2.0, 3.0, 1.9)), Verdict::Differs);
        assert_eq!(verdict(ResultRow::at_most("x", Unit::Ratio, 2.0, 2.0)), Verdict::Agrees);
        assert_eq!(verdict(ResultRow::at_most("x", Unit::Ratio, 2.0, 2.1)), Verdict::Differs);
    }

    #[test]
    fn what_was_not_measured_or_is_not_certain_never_agrees() {
        assert_eq!(verdict(ResultRow::skipped("x", "no trace")), Verdict::Skipped);
        let unsure = Mean { value: 1.0, half_width: f64::INFINITY };
        assert_eq!(verdict(ResultRow::interval("x", Unit::Ns, 1.0, unsure)), Verdict::Differs);
        assert_eq!(verdict(ResultRow::within("x", Unit::Ns, 1.0, 0.1, f64::NAN)), Verdict::Differs);
    }
}
