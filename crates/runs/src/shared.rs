//! Requests that several runs of a comparison replay: generated or parsed once, and kept while runs need them.
//!
//! A workload is read batch by batch, by the run that needs the next batch first; a run behind it takes kept batches
//! and never waits for a run that is behind. A workload with more requests than are kept is read by each of its runs
//! apart. Runs could share a window of it instead, but then the fastest scheme would wait for the slowest.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use stripewise_trace::slice::Slice;
use stripewise_trace::{ReadReport, Request, Source, TraceError};

use crate::ahead::{BATCH, Requests};
use crate::cpu::thread_cpu_ns;
use crate::observer::Observer;
use crate::workload::Workload;

/// The most requests of one workload that are kept: 128 MiB. Every run reads a longer workload itself.
const KEPT_MAX: usize = 4 << 20;
/// The most requests of all workloads that are kept: 512 MiB. With more, runs read their workloads themselves.
const ALL_KEPT_MAX: usize = 16 << 20;

/// The workloads of a comparison's runs.
pub(crate) struct Shared {
    feeds: Vec<Arc<Feed>>,
    /// Whether threads read ahead of the runs.
    ahead: bool,
}

/// The requests of one workload.
pub(crate) struct Feed {
    workload: Workload,
    ahead: bool,
    /// Runs that are not made yet.
    runs: AtomicUsize,
    /// Requests kept, and those for which room is reserved, of all workloads.
    kept: Arc<AtomicUsize>,
    state: Mutex<State>,
}

enum State {
    Unread,
    Kept(Box<Kept>),
    /// Every run reads it: it is too long, it cannot be read, or only one run needs it.
    Apart,
}

/// The requests that were read.
struct Kept {
    batches: Vec<Batch>,
    requests: usize,
    /// Room for requests that is reserved: all that are read at most, and those that are kept once all are read.
    reserved: usize,
    /// None once all are read.
    stream: Option<Slice<Requests>>,
    report: Option<ReadReport>,
}

#[derive(Clone)]
struct Batch {
    requests: Arc<[Request]>,
    /// The share of the workload up to its end.
    share: Option<f64>,
}

/// The answer to a run that needs a batch.
enum Found {
    Batch(Batch),
    /// The run reads all further batches from the stream.
    Last(Batch, Box<Slice<Requests>>),
    End(Option<ReadReport>),
    Apart,
}

impl Shared {
    /// Workloads, each with the number of runs that replay it. With `ahead`, a thread reads each of them.
    pub(crate) fn new<'a>(workloads: impl IntoIterator<Item = (&'a Workload, usize)>, ahead: bool) -> Self {
        let kept = Arc::new(AtomicUsize::new(0));
        let feed = |(workload, runs): (&Workload, _)| {
            Arc::new(Feed {
                workload: workload.clone(),
                ahead,
                runs: AtomicUsize::new(runs),
                kept: kept.clone(),
                state: Mutex::new(if runs > 1 { State::Unread } else { State::Apart }),
            })
        };
        Self { feeds: workloads.into_iter().map(feed).collect(), ahead }
    }

    /// Whether threads read ahead of the runs.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// The requests of the workload number `at`.
    pub(crate) fn feed(&self, at: usize) -> &Arc<Feed> {
        &self.feeds[at]
    }

    /// A run of the workload `at` was made. After the last one its requests are dropped.
    pub(crate) fn ended(&self, at: usize) {
        let feed = &self.feeds[at];
        if feed.runs.fetch_sub(1, Ordering::Relaxed) == 1 {
            feed.apart(&mut feed.state());
        }
    }
}

impl Feed {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a thread that panicked ends the study")
    }

    /// The stream of a run: the shared requests, or its own if this workload is not shared.
    ///
    /// # Errors
    /// A trace that cannot be opened. The other runs find the same error.
    pub(crate) fn open<'a>(
        self: &Arc<Self>,
        observer: &'a dyn Observer,
    ) -> Result<Result<Replayed<'a>, Requests>, TraceError> {
        let mut state = self.state();
        if matches!(*state, State::Unread) {
            *state = State::Apart;
            let most = self.workload.limit().unwrap_or(KEPT_MAX as u64);
            if most <= KEPT_MAX as u64 && self.reserve(most as usize) {
                let opened = self.workload.sliced(self.ahead).inspect_err(|_| self.release(most as usize))?;
                let (batches, reserved) = (Vec::new(), most as usize);
                let kept = Kept { batches, requests: 0, reserved, stream: Some(opened), report: None };
                *state = State::Kept(Box::new(kept));
            }
        }
        Ok(match &*state {
            State::Kept(_) => Ok(Replayed::new(self.clone(), observer)),
            State::Unread | State::Apart => Err(self.workload.requests(self.ahead)?),
        })
    }

    fn reserve(&self, requests: usize) -> bool {
        let add = |kept: usize| Some(kept + requests).filter(|&kept| kept <= ALL_KEPT_MAX);
        self.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    fn release(&self, requests: usize) {
        self.kept.fetch_sub(requests, Ordering::Relaxed);
    }

    /// From now on every run reads the workload itself.
    fn apart(&self, state: &mut State) {
        if let State::Kept(kept) = std::mem::replace(state, State::Apart) {
            self.release(kept.reserved);
        }
    }

    /// The batch number `at`, which is kept or the next one to be read.
    fn batch(&self, at: usize) -> Result<Found, TraceError> {
        let mut state = self.state();
        let State::Kept(kept) = &mut *state else { return Ok(Found::Apart) };
        if let Some(batch) = kept.batches.get(at) {
            return Ok(Found::Batch(batch.clone()));
        }
        let Some(stream) = &mut kept.stream else { return Ok(Found::End(kept.report.clone())) };
        let mut requests = Vec::with_capacity(BATCH);
        if let Err(error) = stream.next_batch(&mut requests) {
            // The other runs find the same error at the same request.
            self.apart(&mut state);
            return Err(error);
        }
        if requests.is_empty() {
            kept.report = stream.source().report();
            kept.stream = None;
            self.release(std::mem::replace(&mut kept.reserved, kept.requests) - kept.requests);
            return Ok(Found::End(kept.report.clone()));
        }
        let batch = Batch { requests: requests.into(), share: stream.progress() };
        let read = kept.requests + batch.requests.len();
        // A workload that is surely too long is not kept up to the limit first.
        let share = batch.share.filter(|&share| share > 0.0);
        if read > KEPT_MAX || share.is_some_and(|share| read as f64 / share > 2.0 * KEPT_MAX as f64) {
            let stream = kept.stream.take().map(Box::new);
            self.apart(&mut state);
            return Ok(stream.map_or(Found::Apart, |stream| Found::Last(batch, stream)));
        }
        kept.requests = read;
        kept.batches.push(batch.clone());
        Ok(Found::Batch(batch))
    }
}

/// A stream of shared requests, for one run.
pub(crate) struct Replayed<'a> {
    feed: Arc<Feed>,
    observer: &'a dyn Observer,
    batch: Batch,
    /// Requests of the batch that were delivered.
    next: usize,
    /// Batches taken from the feed, and requests delivered.
    batches: usize,
    requests: usize,
    ended: bool,
    /// Once the feed is not shared.
    own: Option<Box<Slice<Requests>>>,
    report: Option<ReadReport>,
    shared_cpu_ns: u64,
}

impl<'a> Replayed<'a> {
    fn new(feed: Arc<Feed>, observer: &'a dyn Observer) -> Self {
        let batch = Batch { requests: Arc::new([]), share: None };
        Self {
            feed,
            observer,
            batch,
            next: 0,
            batches: 0,
            requests: 0,
            ended: false,
            own: None,
            report: None,
            shared_cpu_ns: 0,
        }
    }

    /// The findings of the reader, if it was a trace.
    pub(crate) fn report(&self) -> Option<ReadReport> {
        self.own.as_ref().map_or_else(|| self.report.clone(), |own| own.source().report())
    }

    /// Processor time of this run, without what it spent on reading for all runs, and with that of the thread that
    /// reads for this one; `thread_ns` is that of its thread.
    pub(crate) fn cpu_ns(&self, thread_ns: u64) -> u64 {
        let ahead_ns = self.own.as_ref().map_or(0, |own| own.source().cpu_ns());
        (thread_ns + ahead_ns).saturating_sub(self.shared_cpu_ns)
    }

    /// Gets the next batch; an empty one is the end.
    fn take(&mut self) -> Result<(), TraceError> {
        let began_ns = thread_cpu_ns();
        let found = self.feed.batch(self.batches);
        self.shared_cpu_ns += thread_cpu_ns() - began_ns;
        self.next = 0;
        self.batches += 1;
        self.batch = match found? {
            Found::Batch(batch) => batch,
            Found::Last(batch, stream) => {
                self.own = Some(stream);
                batch
            }
            Found::End(report) => {
                self.report = report;
                self.ended = true;
                Batch { requests: Arc::new([]), share: Some(1.0) }
            }
            Found::Apart => return self.read_apart(),
        };
        Ok(())
    }

    /// Opens the workload, and passes over the requests that were delivered.
    fn read_apart(&mut self) -> Result<(), TraceError> {
        let mut stream = self.feed.workload.sliced(self.feed.ahead)?;
        let (mut batch, mut passed) = (Vec::with_capacity(BATCH), 0);
        while passed < self.requests {
            stream.next_batch(&mut batch)?;
            if batch.is_empty() || !self.observer.may_continue() {
                self.ended = true;
                return Ok(());
            }
            passed += batch.len();
        }
        self.next = batch.len() - (passed - self.requests);
        self.batch = Batch { requests: batch.into(), share: stream.progress() };
        self.own = Some(Box::new(stream));
        Ok(())
    }
}

impl Source for Replayed<'_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        if self.next == self.batch.requests.len() && !self.ended {
            match &mut self.own {
                Some(own) => return own.next_batch(batch),
                None => self.take()?,
            }
            // A stream of its own may begin exactly here.
            if let (Some(own), true) = (&mut self.own, self.next == self.batch.requests.len()) {
                return own.next_batch(batch);
            }
        }
        let left = &self.batch.requests[self.next..];
        batch.extend_from_slice(&left[..left.len().min(batch.capacity())]);
        self.next += batch.len();
        self.requests += batch.len();
        Ok(())
    }

    fn progress(&self) -> Option<f64> {
        let own = self.own.as_ref().filter(|_| self.next == self.batch.requests.len());
        own.map_or(self.batch.share, |own| own.progress())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Origin, WorkloadSpec};
    use std::path::Path;

    fn workload(requests: u64) -> Workload {
        let origin = Origin::generated("uniform:write=0.5,size=8KiB,span=64MiB,requests=20000").unwrap();
        let spec = WorkloadSpec { origin, requests: Some(requests), ..WorkloadSpec::default() };
        Workload::new(&spec, 3, &()).unwrap()
    }

    /// A trace of `lines` lines, of which the fourth is broken, in `folder`.
    fn trace(folder: &Path, lines: u64, requests: Option<u64>) -> Workload {
        let line = |n: u64| match n {
            3 => "broken\n".to_owned(),
            _ => format!("{},host,0,Read,{},4096,100\n", 128_166_372_000_000_000 + n * 10, n * 4096),
        };
        let path = folder.join("trace.csv");
        std::fs::write(&path, (0..lines).map(line).collect::<String>()).unwrap();
        let options = stripewise_trace::OpenOptions { skip_bad: 1, ..Default::default() };
        let spec = WorkloadSpec { origin: Origin::Trace(path, options), requests, ..WorkloadSpec::default() };
        Workload::new(&spec, 1, &()).unwrap()
    }

    fn rest(source: &mut dyn Source) -> Vec<Request> {
        let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(1000));
        loop {
            source.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                return all;
            }
            all.extend_from_slice(&batch);
        }
    }

    fn expected(workload: &Workload) -> Vec<Request> {
        rest(&mut workload.open(&()).unwrap())
    }

    fn shared(workload: &Workload, runs: usize, ahead: bool) -> Shared {
        Shared::new([(workload, runs)], ahead)
    }

    fn replayed<'a>(shared: &Shared, at: usize) -> Replayed<'a> {
        shared.feed(at).open(&()).unwrap().ok().expect("several runs share it")
    }

    fn is_apart(shared: &Shared, at: usize) -> bool {
        shared.feed(at).open(&()).unwrap().is_err()
    }

    #[test]
    fn runs_at_different_places_get_all_requests_in_order() {
        let workload = workload(20_000);
        for ahead in [false, true] {
            let shared = shared(&workload, 3, ahead);
            let (mut first, mut second) = (replayed(&shared, 0), replayed(&shared, 0));
            let mut batch = Vec::with_capacity(5000);
            let mut begun = Vec::new();
            for _ in 0..2 {
                first.next_batch(&mut batch).unwrap();
                begun.extend_from_slice(&batch);
            }
            let expected = expected(&workload);
            assert!(rest(&mut second) == expected && rest(&mut replayed(&shared, 0)) == expected);
            begun.extend(rest(&mut first));
            assert!(begun == expected && begun.len() == 20_000);
        }
    }

    #[test]
    fn the_report_is_that_of_the_reader_and_the_progress_that_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        for requests in [None, Some(9_000)] {
            let workload = trace(folder.path(), 30_001, requests);
            let mut alone = workload.open(&()).unwrap();
            let expected = rest(&mut alone);
            let report = alone.source().report();
            assert_eq!(report.as_ref().map(|report| report.skipped_bad), Some(1));
            for ahead in [false, true] {
                let shared = shared(&workload, 2, ahead);
                for _ in 0..2 {
                    let mut replayed = replayed(&shared, 0);
                    let mut batch = Vec::with_capacity(BATCH);
                    replayed.next_batch(&mut batch).unwrap();
                    let share = replayed.progress().unwrap();
                    assert!(share > 0.0 && share < 1.0, "{share}");
                    batch.extend(rest(&mut replayed));
                    assert!(batch == expected);
                    assert_eq!(replayed.report(), report);
                    assert_eq!(replayed.progress(), Some(1.0));
                }
            }
        }
    }

    #[test]
    fn requests_are_read_once_and_dropped_after_the_last_run() {
        let shared = shared(&workload(100), 2, false);
        let (mut first, mut second) = (replayed(&shared, 0), replayed(&shared, 0));
        first.take().unwrap();
        second.take().unwrap();
        let kept = first.batch.requests.clone();
        assert!(Arc::ptr_eq(&kept, &second.batch.requests));
        (first, second) = (replayed(&shared, 0), replayed(&shared, 0));
        shared.ended(0);
        assert_eq!(Arc::strong_count(&kept), 2, "another run needs them");
        shared.ended(0);
        assert_eq!(Arc::strong_count(&kept), 1);
        drop((first, second));
    }

    #[test]
    fn a_workload_of_one_run_or_of_too_many_requests_is_read_by_each_run() {
        assert!(is_apart(&shared(&workload(100), 1, false), 0));
        assert!(is_apart(&shared(&workload(KEPT_MAX as u64 + 1), 2, false), 0));
    }

    #[test]
    fn runs_continue_apart_when_the_workload_proves_too_long() {
        let origin = Origin::generated("uniform:requests=1000G,arrival=none").unwrap();
        let endless = WorkloadSpec { origin, requests: None, ..WorkloadSpec::default() };
        let endless = Workload::new(&endless, 1, &()).unwrap();
        let mut expected = Vec::with_capacity(10_000);
        endless.open(&()).unwrap().next_batch(&mut expected).unwrap();
        for ahead in [false, true] {
            let shared = shared(&endless, 2, ahead);
            // The first finds it out, and keeps the stream; the second reads it from the start.
            for mut replayed in [replayed(&shared, 0), replayed(&shared, 0)] {
                let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(BATCH));
                while all.len() < expected.len() {
                    replayed.next_batch(&mut batch).unwrap();
                    all.extend_from_slice(&batch);
                }
                assert!(all[..expected.len()] == expected);
                assert!(replayed.own.is_some());
            }
            assert!(is_apart(&shared, 0));
            assert_eq!(shared.feed(0).kept.load(Ordering::Relaxed), 0, "no room stays reserved");
        }
    }

    #[test]
    fn a_run_whose_requests_are_dropped_continues_at_the_same_request() {
        let folder = tempfile::tempdir().unwrap();
        let workload = trace(folder.path(), 30_001, None);
        let mut alone = workload.open(&()).unwrap();
        let expected = rest(&mut alone);
        for taken in [0, 1, 4095, 4096, 4097, 20_000, 30_000] {
            let shared = shared(&workload, 2, false);
            let mut replayed = replayed(&shared, 0);
            let mut all = Vec::new();
            while all.len() < taken {
                let mut batch = Vec::with_capacity((taken - all.len()).min(BATCH));
                replayed.next_batch(&mut batch).unwrap();
                all.extend_from_slice(&batch[..batch.len().min(taken - all.len())]);
            }
            shared.feed(0).apart(&mut shared.feed(0).state());
            all.extend(rest(&mut replayed));
            assert!(all == expected, "after {taken}");
            assert_eq!(replayed.report(), alone.source().report());
        }
    }

    #[test]
    fn all_workloads_together_keep_no_more_than_the_limit() {
        let workload = workload(100);
        let shared = Shared::new([(&workload, 2), (&workload, 2)], false);
        let kept = &shared.feed(0).kept;
        kept.store(ALL_KEPT_MAX - 100, Ordering::Relaxed);
        assert_eq!(rest(&mut replayed(&shared, 0)).len(), 100);
        assert!(is_apart(&shared, 1), "a hundred more are kept now");
        shared.ended(0);
        shared.ended(0);
        assert_eq!(kept.load(Ordering::Relaxed), ALL_KEPT_MAX - 100);
    }

    #[test]
    fn a_workload_with_fewer_requests_than_its_limit_gives_the_room_back() {
        let folder = tempfile::tempdir().unwrap();
        let workload = trace(folder.path(), 1001, None);
        let shared = shared(&workload, 2, false);
        let mut replayed = replayed(&shared, 0);
        assert_eq!(shared.feed(0).kept.load(Ordering::Relaxed), KEPT_MAX);
        rest(&mut replayed);
        assert_eq!(shared.feed(0).kept.load(Ordering::Relaxed), 1000);
    }

    #[test]
    fn a_trace_that_cannot_be_opened_is_an_error_of_every_run() {
        let folder = tempfile::tempdir().unwrap();
        let workload = trace(folder.path(), 10, None);
        std::fs::remove_file(folder.path().join("trace.csv")).unwrap();
        let shared = shared(&workload, 2, false);
        assert!(shared.feed(0).open(&()).is_err() && shared.feed(0).open(&()).is_err());
        assert_eq!(shared.feed(0).kept.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn every_run_finds_an_error_at_the_same_request() {
        let folder = tempfile::tempdir().unwrap();
        let workload = trace(folder.path(), 30_001, None);
        let path = folder.path().join("trace.csv");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(
            &path,
            text.replacen(",20000,", ",x,", 1).replacen(&format!(",{},", 25_000 * 4096), ",y,", 1),
        )
        .unwrap();
        let errors = |mut source: Box<dyn Source>| {
            let (mut batch, mut read) = (Vec::with_capacity(BATCH), 0);
            loop {
                match source.next_batch(&mut batch) {
                    Ok(()) if batch.is_empty() => panic!("the trace is broken"),
                    Ok(()) => read += batch.len(),
                    Err(error) => return (read, error.to_string()),
                }
            }
        };
        let alone = errors(Box::new(workload.sliced(false).unwrap()));
        for ahead in [false, true] {
            let shared = shared(&workload, 2, ahead);
            let (first, second) = (replayed(&shared, 0), replayed(&shared, 0));
            assert_eq!(errors(Box::new(first)), alone);
            assert_eq!(errors(Box::new(second)), alone);
        }
        assert!(alone.0 > BATCH && alone.1.contains("trace.csv:25001:"), "{alone:?}");
    }
}
