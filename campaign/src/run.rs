//! Makes the runs of a plan on several threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use stripewise_study::{InMemory, Observer};

use crate::check::name;
use crate::error::Error;
use crate::failures::Failed;
use crate::plan::Plan;
use crate::row::Row;
use crate::schedule::{Counts, Schedule, Task};
use crate::store::{Moment, StudyStore};

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads.
    pub threads: usize,
    /// The most runs to make now.
    pub limit: Option<u64>,
    /// The time between two commits of a thread.
    pub batch: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, limit: None, batch: Duration::from_secs(30) }
    }
}

/// Observes a study.
pub trait Watch: Sync {
    /// Whether to continue. Once it is false, the runs end soon; what is finished is committed.
    fn go_on(&self) -> bool {
        true
    }

    /// The counts after a commit.
    fn advanced(&self, _counts: &Counts) {}

    /// A moment of a commit.
    fn commit(&self, _moment: Moment) {}
}

impl Watch for () {}

/// The end of a command that runs a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The counts at the end.
    pub counts: Counts,
    /// Whether too many runs failed.
    pub is_stopped: bool,
}

/// What the threads share.
struct Shared<'a> {
    schedule: Mutex<Schedule<'a>>,
    /// A batch has ended.
    changed: Condvar,
    error: Mutex<Option<Error>>,
}

impl<'a> Shared<'a> {
    fn schedule(&self) -> MutexGuard<'_, Schedule<'a>> {
        self.schedule.lock().expect("no thread panics while it plans")
    }

    fn has_error(&self) -> bool {
        self.error.lock().expect("no thread panics while it reports").is_some()
    }
}

/// Makes the runs of `plan` that `store` lacks, and commits them in batches. What another command commits meanwhile is made
/// twice, with equal results.
///
/// # Errors
/// A store that cannot be read or written; a trace that has changed; [`Error::NotReproduced`];
/// [`stripewise_study::Error::Stopped`].
pub fn run(plan: &Plan, store: &StudyStore, options: &Options, watch: &dyn Watch) -> Result<Outcome, Error> {
    store.sweep()?;
    let figures = [plan.file().replicate.figure.clone()];
    let known = store.load(&figures)?;
    let points = plan.cells().count() as u64;
    let limit = options.limit.unwrap_or(u64::MAX);
    let schedule = Schedule::new(plan, known, store.failures()?, points, limit);
    let shared = Shared { schedule: Mutex::new(schedule), changed: Condvar::new(), error: Mutex::new(None) };
    std::thread::scope(|scope| {
        let work = || {
            if let Err(error) = work(plan, store, options, watch, &shared) {
                // The first one counts; the others follow from it.
                shared.error.lock().expect("no thread panics while it reports").get_or_insert(error);
            }
            shared.changed.notify_all();
        };
        for _ in 1..options.threads.max(1) {
            scope.spawn(work);
        }
        work();
    });
    let error = shared.error.into_inner().expect("no thread panics while it reports");
    let schedule = shared.schedule.into_inner().expect("no thread panics while it plans");
    if let Some(error) = error {
        return Err(error);
    }
    if !watch.go_on() {
        return Err(stripewise_study::Error::Stopped.into());
    }
    store.join()?;
    // Another command may have made the same runs: its results must be the same.
    store.load(&figures)?;
    let counts = schedule.progress();
    if counts.points_done + counts.points_failed + counts.points_open + counts.points_left == 0 {
        let file = plan.file().path.display();
        return Err(Error::Spec(format!(
            "{file}: no combination is left; `stripewise study check {file}` says why"
        )));
    }
    Ok(Outcome { is_stopped: is_stopped(plan, &counts), counts })
}

fn is_stopped(plan: &Plan, counts: &Counts) -> bool {
    plan.file().fail.ends(counts.failed, counts.failed + counts.made + counts.found)
}

/// Stops a run that the user stops, or that takes too long.
struct Limited<'a> {
    watch: &'a dyn Watch,
    ends: Option<Instant>,
}

impl Limited<'_> {
    fn is_late(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() > ends)
    }
}

impl Observer for Limited<'_> {
    fn go_on(&self) -> bool {
        self.watch.go_on() && !self.is_late()
    }
}

/// One thread: makes batches until none is left.
fn work(
    plan: &Plan,
    store: &StudyStore,
    options: &Options,
    watch: &dyn Watch,
    shared: &Shared<'_>,
) -> Result<(), Error> {
    let batch_ns = options.batch.as_nanos() as u64;
    loop {
        let mut schedule = shared.schedule();
        let batch = loop {
            if !watch.go_on() || shared.has_error() || is_stopped(plan, &schedule.counts) {
                return Ok(());
            }
            let endless = Limited { watch, ends: None };
            let batch = schedule.next(batch_ns, options.threads.max(1) as u64, &endless);
            if !batch.is_empty() {
                break batch;
            }
            if schedule.is_done() {
                return Ok(());
            }
            // A batch of another thread may bring new runs. The time limit notices the user's interruption.
            let waited = shared.changed.wait_timeout(schedule, Duration::from_millis(100));
            schedule = waited.expect("no thread panics while it plans").0;
        };
        drop(schedule);
        let (mut ended, mut began) = (Vec::new(), Instant::now());
        for task in batch {
            if !watch.go_on() || shared.has_error() {
                break;
            }
            let Some(outcome) = make(plan, &task, watch) else { break };
            ended.push((task, outcome));
            if began.elapsed() >= options.batch {
                commit(plan, store, watch, shared, std::mem::take(&mut ended))?;
                began = Instant::now();
            }
        }
        commit(plan, store, watch, shared, ended)?;
    }
}

/// The reason of a failure, and whether trying again cannot help.
type Reason = (String, bool);

/// Makes one run; none if the user stopped it.
fn make(plan: &Plan, task: &Task, watch: &dyn Watch) -> Option<Result<InMemory, Reason>> {
    let limit = plan.file().fail.run_limit;
    let limited = Limited { watch, ends: limit.map(|limit| Instant::now() + limit) };
    let made = catch_unwind(AssertUnwindSafe(|| {
        let study =
            plan.study(&task.cell, task.scheme, task.seed).map_err(|error| (error.to_string(), true))?;
        study.in_memory(0, &limited).map_err(|error| match error {
            stripewise_study::Error::Stopped if limited.is_late() => {
                (format!("it took longer than {} s", limit.unwrap_or_default().as_secs_f64()), false)
            }
            error => (error.to_string(), false),
        })
    }));
    if !watch.go_on() {
        return None;
    }
    Some(made.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of unknown reason");
        Err((format!("a mistake in the program ended it: {text}"), false))
    }))
}

/// Commits the runs of a batch, and then lets the schedule know.
fn commit(
    plan: &Plan,
    store: &StudyStore,
    watch: &dyn Watch,
    shared: &Shared<'_>,
    ended: Vec<(Task, Result<InMemory, Reason>)>,
) -> Result<(), Error> {
    if ended.is_empty() {
        return Ok(());
    }
    plan.traces_are_unchanged()?;
    let mut made = Vec::new();
    let mut failed = Vec::new();
    for (task, outcome) in ended {
        match outcome {
            Ok(run) => {
                made.push((Row::new(task.key, &plan.file().schemes[task.scheme], &run), run.cpu_ns, task))
            }
            Err(reason) => failed.push((task, reason)),
        }
    }
    let rows: Vec<Row> = made.iter().map(|(row, ..)| row.clone()).collect();
    store.commit(&rows, &|moment| watch.commit(moment))?;
    for (row, _, task) in &made {
        if shared.schedule().attempts(&task.key) > 0 {
            store.recovered(&row.key)?;
        }
    }
    let mut failures = Vec::new();
    for (task, (message, is_refused)) in failed {
        let attempts = shared.schedule().attempts(&task.key) + 1;
        let run = format!("{}, seed {}", name(plan, &task.cell, task.scheme), task.seed);
        let failure = Failed { key: task.key, run, message, attempts, is_refused };
        store.fail(&failure)?;
        failures.push((task, failure));
    }
    let counts = {
        let mut schedule = shared.schedule();
        made.iter().for_each(|(row, cpu_ns, task)| schedule.made(task, row, *cpu_ns));
        failures.into_iter().for_each(|(task, failure)| schedule.failed(&task, failure));
        schedule.progress()
    };
    shared.changed.notify_all();
    watch.advanced(&counts);
    Ok(())
}
