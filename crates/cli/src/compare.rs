//! `stripewise compare`: the main command. Runs several schemes over the same requests, side by side.

use std::num::NonZero;

use clap::{Args as ClapArgs, ValueEnum};
use serde_json::json;
use stripewise_report::{Report, Source};
use stripewise_results::paired::Rate;
use stripewise_results::replicate::Rule;
use stripewise_results::summary::{self, Base, Entry, Summary};
use stripewise_results::totals::{WARMUP_REQUESTS, WARMUP_UNFINISHED};
use stripewise_results::{Figure, looks};
use stripewise_runs::{Error, Finished, built_in};

use crate::comparison::{self, ComparisonArgs, JobsArgs, OutputFormat, at_least_one};
use crate::context::{Context, width};
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::fio;
use crate::human;
use crate::place::Place;
use crate::replicate::{Made, Until};
use crate::report;
use crate::wrap::wrap;

const EXAMPLES: &[Example] = &[
    ("stripewise compare", "eight schemes, on the built-in workload"),
    ("stripewise compare --trace trace.csv --scheme baseline --scheme always-rcw", "two schemes on a trace"),
    (
        "stripewise compare --trace trace.csv --pacing closed:32 --fold dense",
        "as fast as the array can, packed",
    ),
    ("stripewise compare --gen uniform:write=1,size=8KiB,span=4GiB,requests=100k", "on a generated workload"),
    (
        "stripewise compare --scheme baseline --scheme baseline,update.tie=rcw",
        "one scheme and a variation of it",
    ),
    (
        "stripewise compare -s small=baseline,geometry.chunk=8KiB -s large=baseline,geometry.chunk=64KiB",
        "two variations, each under a label",
    ),
    (
        "stripewise compare --profile lun1 --device ssdsim-7+1 --requests 200k",
        "another workload, another device",
    ),
    (
        "stripewise compare -s baseline -s bpu --until p99_ns=10%",
        "with seeds until the interval of the 99th percentile is narrow",
    ),
    (
        "stripewise compare -s baseline -s bpu --set gc.victim=fifo --set geometry.chunk=16KiB --json",
        "other settings, as JSON",
    ),
    (
        "stripewise compare -s baseline -s bpu --seeds 1 --output-format fio",
        "in the form of fio, for its plotters",
    ),
];

/// Run the same requests through several schemes, and compare them
///
/// Without arguments: eight schemes over six SSDs of paper 003, on skewed writes and reads that all of them sustain. Each
/// scheme runs with several seeds, which give every scheme the same requests. Schemes are compared with the first one that
/// acknowledges writes from the same place (the members, or memory), seed by seed, by their typical ratios and 95 %
/// intervals. A run whose results exist is not computed again. At the end, report.html in the directory of results has the
/// figures.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    #[command(flatten)]
    comparison: ComparisonArgs,

    /// A scheme to compare, optionally with settings; repeat the option for several [default: linux-md, adaptive, brr,
    /// least-finish, parity-caching, paper003-siw, was, stripewise]
    ///
    /// `stripewise scheme list` shows the presets. Settings follow after commas: baseline,update.tie=rcw. A label before it names
    /// it in tables, report and JSON: mine=baseline,update.tie=rcw.
    #[arg(
        short,
        long,
        value_name = "[LABEL=]NAME|FILE.toml[,KEY=VALUE]...",
        display_order = 0,
        help_heading = "Array"
    )]
    scheme: Vec<String>,

    /// Run each scheme with N seeds, beginning with --seed
    ///
    /// A seed determines the requests of a generator or profile, the initial places of data on flash, and random choices of
    /// the device. A recorded trace has the same requests with every seed. With one seed no difference is marked as
    /// significant.
    #[arg(
        long,
        value_name = "N",
        default_value = "5",
        value_parser = at_least_one::<NonZero<u32>>,
        help_heading = "Workload"
    )]
    seeds: NonZero<u32>,

    /// What a scheme is compared with: the first one with the same acknowledgement, or the first one
    ///
    /// A write that is acknowledged from memory is answered sooner than one from the members, whatever else a scheme does. Where
    /// no two schemes have the same acknowledgement, `ack` compares with the first one too.
    #[arg(long, value_name = "WHICH", default_value = "ack", help_heading = "Results")]
    base: Against,

    /// Add seeds until the intervals of a figure are as narrow as this share of its mean, as in p99_ns=5%
    ///
    /// The intervals are those of the typical ratios to the first scheme; of a single scheme, that of its mean. They are
    /// looked at after --seeds seeds, then after each five more, up to 60. Because of these looks, intervals are up to 1.3
    /// times as wide as with a fixed number of seeds. A figure is a total of a run; `response_` and
    /// its end may be left out.
    #[arg(long, value_name = "FIGURE=SHARE", help_heading = "Workload")]
    until: Option<Until>,

    /// Also print the other totals, how fast the simulator itself was, and the directory of each run
    #[arg(long, help_heading = "Results", conflicts_with = "json")]
    all: bool,

    #[command(flatten)]
    jobs: JobsArgs,
}

/// What schemes are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Against {
    /// The first one that acknowledges writes from the same place
    Ack,
    /// The first one
    First,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let defaults = || built_in::SCHEMES.map(str::to_owned).to_vec();
    let schemes = if args.scheme.is_empty() { defaults() } else { args.scheme };
    let output = args.comparison.output();
    let json = output != OutputFormat::Text;
    let rule = args.until.as_ref().map(|until| until.rule(args.seeds)).transpose()?;
    let until = args.until.as_ref().zip(rule.as_ref());
    let place = args.comparison.place()?;
    let comparison = args.comparison.clone().comparison_of_seeds(&schemes, args.seeds, &place)?;
    let mut settings = comparison.settings()?;
    if let Some((until, rule)) = until
        && let Some((_, seeds)) = settings.iter_mut().find(|(name, _)| *name == "seeds")
    {
        *seeds = until.describe(rule);
    }
    if !json && !context.quiet {
        print_settings(&settings, context)?;
        context.out.flush()?;
    }
    let threads = args.jobs.threads();
    let made = match until {
        None => Made::fixed(&comparison, threads, context),
        Some((until, rule)) => {
            comparison::remark(&comparison, context.quiet);
            let more = |before: u32, seeds| {
                let mut args = args.comparison.clone();
                args.setup.requests.seed = args.setup.requests.seed.saturating_add(u64::from(before));
                args.comparison_of_seeds(&schemes, seeds, &place)
            };
            Made::until(until, rule, schemes.len(), &more, threads, context)?
        }
    };
    let rate = rule.as_ref().map_or(Rate::FIXED, Rule::rate);
    // Seeds are added for the intervals of the ratios to the first scheme.
    let base = match args.base {
        Against::Ack if args.until.is_none() => Base::Acknowledgement,
        _ => Base::First,
    };
    let ended = args.until.as_ref().and_then(|until| made.describe(&until.figure));
    let until = args.until.as_ref().and_then(|until| made.json(&until.figure));
    let Made { finished, failures, .. } = made;
    let runs = finished.len() + failures.len();
    let failures = merged(failures, runs);
    if failures.contains(&Failure::Interrupted) {
        return Err(Failure::Interrupted);
    }
    let entries = finished.iter().map(|run| place.named(run)).collect::<Outcome<Vec<_>>>()?;
    if !entries.is_empty() {
        let id = summary::id(&entries);
        if output == OutputFormat::Fio {
            context.json(&fio::json(&entries, &finished)?)?;
        } else if json {
            print_json(&settings, Summary::at(entries, rate, base)?, until, &finished, context)?;
        } else {
            print(
                Summary::at(entries.clone(), rate, base)?,
                &entries,
                ended,
                args.all,
                &finished,
                &place,
                context,
            )?;
        }
        if let Some(until) = &args.until {
            let runs = finished.iter().map(|run| run.run.inputs().digest()).collect();
            let record = looks::record(comparison.out(), &until.figure, rate, &runs).map_err(Error::from)?;
            place.keep(record)?;
        }
        let report = Report::new(finished.iter().map(|run| Source::from(run.run.clone()))).rate(rate);
        let file = comparison.out().join(report::FILE);
        if json {
            report.write(&file).map_err(|error| Failure::failed(error.to_string()))?;
            place.keep(file)?;
        } else {
            report::write(report, file, Some(&place), context)?;
            if !context.quiet {
                writeln!(context.out, "id        {id} (of all results: equal ids are equal results)")?;
            }
        }
    }
    // The first failure is the result of the command; the others are printed here.
    let mut failures = failures.into_iter();
    let first = failures.next();
    for failure in failures {
        failure.report();
    }
    first.map_or(Ok(()), Err)
}

/// The failures of runs, of which this number was made. Equal messages are merged into one, with the schemes or the number of
/// runs that failed.
fn merged(failures: Vec<(String, Error)>, made: usize) -> Vec<Failure> {
    let mut groups: Vec<(Failure, Vec<String>, Vec<String>)> = Vec::new();
    for (scheme, error) in failures {
        let (run, failure) = match error {
            Error::Within { scheme: run, source } => (Some(run), Failure::from(*source)),
            alone => (None, Failure::from(alone)),
        };
        let known = groups.iter().position(|(other, ..)| *other == failure);
        let at = known.unwrap_or_else(|| {
            groups.push((failure, Vec::new(), Vec::new()));
            groups.len() - 1
        });
        let (_, runs, schemes) = &mut groups[at];
        runs.extend(run);
        if !schemes.contains(&scheme) {
            schemes.push(scheme);
        }
    }
    let failures = groups.into_iter().map(|(failure, runs, schemes)| match (&runs[..], &schemes[..]) {
        ([], _) => failure,
        ([only], _) => failure.within(&format!("scheme {only}")),
        (all, _) if all.len() == made => failure.within(&format!("all {} runs", all.len())),
        (some, [scheme]) => failure.within(&format!("scheme {scheme}, {} runs", some.len())),
        (some, several) => failure.within(&format!("schemes {}, {} runs", several.join("; "), some.len())),
    });
    failures.collect()
}

/// Names and values, aligned.
pub(crate) fn print_settings(settings: &[(&str, String)], context: &mut Context<'_>) -> Outcome {
    let mut text = String::new();
    for (name, value) in settings {
        wrap(&format!("{name:<10}{value}"), 10, width(), &mut text);
    }
    text.push('\n');
    Ok(context.out.write_all(text.as_bytes())?)
}

fn print(
    summary: Summary,
    entries: &[Entry],
    ended: Option<String>,
    all: bool,
    finished: &[Finished],
    place: &Place,
    context: &mut Context<'_>,
) -> Outcome {
    if let Some(first) = entries.first() {
        let remarks = remarks(first).into_iter().chain(warmups(entries));
        let summary = summary.with_simulator(all).brief(!all);
        context.out.write_all(summary.text(width()).as_bytes())?;
        writeln!(context.out)?;
        for remark in ended.into_iter().chain(remarks).chain(lone(&summary)).chain(behind(&summary)) {
            writeln!(context.out, "{remark}")?;
        }
    }
    if !context.quiet {
        writeln!(context.out, "results   {}", place.root().display())?;
    }
    if all {
        for run in finished {
            print_place(run, place, context)?;
        }
    } else if !context.quiet {
        let computed = finished.iter().filter(|run| run.cpu_ns.is_some()).count();
        let there = finished.len() - computed;
        writeln!(
            context.out,
            "runs      {computed} computed, {there} there already; --all lists them, and has more columns"
        )?;
    }
    Ok(())
}

/// Which rows stand beside others and are compared with none of them.
fn lone(summary: &Summary) -> Option<String> {
    let names = summary.lone();
    (!names.is_empty()).then(|| {
        format!(
            "note      no other scheme here acknowledges as {}: --base first compares all with the first one",
            names.join(", ")
        )
    })
}

/// Which rows fall behind the trace.
pub(crate) fn behind(summary: &Summary) -> Option<String> {
    let rows = summary.behind();
    let most = rows.iter().map(|(_, most)| *most).fold(0.0, f64::max);
    let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "note      the array falls behind the trace with {}: the last answer comes up to {most:.2} times as late as the last \
             request, so response times depend on how long the trace is",
            names.join(", ")
        )
    })
}

/// Prints the directory of a run's tables, and whether the run was computed now.
pub(crate) fn print_place(run: &Finished, place: &Place, context: &mut Context<'_>) -> Outcome {
    if context.quiet {
        return Ok(());
    }
    let shown = place.shown(run.run.path());
    writeln!(context.out, "  {}  {}, seed {}: {}", shown.display(), run.scheme, run.seed, how(run))?;
    Ok(())
}

/// Whether a run was computed now, in words.
pub(crate) fn how(run: &Finished) -> String {
    match run.cpu_ns {
        Some(ns) => format!("computed in {} of processor time", human::time(ns)),
        None => "there already, not computed again".to_owned(),
    }
}

/// The effects of folding and reading on the requests: the same for every scheme of a comparison.
pub(crate) fn remarks(entry: &Entry) -> Vec<String> {
    let count = |name: &str| match entry.totals.get(name) {
        Some(Figure::Count(count)) => count,
        _ => 0,
    };
    let requests = human::count(count("requests"));
    let (folded, shifted) = (count("folded_requests"), count("shifted_requests"));
    let mut lines = Vec::new();
    if folded > 0 || shifted > 0 {
        lines.push(format!(
            "folding   moved {} of {requests} requests, and shifted {} of them to fit before the end",
            human::count(folded),
            human::count(shifted)
        ));
    }
    if count("requests") == 0 {
        lines.push("note      no request counts: the workload has none".to_owned());
    }
    for (name, what) in [
        ("skipped_lines", "lines of the trace were no requests and were skipped"),
        ("clamped_times", "requests were older than the one before them and got its time"),
        ("failed_requests", "requests FAILED"),
    ] {
        if count(name) > 0 {
            lines.push(format!("note      {} {what}", human::count(count(name))));
        }
    }
    lines
}

/// What an automatic warm-up left out.
pub(crate) fn warmups(entries: &[Entry]) -> Vec<String> {
    let counts = |name: &str| -> Vec<u64> {
        let of = |entry: &Entry| match entry.totals.get(name) {
            Some(Figure::Count(count)) => Some(count),
            _ => None,
        };
        entries.iter().filter_map(of).collect()
    };
    let (left_out, unfinished) = (counts(WARMUP_REQUESTS), counts(WARMUP_UNFINISHED));
    let (Some(&least), Some(&most)) = (left_out.iter().min(), left_out.iter().max()) else {
        return Vec::new();
    };
    let least = if least == most { String::new() } else { format!("{} to ", human::count(least)) };
    let mut lines =
        vec![format!("warm-up   {least}{} requests at the start were left out", human::count(most))];
    let drifting: u64 = unfinished.iter().sum();
    if drifting > 0 {
        let all = unfinished.len();
        lines.push(format!(
            "note      {drifting} of {all} runs end before their response times are steady: nothing was left out of them; make \
             them longer"
        ));
    }
    lines
}

fn print_json(
    settings: &[(&str, String)],
    summary: Summary,
    until: Option<serde_json::Value>,
    finished: &[Finished],
    context: &mut Context<'_>,
) -> Outcome {
    let mut value = summary.json();
    let settings: serde_json::Map<_, _> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    value["settings"] = settings.into();
    if let Some(until) = until {
        value["until"] = until;
    }
    if let Some(runs) = value["runs"].as_array_mut() {
        for (run, finished) in runs.iter_mut().zip(finished) {
            run["computed"] = json!(finished.cpu_ns.is_some());
        }
    }
    context.json(&value)
}
