//! Paper 001: workload-aware elastic striping.

use stripewise_papers::Traces;
use stripewise_papers::paper001::{Measured, Row, cells, findings, json, markdown};
use stripewise_report::{Logging, Paper, Report, Source};
use stripewise_study::Finished;

use super::Args;
use crate::context::Context;
use crate::failure::Outcome;
use crate::study::Patient;

/// Bytes of a chunk (section V-B).
const CHUNK_BYTES: u64 = 4096;

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let options = args.options::<Row>(context)?;
    let (mut runs, mut all, mut logging) = (Vec::new(), Vec::new(), Vec::new());
    let spans = args.evaluate_cells(&cells(&options), &options, context, |cell, study, finished| {
        let overhead = cell.overhead(&mut study.folded(&Patient)?, CHUNK_BYTES)?;
        crate::interrupt::check()?;
        // The report marks slices as the table does.
        let mark = if cell.traces == Traces::Slice { ", slice" } else { "" };
        let name = format!("{}{mark}", cell.workload);
        let cost = overhead.parity_logging;
        logging.push(Logging {
            workload: name.clone(),
            parity: cell.level.parity(),
            pre_reads: cost.pre_reads,
            log_writes: cost.log_writes,
            parity_writes: cost.parity_writes,
        });
        all.push(Measured::of(cell, &finished, overhead)?);
        let source = |run: Finished| Source { run: run.run, workload: Some(name.clone()) };
        runs.extend(finished.into_iter().map(source));
        Ok(())
    })?;
    let report = Report::new(runs).logging(logging).figures_of(Paper::P001);
    let findings = findings(&options.rows, &all);
    args.finish(report, json(&findings, &all), &markdown(&findings, &all), &spans, context)
}
