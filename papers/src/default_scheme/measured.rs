//! What the runs of a contest measured.

use stripewise_results::{Error, Figures};
use stripewise_study::Finished;

use super::plan::{Cell, PlannedClaim};
use crate::text::total;

/// The runs of one study: the paper's own scheme, the default, and the default acknowledging when that scheme does.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One of the results that it serves.
    pub row: PlannedClaim,
    /// The workload.
    pub workload: String,
    /// Totals, in the order of the schemes.
    pub runs: Vec<Figures>,
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
        let runs = finished.iter().map(|run| run.run.totals()).collect::<Result<_, _>>()?;
        Ok(Self { row: cell.row, workload: cell.workload.clone(), runs })
    }

    /// A total of a run, 0 where it has none of that name.
    pub fn value(&self, side: Side, name: &str) -> f64 {
        let run = self.runs.get(side as usize).or(self.runs.last());
        run.map_or(0.0, |run| total(run, name))
    }

    /// How much less `side` has of a total than the paper's own scheme; none where that has none of it.
    pub fn gain(&self, side: Side, name: &str) -> Option<f64> {
        let (ours, own) = (self.value(side, name), self.value(Side::Own, name));
        (own > 0.0).then(|| 1.0 - ours / own)
    }
}

/// The mean over the workloads of a result of how much less `side` has of a total than the paper's own scheme.
pub fn mean_gain(measured: &[Measured], row: PlannedClaim, side: Side, name: &str) -> Option<f64> {
    let of_paper = measured.iter().filter(|one| one.row.paper() == row.paper());
    let gains: Vec<f64> = of_paper.filter_map(|one| one.gain(side, name)).collect();
    crate::text::mean_of(&gains)
}
