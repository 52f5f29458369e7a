//! The search for the speed at which a metric of a workload meets its target.

use crate::document;
use crate::error::Error;
use crate::paper::{EvaluationOptions, Paper};
use crate::plan::Draft;
use crate::point::{Measured, StudyPoint};
use crate::speed::{Calibration, REAL_TIME};

/// The search for the speed of one workload.
#[derive(Debug)]
pub struct Search<'p> {
    paper: &'p Paper,
    spec: &'p document::Search,
    draft: Draft<'p>,
    calibration: Calibration,
}

impl Paper {
    /// A search for each workload, in order; none where the paper searches for no speed.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn searches<'p>(&'p self, options: &EvaluationOptions) -> Result<Vec<Search<'p>>, Error> {
        let Some(spec) = &self.document.search else { return Ok(Vec::new()) };
        let mut all: Vec<Search<'p>> = Vec::new();
        for mut draft in self.drafts(options) {
            draft.set(&spec.set);
            if all.iter().any(|search| search.draft.is_of_workload_of(&draft)) {
                continue;
            }
            let Some(point) = self.point(draft.at(REAL_TIME), options)? else { continue };
            let target = self.language.expression(&spec.target, &point.names())?;
            let target = f64::try_from(target).map_err(|error| self.language.error(&spec.target, error))?;
            all.push(Search { paper: self, spec, draft, calibration: Calibration::new(target) });
        }
        Ok(all)
    }

    /// The study points of a workload at a speed-up in hundredths.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn points_at(
        &self,
        workload: &str,
        hundredths: u64,
        options: &EvaluationOptions,
    ) -> Result<Vec<StudyPoint>, Error> {
        let mut points = Vec::new();
        for draft in self.drafts(options) {
            points.extend(self.point(draft.at(hundredths), options)?);
        }
        points.retain(|point| point.text("workload") == workload);
        Ok(points)
    }
}

impl Search<'_> {
    /// The study point whose runs say whether the present speed is the one.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn point(&self, options: &EvaluationOptions) -> Result<Vec<StudyPoint>, Error> {
        Ok(self.paper.point(self.draft.at(self.calibration.speed()), options)?.into_iter().collect())
    }

    /// Takes what was measured at the present speed. Returns whether to try again.
    ///
    /// # Errors
    /// What is wrong in the paper's file: an unknown metric.
    pub fn take(&mut self, measured: &Measured) -> Result<bool, Error> {
        let found = measured.0.value(&self.spec.scheme, &self.spec.metric).and_then(f64::try_from);
        let found = found.map_err(|error| {
            let reason = error.detail().unwrap_or("a metric is a number").to_owned();
            self.paper.language.error(&self.spec.metric, reason)
        })?;
        Ok(self.calibration.take(found))
    }

    /// The study points of the workload at the speed that was found.
    ///
    /// # Errors
    /// What is wrong in the paper's file.
    pub fn points(&self, options: &EvaluationOptions) -> Result<Vec<StudyPoint>, Error> {
        let mut points = Vec::new();
        for draft in self.paper.drafts(options).iter().filter(|draft| draft.is_of_workload_of(&self.draft)) {
            points.extend(self.paper.point(draft.at(self.calibration.speed()), options)?);
        }
        Ok(points)
    }
}
