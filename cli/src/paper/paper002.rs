//! Paper 002: balanced redirected reads.

use stripewise_papers::Options;
use stripewise_papers::paper002::{
    Calibration, Measured, Row, Run, Variant, Workload, cells, findings, json, markdown, workloads,
};
use stripewise_report::{Paper, Report, Source};

use super::Args;
use crate::context::Context;
use crate::failure::Outcome;

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let options = args.options::<Row>(context)?;
    let (mut runs, mut all, mut spans) = (Vec::new(), Vec::new(), Vec::new());
    for workload in workloads(&options) {
        let Some(search) = calibrate(args, &workload, &options, context)? else { continue };
        spans.extend(args.evaluate_cells(
            &cells(&workload, search.speed(), &options),
            &options,
            context,
            |cell, _, finished| {
                all.push(Measured::of(cell, &finished)?);
                let name = cell.label();
                runs.extend(
                    finished.into_iter().map(|run| Source { run: run.run, workload: Some(name.clone()) }),
                );
                Ok(())
            },
        )?);
    }
    let report = Report::new(runs).figures_of(Paper::P002);
    let findings = findings(&options.rows, &all);
    args.finish(report, json(&findings, &all), &markdown(&findings, &all), &spans, context)
}

/// How fast a workload is sent for its chips to be as busy as they should be; none where it cannot be replayed.
fn calibrate(
    args: &Args,
    workload: &Workload,
    options: &Options<Row>,
    context: &Context<'_>,
) -> Outcome<Option<Calibration>> {
    let mut search = Calibration::new(workload.target);
    loop {
        let mut busy = None;
        args.evaluate_cells(
            &[workload.calibration(search.speed())],
            options,
            context,
            |cell, _, finished| {
                let measured = Measured::of(cell, &finished)?;
                busy = measured.run(Variant::Fifo).map(|run: &Run| run.busy[0]);
                Ok(())
            },
        )?;
        // Left out, and said so.
        let Some(busy) = busy else { return Ok(None) };
        crate::interrupt::check()?;
        if !search.take(busy) {
            return Ok(Some(search));
        }
    }
}
