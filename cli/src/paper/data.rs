//! A paper whose evaluation is a file.

use serde_json::json;
use stripewise_papers::{Asked, Paper, StudyPoint};
use stripewise_report::{Logging, Report, Source};
use stripewise_study::overhead::Cost;

use super::Args;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::study::Patient;

/// A paper of the report, with its number.
const PAPERS: [(&str, stripewise_report::Paper); 5] = {
    use stripewise_report::Paper::{P000, P001, P002, P003, P004};
    [("000", P000), ("001", P001), ("002", P002), ("003", P003), ("004", P004)]
};

pub(super) fn run(number: &str, args: &Args, context: &mut Context<'_>) -> Outcome {
    let paper = Paper::find(number)?;
    let asked = args.asked(&paper, context)?;
    let points = paper.points(&asked)?;
    let spec = |point: &StudyPoint| Ok(paper.study(point, &asked)?);
    let (mut runs, mut all, mut logging) = (Vec::new(), Vec::new(), Vec::new());
    let spans = args.evaluate(&points, context, StudyPoint::is_slice, spec, |point, study, finished| {
        let name = paper.report_name(point)?;
        let mut more = Vec::new();
        if let Some((stripe, overhead)) = paper.parity_logging(point, || study.folded(&Patient))? {
            crate::interrupt::check()?;
            let Cost { pre_reads, log_writes, parity_writes, .. } = overhead.parity_logging;
            let workload = name.clone().unwrap_or_default();
            logging.push(Logging { workload, parity: stripe.parity, pre_reads, log_writes, parity_writes });
            let cost =
                json!({ "pre_reads": pre_reads, "log_writes": log_writes, "parity_writes": parity_writes });
            let (chunks, unique) = (overhead.chunks.into(), overhead.unique_chunks.into());
            more.extend([("parity_logging", cost), ("data_chunks", chunks), ("unique_chunks", unique)]);
        }
        all.push(paper.measure(point, &finished, &more)?);
        if let Some(name) = name {
            runs.extend(
                finished.into_iter().map(|run| Source { run: run.run, workload: Some(name.clone()) }),
            );
        }
        Ok(())
    })?;
    let mut report = Report::new(runs).logging(logging);
    if let Some((_, figures)) = PAPERS.into_iter().find(|(one, _)| *one == number) {
        report = report.figures_of(figures);
    }
    let findings = paper.findings(&asked.claims, &all, &[])?;
    let json = paper.json(&findings, &all, &[])?;
    args.finish(report, json, &paper.markdown(&findings, &all, &[])?, &spans, context)
}

impl Args {
    /// What is asked for of a paper.
    fn asked(&self, paper: &Paper, context: &Context<'_>) -> Outcome<Asked> {
        let requests = self.requests.map(|count| count.0);
        if requests == Some(0) {
            return Err(Failure::usage("--requests 0: there is nothing to replay; give at least 1"));
        }
        let claims =
            paper.claims_of(&self.rows).map_err(|reason| Failure::usage(format!("--rows {reason}")))?;
        let (traces, seed, out) = (self.traces.clone(), self.seed, self.out.clone());
        let asked = Asked { requests, quick: self.quick, traces, claims, seed, out };
        for absent in paper.missing(&asked) {
            context.remark(&format!("skipped: {absent}"));
        }
        Ok(asked)
    }
}
