//! `compare --until`: seeds until the intervals of a figure are narrow.

use std::num::NonZero;
use std::str::FromStr;

use stripewise_results::Figure;
use stripewise_results::paired::Kind;
use stripewise_results::replicate::{Decision, Ended, Narrow, Of, Rule, Why};
use stripewise_runs::{Comparison, Error, Finished};
use stripewise_study::{BARE, Replicate, figure_of, reason};

use crate::comparison;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::human;
use crate::progress::Progress;

/// A figure, and how narrow its intervals are to be, as a share of a mean.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Until {
    pub(crate) figure: String,
    share: f64,
}

impl FromStr for Until {
    type Err = String;

    /// `FIGURE=RELATIVE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected FIGURE=RELATIVE, as in p99_ns=5% or p99_ns=0.05".to_owned();
        let (figure, share) = text.split_once('=').ok_or_else(expected)?;
        let (number, whole) = share.strip_suffix('%').map_or((share, 1.0), |number| (number, 100.0));
        let share = number.trim().parse::<f64>().ok().map(|number| number / whole);
        let share = share.filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(expected)?;
        let figure = figure_of(figure.trim())?;
        if Kind::of(&figure) == Kind::Bare {
            return Err(BARE.to_owned());
        }
        Ok(Self { figure, share })
    }
}

impl Until {
    /// The rule of a comparison with these intervals.
    pub(crate) fn rule(&self, least: NonZero<u32>) -> Outcome<Rule> {
        let least = least.get();
        let rule = Rule::until(
            Narrow::Relative(self.share),
            Replicate::CONFIDENCE,
            least,
            Replicate::SEEDS,
            Replicate::MOST.max(least),
        );
        rule.map_err(|_| {
            Failure::usage("--until needs --seeds 3 or more: two seeds say too little of their deviation")
        })
    }

    /// What the seeds are, for people.
    pub(crate) fn describe(&self, rule: &Rule) -> String {
        let (least, most) = rule.range();
        format!("{least} to {most}, until intervals are ±{} % of {} or less", self.share * 100.0, self.figure)
    }
}

/// The runs of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Scheme by scheme, each with all its seeds.
    pub(crate) finished: Vec<Finished>,
    /// The runs that failed, with their schemes.
    pub(crate) failures: Vec<(String, Error)>,
    /// The end of the seeds; none if their number was fixed, or if a run failed.
    pub(crate) ended: Option<Ended>,
}

impl Made {
    /// Makes the runs of a comparison with a fixed number of seeds.
    pub(crate) fn fixed(comparison: &Comparison, threads: usize, context: &Context<'_>) -> Self {
        let mut made = Self::default();
        for (scheme, outcome) in comparison.schemes().zip(comparison::run(comparison, threads, context)) {
            match outcome {
                Ok(run) => made.finished.push(run),
                Err(error) => made.failures.push((scheme.to_owned(), error)),
            }
        }
        made
    }

    /// Makes runs of `schemes` schemes with seeds until their intervals are narrow. `comparison` gives that of some
    /// more seeds: how many there were before, and how many come.
    pub(crate) fn until(
        until: &Until,
        rule: &Rule,
        schemes: usize,
        comparison: &dyn Fn(u32, NonZero<u32>) -> Outcome<Comparison>,
        threads: usize,
        context: &Context<'_>,
    ) -> Outcome<Self> {
        let of = if schemes > 1 { Of::DifferencesFrom(0) } else { Of::Means };
        let mut runs: Vec<Vec<Finished>> = (0..schemes).map(|_| Vec::new()).collect();
        let (mut values, mut made, mut seeds) = (vec![Vec::new(); schemes], Self::default(), 0);
        while made.failures.is_empty() {
            let taken: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
            let is_exact = |count: u32| {
                let same = |runs: &Vec<Finished>| {
                    let digest = |run: &Finished| run.run.results_digest();
                    runs.iter().take(count as usize).all(|run| digest(run) == digest(&runs[0]))
                };
                runs.iter().all(same)
            };
            let more = match rule.decide(of, Kind::of(&until.figure), &taken, is_exact) {
                Decision::Needs(needed) => NonZero::new(needed.saturating_sub(seeds)),
                Decision::Ends(ended) => {
                    made.ended = Some(ended);
                    None
                }
            };
            let Some(more) = more else { break };
            let comparison = comparison(seeds, more)?;
            let outcomes = comparison::make(&comparison, threads, &Progress::new(context.quiet));
            for (at, (scheme, outcome)) in comparison.schemes().zip(outcomes).enumerate() {
                let place = at / more.get() as usize;
                match outcome {
                    Ok(run) => {
                        values[place].push(figure(&run, &until.figure)?);
                        runs[place].push(run);
                    }
                    Err(error) => made.failures.push((scheme.to_owned(), error)),
                }
            }
            seeds += more.get();
        }
        made.finished = runs.into_iter().flatten().collect();
        Ok(made)
    }

    /// Why the seeds ended, for programs.
    pub(crate) fn json(&self, figure: &str) -> Option<serde_json::Value> {
        let Ended { seeds, why } = self.ended.as_ref()?;
        Some(serde_json::json!({ "figure": figure, "seeds": seeds, "ended": reason(*why) }))
    }

    /// Why the seeds ended, for people.
    pub(crate) fn describe(&self, figure: &str) -> Option<String> {
        let Ended { seeds, why } = self.ended.as_ref()?;
        let why = match why {
            Why::Exact => "no seed changes anything".to_owned(),
            Why::Most => format!("the intervals of {figure} are NOT as narrow as asked"),
            Why::Narrow | Why::Fixed => format!("the intervals of {figure} are narrow"),
        };
        Some(format!("seeds     {}: {why}", human::count(u64::from(*seeds))))
    }
}

fn figure(run: &Finished, name: &str) -> Outcome<f64> {
    match run.entry()?.totals.get(name) {
        Some(Figure::Count(count)) => Ok(count as f64),
        Some(Figure::Real(real)) => Ok(real),
        None => Err(Failure::failed(format!("{}, seed {}: it has no total {name}", run.scheme, run.seed))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_a_share_or_in_percent_of_a_figure() {
        let read = |text: &str| text.parse::<Until>();
        let expected = Until { figure: "response_p99_ns".to_owned(), share: 0.05 };
        for text in ["p99_ns=5%", "response_p99_ns=0.05", "p99_ns = 5 %"] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
        for wrong in ["p99_ns", "p99_ns=", "p99_ns=0", "p99_ns=5", "p99_ns=-1%", "p99_ns=nan"] {
            assert!(read(wrong).unwrap_err().contains("p99_ns=5%"), "{wrong}");
        }
        assert!(read("max_ns=5%").unwrap_err().contains("take a percentile"));
        assert!(read("p99=5%").unwrap_err().contains("did you mean `response_p99_ns`?"));
    }
}
