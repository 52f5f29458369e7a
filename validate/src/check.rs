//! What a check is, and what it finds.

use std::path::PathBuf;

use crate::bend::Bend;

/// How much work a check may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds: what the tests run.
    Quick,
    /// Minutes in all: what the page shows.
    Full,
}

/// What a check works with.
#[derive(Clone, Debug)]
pub struct Lab {
    /// How much work it may take.
    pub effort: Effort,
    /// Seed of all that is random.
    pub seed: u64,
    /// A flaw in the model under test, to prove that the check would find it.
    pub bend: Option<Bend>,
    /// Where real traces are, if they are.
    pub traces: Option<PathBuf>,
}

impl Lab {
    /// One or the other, by effort.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        match self.effort {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// One check: a claim of theory or of another simulator, held against ours.
#[derive(Debug)]
pub struct Check {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its heading on the page.
    pub title: &'static str,
    /// What is compared with what, by which source, and how close it must be.
    pub about: &'static str,
    /// Flaws that it must find.
    pub bends: &'static [Bend],
    /// Carries it out.
    pub run: fn(&Lab) -> anyhow::Result<Vec<Row>>,
}

/// What a figure is counted in.
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
pub struct Row {
    /// The case.
    pub case: String,
    /// What figures are counted in.
    pub unit: Unit,
    /// What theory or the peer says.
    pub expected: Expected,
    /// What we measure; `None` when it was not done.
    pub measured: Option<f64>,
    /// More to say: how uncertain the measurement is, why it was not done.
    pub note: String,
}

/// What theory or a peer says, and what is near enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// This, give or take so much.
    About {
        /// What it says.
        value: f64,
        /// So far off is near enough.
        give: f64,
    },
    /// Something from the first to the second.
    Between(f64, f64),
    /// No more than this.
    AtMost(f64),
    /// Nothing: the case could not be carried out here.
    Nothing,
}

/// How a comparison ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As theory or the peer says.
    Agrees,
    /// Not so.
    Differs,
    /// Not carried out.
    Skipped,
}

impl Row {
    fn new(case: impl Into<String>, unit: Unit, expected: Expected, measured: f64) -> Self {
        Self { case: case.into(), unit, expected, measured: Some(measured), note: String::new() }
    }

    /// Must be the same.
    pub fn exact(case: impl Into<String>, unit: Unit, value: f64, measured: f64) -> Self {
        Self::new(case, unit, Expected::About { value, give: 0.0 }, measured)
    }

    /// Must be within this share of `value`.
    pub fn within(case: impl Into<String>, unit: Unit, value: f64, share: f64, measured: f64) -> Self {
        Self::new(case, unit, Expected::About { value, give: (value * share).abs() }, measured)
    }

    /// Its confidence interval must hold `value`.
    pub fn interval(case: impl Into<String>, unit: Unit, value: f64, mean: crate::stats::Mean) -> Self {
        Self::new(case, unit, Expected::About { value, give: mean.half_width }, mean.value)
    }

    /// Must lie from `low` to `high`.
    pub fn between(case: impl Into<String>, unit: Unit, low: f64, high: f64, measured: f64) -> Self {
        Self::new(case, unit, Expected::Between(low, high), measured)
    }

    /// Must not exceed `bound`.
    pub fn at_most(case: impl Into<String>, unit: Unit, bound: f64, measured: f64) -> Self {
        Self::new(case, unit, Expected::AtMost(bound), measured)
    }

    /// Was not carried out, and why.
    pub fn skipped(case: impl Into<String>, reason: impl Into<String>) -> Self {
        let (unit, expected) = (Unit::Count, Expected::Nothing);
        Self { case: case.into(), unit, expected, measured: None, note: reason.into() }
    }

    /// The same with something more to say.
    pub fn noting(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// How it ends.
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

    fn verdict(row: Row) -> Verdict {
        row.verdict()
    }

    #[test]
    fn a_row_agrees_within_what_it_gives_and_not_beyond() {
        assert_eq!(verdict(Row::exact("x", Unit::Count, 3.0, 3.0)), Verdict::Agrees);
        assert_eq!(verdict(Row::exact("x", Unit::Count, 3.0, 4.0)), Verdict::Differs);
        assert_eq!(verdict(Row::within("x", Unit::Ns, 100.0, 0.02, 102.0)), Verdict::Agrees);
        assert_eq!(verdict(Row::within("x", Unit::Ns, 100.0, 0.02, 102.1)), Verdict::Differs);
        assert_eq!(verdict(Row::between("x", Unit::Ratio, 2.0, 3.0, 1.9)), Verdict::Differs);
        assert_eq!(verdict(Row::at_most("x", Unit::Ratio, 2.0, 2.0)), Verdict::Agrees);
        assert_eq!(verdict(Row::at_most("x", Unit::Ratio, 2.0, 2.1)), Verdict::Differs);
    }

    #[test]
    fn what_was_not_measured_or_is_not_certain_never_agrees() {
        assert_eq!(verdict(Row::skipped("x", "no trace")), Verdict::Skipped);
        let unsure = Mean { value: 1.0, half_width: f64::INFINITY };
        assert_eq!(verdict(Row::interval("x", Unit::Ns, 1.0, unsure)), Verdict::Differs);
        assert_eq!(verdict(Row::within("x", Unit::Ns, 1.0, 0.1, f64::NAN)), Verdict::Differs);
    }
}
