//! Paper 000: adaptive selection of the parity update routine.

use stripewise_papers::Traces;
use stripewise_papers::paper000::{
    Measured, Row, cells, findings, intervals, json, markdown, measure_decisions,
};
use stripewise_report::{Paper, Report, Source};

use super::Args;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::study::Patient;

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    let options = args.options::<Row>(context)?;
    let (mut runs, mut all, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let spans = args.evaluate_cells(&cells(&options), &options, context, |cell, study, finished| {
        if cell.has_printed_intervals() {
            let of = intervals(cell.workload, &mut study.folded(&Patient)?)?;
            crate::interrupt::check()?;
            found.extend(of);
        }
        let mut measured = Measured::of(cell, &finished)?;
        let known = found.iter().find(|intervals| intervals.workload == cell.workload);
        if let Some(intervals) = known.filter(|_| cell.traces == Traces::Generated) {
            // The printed intervals are those of the generated requests; in real time they are longer.
            measured.trace_ns = intervals.span_ns as f64 * cell.slower() as f64;
        }
        all.push(measured);
        runs.extend(finished.into_iter().map(|finished| Source::from(finished.run)));
        Ok(())
    })?;
    let decisions = measure_decisions().map_err(|error| Failure::failed(error.to_string()))?;
    let report = Report::new(runs)
        .decision_ns("baseline", decisions.baseline_ns)
        .decision_ns("bpu", decisions.bpu_ns)
        .decision_ns("adaptive", decisions.adaptive_ns)
        .figures_of(Paper::P000);
    let findings = findings(&options.rows, &all, &decisions);
    args.finish(report, json(&findings, &all, &found), &markdown(&findings, &all, &found), &spans, context)
}
