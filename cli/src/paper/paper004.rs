//! Paper 004: zones of several chunk sizes.

use stripewise_papers::paper004::{Measured, Part, Row, cells, findings, json, markdown};
use stripewise_report::{Paper, Report, Source};

use super::Args;
use crate::context::Context;
use crate::failure::Outcome;

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let options = args.options::<Row>(context)?;
    let (mut runs, mut all) = (Vec::new(), Vec::new());
    let spans = args.evaluate(&cells(&options), &options, context, |cell, _, finished| {
        all.push(Measured::of(cell, &finished)?);
        // What stands beside the paper's figures has a semicolon in its name.
        let mark = if cell.part == Part::Real { "; slice" } else { "" };
        let name = format!("{}{mark}", cell.label());
        runs.extend(finished.into_iter().map(|run| Source { run: run.run, workload: Some(name.clone()) }));
        Ok(())
    })?;
    let report = Report::new(runs).figures_of(Paper::P004);
    let findings = findings(&options.rows, &all);
    args.finish(report, json(&findings, &all), &markdown(&findings, &all), &spans, context)
}
