//! What a store has of a plan.

use std::collections::BTreeMap;

use serde_json::json;
use stripewise_results::replicate::{Decision, Why};
use stripewise_runs::{Error as StudyError, Observer};

use crate::error::Error;
use crate::plan::Plan;
use crate::point::Point;
use crate::store::{Known, StudyStore};

/// The state of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Points with at least one scheme that fits.
    pub points: u64,
    /// Points whose seeds have ended, by the reason.
    pub ended: BTreeMap<&'static str, u64>,
    /// Points with some of their runs.
    pub begun: u64,
    /// Combinations that do not fit.
    pub refused: u64,
    /// Runs of the plan in the store that count.
    pub runs: u64,
    /// Runs that their points still need at least.
    pub runs_left: u64,
    /// Runs that failed and have no result.
    pub failed: u64,
    /// Processor time of all runs in the store.
    pub cpu_ns: u64,
    /// All runs in the store, also those of other plans.
    pub stored: u64,
    /// Of those, runs whose warm-up was not over.
    pub drifting: u64,
    /// The narrowest and the widest deciding interval of points that have ended, as shares of a mean.
    pub widths: Option<(f64, f64)>,
}

impl Status {
    /// Points whose seeds have ended.
    pub fn done(&self) -> u64 {
        self.ended.values().sum()
    }

    /// The state as JSON, with the digest of the plan.
    pub fn json(&self, plan: &Plan) -> serde_json::Value {
        let width = |(narrowest, widest)| json!({ "narrowest": narrowest, "widest": widest });
        json!({
            "plan": plan.digest().to_string(),
            "points": self.points,
            "points_ended": self.ended,
            "points_begun": self.begun,
            "combinations_refused": self.refused,
            "runs": self.runs,
            "runs_left": self.runs_left,
            "runs_failed": self.failed,
            "runs_stored": self.stored,
            "runs_drifting": self.drifting,
            "cpu_ns": self.cpu_ns,
            "widths": self.widths.map(width),
        })
    }
}

/// The name of a reason.
pub fn reason(why: Why) -> &'static str {
    match why {
        Why::Fixed => "fixed",
        Why::Narrow => "narrow",
        Why::Most => "not narrow",
        Why::Exact => "exact",
    }
}

/// The values of a figure at a point: a list a scheme, from the first seed on.
pub type Values = Vec<Vec<f64>>;

/// Receives the points of a plan.
pub type Visitor<'a> = dyn FnMut(&Point, &[Values], u64) -> Result<(), Error> + 'a;

/// Visits all points. `each` gets the point, its values of each of `figures`, and the number of its combinations that do not
/// fit.
///
/// # Errors
/// When the store cannot be read; those of `each`; [`stripewise_runs::Error::Stopped`].
pub fn visit(
    plan: &Plan,
    store: &StudyStore,
    figures: &[String],
    observer: &dyn Observer,
    each: &mut Visitor<'_>,
) -> Result<Known, Error> {
    // The deciding figure comes first.
    let mut all = vec![plan.file().replicate.figure.clone()];
    all.extend(figures.iter().cloned());
    let known = store.load(&all)?;
    for cell in plan.cells() {
        if !observer.may_continue() {
            return Err(StudyError::Stopped.into());
        }
        let (fitting, refused) = plan.fitting(&cell, observer);
        if fitting == 0 {
            if !refused.is_empty() {
                each(&Point::nowhere(&cell), &[], refused.len() as u64)?;
            }
            continue;
        }
        let point = Point::look(plan, &known, &cell, fitting);
        let first = plan.file().replicate.first;
        let of_scheme = |figure: usize, scheme: usize, count: usize| -> Vec<f64> {
            let value = |seed: u64| known.get(&plan.key(&cell, scheme, first.wrapping_add(seed)));
            (0..count as u64).filter_map(value).map(|(_, values)| values[figure]).collect()
        };
        let values = (1..all.len()).map(|figure| {
            let schemes = point.schemes.iter().zip(&point.values);
            schemes.map(|(&scheme, values)| of_scheme(figure, scheme, values.len())).collect()
        });
        each(&point, &values.collect::<Vec<_>>(), refused.len() as u64)?;
    }
    Ok(known)
}

/// The state of a study.
///
/// # Errors
/// When the store cannot be read.
pub fn status(plan: &Plan, store: &StudyStore, observer: &dyn Observer) -> Result<Status, Error> {
    let mut status = Status::default();
    let known = visit(plan, store, &[], observer, &mut |point, _, refused| {
        status.refused += refused;
        if point.schemes.is_empty() {
            return Ok(());
        }
        status.points += 1;
        let schemes = point.schemes.len() as u64;
        match point.decision {
            Decision::Ends(_) => {
                status.runs += u64::from(point.seeds()) * schemes;
                *status.ended.entry(reason(point.why().unwrap_or(Why::Fixed))).or_default() += 1;
                if let Some(width) = point.width(plan) {
                    let (narrowest, widest) = status.widths.unwrap_or((width, width));
                    status.widths = Some((narrowest.min(width), widest.max(width)));
                }
            }
            Decision::Needs(seeds) => {
                status.runs += point.stored;
                status.runs_left += (u64::from(seeds) * schemes).saturating_sub(point.stored);
                status.begun += u64::from(point.stored > 0);
            }
        }
        Ok(())
    })?;
    status.stored = known.len() as u64;
    status.cpu_ns = known.iter().map(|(_, row)| row.cpu_ns).sum();
    status.drifting = known.iter().filter(|(_, row)| row.is_drifting).count() as u64;
    status.failed = store.failures()?.keys().filter(|key| known.get(key).is_none()).count() as u64;
    Ok(status)
}

#[cfg(test)]
mod tests;
