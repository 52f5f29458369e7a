//! `stripewise report`: draws the figures of existing runs in one HTML file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args as ClapArgs;
use stripewise_report::{Report, Source};
use stripewise_results::{FinishedRun, Store};

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};

/// The default file name of the report.
pub(crate) const FILE: &str = "report.html";

const EXAMPLES: &[Example] = &[
    ("stripewise report", "all runs in stripewise-results"),
    ("stripewise report stripewise-results -o all.html", "the same, into another file"),
];

/// Make a report of runs: one HTML file with figures
///
/// The report needs only a browser and no network. Every figure shows each run that has data for it, under the name of its
/// scheme; the seeds of one scheme and workload are one bar with its 95 % interval. The runs of a directory are in the order of
/// their update policies; runs that are named are in the order given.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// Directories of results, or of single runs
    #[arg(value_name = "DIR|RUN", default_value = "stripewise-results")]
    runs: Vec<PathBuf>,

    /// The file to write [default: report.html in the first directory of results]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Open the report in the browser
    #[arg(long)]
    open: bool,
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let mut runs = Vec::new();
    for path in &args.runs {
        runs.append(&mut runs_at(path)?);
    }
    if runs.is_empty() {
        let place = args.runs.first().map_or(String::new(), |path| format!(" in {}", path.display()));
        return Err(Failure::failed(format!(
            "there is no finished run{place}; make some, as with `stripewise compare`"
        )));
    }
    let out =
        args.out.unwrap_or_else(|| default_file(args.runs.first().map_or(Path::new("."), PathBuf::as_path)));
    write(Report::new(runs.into_iter().map(Source::from)), &out, context)?;
    if args.open { open(&out) } else { Ok(()) }
}

/// Writes a report, and prints its path.
pub(crate) fn write(report: Report, out: &Path, context: &mut Context<'_>) -> Outcome {
    report.write(out).map_err(|error| Failure::failed(error.to_string()))?;
    if context.quiet {
        return Ok(());
    }
    Ok(writeln!(context.out, "report    {}", out.display())?)
}

/// The run in a directory, or all runs of a directory of results.
pub(crate) fn runs_at(path: &Path) -> Outcome<Vec<FinishedRun>> {
    if path.join("run.toml").is_file() {
        return Ok(vec![FinishedRun::at(path)?]);
    }
    if !path.is_dir() {
        return Err(Failure::failed(format!(
            "{}: there is no such directory; give a directory of results, as `stripewise compare` leaves it",
            path.display()
        )));
    }
    let mut runs = Store::new(path).runs()?;
    runs.sort_by_cached_key(|run| stripewise_report::papers_order(run.inputs()));
    Ok(runs)
}

/// The report's path in the directory of results, also where a single run of that directory was given.
fn default_file(path: &Path) -> PathBuf {
    let is_run = path.join("run.toml").is_file();
    let place = if is_run { path.parent().unwrap_or(Path::new(".")) } else { path };
    place.join(FILE)
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
