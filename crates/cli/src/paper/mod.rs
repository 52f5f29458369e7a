//! `stripewise paper`: a paper's evaluation, repeated, with a verdict on each of its results.

mod data;
mod default_scheme;
mod lanes;

use std::fmt::Display;
use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use serde_json::{Value, json};
use stripewise_base::human;
use stripewise_base::units::Count;
use stripewise_papers::{EvaluationOptions, Paper, Part, TABLES, claims_of};
use stripewise_report::Report;
use stripewise_results::shared;
use stripewise_runs::{Comparison, ComparisonSpec, Finished, bibliography};

use crate::comparison::{self, Patient, at_least_one};
use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome, warn};
use crate::progress::Progress;
use crate::report;
use crate::table::Table;
use lanes::side_by_side;

const EXAMPLES: &[Example] = &[
    ("stripewise paper list", "the papers: authors, title, venue, year"),
    ("stripewise paper 000 --quick", "all results of paper 000, on a part of each workload"),
    ("stripewise paper 001 --traces ~/traces", "paper 001 in full, and on slices of real traces too"),
    ("stripewise paper 003 --quick --rows 3e", "how many SSDs collect together under paper 003's caches"),
    (
        "stripewise paper default --quick",
        "the default scheme beside each paper's own, on that paper's metric",
    ),
    ("stripewise paper 004 --quick --rows fig2", "how fast chunk sizes make random reads and writes"),
    (
        "stripewise paper 000 --quick --rows 0a --seeds 5",
        "five seeds: a typical value with its interval, and a verdict",
    ),
    ("stripewise paper all --quick --out results", "every paper, with a report of its own each"),
    ("stripewise paper 000 --quick --rows 0g,0i --json", "two results, as JSON"),
    (
        "stripewise paper 002 --quick --explain 2c",
        "what the difference to the printed result is made of, by one change at a time",
    ),
];

/// Repeat a paper's evaluation, and judge its claims
///
/// Paper 000: Baseline, BPU and Adaptive over 5+1 and 7+1 channels of its device, on traces generated to the statistics that it
/// prints, with the printed clock and in real time. Paper 001: eSAP and WAS over eight SSDs in RAID-5 and RAID-6, on its
/// Synthetic workload and on traces generated to the known statistics of its others. Paper 002: Async_FIFO, PIQ and BRR over the
/// 64 chips of its SSD, on traces generated to its Table II, in real time and at the speed that makes the chips as busy as it
/// prints. Paper 003: WOW, STOW, SIW, caches in the SSDs, no cache, and a hybrid, over eight SSDs in RAID-0 and nine in RAID-5,
/// on its HPC mix, its grid W(R, I, W), Exchange as far as its statistics are published, and mixes that change. Paper 004:
/// MC-RAIS and RAID-5 with chunks of 4, 8 and 32 KiB over three, four and five SSDs, on traces generated to its Table 2, and
/// chunk sizes against request sizes of random reads and writes. Each evaluation also runs on slices of real traces. A run whose
/// results exist is not computed again, so an interrupted evaluation continues.
///
/// Prints each claim beside what was measured, with a verdict and the reasons. The full tables of papers 000 to 004 are in
/// `tables.html` in the directory of results, the figures in `report.html`; both need only a browser. Both have maps: over which
/// loads, states or sizes a claim holds that depends on what the paper does not print, with the break-even. The tables of each
/// run are Parquet files in the run's directory.
#[derive(Clone, Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// The paper; `all` makes a directory of results for each, inside the given directory; `list` names the papers
    #[arg(value_enum)]
    paper: Which,

    /// Replay a part of each workload: takes minutes
    ///
    /// Paper 000: 50,000 requests. Paper 001: one request in ten. Paper 002: 10,000 requests. Paper 003: a tenth, and of its
    /// grid only the points in its figures. Paper 004: a tenth after the warm-up.
    #[arg(long)]
    quick: bool,

    /// Replay N requests of each workload [default: all, or the part that --quick takes]
    ///
    /// Generated workloads are generated with N requests, and their footprints scale along; paper 001's arrays too. Workloads
    /// of papers 003 and 004 have N requests after their warm-up.
    #[arg(short = 'n', long, value_name = "N")]
    requests: Option<Count>,

    /// A directory of real traces: also replay slices of them
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,

    /// Only these claims, as in 0a,0c [default: all, 0a to 0i, 1a to 1h, 2a to 2h, 3a to 3m, 4a to 4d and fig2, or 5a to 5g]
    #[arg(long, value_name = "ROW,...", value_delimiter = ',')]
    rows: Vec<String>,

    /// Measure only the columns that are judged: no others, no maps
    ///
    /// Repeats what the verdicts rest on in a fraction of the time.
    #[arg(long)]
    judged: bool,

    /// Explain one claim: what it becomes by one change at a time
    ///
    /// Measures the judged column and those that differ from it, or from another, in one thing alone: a rule of the scheme or the
    /// device, where requests go (skew), when they come (load), what the SSDs hold at first (state), or what each side is given
    /// (means). Prints each with the share of the gap to the printed result that it closes. Changes do not add up.
    #[arg(long, value_name = "ROW", conflicts_with_all = ["rows", "judged"])]
    explain: Option<String>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = comparison::seed)]
    seed: u64,

    /// Repeat the evaluation with N seeds, from --seed on: results are typical values with 95 % intervals
    ///
    /// A claim agrees only if its whole interval does; one seed has no verdicts. Reasons, tables and figures are those of the
    /// first seed.
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one::<NonZero<u64>>)]
    seeds: NonZero<u64>,

    /// The directory of results
    #[arg(short, long, value_name = "DIR", default_value = "stripewise-results")]
    out: PathBuf,

    /// The number of runs at a time [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = at_least_one::<NonZero<usize>>)]
    jobs: Option<NonZero<usize>>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Studies by name, each with the bytes of the span that its requests are folded onto.
type Spans = Vec<(String, u64)>;

/// The spans, least first, each with the number of its studies.
fn describe(spans: &Spans) -> String {
    let mut sizes: Vec<u64> = spans.iter().map(|(_, bytes)| *bytes).collect();
    sizes.sort_unstable();
    let each = sizes.chunk_by(|one, next| one == next).map(|alike| {
        let (size, count) = (human::bytes(alike[0]), alike.len());
        format!("{size} ({count} {})", if count == 1 { "study" } else { "studies" })
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The papers whose evaluations are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Selection of the parity update routine
    #[value(name = "000")]
    P000,
    /// Elastic striping that separates hot data
    #[value(name = "001")]
    P001,
    /// Balanced redirected reads
    #[value(name = "002")]
    P002,
    /// Write caches for SSDs
    #[value(name = "003")]
    P003,
    /// Zones of several chunk sizes
    #[value(name = "004")]
    P004,
    /// The default scheme compared with each paper's own
    #[value(name = "default")]
    Default,
    /// One after the other
    All,
    /// Print authors, title, venue and year of each
    List,
}

impl Which {
    /// Each paper, with the name of its directory of results under `all`.
    const EACH: [(Self, &str); 5] = [
        (Self::P000, "paper-000"),
        (Self::P001, "paper-001"),
        (Self::P002, "paper-002"),
        (Self::P003, "paper-003"),
        (Self::P004, "paper-004"),
    ];
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    match args.paper {
        Which::P000 => data::run("000", &args, context),
        Which::P001 => data::run("001", &args, context),
        Which::P002 => data::run("002", &args, context),
        Which::P003 => data::run("003", &args, context),
        Which::Default => default_scheme::run(&args, context),
        Which::P004 => data::run("004", &args, context),
        Which::All => all(&args, context),
        Which::List => list(args.json, context),
    }
}

/// Every paper, each with results of its own.
fn all(args: &Args, context: &mut Context<'_>) -> Outcome {
    let option = if args.explain.is_some() { "--explain" } else { "--rows" };
    if !args.rows.is_empty() || args.explain.is_some() {
        return Err(Failure::usage(format!(
            "{option}: each paper has results of its own; name the paper instead of `all`",
        )));
    }
    for (paper, directory) in Which::EACH {
        run(Args { paper, out: args.out.join(directory), ..args.clone() }, context)?;
    }
    Ok(())
}

/// The papers, as the bibliography has them.
fn list(json: bool, context: &mut Context<'_>) -> Outcome {
    let works = Paper::shipped().filter_map(bibliography::paper);
    if json {
        return context.json(&works.collect::<Vec<_>>());
    }
    let mut table = Table::new(&["paper", "published_as"]);
    for work in works {
        table.row([work.paper.as_deref().into(), work.to_string().into()]);
    }
    table.print(context, false)
}

impl Args {
    /// What is asked for of a paper with these claims.
    fn options(&self, paper: &str, claims: Vec<String>) -> Outcome<EvaluationOptions> {
        let requests = self.requests.map(|count| count.0);
        if requests == Some(0) {
            return Err(Failure::usage("--requests 0: there is nothing to replay; give at least 1"));
        }
        let (option, rows) = match &self.explain {
            Some(row) => ("--explain", std::slice::from_ref(row)),
            None => ("--rows", &self.rows[..]),
        };
        let claims = claims_of(paper, claims, rows);
        let claims = claims.map_err(|reason| Failure::usage(format!("{option} {reason}")))?;
        let (traces, seed, out) = (self.traces.clone(), self.seed, self.out.clone());
        let part = match (&self.explain, self.judged) {
            (Some(_), _) => Part::Explained,
            (None, true) => Part::Judged,
            (None, false) => Part::All,
        };
        Ok(EvaluationOptions { requests, quick: self.quick, traces, claims, part, seed, out })
    }

    /// Makes the studies of all points, as many at a time as there are jobs, and hands each with its runs to `take`, in order.
    /// Returns each study's name and span.
    fn evaluate<P: Display + Sync>(
        &self,
        points: &[P],
        context: &Context<'_>,
        is_slice: impl Fn(&P) -> bool + Sync,
        spec: impl Fn(&P) -> Outcome<ComparisonSpec> + Sync,
        mut take: impl FnMut(&P, &Comparison, Vec<Finished>) -> Outcome,
    ) -> Outcome<Spans> {
        let jobs =
            self.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZero::<usize>::MIN);
        let (quiet, progress) = (context.quiet, Progress::new(context.quiet));
        let make = |index: usize, threads: usize| -> Outcome<(Comparison, Vec<Finished>)> {
            let point = &points[index];
            if !quiet {
                warn(&format!("study {} of {}: {point}", index + 1, points.len()));
            }
            let comparison = Comparison::new(spec(point)?, &Patient)?;
            let runs = comparison::run_beside(&comparison, threads, quiet, &progress);
            let finished = runs.into_iter().collect::<Result<_, _>>()?;
            Ok((comparison, finished))
        };
        // A real trace that this program cannot read or place is left out, and the output names it.
        let is_left_out = |index: usize, failure: &Failure| {
            matches!(failure, Failure::Usage(_) | Failure::Failed(_)) && is_slice(&points[index])
        };
        let ends_all = |index: usize, made: &Outcome<_>| {
            made.as_ref().is_err_and(|failure: &Failure| !is_left_out(index, failure))
        };
        let mut spans = Spans::new();
        for (index, made) in side_by_side(points.len(), jobs, make, ends_all).into_iter().enumerate() {
            let point = &points[index];
            let taken = made.unwrap_or(Err(Failure::Interrupted)).and_then(|(comparison, finished)| {
                spans.push((point.to_string(), comparison.span_bytes()));
                take(point, &comparison, finished)
            });
            match taken {
                Ok(()) => {}
                Err(Failure::Usage(reason) | Failure::Failed(reason)) if is_slice(point) => {
                    context.remark(&format!("skipped: {point}: {reason}"));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(spans)
    }

    /// Writes the report and the tables, and prints the evaluation and the spans of its studies. There is no report where none of
    /// the runs is a part of it.
    fn finish(
        &self,
        report: Option<Report>,
        json: Value,
        markdown: &str,
        tables: Option<&str>,
        spans: &Spans,
        context: &mut Context<'_>,
    ) -> Outcome {
        let file = self.out.join(report::FILE);
        let beside = self.out.join(TABLES);
        if let Some(tables) = tables {
            let written =
                std::fs::create_dir_all(&self.out).and_then(|()| shared::replace(&beside, tables.as_bytes()));
            written.map_err(|error| Failure::failed(format!("{}: {error}", beside.display())))?;
        }
        if self.json {
            if let Some(report) = report {
                report.write(&file).map_err(|error| Failure::failed(error.to_string()))?;
            }
            let mut json = json;
            let each =
                spans.iter().map(|(comparison, bytes)| json!({ "study": comparison, "span_bytes": bytes }));
            json["spans"] = each.collect();
            return context.json(&json);
        }
        context.out.write_all(markdown.as_bytes())?;
        if !context.quiet {
            writeln!(context.out, "\nspan      {}", describe(spans))?;
            writeln!(context.out, "results   {}", self.out.display())?;
            if tables.is_some() {
                writeln!(context.out, "tables    {}", beside.display())?;
            }
        }
        report.map_or(Ok(()), |report| report::write(report, file, None, context))
    }
}
