//! The default scheme beside each paper's own.

use stripewise_papers::default_scheme::{Cell, Measured, PlannedClaim, cells, json, markdown};
use stripewise_report::{Report, Source};

use super::Args;
use crate::context::Context;
use crate::failure::{Failure, Outcome};

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    if args.seeds.get() > 1 {
        return Err(Failure::usage(
            "--seeds: the default scheme is compared over one seed; leave it out, or name a paper",
        ));
    }
    let asked = args.asked("default", PlannedClaim::ids())?;
    if asked.traces.is_some() {
        context.remark("skipped: real traces; the default scheme is compared with the papers' on their generated workloads");
    }
    let (mut runs, mut all) = (Vec::new(), Vec::new());
    let spec = |cell: &Cell| Ok(cell.spec.clone());
    let spans = args.evaluate(
        &cells(&asked)?,
        context,
        |_| false,
        spec,
        |cell, _, finished| {
            all.push(Measured::of(cell, &finished)?);
            let name = cell.to_string();
            runs.extend(
                finished.into_iter().map(|run| Source { run: run.run, workload: Some(name.clone()) }),
            );
            Ok(())
        },
    )?;
    let rows = PlannedClaim::asked(&asked);
    args.finish(Report::new(runs), json(&rows, &all), &markdown(&rows, &all), None, &spans, context)
}
