//! The report of a study: figures over its axes, heat maps over two of them, the front of a search, and tables.
//!
//! A study keeps the totals of its runs alone, so its report is drawn from the means of its points, with their intervals,
//! and from the typical ratios to the scheme that the others are compared with.

mod data;
mod heat;
mod number;
mod over;
mod page;
mod search;
mod summary;

use std::path::Path;

use stripewise_results::shared;

use crate::error::Error;

pub use data::{Change, StudyAxis, StudyReport, StudyRow, StudyTotal};
pub use search::{Goal, Search, Trial};

impl StudyReport {
    /// The report as HTML.
    ///
    /// # Errors
    /// When there is neither a row nor a trial.
    pub fn html(&self) -> Result<String, Error> {
        let trials = self.search.as_ref().map_or(0, |search| search.trials.len());
        if self.rows.is_empty() && trials == 0 {
            return Err(Error::NoRuns);
        }
        Ok(page::html(self))
    }

    /// Writes the report to the file `out`, and replaces an existing file.
    ///
    /// # Errors
    /// As [`StudyReport::html`], and when the file cannot be written.
    pub fn write(&self, out: &Path) -> Result<(), Error> {
        let html = self.html()?;
        shared::replace(out, html.as_bytes()).map_err(|source| Error::Write { path: out.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::data::tests::study;
    use super::*;

    #[test]
    fn a_report_has_a_figure_over_each_axis_a_heat_map_a_summary_and_the_points() {
        let html = study().html().expect("a report");
        for id in
            ["summary", "over-1-1", "over-1-2", "over-2-1", "over-2-2", "heat-1", "heat-2", "points", "study"]
        {
            assert!(html.contains(&format!("<section id=\"{id}\"")), "{id} is missing");
        }
        assert_eq!(html.matches("<script").count(), 1, "the study file is a text");
        assert!(!html.contains("over members"), "an axis of one value is no axis");
    }

    #[test]
    fn an_axis_whose_points_are_left_out_is_none() {
        let mut study = study();
        study.rows.retain(|row| row.at[1] == 0);
        let html = study.html().expect("a report");
        assert!(html.contains("over pacing") && !html.contains("over gc.victim") && !html.contains("heat-1"));
    }

    #[test]
    fn a_study_without_results_has_no_report() {
        assert!(matches!(StudyReport { rows: Vec::new(), ..study() }.html(), Err(Error::NoRuns)));
    }
}
