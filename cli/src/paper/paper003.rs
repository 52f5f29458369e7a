//! Paper 003: write caches made for SSDs.

use stripewise_papers::paper003::{
    EVALUATED, Measured, Part, Requests, Row, cells, findings, json, markdown,
};
use stripewise_report::{Paper, Report, Source};

use super::Args;
use crate::context::Context;
use crate::failure::Outcome;

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let options = args.options::<Row>(context)?;
    let (mut runs, mut all) = (Vec::new(), Vec::new());
    let spans = args.evaluate_cells(&cells(&options), &options, context, |cell, _, finished| {
        all.push(Measured::of(cell, &finished)?);
        // What stands beside the paper's figures has a semicolon in its name. Of the grid they show some points.
        let name = match (cell.part, &cell.workload.requests) {
            (Part::Grid, Requests::Point(point)) if !EVALUATED.contains(point) => return Ok(()),
            (Part::Sweep, _) => return Ok(()),
            (Part::Wide, _) => format!("{}; heavy collections", cell.label()),
            (Part::Changing, _) => format!("{}; changing", cell.label()),
            (Part::Real, _) => format!("{}; slice", cell.label()),
            (Part::Main | Part::Grid, _) => cell.label(),
        };
        runs.extend(finished.into_iter().map(|run| Source { run: run.run, workload: Some(name.clone()) }));
        Ok(())
    })?;
    let report = Report::new(runs).figures_of(Paper::P003);
    let findings = findings(&options.rows, &all);
    args.finish(report, json(&findings, &all), &markdown(&findings, &all), &spans, context)
}
