//! Makes runs one after the other, and commits them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use stripewise_runs::{InMemory, Observer};

use crate::error::Error;
use crate::media::Moment;
use crate::plan::Plan;
use crate::row::Row;
use crate::schedule::Task;
use crate::store::{KnownRow, StudyStore, figures_of};

/// Observes the making of runs.
pub trait Watch: Sync {
    /// Whether to continue. Once it is false, the runs end soon; what is finished is committed.
    fn may_continue(&self) -> bool {
        true
    }

    /// A run begins: its scheme and seed, as in `bpu, pacing = open:1, seed 3`.
    fn begins(&self, _run: &dyn Fn() -> String) {}

    /// The counts after a commit.
    fn advanced(&self, _counts: &crate::Counts) {}

    /// A moment of a commit.
    fn commit(&self, _moment: Moment) {}
}

impl Watch for () {}

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
    fn may_continue(&self) -> bool {
        self.watch.may_continue() && !self.is_late()
    }
}

/// A watch as the observer of a plan.
pub(crate) struct Watching<'a>(pub(crate) &'a dyn Watch);

impl Observer for Watching<'_> {
    fn may_continue(&self) -> bool {
        self.0.may_continue()
    }
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) key: [u8; 16],
    pub(crate) outcome: Result<Made, Reason>,
}

/// A committed run: what decisions about its point need.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Made {
    pub(crate) row: KnownRow,
    /// The deciding figure.
    pub(crate) value: f64,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    pub(crate) message: String,
    /// Whether trying again cannot help.
    pub(crate) is_refused: bool,
}

/// Makes `tasks` in order, and commits them at their end, or whenever `batch` has passed. `each` gets what is committed.
///
/// # Errors
/// A store that cannot be written; a trace that has changed; those of `each`; [`stripewise_runs::Error::Stopped`], after
/// finished runs were committed.
pub(crate) fn make_all(
    plan: &Plan,
    store: &StudyStore,
    tasks: &[Task],
    batch: Duration,
    watch: &dyn Watch,
    each: &mut dyn FnMut(Vec<Ended>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut ended, mut began) = (Vec::new(), Instant::now());
    for task in tasks {
        let Some(outcome) = make(plan, task, watch) else {
            commit(plan, store, watch, ended, each)?;
            return Err(stripewise_runs::Error::Stopped.into());
        };
        ended.push((task, outcome));
        if began.elapsed() >= batch {
            commit(plan, store, watch, std::mem::take(&mut ended), each)?;
            began = Instant::now();
        }
    }
    commit(plan, store, watch, ended, each)
}

/// Makes one run; none if the user stopped it.
fn make(plan: &Plan, task: &Task, watch: &dyn Watch) -> Option<Result<InMemory, Reason>> {
    if !watch.may_continue() {
        return None;
    }
    watch.begins(&|| plan.name_of_run(&task.cell, task.scheme, task.seed));
    let limit = plan.file().fail.run_limit;
    let limited = Limited { watch, ends: limit.map(|limit| Instant::now() + limit) };
    let made = catch_unwind(AssertUnwindSafe(|| {
        let refused = |error: Error| Reason { message: error.to_string(), is_refused: true };
        let comparison = plan.comparison(&task.cell, task.scheme, task.seed).map_err(refused)?;
        comparison.in_memory(0, &limited).map_err(|error| {
            let message = match error {
                stripewise_runs::Error::Stopped if limited.is_late() => {
                    format!("it took longer than {} s", limit.unwrap_or_default().as_secs_f64())
                }
                error => error.to_string(),
            };
            Reason { message, is_refused: false }
        })
    }));
    if !watch.may_continue() {
        return None;
    }
    Some(made.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of unknown reason");
        Err(Reason { message: format!("a mistake in the program ended it: {text}"), is_refused: false })
    }))
}

fn commit(
    plan: &Plan,
    store: &StudyStore,
    watch: &dyn Watch,
    ended: Vec<(&Task, Result<InMemory, Reason>)>,
    each: &mut dyn FnMut(Vec<Ended>) -> Result<(), Error>,
) -> Result<(), Error> {
    if ended.is_empty() {
        return Ok(());
    }
    plan.traces_are_unchanged(&Watching(watch))?;
    let figure = std::slice::from_ref(&plan.file().replicate.figure);
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for (task, outcome) in ended {
        let outcome = outcome.map(|run| {
            let row = Row::new(task.key, &plan.file().schemes[task.scheme], &run);
            let (known, values) = figures_of(&row, figure);
            rows.push(row);
            Made { row: known, value: values[0] }
        });
        all.push(Ended { key: task.key, outcome });
    }
    store.commit(&rows, &|moment| watch.commit(moment))?;
    each(all)
}
