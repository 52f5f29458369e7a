//! A paper whose evaluation is a file.

use serde_json::json;
use stripewise_papers::{
    EvaluationOptions, GainMap, Intervals, MapLine, Measured, Paper, Search, StudyPoint, measure_decisions,
};
use stripewise_report::{Claims, Logging, RatioLine, RatioMap, Report, Source};
use stripewise_runs::overhead::Cost;
use stripewise_runs::{Comparison, Finished, bibliography};

use super::{Args, Spans};
use crate::comparison::Patient;
use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// A paper of the report, with its number.
const PAPERS: [(&str, stripewise_report::Paper); 5] = {
    use stripewise_report::Paper::{P000, P001, P002, P003, P004};
    [("000", P000), ("001", P001), ("002", P002), ("003", P003), ("004", P004)]
};

pub(super) fn run(number: &str, args: &Args, context: &mut Context<'_>) -> Outcome {
    let paper = Paper::find(number)?;
    let options = args.options(number, paper.claims())?;
    let explained = paper.explained();
    if let Some(row) = args.explain.as_ref().filter(|row| !explained.contains(row)) {
        let known = explained.join(", ");
        let reason = format!("no column changes one thing of it; paper {number} can explain {known}");
        return Err(Failure::usage(format!("--explain {row}: {reason}")));
    }
    for absent in paper.missing(&options) {
        context.remark(&format!("skipped: {absent}"));
    }
    let mut evaluation = Evaluation::default();
    let mut seeds = Vec::new();
    for seed in options.seed..options.seed.saturating_add(args.seeds.get()) {
        if args.seeds.get() > 1 {
            context.remark(&format!("seed {seed}, {} of {}", seeds.len() + 1, args.seeds));
        }
        let options = EvaluationOptions { seed, ..options.clone() };
        seeds.push(evaluation.measure(args, &paper, &options, context)?);
        evaluation.is_first_over = true;
    }
    let Evaluation { runs, logging, intervals, spans, .. } = evaluation;
    let has_report = !runs.is_empty();
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
    let all: Vec<&[Measured]> = seeds.iter().map(Vec::as_slice).collect();
    if let Some(row) = &args.explain {
        let explanation = paper.explanation(row, &all, &more)?;
        let report = has_report.then_some(report);
        return args.finish(report, explanation.json(), &explanation.markdown(), None, &spans, context);
    }
    let findings = paper.findings(&options.claims, &all, &more)?;
    let maps = paper.maps(&all, &more)?;
    let json = paper.json(&findings, &maps, all[0], &more)?;
    let mut sections = paper.sections(all[0], &more)?;
    sections.extend(maps.iter().flat_map(GainMap::sections));
    let tables = paper.html(&findings, &sections);
    let claims = Claims {
        head: findings.head().into_iter().map(str::to_owned).collect(),
        rows: findings.rows(),
        about: findings.about_seeds(),
    };
    let report = report.maps(maps.iter().map(drawn).collect()).claims(claims);
    let report = has_report.then_some(report);
    args.finish(report, json, &findings.markdown(), Some(&tables), &spans, context)
}

/// What the report and the tables need besides what was measured: that of the first seed.
#[derive(Default)]
struct Evaluation {
    runs: Vec<Source>,
    logging: Vec<Logging>,
    intervals: Vec<Intervals>,
    spans: Spans,
    /// Whether the first seed is over.
    is_first_over: bool,
}

impl Evaluation {
    /// Runs and measures all points with one seed.
    fn measure(
        &mut self,
        args: &Args,
        paper: &Paper,
        options: &EvaluationOptions,
        context: &Context<'_>,
    ) -> Outcome<Vec<Measured>> {
        let mut all = Vec::new();
        let spec = |point: &StudyPoint| Ok(paper.comparison(point, options)?);
        let searches = paper.searches(options)?;
        let mut spans = Spans::new();
        let mut take = |point: &StudyPoint, comparison: &Comparison, finished: Vec<Finished>| -> Outcome {
            all.push(self.take(paper, point, comparison, finished)?);
            Ok(())
        };
        if searches.is_empty() {
            spans = args.evaluate(&paper.points(options)?, context, StudyPoint::is_slice, spec, &mut take)?;
        }
        for search in searches {
            let Some(found) = args.calibrate(paper, search, options, context)? else { continue };
            let points = found.points(options)?;
            spans.extend(args.evaluate(&points, context, StudyPoint::is_slice, spec, &mut take)?);
        }
        if !self.is_first_over {
            self.spans = spans;
        }
        Ok(all)
    }

    /// Measures one point.
    fn take(
        &mut self,
        paper: &Paper,
        point: &StudyPoint,
        comparison: &Comparison,
        finished: Vec<Finished>,
    ) -> Outcome<Measured> {
        let requests = || comparison.folded(&Patient);
        let name = paper.report_name(point)?;
        if !self.is_first_over {
            self.intervals.extend(paper.intervals(point, requests)?);
        }
        let mut more = vec![("span_ns", span_ns(&self.intervals, point).into())];
        if let Some((stripe, overhead)) = paper.parity_logging(point, requests)? {
            let Cost { pre_reads, log_writes, parity_writes, .. } = overhead.parity_logging;
            if !self.is_first_over {
                let workload = name.clone().unwrap_or_default();
                let parity = stripe.parity;
                self.logging.push(Logging { workload, parity, pre_reads, log_writes, parity_writes });
            }
            let cost =
                json!({ "pre_reads": pre_reads, "log_writes": log_writes, "parity_writes": parity_writes });
            let (chunks, unique) = (overhead.chunks.into(), overhead.unique_chunks.into());
            more.extend([("parity_logging", cost), ("data_chunks", chunks), ("unique_chunks", unique)]);
        }
        crate::interrupt::check()?;
        let measured = paper.measure(point, &finished, &more)?;
        if !self.is_first_over && name.as_deref() != Some("") {
            self.runs.extend(finished.into_iter().map(|run| Source { run: run.run, workload: name.clone() }));
        }
        Ok(measured)
    }
}

/// A map as the report draws it: as ratios, of which those above 1 are losses.
fn drawn(map: &GainMap) -> RatioMap {
    let line = |line: &MapLine| {
        let points = map.places.iter().zip(&line.gains);
        RatioLine {
            name: line.name.clone(),
            points: points.filter_map(|(place, gain)| Some((*place, 1.0 - gain.as_ref()?.typical))).collect(),
            break_evens: map.break_evens(line).iter().map(|found| (found.place, found.interval)).collect(),
        }
    };
    RatioMap {
        title: map.title.clone(),
        about: map.about.clone(),
        ratio: map.ratio.clone(),
        axis: map.axis.clone(),
        is_log: map.is_log,
        panels: map
            .panels
            .iter()
            .map(|panel| (panel.title.clone(), panel.lines.iter().map(line).collect()))
            .collect(),
    }
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
        options: &EvaluationOptions,
        context: &Context<'_>,
    ) -> Outcome<Option<Search<'p>>> {
        let spec = |point: &StudyPoint| Ok(paper.comparison(point, options)?);
        loop {
            let mut found = None;
            self.evaluate(
                &search.point(options)?,
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
