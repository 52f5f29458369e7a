//! `stripewise study run` and `stripewise study worker`: make the runs of a study that are not in its store.

use std::num::NonZero;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use clap::Args as ClapArgs;
use stripewise_base::units::{Bytes, Count};
use stripewise_study::{
    Counts, Error, Options, Outcome as Ended, Plan, Shard, StudyStore, Watch, index, run_in_processes,
};

use crate::comparison::{Patient, at_least_one};
use crate::context::Context;
use crate::examples::{Example, section_and};
use crate::failure::{Failure, Outcome};
use crate::human;
use crate::interrupt;
use crate::progress::{Bar, Progress};
use crate::study::open::{StoreArgs, cpu};
use crate::study::place::hand_over;
use crate::study::report::write_beside;

const EXAMPLES: &[Example] = &[
    ("stripewise study run study.toml", "all runs that are not there yet"),
    ("stripewise study run study.toml --jobs 8 --limit 1k", "in eight processes, a thousand runs at most"),
];
const WORKER_EXAMPLES: &[Example] = &[
    ("stripewise study worker study.toml --shard 3/8", "the third of eight shares"),
    (
        "sbatch --array=1-8 --wrap 'stripewise study worker study.toml --shard $SLURM_ARRAY_TASK_ID/8'",
        "all shares, as an array job of Slurm",
    ),
];

const EXIT_CODES: &str = "\
Exit codes:
    0  all runs are there
    1  the store cannot be used, a trace has changed, or a run has two results
    2  the study file was not understood, or nothing in it fits
    3  some runs failed; `stripewise study errors` shows them
  130  interrupted; finished runs are kept";

/// The most points of a study that ends with a report.
const REPORTED: u64 = 20_000;
/// The exit code of a study with failed runs.
const SOME_FAILED: u8 = 3;

/// Make the runs of a study that are not in its store
///
/// Worker processes make the runs, and commit finished ones in batches of half a minute. To resume a study that was interrupted
/// or killed, run it again. A run that failed is tried again as often as the study file says; combinations that do not fit are
/// left out. A run that ends its worker, or needs more memory than the study file allows, fails; the others are made. At the
/// end the catalogue of the study has a row for each run, for polars and DuckDB, and the report has figures over its axes.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(EXAMPLES, EXIT_CODES))]
pub(crate) struct Args {
    #[command(flatten)]
    making: Making,

    /// Make the runs at a place of the study file, a table [on.NAME]: hosts by SSH, Slurm, Kubernetes
    ///
    /// Needs the Python package in the same build: pip install 'stripewise[study]'. The first of $STRIPEWISE_PYTHON, the
    /// active virtual environment, python3 and python that has it is used. The table says how many workers the place has.
    #[arg(long, value_name = "NAME", conflicts_with = "jobs")]
    on: Option<String>,
}

/// Make one share of the runs of a study, as a job that knows nothing of the others
///
/// For array jobs on a cluster: each of N jobs makes its share and commits it to the same store. A point of the axes belongs to
/// one share with all its schemes and seeds, and whether it needs more seeds depends on its own results alone. So N shares have
/// the same runs with the same results as one `study run`. To resume, run the same command again. At the end of all jobs,
/// `study run` finds every run in the store; it also makes those of jobs that died, and writes the catalogue.
#[derive(Debug, ClapArgs)]
#[command(after_help = section_and(WORKER_EXAMPLES, EXIT_CODES))]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    making: Making,

    /// The share: I of N, from 1 on
    #[arg(long, value_name = "I/N")]
    shard: Shard,
}

/// How runs are made.
#[derive(Debug, ClapArgs)]
struct Making {
    #[command(flatten)]
    store: StoreArgs,

    /// The number of runs at a time [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = at_least_one::<NonZero<usize>>)]
    jobs: Option<NonZero<usize>>,

    /// Make N runs at most
    #[arg(long, value_name = "N")]
    limit: Option<Count>,
}

/// Shows the progress until the user interrupts.
struct Shown {
    bar: Mutex<Bar>,
    began: Instant,
    threads: u64,
}

impl Watch for Shown {
    fn may_continue(&self) -> bool {
        !interrupt::requested()
    }

    fn advanced(&self, counts: &Counts) {
        let total = counts.cpu_ns + counts.left_ns;
        let share = if total > 0 { counts.cpu_ns as f64 / total as f64 } else { 0.0 };
        let mut message = format!("{} runs made", human::count(counts.made));
        let seconds = self.began.elapsed().as_secs_f64();
        if seconds > 0.0 {
            message.push_str(&format!(", {} a second", human::rate(counts.made as f64 / seconds)));
        }
        let points = human::count(counts.points_left + counts.points_open);
        message.push_str(&format!(", {points} points left"));
        if counts.failed > 0 {
            message.push_str(&format!(", {} FAILED", human::count(counts.failed)));
        }
        if let (Some(narrowest), Some(widest)) = (counts.narrowest, counts.widest) {
            message.push_str(&format!(", ±{:.1} to ±{:.1} %", narrowest * 100.0, widest * 100.0));
        }
        let left = counts.left_ns / 1_000_000_000 / self.threads;
        if let Ok(bar) = self.bar.lock() {
            bar.update(share, &message, left);
        }
    }
}

pub(crate) fn run(args: &Args, context: &mut Context<'_>) -> Outcome {
    if let Some(name) = &args.on {
        return hand_over(&elsewhere(&args.making, name, context.quiet));
    }
    make(&args.making, Shard::ALL, context)
}

/// The arguments of the Python package's command.
fn elsewhere(making: &Making, name: &str, quiet: bool) -> Vec<String> {
    let mut arguments = making.store.arguments();
    arguments.push(format!("--on={name}"));
    arguments.push(format!("--build={}", stripewise_runs::version()));
    arguments.extend(making.limit.map(|limit| format!("--limit={}", limit.0)));
    arguments.extend(quiet.then(|| "--quiet".to_owned()));
    arguments
}

pub(crate) fn work(args: &WorkerArgs, context: &mut Context<'_>) -> Outcome {
    make(&args.making, args.shard, context)
}

/// Makes the runs of a share.
fn make(args: &Making, shard: Shard, context: &mut Context<'_>) -> Outcome {
    let (plan, store) = args.store.open()?;
    let plan = Arc::new(plan);
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let workers = args.jobs.map_or_else(cores, |jobs| jobs.get());
    let limit = args.limit.map(|limit| limit.0);
    let options = Options { workers, limit, shard, ..Options::default() };
    let progress = Progress::new(context.quiet);
    let bar = Mutex::new(progress.bar(&plan.file().name));
    let watch = Shown { bar, began: Instant::now(), threads: workers as u64 };
    let memory = plan.file().fail.memory.map(Bytes);
    let outcome = run_in_processes(&plan, &store, &options, &watch, &|| worker(memory))?;
    drop(watch);
    print(&plan, &store, &outcome, shard, context)?;
    if outcome.counts.failed > 0 {
        let file = plan.file().path.display();
        context.remark(&format!("`stripewise study errors {file}` shows why runs failed"));
        return Err(Failure::Reported(SOME_FAILED));
    }
    Ok(())
}

/// The command of a worker process: this very program, also when its file has been replaced meanwhile.
fn worker(memory: Option<Bytes>) -> Result<Command, Error> {
    let this = Path::new("/proc/self/exe");
    let found = if this.exists() { Ok(this.to_owned()) } else { std::env::current_exe() };
    let program =
        found.map_err(|error| Error::Worker(format!("cannot find this program for workers: {error}")))?;
    let mut command = Command::new(program);
    command.arg0("stripewise").args(["study", "batches"]);
    command.args(memory.map(|memory| format!("--memory={memory}")));
    Ok(command)
}

/// Prints what was made. A share has no catalogue: the other shares are still at work.
fn print(
    plan: &Plan,
    store: &StudyStore,
    outcome: &Ended,
    shard: Shard,
    context: &mut Context<'_>,
) -> Outcome {
    let Counts { found, made, failed, refused, points_done, points_failed, cpu_ns, .. } = outcome.counts;
    let count = human::count;
    let mut lines = vec![format!(
        "runs      {} made in {} of processor time, {} there already",
        count(made),
        cpu(u128::from(cpu_ns)),
        count(found)
    )];
    let left = outcome.counts.points_open + outcome.counts.points_left;
    let more = if left > 0 { format!(", {} left", count(left)) } else { String::new() };
    lines.push(format!("points    {} complete{more}", count(points_done)));
    if refused > 0 {
        lines.push(format!("left out  {} combinations that do not fit", count(refused)));
    }
    if failed > 0 {
        let stopped = if outcome.is_stopped { "; the study stopped, as its file says" } else { "" };
        lines.push(format!("FAILED    {} runs of {} points{stopped}", count(failed), count(points_failed)));
    }
    if found + made > 0 && shard == Shard::ALL {
        let (path, rows) = index(plan, store, &Patient)?;
        lines.push(format!("results   {} runs in {}", count(rows), path.display()));
    }
    for line in lines {
        writeln!(context.out, "{line}")?;
    }
    if found + made == 0 || shard != Shard::ALL {
        return Ok(());
    }
    if points_done + left > REPORTED {
        let file = plan.file().path.display();
        context.remark(&format!(
            "too many points for one page; `stripewise report {file} --only AXIS=VALUE` takes some"
        ));
        return Ok(());
    }
    write_beside(plan, store, context)
}
