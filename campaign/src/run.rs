//! Makes the runs of a plan on several threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::coordinator::{Coordinator, Next, Options, Outcome};
use crate::error::Error;
use crate::make::{Watch, Watching, make_all};
use crate::plan::Plan;
use crate::store::StudyStore;

/// What the threads share.
struct Shared {
    coordinator: Mutex<Coordinator>,
    /// A batch has ended.
    changed: Condvar,
    error: Mutex<Option<Error>>,
}

impl Shared {
    fn coordinator(&self) -> MutexGuard<'_, Coordinator> {
        self.coordinator.lock().expect("no thread panics while it plans")
    }

    fn has_error(&self) -> bool {
        self.error.lock().expect("no thread panics while it reports").is_some()
    }
}

/// Ends the other threads soon after one of them has an error.
struct Together<'a> {
    shared: &'a Shared,
    watch: &'a dyn Watch,
}

impl Watch for Together<'_> {
    fn go_on(&self) -> bool {
        self.watch.go_on() && !self.shared.has_error()
    }

    fn begins(&self, run: &dyn Fn() -> String) {
        self.watch.begins(run);
    }

    fn commit(&self, moment: crate::Moment) {
        self.watch.commit(moment);
    }
}

/// Makes the runs of `plan` that `store` lacks, and commits them in batches. What another command commits meanwhile is made
/// twice, with equal results.
///
/// # Errors
/// A store that cannot be read or written; a trace that has changed; [`Error::NotReproduced`];
/// [`stripewise_study::Error::Stopped`].
pub fn run(
    plan: &Arc<Plan>,
    store: &StudyStore,
    options: &Options,
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    store.sweep()?;
    let coordinator = Mutex::new(Coordinator::new(plan, store, *options)?);
    let shared = Shared { coordinator, changed: Condvar::new(), error: Mutex::new(None) };
    std::thread::scope(|scope| {
        let work = || {
            if let Err(error) = work(plan, store, options, watch, &shared) {
                // The first one counts; the others follow from it.
                shared.error.lock().expect("no thread panics while it reports").get_or_insert(error);
            }
            shared.changed.notify_all();
        };
        for _ in 1..options.workers.max(1) {
            scope.spawn(work);
        }
        work();
    });
    let error = shared.error.into_inner().expect("no thread panics while it reports");
    let coordinator = shared.coordinator.into_inner().expect("no thread panics while it plans");
    if let Some(error) = error {
        return Err(error);
    }
    if !watch.go_on() {
        return Err(stripewise_study::Error::Stopped.into());
    }
    coordinator.finish()
}

/// One thread: makes batches until none is left.
fn work(
    plan: &Plan,
    store: &StudyStore,
    options: &Options,
    watch: &dyn Watch,
    shared: &Shared,
) -> Result<(), Error> {
    let together = Together { shared, watch };
    loop {
        let mut coordinator = shared.coordinator();
        let batch = loop {
            if !together.go_on() {
                return Ok(());
            }
            match coordinator.next(&Watching(watch)) {
                Next::Batch(batch) => break batch,
                Next::Done => return Ok(()),
                // A batch of another thread may bring new runs. The time limit notices the user's interruption.
                Next::Wait => {
                    let waited = shared.changed.wait_timeout(coordinator, Duration::from_millis(100));
                    coordinator = waited.expect("no thread panics while it plans").0;
                }
            }
        };
        drop(coordinator);
        let made = make_all(plan, store, &batch.tasks, options.batch, &together, &mut |ended| {
            let counts = shared.coordinator().ended(batch.id, ended)?;
            shared.changed.notify_all();
            watch.advanced(&counts);
            Ok(())
        });
        match made {
            Err(Error::Study(stripewise_study::Error::Stopped)) => return Ok(()),
            made => made?,
        }
    }
}
