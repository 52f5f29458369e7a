//! `stripewise report`: draws the figures of existing runs in one HTML file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args as ClapArgs;
use stripewise_report::{Report, Source};
use stripewise_results::paired::Rate;
use stripewise_results::{FinishedRun, looks};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::place::Place;
use crate::runs::{STORE, runs_at, store_of};
use crate::study::report as study;

/// The default file name of the report.
pub(crate) const FILE: &str = "report.html";

const EXAMPLES: &[Example] = &[
    ("stripewise report", "all runs in stripewise-results"),
    ("stripewise report stripewise-results -o all.html", "the same, into another file"),
    ("stripewise report study.toml --over pacing --figure p99_ns", "a study, over one of its axes"),
];

/// Make a report of runs, or of a study: one HTML file with figures
///
/// The report needs only a browser and no network. Every figure shows each run that has data for it, under the name of its
/// scheme; the seeds of one scheme and workload are one bar with its 95 % interval. The runs of a directory are in the order of
/// their update policies; runs that are named are in the order given.
///
/// The report of a study has figures over each axis, with bands or whiskers for the 95 % intervals, heat maps over two axes, and
/// the Pareto front of a search.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// Directories of results or of single runs, the first digits of a run's digest, or one study file
    ///
    /// `stripewise runs` lists the digests. Digits alone name a run in stripewise-results, and DIR/DIGITS one in DIR. A
    /// directory may be a bucket, as in s3://BUCKET/PREFIX.
    #[arg(value_name = "DIR|RUN|STUDY.toml", default_value = STORE)]
    runs: Vec<PathBuf>,

    /// The file to write [default: report.html in the first directory of results]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Open the report in the browser
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    study: study::Shown,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    if let Some(file) = args.runs.iter().find(|path| is_study(path)) {
        if args.runs.len() > 1 {
            return Err(Failure::usage(format!(
                "{}: a study has a report of its own; give it alone",
                file.display()
            )));
        }
        let out = study::write_of(file, &args.study, args.out, context)?;
        return if args.open { open(&out) } else { Ok(()) };
    }
    if args.study.is_given() {
        return Err(Failure::usage(
            "--figure, --over, --only and --store are for a study: give its file, as in study.toml",
        ));
    }
    let mut runs = Vec::new();
    let mut place = None;
    for (at, path) in args.runs.iter().enumerate() {
        let mut found = runs_at(path)?;
        runs.append(&mut found.runs);
        if at == 0 {
            place = found.place;
        }
    }
    if runs.is_empty() {
        if let Some(store) = args.runs.iter().find(|path| path.join("runs").is_dir()) {
            let store = store.display();
            return Err(Failure::failed(format!("{store} has the results of a study; give the study file")));
        }
        let place = args.runs.first().map_or(String::new(), |path| format!(" in {}", path.display()));
        return Err(Failure::failed(format!(
            "there is no finished run{place}; make some, as with `stripewise compare`"
        )));
    }
    let first = args.runs.first().map_or(Path::new("."), PathBuf::as_path);
    let (out, place) = match (args.out, place) {
        (Some(out), _) => (out, None),
        (None, Some(place)) => (place.directory().join(FILE), Some(place)),
        (None, None) => (store_of(first).join(FILE), None),
    };
    let rate = rate(&runs)?;
    write(Report::new(runs.into_iter().map(Source::from)).rate(rate), out.clone(), place.as_ref(), context)?;
    if rate.looks > 1 && !context.quiet {
        let looks = rate.looks;
        writeln!(
            context.out,
            "intervals are wider, as seeds ended when one was narrow: up to {looks} looks (compare --until)"
        )?;
    }
    if args.open { open(&out) } else { Ok(()) }
}

/// Whether a path is that of a study file.
fn is_study(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml")
}

/// The error rate of the intervals: that of the comparisons that the runs are of.
fn rate(runs: &[FinishedRun]) -> Outcome<Rate> {
    let mut of_stores: BTreeMap<&Path, BTreeSet<_>> = BTreeMap::new();
    for run in runs {
        of_stores
            .entry(run.path().parent().unwrap_or(Path::new(".")))
            .or_default()
            .insert(run.inputs().digest());
    }
    let mut widest = Rate::FIXED;
    for (store, runs) in of_stores {
        let rate = looks::rate_of(store, &runs).map_err(stripewise_runs::Error::from)?;
        widest.looks = widest.looks.max(rate.looks);
    }
    Ok(widest)
}

/// Writes a report, which is kept at a place of results if one is given, and prints its path.
pub(crate) fn write(
    report: Report,
    out: PathBuf,
    place: Option<&Place>,
    context: &mut Context<'_>,
) -> Outcome {
    report.write(&out).map_err(|error| Failure::failed(error.to_string()))?;
    let out = place.map_or(Ok(out.clone()), |place| place.keep(out))?;
    if context.quiet {
        return Ok(());
    }
    Ok(writeln!(context.out, "report    {}", out.display())?)
}

/// Opens a file in the program of this machine that shows such files.
fn open(file: &Path) -> Outcome {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = Stdio::null;
    let opened = Command::new(opener).arg(file).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    opened.map(drop).map_err(|error| {
        Failure::failed(format!("cannot start `{opener}`: {error}; open {} in a browser", file.display()))
    })
}
