//! Makes the runs of a plan on several threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::batch::Batch;
use crate::coordinator::{Coordinator, Next, Options, Outcome};
use crate::error::Error;
use crate::make::{Watch, Watching, make_all};
use crate::plan::Plan;
use crate::schedule::Counts;
use crate::store::StudyStore;

/// Between two looks at whether the user interrupts.
const LOOK: Duration = Duration::from_millis(100);

/// What the threads share.
struct Shared {
    coordinator: Mutex<Coordinator>,
    /// A batch has ended.
    changed: Condvar,
    error: Mutex<Option<Error>>,
    /// Threads that have not ended.
    working: Mutex<usize>,
    /// A thread has ended.
    ended: Condvar,
}

impl Shared {
    fn coordinator(&self) -> MutexGuard<'_, Coordinator> {
        self.coordinator.lock().expect("no thread panics while it plans")
    }

    fn has_error(&self) -> bool {
        self.error.lock().expect("no thread panics while it reports").is_some()
    }

    fn working(&self) -> MutexGuard<'_, usize> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread at work, which has ended once this is dropped.
struct Working<'a>(&'a Shared);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        *self.0.working() -= 1;
        self.0.ended.notify_all();
    }
}

/// A thread's access to the coordinator. As a watch, it ends the thread soon after another one has an error.
pub(crate) struct Hand<'a> {
    shared: &'a Shared,
    watch: &'a dyn Watch,
}

impl Watch for Hand<'_> {
    fn may_continue(&self) -> bool {
        self.watch.may_continue() && !self.shared.has_error()
    }

    fn begins(&self, run: &dyn Fn() -> String) {
        self.watch.begins(run);
    }

    fn commit(&self, moment: crate::Moment) {
        self.watch.commit(moment);
    }
}

impl Hand<'_> {
    /// The next batch; none when all runs are made, or the study stops.
    pub(crate) fn next(&self) -> Option<Batch> {
        let mut coordinator = self.shared.coordinator();
        loop {
            if !self.may_continue() {
                return None;
            }
            match coordinator.next(&Watching(self.watch)) {
                Next::Batch(batch) => return Some(batch),
                Next::Done => return None,
                // A batch of another thread may bring new runs. The time limit notices the user's interruption.
                Next::Wait => {
                    let waited = self.shared.changed.wait_timeout(coordinator, LOOK);
                    coordinator = waited.expect("no thread panics while it plans").0;
                }
            }
        }
    }

    /// Reports what became of a batch to the coordinator.
    pub(crate) fn report(
        &self,
        what: impl FnOnce(&mut Coordinator) -> Result<Counts, Error>,
    ) -> Result<(), Error> {
        let counts = what(&mut self.shared.coordinator())?;
        self.shared.changed.notify_all();
        self.watch.advanced(&counts);
        Ok(())
    }
}

/// Makes the runs of `plan` that `store` lacks on threads of this process, and commits them in batches. What another command
/// commits meanwhile is made twice, with equal results.
///
/// # Errors
/// A store that cannot be read or written; a trace that has changed; [`Error::NotReproduced`];
/// [`stripewise_runs::Error::Stopped`].
pub fn run(
    plan: &Arc<Plan>,
    store: &StudyStore,
    options: &Options,
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let work = |hand: &Hand<'_>, _: usize| -> Result<(), Error> {
        while let Some(batch) = hand.next() {
            let made = make_all(plan, store, &batch.tasks, options.batch, hand, &mut |ended| {
                hand.report(|coordinator| coordinator.ended(batch.id, ended))
            });
            match made {
                Err(Error::Runs(stripewise_runs::Error::Stopped)) => break,
                made => made?,
            }
        }
        Ok(())
    };
    drive(plan, store, options, watch, &work, &|| ())
}

/// Lets `work` make batches on threads, each of which it gets the number of. While the study is to stop and threads are at
/// work, calls `stop` again and again.
pub(crate) fn drive(
    plan: &Arc<Plan>,
    store: &StudyStore,
    options: &Options,
    watch: &dyn Watch,
    work: &(dyn Fn(&Hand<'_>, usize) -> Result<(), Error> + Sync),
    stop: &dyn Fn(),
) -> Result<Outcome, Error> {
    store.sweep()?;
    let coordinator = Mutex::new(Coordinator::new(plan, store, *options)?);
    let threads = options.workers.max(1);
    let (changed, ended) = (Condvar::new(), Condvar::new());
    let shared =
        Shared { coordinator, changed, error: Mutex::new(None), working: Mutex::new(threads), ended };
    let hand = &Hand { shared: &shared, watch };
    std::thread::scope(|scope| {
        for at in 0..threads {
            scope.spawn(move || {
                let _working = Working(hand.shared);
                if let Err(error) = work(hand, at) {
                    // The first one counts; the others follow from it.
                    let mut first = hand.shared.error.lock().expect("no thread panics while it reports");
                    first.get_or_insert(error);
                }
            });
        }
        let mut working = shared.working();
        while *working > 0 {
            let waited = shared.ended.wait_timeout(working, LOOK);
            working = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *working > 0 && !hand.may_continue() {
                drop(working);
                stop();
                working = shared.working();
            }
        }
    });
    let error = shared.error.into_inner().expect("no thread panics while it reports");
    let coordinator = shared.coordinator.into_inner().expect("no thread panics while it plans");
    if let Some(error) = error {
        return Err(error);
    }
    if !watch.may_continue() {
        return Err(stripewise_runs::Error::Stopped.into());
    }
    coordinator.finish()
}
