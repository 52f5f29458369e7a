//! The default scheme beside each paper's own.

use std::num::NonZero;

use stripewise_papers::default_scheme::{Cell, Measured, PlannedClaim, cells, json, markdown};
use stripewise_report::{Report, Source};

use super::Args;
use crate::context::Context;
use crate::failure::{Failure, Outcome};

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    if args.explain.is_some() || args.judged {
        let option = if args.judged { "--judged" } else { "--explain" };
        return Err(Failure::usage(format!("{option}: the default scheme has no readings; name a paper")));
    }
    let seeds = u32::try_from(args.seeds.get()).ok().and_then(NonZero::new);
    let seeds = seeds.ok_or_else(|| Failure::usage("--seeds: give a smaller number"))?;
    let options = args.options("default", PlannedClaim::ids())?;
    if options.traces.is_some() {
        context.remark("skipped: real traces; the default scheme is compared with the papers' on their generated workloads");
    }
    let (mut runs, mut all) = (Vec::new(), Vec::new());
    let mut cells = cells(&options)?;
    cells.iter_mut().for_each(|cell| cell.spec.seeds = seeds);
    let spec = |cell: &Cell| Ok(cell.spec.clone());
    let spans = args.evaluate(
        &cells,
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
    let rows = PlannedClaim::requested(&options);
    args.finish(Some(Report::new(runs)), json(&rows, &all), &markdown(&rows, &all), None, &spans, context)
}
