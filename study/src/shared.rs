//! Requests that several runs of a study replay: generated or parsed once, and kept while runs need them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use stripewise_trace::{ReadReport, Request, Source, TraceError};

use crate::error::Error;
use crate::observer::Observer;
use crate::workload::Workload;

/// The most requests of one workload that are kept: 128 MiB. Every run reads a longer workload itself.
pub(crate) const KEPT_MAX: usize = 4 << 20;
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
        Self { entries: runs.into_iter().map(entry).collect() }
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
            *state = match read(workload, observer)? {
                Some(kept) => State::Kept(Arc::new(kept)),
                None => State::Apart,
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
            *entry.state.lock().expect("no thread panics while it reads requests") = State::Apart;
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
            return Ok(Some(Kept { requests, report: stream.source().report() }));
        }
        if requests.len() + batch.len() > KEPT_MAX {
            return Ok(None);
        }
        requests.extend_from_slice(&batch);
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
