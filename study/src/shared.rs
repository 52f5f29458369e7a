//! Requests that several runs of a study replay: generated or parsed once, and kept while runs need them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use stripewise_trace::{ReadReport, Request, Source, TraceError};

use crate::error::Error;
use crate::observer::Observer;
use crate::workload::Workload;

/// The most requests of one workload that are kept: 128 MiB. Every run reads a longer workload itself.
const KEPT_MAX: usize = 4 << 20;
/// The most requests of all workloads that are kept: 512 MiB. With more, runs read their workloads themselves.
const ALL_KEPT_MAX: usize = 16 << 20;
/// Requests of a batch.
const BATCH: usize = 4096;

/// All requests of a workload.
#[derive(Debug)]
pub(crate) struct Kept {
    requests: Vec<Request>,
    report: Option<ReadReport>,
}

/// A stream of kept requests.
#[derive(Debug)]
pub(crate) struct Replayed {
    kept: Arc<Kept>,
    next: usize,
}

impl Replayed {
    pub(crate) fn new(kept: Arc<Kept>) -> Self {
        Self { kept, next: 0 }
    }

    /// The findings of the reader, if it was a trace.
    pub(crate) fn report(&self) -> Option<ReadReport> {
        self.kept.report.clone()
    }
}

impl Source for Replayed {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        let left = &self.kept.requests[self.next..];
        batch.extend_from_slice(&left[..left.len().min(batch.capacity())]);
        self.next += batch.len();
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        Some(self.next as f64 / self.kept.requests.len().max(1) as f64)
    }
}

/// The workloads of a study's runs.
#[derive(Debug)]
pub(crate) struct Shared {
    entries: Vec<Entry>,
    /// Requests kept, of all entries.
    kept: AtomicUsize,
}

#[derive(Debug)]
struct Entry {
    /// Runs that are not made yet.
    runs: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Unread,
    Kept(Arc<Kept>),
    /// Every run reads it: it is too long, or only one run needs it.
    Apart,
}

impl Shared {
    /// Workloads, each with the number of runs that replay it.
    pub(crate) fn new(runs: impl IntoIterator<Item = usize>) -> Self {
        let entry = |runs| Entry {
            runs: AtomicUsize::new(runs),
            state: Mutex::new(if runs > 1 { State::Unread } else { State::Apart }),
        };
        Self { entries: runs.into_iter().map(entry).collect(), kept: AtomicUsize::new(0) }
    }

    /// The requests of `workload`, whose number is `at`; none if every run reads it. The first caller reads them, and
    /// others wait.
    ///
    /// # Errors
    /// A trace that cannot be read; [`Error::Stopped`].
    pub(crate) fn requests(
        &self,
        at: usize,
        workload: &Workload,
        observer: &dyn Observer,
    ) -> Result<Option<Arc<Kept>>, Error> {
        let mut state = self.entries[at].state.lock().expect("no thread panics while it reads requests");
        if matches!(*state, State::Unread) {
            let is_full = self.kept.load(Ordering::Relaxed) + KEPT_MAX > ALL_KEPT_MAX;
            let found = if is_full { Ok(None) } else { read(workload, observer) };
            *state = match found {
                Ok(Some(kept)) => {
                    self.kept.fetch_add(kept.requests.len(), Ordering::Relaxed);
                    State::Kept(Arc::new(kept))
                }
                Ok(None) => State::Apart,
                Err(Error::Stopped) => return Err(Error::Stopped),
                // The other runs find the same error at the same time.
                Err(error) => {
                    *state = State::Apart;
                    return Err(error);
                }
            };
        }
        Ok(match &*state {
            State::Kept(kept) => Some(kept.clone()),
            State::Unread | State::Apart => None,
        })
    }

    /// A run of the workload `at` was made. After the last one its requests are dropped.
    pub(crate) fn ended(&self, at: usize) {
        let entry = &self.entries[at];
        if entry.runs.fetch_sub(1, Ordering::Relaxed) == 1 {
            let mut state = entry.state.lock().expect("no thread panics while it reads requests");
            if let State::Kept(kept) = std::mem::replace(&mut *state, State::Apart) {
                self.kept.fetch_sub(kept.requests.len(), Ordering::Relaxed);
            }
        }
    }
}

/// All requests of `workload`; none if there are more than [`KEPT_MAX`].
fn read(workload: &Workload, observer: &dyn Observer) -> Result<Option<Kept>, Error> {
    let limit = workload.limit();
    if limit.is_some_and(|limit| limit > KEPT_MAX as u64) {
        return Ok(None);
    }
    let mut stream = workload.open(observer)?;
    let mut requests = Vec::with_capacity(limit.unwrap_or(0) as usize);
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        stream.next_batch(&mut batch)?;
        if !observer.go_on() {
            return Err(Error::Stopped);
        }
        if batch.is_empty() {
            requests.shrink_to_fit();
            return Ok(Some(Kept { requests, report: stream.source().report() }));
        }
        if requests.len() + batch.len() > KEPT_MAX {
            return Ok(None);
        }
        requests.extend_from_slice(&batch);
        // A workload that is surely too long is not read up to the limit first.
        let share = stream.progress().filter(|&share| share > 0.0);
        if share.is_some_and(|share| requests.len() as f64 / share > 2.0 * KEPT_MAX as f64) {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Origin, WorkloadSpec};

    fn workload(requests: u64) -> Workload {
        let origin = Origin::generated("uniform:write=0.5,size=8KiB,span=64MiB,requests=20000").unwrap();
        let spec = WorkloadSpec { origin, requests: Some(requests), ..WorkloadSpec::default() };
        Workload::new(&spec, 3, &()).unwrap()
    }

    fn all(mut source: impl Source) -> Vec<Request> {
        let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(1000));
        loop {
            source.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                return all;
            }
            all.extend_from_slice(&batch);
        }
    }

    #[test]
    fn kept_requests_are_those_of_the_stream_in_the_same_order() {
        let workload = workload(10_000);
        let shared = Shared::new([2]);
        let kept = shared.requests(0, &workload, &()).unwrap().expect("two runs need them");
        let expected = all(workload.open(&()).unwrap());
        assert!(expected.len() == 10_000 && all(Replayed::new(kept)) == expected);
    }

    #[test]
    fn requests_are_read_once_and_dropped_after_the_last_run() {
        let workload = workload(100);
        let shared = Shared::new([2]);
        let first = shared.requests(0, &workload, &()).unwrap().unwrap();
        let second = shared.requests(0, &workload, &()).unwrap().unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        drop(second);
        shared.ended(0);
        assert_eq!(Arc::strong_count(&first), 2, "another run needs them");
        shared.ended(0);
        assert_eq!(Arc::strong_count(&first), 1);
    }

    #[test]
    fn a_workload_of_one_run_or_of_too_many_requests_is_not_kept() {
        assert!(Shared::new([1]).requests(0, &workload(100), &()).unwrap().is_none());
        assert!(Shared::new([2]).requests(0, &workload(KEPT_MAX as u64 + 1), &()).unwrap().is_none());
        let origin = Origin::generated("uniform:requests=1000G,arrival=none").unwrap();
        let endless = WorkloadSpec { origin, requests: None, ..WorkloadSpec::default() };
        let endless = Workload::new(&endless, 1, &()).unwrap();
        let batches = Counting::default();
        assert!(Shared::new([2]).requests(0, &endless, &batches).unwrap().is_none());
        assert!(batches.0.load(Ordering::Relaxed) < 10, "it is not read up to the limit");
    }

    #[test]
    fn all_workloads_together_keep_no_more_than_the_limit() {
        let shared = Shared::new([2, 2]);
        shared.kept.store(ALL_KEPT_MAX - KEPT_MAX, Ordering::Relaxed);
        assert!(shared.requests(0, &workload(100), &()).unwrap().is_some());
        assert!(shared.requests(1, &workload(100), &()).unwrap().is_none(), "a hundred more are kept now");
        shared.ended(0);
        shared.ended(0);
        assert_eq!(shared.kept.load(Ordering::Relaxed), ALL_KEPT_MAX - KEPT_MAX);
    }

    #[test]
    fn a_trace_that_cannot_be_read_is_an_error_and_every_run_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        std::fs::write(&path, "128166372000000000,host,0,Read,0,4096,100\n").unwrap();
        let origin = Origin::Trace(path.clone(), Default::default());
        let workload = Workload::new(&WorkloadSpec { origin, ..WorkloadSpec::default() }, 1, &()).unwrap();
        std::fs::remove_file(path).unwrap();
        let shared = Shared::new([2]);
        assert!(shared.requests(0, &workload, &()).is_err());
        assert!(shared.requests(0, &workload, &()).unwrap().is_none());
    }

    /// Counts how often it is asked whether to continue: at least once for each batch.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Observer for Counting {
        fn go_on(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            true
        }
    }

    /// Stops a study at once.
    struct Stopping;

    impl Observer for Stopping {
        fn go_on(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_stopped_study_keeps_nothing() {
        let shared = Shared::new([2]);
        assert!(matches!(shared.requests(0, &workload(100), &Stopping), Err(Error::Stopped)));
        assert!(shared.requests(0, &workload(100), &()).unwrap().is_some(), "another run can read them");
    }
}
