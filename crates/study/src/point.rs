//! What is known about a point: the results of its seeds, and whether more are needed.

use stripewise_results::effect::{self, Effect};
use stripewise_results::paired::{Difference, Kind};
use stripewise_results::replicate::{Decision, Ended, Of, Why, mean};

use crate::plan::{Cell, Plan};
use crate::store::Known;

/// A point with its results.
#[derive(Clone, Debug)]
pub struct Point {
    /// The point.
    pub cell: Cell,
    /// The schemes that run at it, by their places in the study file.
    pub schemes: Vec<usize>,
    /// Values of the deciding figure: a list a scheme, from the first seed on, without gaps.
    pub values: Vec<Vec<f64>>,
    /// Whether more seeds are needed.
    pub decision: Decision,
    /// Runs of the seeds that are needed or have ended that the store has, those behind a gap in the seeds included.
    pub stored: u64,
}

impl Point {
    /// A point at which no scheme fits.
    pub(crate) fn nowhere(cell: &Cell) -> Self {
        let (schemes, values) = (Vec::new(), Vec::new());
        Self { cell: cell.clone(), schemes, values, decision: Decision::Needs(0), stored: 0 }
    }

    /// Looks at a point. `known` has the deciding figure first.
    pub(crate) fn look(plan: &Plan, known: &Known, cell: &Cell, fitting: u64) -> Self {
        let replicate = &plan.file().replicate;
        let schemes: Vec<usize> =
            (0..plan.file().schemes.len()).filter(|at| fitting >> at & 1 == 1).collect();
        let place = |base| schemes.iter().position(|scheme| *scheme == base).unwrap_or(0);
        let of = match replicate.of {
            Of::Means => Of::Means,
            Of::DifferencesFrom(base) => Of::DifferencesFrom(place(base)),
        };
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); schemes.len()];
        let mut results = vec![Vec::new(); schemes.len()];
        let mut needed = 0;
        loop {
            for (at, &scheme) in schemes.iter().enumerate() {
                while (values[at].len() as u32) < needed {
                    let seed = replicate.first.wrapping_add(values[at].len() as u64);
                    let Some((row, found)) = known.get(&plan.key(cell, scheme, seed)) else { break };
                    values[at].push(found[0]);
                    results[at].push(row.results);
                }
            }
            let taken: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
            let is_exact = |seeds: u32| {
                results.iter().all(|results| results[..seeds as usize].iter().all(|it| *it == results[0]))
            };
            let decision = replicate.rule.decide(of, replicate.kind(), &taken, is_exact);
            match decision {
                Decision::Needs(more) if more > needed => needed = more,
                decision => {
                    let cell = cell.clone();
                    let mut point = Self { cell, schemes, values, decision, stored: 0 };
                    point.stored = match point.decision {
                        Decision::Needs(seeds) => point.found(plan, known, 0..seeds),
                        Decision::Ends(Ended { seeds, .. }) => u64::from(seeds) * point.schemes.len() as u64,
                    };
                    return point;
                }
            }
        }
    }

    /// The seeds that count so far: those of all schemes.
    pub fn seeds(&self) -> u32 {
        match self.decision {
            Decision::Ends(Ended { seeds, .. }) => seeds,
            Decision::Needs(_) => self.values.iter().map(Vec::len).min().unwrap_or(0) as u32,
        }
    }

    /// The number of its runs with these seeds, counted from 0, that the store has.
    pub(crate) fn found(&self, plan: &Plan, known: &Known, seeds: std::ops::Range<u32>) -> u64 {
        let first = plan.file().replicate.first;
        let has = |scheme: usize, seed: u32| {
            known.get(&plan.key(&self.cell, scheme, first.wrapping_add(u64::from(seed)))).is_some()
        };
        let of = |scheme: &usize| seeds.clone().filter(|&seed| has(*scheme, seed)).count() as u64;
        self.schemes.iter().map(of).sum()
    }

    /// The seeds that are needed to decide, or that have ended.
    pub(crate) fn needs(&self) -> u32 {
        match self.decision {
            Decision::Needs(seeds) | Decision::Ends(Ended { seeds, .. }) => seeds,
        }
    }

    /// Why its seeds ended; none if they did not.
    pub fn why(&self) -> Option<Why> {
        match self.decision {
            Decision::Ends(Ended { why, .. }) => Some(why),
            Decision::Needs(_) => None,
        }
    }

    /// The width of its widest deciding interval, as a share of the mean that it refers to.
    pub(crate) fn width(&self, plan: &Plan) -> Option<f64> {
        let base = self.base(plan);
        let rows = self.rows(plan, &self.values, plan.file().replicate.kind());
        let center = rows.get(base)?.mean.abs();
        let widths = rows.iter().filter_map(|row| match plan.file().replicate.of {
            Of::Means => row.margin.map(|margin| margin / center),
            Of::DifferencesFrom(_) => row.difference.map(|difference| difference.relative_width(center)),
        });
        widths.max_by(f64::total_cmp).filter(|width| width.is_finite())
    }

    /// The place in [`Self::schemes`] of the scheme that the others are compared with.
    pub fn base(&self, plan: &Plan) -> usize {
        let Of::DifferencesFrom(base) = plan.file().replicate.of else { return 0 };
        self.schemes.iter().position(|scheme| *scheme == base).unwrap_or(0)
    }

    /// Mean and effect of each scheme for `values` of a figure of that kind, a list a scheme, over the seeds that count.
    pub fn rows(&self, plan: &Plan, values: &[Vec<f64>], kind: Kind) -> Vec<Shown> {
        let rule = &plan.file().replicate.rule;
        let seeds = self.seeds() as usize;
        let is_exact = self.why() == Some(Why::Exact);
        let taken: Vec<&[f64]> = values.iter().map(|values| &values[..seeds.min(values.len())]).collect();
        let differences = rule.differences(self.base(plan), &taken, kind);
        let row = |(values, difference): (&&[f64], Option<Difference>)| Shown {
            mean: mean(values),
            // Two equal values say nothing of chance; equal results do.
            margin: if is_exact { Some(0.0) } else { rule.margin(values) },
            difference,
        };
        taken.iter().zip(differences).map(row).collect()
    }
}

/// A scheme at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// The mean over the seeds; no number where there is no seed.
    pub mean: f64,
    /// Half the width of its interval.
    pub margin: Option<f64>,
    /// The paired difference from the scheme that the others are compared with.
    pub difference: Option<Difference>,
}

impl Shown {
    /// The typical ratio as a change in percent, or as a factor; of other kinds, the difference in percent of `base`, the mean
    /// of the scheme that the others are compared with. `-` where there is none.
    pub fn effect(&self, base: f64, kind: Kind) -> String {
        let Some(found) = self.difference else { return "-".to_owned() };
        let text = match Effect::of(kind, &found) {
            Effect::Percent(typical, low, high) => format!("{typical:+.1} [{low:+.1}, {high:+.1}]"),
            Effect::Factor(ratio) => effect::factor(ratio),
            Effect::Points(mean, margin) => format!("{mean:+.2} ±{margin:.2} points"),
            Effect::Plain(..) if base == 0.0 => return "-".to_owned(),
            Effect::Plain(mean, margin) => {
                let percent = 100.0 / base.abs();
                format!("{:+.1} ±{:.1}", mean * percent, margin * percent)
            }
        };
        let mark = match found {
            Difference { is_constant: true, .. } => ", same in all seeds",
            Difference { is_significant: true, .. } => " *",
            _ => "",
        };
        text + mark
    }
}
