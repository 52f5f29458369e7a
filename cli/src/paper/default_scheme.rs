//! The default scheme beside each paper's own.

use stripewise_papers::default_scheme::{Measured, Row, cells, json, markdown};
use stripewise_report::{Report, Source};

use super::Args;
use crate::context::Context;
use crate::failure::Outcome;

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let options = args.options::<Row>(context)?;
    if options.traces.is_some() {
        context.remark("skipped: real traces; the default scheme is held beside the papers' on their generated workloads");
    }
    let (mut runs, mut all) = (Vec::new(), Vec::new());
    let spans = args.evaluate_cells(&cells(&options)?, &options, context, |cell, _, finished| {
        all.push(Measured::of(cell, &finished)?);
        let name = cell.to_string();
        runs.extend(finished.into_iter().map(|run| Source { run: run.run, workload: Some(name.clone()) }));
        Ok(())
    })?;
    args.finish(Report::new(runs), json(&options.rows, &all), &markdown(&options.rows, &all), &spans, context)
}
