//! Which runs are made next. Points are opened lazily, so a plan of a million points takes the memory of some.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use stripewise_results::replicate::Decision;
use stripewise_runs::Observer;

use crate::check::cost_ns;
use crate::failures::Failed;
use crate::make::Made;
use crate::plan::{Cell, Cursor, Plan};
use crate::point::Point;
use crate::shard::Shard;
use crate::store::Known;

/// A run that is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) cell: Cell,
    pub(crate) scheme: usize,
    pub(crate) seed: u64,
    pub(crate) key: [u8; 16],
    pub(crate) cost_ns: u64,
}

impl Task {
    pub(crate) fn new(plan: &Plan, cell: Cell, scheme: usize, seed: u64, cost_ns: u64) -> Self {
        let key = plan.key(&cell, scheme, seed);
        Self { cell, scheme, seed, key, cost_ns }
    }
}

/// A point whose seeds have not ended.
struct Open {
    cell: Cell,
    fitting: u64,
    /// The expected processor time of one of its runs.
    cost_ns: u64,
    /// Its runs that are waiting or being made.
    pending: u32,
    /// Seeds whose runs were looked for in the store.
    looked: u32,
    has_failed: bool,
}

/// Counts of a study in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Points whose seeds have ended.
    pub points_done: u64,
    /// Points with a failed run.
    pub points_failed: u64,
    /// Points that are being worked on.
    pub points_open: u64,
    /// Points that were not looked at yet.
    pub points_left: u64,
    /// Combinations that do not fit.
    pub refused: u64,
    /// Runs that were in the store.
    pub found: u64,
    /// Runs that were made now.
    pub made: u64,
    /// Runs that failed and are not tried again.
    pub failed: u64,
    /// Runs that are waiting or being made.
    pub pending: u64,
    /// Processor time of the runs that were made now.
    pub cpu_ns: u64,
    /// Expected processor time of pending runs, and of the fewest seeds of points that were not looked at.
    pub left_ns: u64,
    /// The narrowest interval of the points that are done, as a share of a mean; none before one has an interval.
    pub narrowest: Option<f64>,
    /// The widest.
    pub widest: Option<f64>,
}

pub(crate) struct Schedule {
    plan: Arc<Plan>,
    pub(crate) known: Known,
    failures: BTreeMap<[u8; 16], Failed>,
    cursor: Cursor,
    shard: Shard,
    open: BTreeMap<u64, Open>,
    ready: VecDeque<Task>,
    ready_ns: u64,
    pub(crate) counts: Counts,
    /// Expected processor time of the runs that were made, to compare with the real one.
    expected_ns: u64,
    /// Runs that may still be begun.
    limit: u64,
}

impl Schedule {
    pub(crate) fn new(
        plan: Arc<Plan>,
        known: Known,
        failures: BTreeMap<[u8; 16], Failed>,
        shard: Shard,
        limit: u64,
    ) -> Self {
        let points = plan.cells().filter(|cell| shard.has(cell.index)).count() as u64;
        let counts = Counts { points_left: points, ..Counts::default() };
        let (open, ready) = (BTreeMap::new(), VecDeque::new());
        Self {
            plan,
            known,
            failures,
            cursor: Cursor::default(),
            shard,
            open,
            ready,
            ready_ns: 0,
            counts,
            expected_ns: 0,
            limit,
        }
    }

    /// Runs that take about `batch_ns` together, fewer near the end so that all of `threads` get some. Empty if none can be
    /// begun now.
    pub(crate) fn next(&mut self, batch_ns: u64, threads: u64, observer: &dyn Observer) -> Vec<Task> {
        let batch = self.scaled_back(batch_ns);
        while self.ready_ns < batch.saturating_mul(2 * threads) && self.open_next(observer).is_continue() {}
        let share = batch.min(self.ready_ns / (2 * threads));
        let (mut tasks, mut taken) = (Vec::new(), 0);
        while self.limit > 0
            && (tasks.is_empty() || taken < share)
            && let Some(task) = self.ready.pop_front()
        {
            self.ready_ns -= task.cost_ns;
            taken += task.cost_ns;
            self.limit -= 1;
            tasks.push(task);
        }
        tasks
    }

    /// Whether nothing is left to begin or to wait for.
    pub(crate) fn is_done(&self) -> bool {
        (self.open.is_empty() && self.ready.is_empty()) || self.limit == 0
    }

    /// An estimate in the unit of [`Task::cost_ns`], for a real time.
    fn scaled_back(&self, ns: u64) -> u64 {
        let ratio =
            if self.counts.cpu_ns > 0 { self.expected_ns as f64 / self.counts.cpu_ns as f64 } else { 1.0 };
        ((ns as f64 * ratio) as u64).max(1)
    }

    /// Opens the next point.
    fn open_next(&mut self, observer: &dyn Observer) -> ControlFlow<()> {
        if self.limit == 0 || !observer.may_continue() {
            return ControlFlow::Break(());
        }
        let Some(cell) = self.cursor.next(&self.plan) else { return ControlFlow::Break(()) };
        if !self.shard.has(cell.index) {
            return ControlFlow::Continue(());
        }
        self.counts.points_left = self.counts.points_left.saturating_sub(1);
        let (fitting, refused) = self.plan.fitting(&cell, observer);
        self.counts.refused += refused.len() as u64;
        if fitting != 0 {
            let cost_ns = cost_ns(&self.plan, &cell, fitting, observer);
            let index = cell.index;
            self.open
                .insert(index, Open { cell, fitting, cost_ns, pending: 0, looked: 0, has_failed: false });
            self.advance(index);
        }
        ControlFlow::Continue(())
    }

    /// Decides about a point without pending runs: more seeds, or its end.
    fn advance(&mut self, index: u64) {
        let Some(open) = self.open.get_mut(&index) else { return };
        let point = Point::look(&self.plan, &self.known, &open.cell, open.fitting);
        // Seeds that were not needed before: their runs were not made now. Some may be there behind a gap.
        let seeds = point.needs();
        self.counts.found += point.found(&self.plan, &self.known, open.looked..seeds);
        open.looked = open.looked.max(seeds);
        if let Decision::Needs(seeds) = point.decision {
            let retries = self.plan.file().fail.retries;
            for seed in 0..u64::from(seeds) {
                // Seed by seed, so that early ends of the command leave whole seeds.
                for &scheme in &point.schemes {
                    let seed = self.plan.file().replicate.first.wrapping_add(seed);
                    let task = Task::new(&self.plan, open.cell.clone(), scheme, seed, open.cost_ns);
                    let key = task.key;
                    if self.known.get(&key).is_some() {
                        continue;
                    }
                    if self.failures.get(&key).is_some_and(|it| it.is_refused || it.attempts > retries) {
                        open.has_failed = true;
                        self.counts.failed += 1;
                        continue;
                    }
                    self.ready_ns += task.cost_ns;
                    self.ready.push_back(task);
                    self.counts.pending += 1;
                    open.pending += 1;
                }
            }
        }
        if open.pending == 0 {
            self.counts.points_failed += u64::from(open.has_failed);
            self.counts.points_done += u64::from(!open.has_failed);
            if let Some(width) = point.width(&self.plan) {
                let counts = &mut self.counts;
                counts.narrowest = Some(counts.narrowest.map_or(width, |narrowest| narrowest.min(width)));
                counts.widest = Some(counts.widest.map_or(width, |widest| widest.max(width)));
            }
            self.open.remove(&index);
        }
    }

    /// A run was made and committed.
    pub(crate) fn made(&mut self, task: &Task, made: Made) {
        let cpu_ns = made.row.cpu_ns;
        self.known.insert(task.key, made.row, &[made.value]);
        self.failures.remove(&task.key);
        self.counts.made += 1;
        self.counts.cpu_ns += cpu_ns;
        self.expected_ns += task.cost_ns;
        self.ended(task, false);
    }

    /// How often a run was tried.
    pub(crate) fn attempts(&self, key: &[u8; 16]) -> u32 {
        self.failures.get(key).map_or(0, |failed| failed.attempts)
    }

    /// Whether a failed run is to be tried once more.
    pub(crate) fn failed(&mut self, task: &Task, failed: Failed) {
        let again = !failed.is_refused && failed.attempts <= self.plan.file().fail.retries;
        if !again || self.limit == 0 {
            self.abandoned(task, failed);
            return;
        }
        self.failures.insert(task.key, failed);
        self.ready_ns += task.cost_ns;
        self.ready.push_back(task.clone());
    }

    /// A run is not tried any more.
    pub(crate) fn abandoned(&mut self, task: &Task, failed: Failed) {
        self.failures.insert(task.key, failed);
        self.counts.failed += 1;
        self.ended(task, true);
    }

    fn ended(&mut self, task: &Task, has_failed: bool) {
        self.counts.pending -= 1;
        let Some(open) = self.open.get_mut(&task.cell.index) else { return };
        open.pending -= 1;
        open.has_failed |= has_failed;
        if open.pending > 0 {
            return;
        }
        if open.has_failed {
            self.counts.points_failed += 1;
            self.open.remove(&task.cell.index);
        } else {
            self.advance(task.cell.index);
        }
    }

    /// The counts, with the time that is left.
    pub(crate) fn progress(&self) -> Counts {
        let ratio =
            if self.expected_ns > 0 { self.counts.cpu_ns as f64 / self.expected_ns as f64 } else { 1.0 };
        let mean_ns = self.expected_ns / self.counts.made.max(1);
        let (least, _) = self.plan.file().replicate.rule.range();
        let unseen = self.counts.points_left * self.plan.file().schemes.len() as u64 * u64::from(least);
        let left = self.counts.pending + if self.counts.made + self.counts.pending > 0 { unseen } else { 0 };
        let left_ns = (left.saturating_mul(mean_ns) as f64 * ratio) as u64;
        Counts { points_open: self.open.len() as u64, left_ns, ..self.counts }
    }
}
