//! The coordinator of a study: hands out batches of runs, and takes their results. Who makes a batch, and where, is the
//! business of its caller.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use stripewise_runs::Observer;

use crate::batch::{Batch, Report};
use crate::error::Error;
use crate::failures::Failed;
use crate::make::Ended;
use crate::plan::Plan;
use crate::schedule::{Counts, Schedule, Task};
use crate::shard::Shard;
use crate::store::StudyStore;

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Workers that make batches at a time: threads, processes or machines.
    pub workers: usize,
    /// The most runs to make now.
    pub limit: Option<u64>,
    /// The time between two commits of a worker.
    pub batch: Duration,
    /// The share of the points that is made here.
    pub shard: Shard,
}

impl Default for Options {
    fn default() -> Self {
        Self { workers: 1, limit: None, batch: Duration::from_secs(30), shard: Shard::ALL }
    }
}

/// The end of a command that runs a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The counts at the end.
    pub counts: Counts,
    /// Whether too many runs failed.
    pub is_stopped: bool,
}

/// The next thing to do.
#[derive(Clone, Debug)]
pub enum Next {
    /// Make these runs.
    Batch(Batch),
    /// Wait for a batch to end: its results decide which runs are needed.
    Wait,
    /// All runs are made, or too many have failed.
    Done,
}

/// A batch that was handed out and has not ended.
struct Out {
    tasks: Vec<Task>,
    /// Workers of these runs that died.
    lost: u32,
}

/// Hands out the runs of a plan that its store lacks.
///
/// Workers commit their runs to the store before they report them, so the coordinator may die at any time: a new one
/// continues. What another coordinator commits meanwhile is made twice, with equal results.
pub struct Coordinator {
    plan: Arc<Plan>,
    store: StudyStore,
    options: Options,
    schedule: Schedule,
    out: BTreeMap<u64, Out>,
    /// Batches whose worker died.
    again: VecDeque<Out>,
    batches: u64,
}

impl std::fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coordinator").field("counts", &self.schedule.counts).finish_non_exhaustive()
    }
}

impl Coordinator {
    /// Reads the store.
    ///
    /// # Errors
    /// A store that cannot be read; [`Error::NotReproduced`]; a search.
    pub fn new(plan: &Arc<Plan>, store: &StudyStore, options: Options) -> Result<Self, Error> {
        if plan.file().is_search {
            let file = plan.file().path.display();
            return Err(Error::Spec(format!(
                "{file}: with its section [tune] it is a search, which needs the Python package: pip install \
                 'stripewise[study]', then python -P -m stripewise.cluster run {file}"
            )));
        }
        plan.load_policies()?;
        let known = store.load(std::slice::from_ref(&plan.file().replicate.figure))?;
        let failures = store.failures()?;
        let limit = options.limit.unwrap_or(u64::MAX);
        let schedule = Schedule::new(Arc::clone(plan), known, failures, options.shard, limit);
        let (out, again) = (BTreeMap::new(), VecDeque::new());
        Ok(Self { plan: Arc::clone(plan), store: store.clone(), options, schedule, out, again, batches: 0 })
    }

    /// The next batch.
    pub fn next(&mut self, observer: &dyn Observer) -> Next {
        if self.is_stopped() {
            return Next::Done;
        }
        let out = self.again.pop_front().or_else(|| {
            let batch_ns = self.options.batch.as_nanos() as u64;
            let tasks = self.schedule.next(batch_ns, self.options.workers.max(1) as u64, observer);
            (!tasks.is_empty()).then_some(Out { tasks, lost: 0 })
        });
        let Some(out) = out else {
            let is_done = self.out.is_empty() && (self.schedule.is_done() || !observer.may_continue());
            return if is_done { Next::Done } else { Next::Wait };
        };
        self.batches += 1;
        let batch = Batch {
            id: self.batches,
            plan: Arc::clone(&self.plan),
            store: self.store.clone(),
            batch: self.options.batch,
            tasks: out.tasks.clone(),
        };
        self.out.insert(self.batches, out);
        Next::Batch(batch)
    }

    /// Takes a report of a worker: some or all runs of a batch have ended and are committed. A report that comes twice
    /// changes nothing.
    ///
    /// # Errors
    /// A report that is none; a failure that cannot be stored.
    pub fn report(&mut self, report: &[u8]) -> Result<Counts, Error> {
        let Report { batch, ended } = Report::from_bytes(report)?;
        self.ended(batch, ended)
    }

    /// Runs of a batch have ended and are committed.
    pub(crate) fn ended(&mut self, batch: u64, ended: Vec<Ended>) -> Result<Counts, Error> {
        let Some(out) = self.out.get_mut(&batch) else { return Ok(self.counts()) };
        let mut outcomes: BTreeMap<_, _> = ended.into_iter().map(|it| (it.key, it.outcome)).collect();
        let (mut found, mut left) = (Vec::new(), Vec::new());
        for task in std::mem::take(&mut out.tasks) {
            match outcomes.remove(&task.key) {
                Some(outcome) => found.push((task, outcome)),
                None => left.push(task),
            }
        }
        if left.is_empty() {
            self.out.remove(&batch);
        } else {
            out.tasks = left;
        }
        for (task, outcome) in found {
            match outcome {
                Ok(made) => {
                    if self.schedule.attempts(&task.key) > 0 {
                        self.store.recovered(&task.key)?;
                    }
                    self.schedule.made(&task, made);
                }
                Err(reason) => {
                    let failed = self.failure(&task, reason.message, reason.is_refused, 1);
                    self.store.fail(&failed)?;
                    self.schedule.failed(&task, failed);
                }
            }
        }
        Ok(self.counts())
    }

    fn failure(&self, task: &Task, message: String, is_refused: bool, attempts: u32) -> Failed {
        let run = self.plan.name_of_run(&task.cell, task.scheme, task.seed);
        let attempts = self.schedule.attempts(&task.key) + attempts;
        Failed { key: task.key, run, message, attempts, is_refused }
    }

    /// The worker of a batch died, or never came back, with the runs of the batch that it has not reported. The batch is
    /// handed out again as often as the study retries a run; then it is halved until the run that kills its worker is alone
    /// and fails.
    ///
    /// # Errors
    /// A failure that cannot be stored.
    pub fn lost(&mut self, batch: u64, reason: &str) -> Result<Counts, Error> {
        let Some(Out { mut tasks, lost }) = self.out.remove(&batch) else { return Ok(self.counts()) };
        let lost = lost + 1;
        let tries = self.plan.file().fail.retries.saturating_add(1);
        if lost < tries {
            self.again.push_back(Out { tasks, lost });
            return Ok(self.counts());
        }
        if let [task] = &tasks[..] {
            let message = format!("its worker died {lost} times: {reason}");
            let failed = self.failure(task, message, false, lost);
            self.store.fail(&failed)?;
            self.schedule.abandoned(task, failed);
            return Ok(self.counts());
        }
        let others = tasks.split_off(tasks.len() / 2);
        for half in [tasks, others] {
            // A run that is alone at last may be innocent: it gets all its attempts.
            let lost = if half.len() == 1 { 0 } else { tries - 1 };
            self.again.push_back(Out { tasks: half, lost });
        }
        Ok(self.counts())
    }

    /// The counts, with the time that is left.
    pub fn counts(&self) -> Counts {
        self.schedule.progress()
    }

    /// Whether too many runs failed.
    pub fn is_stopped(&self) -> bool {
        let Counts { failed, made, found, .. } = self.schedule.counts;
        self.plan.file().fail.ends(failed, failed + made + found)
    }

    /// Joins small packs, and checks that what another coordinator made meanwhile has the same results. A shard leaves the
    /// packs to the other shards.
    ///
    /// # Errors
    /// A store that cannot be read or written; [`Error::NotReproduced`]; nothing in the plan fits.
    pub fn finish(self) -> Result<Outcome, Error> {
        if self.options.shard == Shard::ALL {
            self.store.join()?;
        }
        self.store.load(&[])?;
        let counts = self.counts();
        let points = counts.points_done + counts.points_failed + counts.points_open + counts.points_left;
        if points == 0 && self.options.shard == Shard::ALL {
            let file = self.plan.file().path.display();
            return Err(Error::Spec(format!(
                "{file}: no combination is left; `stripewise study check {file}` says why"
            )));
        }
        Ok(Outcome { is_stopped: self.is_stopped(), counts })
    }
}
