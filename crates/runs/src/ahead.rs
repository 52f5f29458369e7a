//! The requests of a workload, read by their run or by a thread that reads a bounded number of batches ahead of it.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use stripewise_trace::{ReadReport, Reader, Request, Source, TraceError};

use crate::cpu::thread_cpu_ns;

/// Requests of a batch, here and in a run that reads itself: a reader's report counts whole batches.
pub(crate) const BATCH: usize = 4096;
/// Batches that are ready before the thread waits: 1 MiB.
const READY: usize = 8;

/// The requests of a workload, before the first ones are taken.
pub(crate) enum Requests {
    /// Of a trace.
    Trace(Box<Reader>),
    /// Of a generator or a profile.
    Generated(Box<dyn Source + Send>),
    /// Of either, read by a thread.
    Ahead(Box<Ahead>),
}

impl Requests {
    /// The same requests, read by a thread that starts at once.
    pub(crate) fn ahead(self) -> Self {
        Self::Ahead(Box::new(Ahead::new(self)))
    }

    /// The findings of the reader of a trace, about the batches that were delivered.
    pub(crate) fn report(&self) -> Option<ReadReport> {
        match self {
            Self::Trace(reader) => Some(reader.report()),
            Self::Generated(_) => None,
            Self::Ahead(ahead) => ahead.current.report.clone(),
        }
    }

    /// Processor time of the thread that reads ahead.
    pub(crate) fn cpu_ns(&self) -> u64 {
        match self {
            Self::Trace(_) | Self::Generated(_) => 0,
            Self::Ahead(ahead) => ahead.current.cpu_ns,
        }
    }
}

impl Source for Requests {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        match self {
            Self::Trace(reader) => reader.next_batch(batch),
            Self::Generated(source) => source.next_batch(batch),
            Self::Ahead(ahead) => ahead.next_batch(batch),
        }
    }

    fn progress(&self) -> Option<f64> {
        match self {
            Self::Trace(reader) => reader.progress(),
            Self::Generated(source) => source.progress(),
            Self::Ahead(ahead) => ahead.current.share,
        }
    }
}

/// A batch, and what was known when it was read. The thread is ahead of the run, and the report that enters the
/// results must not depend on how far.
#[derive(Default)]
struct Batch {
    requests: Vec<Request>,
    share: Option<f64>,
    report: Option<ReadReport>,
    cpu_ns: u64,
}

/// Requests that a thread reads ahead.
pub(crate) struct Ahead {
    /// None once the thread was ordered to end.
    ready: Option<Receiver<Result<Batch, TraceError>>>,
    used: Sender<Vec<Request>>,
    thread: Option<JoinHandle<()>>,
    current: Batch,
    /// Requests of the current batch that were delivered.
    next: usize,
    ended: bool,
}

impl Ahead {
    fn new(mut requests: Requests) -> Self {
        let (send, ready) = sync_channel(READY);
        let (used, unused) = channel();
        let current = Batch { share: requests.progress(), report: requests.report(), ..Batch::default() };
        let thread = std::thread::spawn(move || read(&mut requests, &send, &unused));
        Self { ready: Some(ready), used, thread: Some(thread), current, next: 0, ended: false }
    }

    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        if batch.capacity() == 0 {
            batch.reserve(BATCH);
        }
        if self.next == self.current.requests.len() && !self.ended {
            self.receive()?;
        }
        let left = &self.current.requests[self.next..];
        batch.extend_from_slice(&left[..left.len().min(batch.capacity())]);
        self.next += batch.len();
        Ok(())
    }

    fn receive(&mut self) -> Result<(), TraceError> {
        let Some(Ok(received)) = self.ready.as_ref().map(Receiver::recv) else {
            // The thread ends only after the last batch or an error, unless it panicked.
            self.join();
            unreachable!("a thread that reads ahead sends the end");
        };
        self.ended = received.as_ref().map_or(true, |batch| batch.requests.is_empty());
        let last = std::mem::replace(&mut self.current, received?);
        self.next = 0;
        // The thread may have ended already.
        _ = self.used.send(last.requests);
        Ok(())
    }

    /// Ends the thread: at the latest when it has read its current batch.
    fn join(&mut self) {
        self.ready = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.join();
    }
}

fn read(
    requests: &mut Requests,
    ready: &SyncSender<Result<Batch, TraceError>>,
    unused: &Receiver<Vec<Request>>,
) {
    loop {
        let mut into = unused.try_recv().unwrap_or_default();
        into.clear();
        into.reserve_exact(BATCH);
        let read = requests.next_batch(&mut into).map(|()| Batch {
            share: requests.progress(),
            report: requests.report(),
            cpu_ns: thread_cpu_ns(),
            requests: into,
        });
        let is_last = read.as_ref().map_or(true, |batch| batch.requests.is_empty());
        // The run takes no more once it was stopped.
        if ready.send(read).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This number of requests, then an error or the end.
    struct Numbered {
        left: u64,
        fails: bool,
    }

    impl Source for Numbered {
        fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
            batch.clear();
            while self.left > 0 && batch.len() < batch.capacity() {
                self.left -= 1;
                let kind = stripewise_trace::Kind::Write;
                batch.push(Request { time_ns: 0, offset: self.left * 4096, bytes: 4096, volume: 0, kind });
            }
            if self.fails && batch.is_empty() {
                return Err(TraceError::Setting("broken".to_owned()));
            }
            Ok(())
        }

        fn progress(&self) -> Option<f64> {
            Some(1.0 - self.left as f64 / 1e6)
        }
    }

    fn numbered(left: u64, fails: bool) -> Requests {
        Requests::Generated(Box::new(Numbered { left, fails }))
    }

    #[test]
    fn requests_read_ahead_are_the_same_in_batches_of_any_size() {
        for capacity in [1, 1000, BATCH, 3 * BATCH] {
            let (mut batch, mut next) = (Vec::with_capacity(capacity), 100_000);
            let mut ahead = numbered(next, false).ahead();
            loop {
                ahead.next_batch(&mut batch).unwrap();
                for request in &batch {
                    next -= 1;
                    assert_eq!(request.offset, next * 4096);
                }
                if batch.is_empty() {
                    break;
                }
                let read = 100_000 - next;
                let share = ahead.progress().unwrap();
                let ends = read.next_multiple_of(BATCH as u64).min(100_000);
                assert_eq!(
                    share,
                    1.0 - (100_000 - ends) as f64 / 1e6,
                    "of the delivered batch, not of those ahead"
                );
            }
            assert_eq!(next, 0);
            ahead.next_batch(&mut batch).unwrap();
            assert!(batch.is_empty(), "the end stays the end");
        }
    }

    #[test]
    fn an_error_follows_the_requests_before_it() {
        let mut ahead = numbered(BATCH as u64 * 20, true).ahead();
        let mut batch = Vec::with_capacity(BATCH);
        for _ in 0..20 {
            ahead.next_batch(&mut batch).unwrap();
            assert_eq!(batch.len(), BATCH);
        }
        assert_eq!(ahead.next_batch(&mut batch).unwrap_err().to_string(), "broken");
    }

    #[test]
    fn a_source_that_is_dropped_ends_its_thread() {
        let mut ahead = numbered(u64::MAX / 8192, false).ahead();
        ahead.next_batch(&mut Vec::new()).unwrap();
        drop(ahead);
    }

    struct Panicking;

    impl Source for Panicking {
        fn next_batch(&mut self, _batch: &mut Vec<Request>) -> Result<(), TraceError> {
            panic!("a bug")
        }
    }

    #[test]
    fn a_panic_of_the_thread_reaches_the_run() {
        let mut ahead = Requests::Generated(Box::new(Panicking)).ahead();
        let next = std::panic::AssertUnwindSafe(|| ahead.next_batch(&mut Vec::new()));
        let panic = std::panic::catch_unwind(next).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"a bug"));
    }
}
