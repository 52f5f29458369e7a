//! A paper whose evaluation is a file.

use serde_json::json;
use stripewise_papers::{EvaluationOptions, Intervals, Paper, Search, StudyPoint, measure_decisions};
use stripewise_report::{Logging, Report, Source};
use stripewise_study::overhead::Cost;
use stripewise_study::{Finished, Study, bibliography};

use super::{Args, Spans};
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
    let asked = args.asked(number, paper.claims())?;
    for absent in paper.missing(&asked) {
        context.remark(&format!("skipped: {absent}"));
    }
    let spec = |point: &StudyPoint| Ok(paper.study(point, &asked)?);
    let (mut runs, mut all, mut logging, mut intervals) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut take = |point: &StudyPoint, study: &Study, finished: Vec<Finished>| -> Outcome {
        let requests = || study.folded(&Patient);
        let name = paper.report_name(point)?;
        intervals.extend(paper.intervals(point, requests)?);
        let mut more = vec![("span_ns", span_ns(&intervals, point).into())];
        if let Some((stripe, overhead)) = paper.parity_logging(point, requests)? {
            let Cost { pre_reads, log_writes, parity_writes, .. } = overhead.parity_logging;
            let workload = name.clone().unwrap_or_default();
            logging.push(Logging { workload, parity: stripe.parity, pre_reads, log_writes, parity_writes });
            let cost =
                json!({ "pre_reads": pre_reads, "log_writes": log_writes, "parity_writes": parity_writes });
            let (chunks, unique) = (overhead.chunks.into(), overhead.unique_chunks.into());
            more.extend([("parity_logging", cost), ("data_chunks", chunks), ("unique_chunks", unique)]);
        }
        crate::interrupt::check()?;
        all.push(paper.measure(point, &finished, &more)?);
        if name.as_deref() != Some("") {
            runs.extend(finished.into_iter().map(|run| Source { run: run.run, workload: name.clone() }));
        }
        Ok(())
    };
    let mut spans = Spans::new();
    let searches = paper.searches(&asked)?;
    if searches.is_empty() {
        spans = args.evaluate(&paper.points(&asked)?, context, StudyPoint::is_slice, spec, &mut take)?;
    }
    for search in searches {
        let Some(found) = args.calibrate(&paper, search, &asked, context)? else { continue };
        let points = found.points(&asked)?;
        spans.extend(args.evaluate(&points, context, StudyPoint::is_slice, spec, &mut take)?);
    }
    let mut report = Report::new(runs).logging(logging);
    if let Some((_, figures)) = PAPERS.into_iter().find(|(one, _)| *one == number) {
        report = report.figures_of(figures);
    }
    if let Some(work) = bibliography::paper(number) {
        report = report.work(&format!("Paper {number}. {work}"), work.address().as_deref());
    }
    let mut more = vec![("intervals", intervals.iter().map(Intervals::json).collect())];
    if paper.has_decisions() {
        let decisions = measure_decisions().map_err(|error| Failure::failed(error.to_string()))?;
        report = report
            .decision_ns("baseline", decisions.baseline_ns)
            .decision_ns("bpu", decisions.bpu_ns)
            .decision_ns("adaptive", decisions.adaptive_ns);
        more.push(("decisions", decisions.json()));
    }
    let findings = paper.findings(&asked.claims, &all, &more)?;
    let json = paper.json(&findings, &all, &more)?;
    let tables = paper.html(&findings, &paper.sections(&all, &more)?);
    args.finish(report, json, &findings.markdown(), Some(&tables), &spans, context)
}

/// How long the requests of a point take, where its workload's intervals are known; 0 otherwise.
fn span_ns(intervals: &[Intervals], point: &StudyPoint) -> u64 {
    let workload = point.text("workload");
    let known = intervals.iter().find(|one| one.workload == workload && !point.is_slice());
    known.map_or(0, |one| one.span_ns)
}

impl Args {
    /// Finds how fast a workload is to be sent; none where it cannot be replayed.
    fn calibrate<'p>(
        &self,
        paper: &Paper,
        mut search: Search<'p>,
        asked: &EvaluationOptions,
        context: &Context<'_>,
    ) -> Outcome<Option<Search<'p>>> {
        let spec = |point: &StudyPoint| Ok(paper.study(point, asked)?);
        loop {
            let mut found = None;
            self.evaluate(
                &search.point(asked)?,
                context,
                StudyPoint::is_slice,
                spec,
                |point, _, finished| {
                    found = Some(paper.measure(point, &finished, &[])?);
                    Ok(())
                },
            )?;
            // A slice that cannot be replayed: the output names it.
            let Some(found) = found else { return Ok(None) };
            crate::interrupt::check()?;
            if !search.take(&found)? {
                return Ok(Some(search));
            }
        }
    }
}
