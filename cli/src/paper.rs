//! `stripewise paper`: a paper's evaluation, repeated, with a verdict on each of its results.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use stripewise_base::units::Count;
use stripewise_papers::paper000::{
    Cell, Intervals, Measured, Options, Row, Traces, cells, findings, intervals, json, markdown,
    measure_decisions, missing,
};
use stripewise_report::{Report, Source};
use stripewise_results::FinishedRun;
use stripewise_study::{Finished, Study, Workload};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::report;
use crate::study::{self, Patient};

/// Requests of each workload under `--quick`.
const QUICK_REQUESTS: u64 = 50_000;

const EXAMPLES: &[Example] = &[
    ("stripewise paper 000 --quick", "all results of paper 000, on a part of each workload"),
    ("stripewise paper 000 --traces ~/traces", "in full, and on slices of real traces too"),
    ("stripewise paper 000 --quick --rows 0g,0i --json", "two of its results, for a program"),
];

/// Repeat a paper's evaluation: each of its results beside what is measured here, with a verdict
///
/// Paper 000: Baseline, BPU and Adaptive over 5+1 and 7+1 channels of its device, on traces generated to the
/// statistics it prints, with the printed clock and in real time; and apart from them on slices of real traces.
/// A run whose results are there already is not computed again, so that what was interrupted goes on.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// Which paper: 000
    paper: String,

    /// Replay 50,000 requests of each workload: a minute or two instead of a quarter of an hour
    #[arg(long)]
    quick: bool,

    /// Replay N requests of each workload [default: all, or as --quick says]
    ///
    /// Workloads that are generated are generated with N, and their footprints scale along.
    #[arg(short = 'n', long, value_name = "N")]
    requests: Option<Count>,

    /// A directory of real traces, to replay slices of them too
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,

    /// Only these results, as in 0a,0c [default: all, 0a to 0i]
    #[arg(long, value_name = "ROW,...", value_delimiter = ',')]
    rows: Vec<Row>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The directory of results
    #[arg(short, long, value_name = "DIR", default_value = "stripewise-results")]
    out: PathBuf,

    /// How many runs to make at a time [default: one a core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZero<usize>>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    if args.paper != "000" {
        return Err(Failure::usage(format!(
            "paper {}: its evaluation is not repeated here yet; 000 is",
            args.paper
        )));
    }
    let mut rows = if args.rows.is_empty() { Row::ALL.to_vec() } else { args.rows };
    rows.sort();
    rows.dedup();
    let requests = args.requests.map(|count| count.0).or(args.quick.then_some(QUICK_REQUESTS));
    if requests == Some(0) {
        return Err(Failure::usage("--requests 0: there is nothing to replay; give at least 1"));
    }
    let options = Options { requests, traces: args.traces, rows, seed: args.seed, out: args.out };
    for absent in missing(&options) {
        context.remark(&format!("skipped: {absent}"));
    }
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok());
    let evaluation = evaluate(&options, jobs.map_or(1, |jobs| jobs.get()), context)?;
    let decisions = measure_decisions().map_err(|error| Failure::failed(error.to_string()))?;
    let report = Report::new(evaluation.runs.into_iter().map(Source::from))
        .decision_ns("baseline", decisions.baseline_ns)
        .decision_ns("bpu", decisions.bpu_ns)
        .decision_ns("adaptive", decisions.adaptive_ns);
    let file = options.out.join(report::FILE);
    let findings = findings(&options.rows, &evaluation.measured, &decisions);
    if args.json {
        report.write(&file).map_err(|error| Failure::failed(error.to_string()))?;
        return context.json(&json(&findings, &evaluation.measured, &evaluation.intervals));
    }
    let text = markdown(&findings, &evaluation.measured, &evaluation.intervals);
    context.out.write_all(text.as_bytes())?;
    if !context.quiet {
        writeln!(context.out, "\nresults   {}", options.out.display())?;
    }
    report::write(report, &file, context)
}

/// What all studies came to.
#[derive(Default)]
struct Evaluation {
    runs: Vec<FinishedRun>,
    measured: Vec<Measured>,
    intervals: Vec<Intervals>,
}

/// Makes every study, one after the other.
fn evaluate(options: &Options, threads: usize, context: &Context<'_>) -> Outcome<Evaluation> {
    let cells = cells(options);
    let mut evaluation = Evaluation::default();
    for (index, cell) in cells.iter().enumerate() {
        context.remark(&format!("study {} of {}: {cell}", index + 1, cells.len()));
        match make(cell, options, threads, context, &mut evaluation) {
            Ok(()) => {}
            // A real trace that this program cannot read or place is left out, and said to be.
            Err(Failure::Usage(reason) | Failure::Failed(reason)) if cell.traces == Traces::Slice => {
                context.remark(&format!("skipped: {cell}: {reason}"));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(evaluation)
}

fn make(
    cell: &Cell,
    options: &Options,
    threads: usize,
    context: &Context<'_>,
    evaluation: &mut Evaluation,
) -> Outcome {
    let spec = cell.study(options)?;
    if cell.has_printed_intervals() {
        let workload = Workload::new(&spec.workload, spec.seed, &Patient)?;
        let found = intervals(cell.workload, &mut workload.open(&Patient)?)?;
        crate::interrupt::check()?;
        evaluation.intervals.extend(found);
    }
    let study = Study::new(spec, &Patient)?;
    let finished = study::run(&study, threads, context).into_iter().collect::<Result<Vec<Finished>, _>>()?;
    let mut measured = Measured::of(cell, &finished)?;
    let known = evaluation.intervals.iter().find(|found| found.workload == cell.workload);
    if let Some(found) = known.filter(|_| cell.traces == Traces::Generated) {
        // The printed intervals are those of the generated requests; in real time they are longer.
        measured.trace_ns = found.span_ns as f64 * cell.slower() as f64;
    }
    evaluation.measured.push(measured);
    evaluation.runs.extend(finished.into_iter().map(|finished| finished.run));
    Ok(())
}
