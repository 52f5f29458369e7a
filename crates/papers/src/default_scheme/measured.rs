//! What the runs of a contest measured.

use stripewise_results::{Error, Figures};
use stripewise_runs::Finished;

use super::plan::{Cell, PlannedClaim};
use crate::gain::Gain;
use crate::text::{mean_of, total};

/// The runs of one study: the paper's own scheme, the default, and the default acknowledging when that scheme does.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One of the results that it serves.
    pub row: PlannedClaim,
    /// The workload.
    pub workload: String,
    /// Totals, in the order of the schemes, each with all seeds.
    pub runs: Vec<Vec<Figures>>,
}

/// The place of a scheme among the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The paper's own.
    Own,
    /// The default.
    Default,
    /// The default, acknowledging when the paper's own scheme does: the default itself, where that has a cache too.
    Alike,
}

impl Measured {
    /// What `finished`, the runs of `cell`, measured.
    ///
    /// # Errors
    /// When their totals cannot be read.
    pub fn of(cell: &Cell, finished: &[Finished]) -> Result<Self, Error> {
        let totals = finished.iter().map(|run| run.run.totals()).collect::<Result<Vec<_>, _>>()?;
        let runs = totals.chunks(cell.spec.seeds.get() as usize).map(<[Figures]>::to_vec).collect();
        Ok(Self { row: cell.row, workload: cell.workload.clone(), runs })
    }

    fn values(&self, side: Side, name: &str) -> Vec<f64> {
        let runs = self.runs.get(side as usize).or(self.runs.last());
        runs.into_iter().flatten().map(|run| total(run, name)).collect()
    }

    /// The mean of a total over the seeds, 0 where it has none of that name.
    pub fn value(&self, side: Side, name: &str) -> f64 {
        mean_of(&self.values(side, name)).unwrap_or(0.0)
    }

    /// For each seed, how much less `side` has of a total than the paper's own scheme; none where that has none of it with any.
    fn gains(&self, side: Side, name: &str) -> Option<Vec<f64>> {
        let (ours, own) = (self.values(side, name), self.values(Side::Own, name));
        own.iter().zip(&ours).map(|(own, ours)| (*own > 0.0).then(|| 1.0 - ours / own)).collect()
    }

    /// How much less `side` has of a total than the paper's own scheme; none where that has none of it.
    pub fn gain(&self, side: Side, name: &str) -> Option<Gain> {
        Gain::of(&self.gains(side, name)?)
    }
}

/// The mean over the workloads of a result of how much less `side` has of a total than the paper's own scheme.
pub fn mean_gain(measured: &[Measured], row: PlannedClaim, side: Side, name: &str) -> Option<Gain> {
    let of_paper = measured.iter().filter(|one| one.row.paper() == row.paper());
    let gains: Vec<Vec<f64>> = of_paper.filter_map(|one| one.gains(side, name)).collect();
    let seeds = gains.iter().map(Vec::len).min()?;
    let of_seed = |seed: usize| mean_of(&gains.iter().map(|gains| gains[seed]).collect::<Vec<_>>());
    Gain::of(&(0..seeds).map(of_seed).collect::<Option<Vec<_>>>()?)
}
