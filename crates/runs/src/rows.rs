//! Rows of a run, written by a thread of their own. The tables are independent of each other, and the rows of each
//! stay in order, so the files are the same, byte for byte.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use stripewise_results::RunWriter;
use stripewise_sim::tables::{GcRow, GcSliceRow, LatencyRow, RequestRow, SampleRow, Sink, UpdateRow};

use crate::cpu::thread_cpu_ns;

/// Rows of one table in a batch: 112 KiB of requests, so that a batch stays in the second-level cache.
const BATCH: usize = 1024;
/// Batches that wait for the thread before the run waits.
const WAITING: usize = 4;

/// A sink that passes its rows to another one, on a thread.
pub(crate) struct Rows<S> {
    batch: Batch,
    /// None once the thread was ordered to end.
    full: Option<SyncSender<Batch>>,
    empty: Receiver<Batch>,
    thread: Option<JoinHandle<(S, u64)>>,
}

/// Rows of each table.
#[derive(Default)]
struct Batch {
    requests: Vec<RequestRow>,
    samples: Vec<SampleRow>,
    updates: Vec<UpdateRow>,
    gcs: Vec<GcRow>,
    latencies: Vec<LatencyRow>,
    gc_slices: Vec<GcSliceRow>,
}

impl Batch {
    /// Moves all rows to `sink`.
    fn give(&mut self, sink: &mut impl Sink) {
        self.requests.drain(..).for_each(|row| sink.request(&row));
        self.samples.drain(..).for_each(|row| sink.sample(&row));
        self.updates.drain(..).for_each(|row| sink.update(&row));
        self.gcs.drain(..).for_each(|row| sink.gc(&row));
        self.latencies.drain(..).for_each(|row| sink.latency(&row));
        self.gc_slices.drain(..).for_each(|row| sink.gc_slice(&row));
    }
}

impl<S: Sink + Send + 'static> Rows<S> {
    pub(crate) fn new(sink: S) -> Self {
        let (full, waiting) = sync_channel(WAITING);
        let (given, empty) = channel();
        let thread = std::thread::spawn(move || write(sink, &waiting, &given));
        Self { batch: Batch::default(), full: Some(full), empty, thread: Some(thread) }
    }

    /// The sink with all rows, and the processor time of the thread in nanoseconds.
    pub(crate) fn finish(mut self) -> (S, u64) {
        self.send();
        self.join().expect("a thread is joined once")
    }
}

impl<S> Rows<S> {
    #[inline(never)]
    fn send(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, next);
        if let Some(full) = &self.full {
            // Fails only after a panic of the thread, which `join` passes on.
            _ = full.send(batch);
        }
    }

    fn join(&mut self) -> Option<(S, u64)> {
        self.full = None;
        match self.thread.take()?.join() {
            Ok(ended) => Some(ended),
            Err(_) if std::thread::panicking() => None,
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl<S> Drop for Rows<S> {
    /// Drops the sink before the run returns.
    fn drop(&mut self) {
        self.join();
    }
}

fn write<S: Sink>(mut sink: S, waiting: &Receiver<Batch>, given: &Sender<Batch>) -> (S, u64) {
    while let Ok(mut batch) = waiting.recv() {
        batch.give(&mut sink);
        // The run may have ended already.
        _ = given.send(batch);
    }
    (sink, thread_cpu_ns())
}

/// Adds a row to a table of the batch, and sends the batch once that table has enough rows.
macro_rules! add {
    ($rows:ident.$table:ident, $row:ident) => {{
        $rows.batch.$table.push(*$row);
        if $rows.batch.$table.len() == BATCH {
            $rows.send();
        }
    }};
}

impl<S> Sink for Rows<S> {
    #[inline]
    fn request(&mut self, row: &RequestRow) {
        add!(self.requests, row);
    }

    #[inline]
    fn sample(&mut self, row: &SampleRow) {
        add!(self.samples, row);
    }

    #[inline]
    fn update(&mut self, row: &UpdateRow) {
        add!(self.updates, row);
    }

    #[inline]
    fn gc(&mut self, row: &GcRow) {
        add!(self.gcs, row);
    }

    #[inline]
    fn latency(&mut self, row: &LatencyRow) {
        add!(self.latencies, row);
    }

    #[inline]
    fn gc_slice(&mut self, row: &GcSliceRow) {
        add!(self.gc_slices, row);
    }
}

/// The rows of a run, written by its thread or by one beside it.
pub(crate) enum Writing {
    Here(Box<RunWriter>),
    Beside(Rows<RunWriter>),
}

impl Writing {
    pub(crate) fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Here(writer) => &mut **writer,
            Self::Beside(rows) => rows,
        }
    }

    /// The writer with all rows, and the processor time of the thread beside the run in nanoseconds.
    pub(crate) fn finish(self) -> (RunWriter, u64) {
        match self {
            Self::Here(writer) => (*writer, 0),
            Self::Beside(rows) => rows.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, PartialEq, Debug)]
    struct Collecting {
        requests: Vec<RequestRow>,
        samples: Vec<SampleRow>,
        updates: Vec<UpdateRow>,
        gcs: Vec<GcRow>,
        latencies: Vec<LatencyRow>,
        gc_slices: Vec<GcSliceRow>,
    }

    impl Sink for Collecting {
        fn request(&mut self, row: &RequestRow) {
            self.requests.push(*row);
        }
        fn sample(&mut self, row: &SampleRow) {
            self.samples.push(*row);
        }
        fn update(&mut self, row: &UpdateRow) {
            self.updates.push(*row);
        }
        fn gc(&mut self, row: &GcRow) {
            self.gcs.push(*row);
        }
        fn latency(&mut self, row: &LatencyRow) {
            self.latencies.push(*row);
        }
        fn gc_slice(&mut self, row: &GcSliceRow) {
            self.gc_slices.push(*row);
        }
    }

    fn give(sink: &mut dyn Sink) {
        for n in 0..10_000 {
            sink.request(&RequestRow { arrival_ns: n, ..RequestRow::default() });
            if n.is_multiple_of(3) {
                sink.update(&UpdateRow { time_ns: n, ..UpdateRow::default() });
            }
            if n.is_multiple_of(50) {
                sink.sample(&SampleRow { time_ns: n, ..SampleRow::default() });
                sink.gc(&GcRow { start_ns: n, ..GcRow::default() });
            }
        }
        sink.latency(&LatencyRow::default());
        sink.gc_slice(&GcSliceRow::default());
    }

    #[test]
    fn every_row_arrives_in_the_order_of_its_table() {
        let (mut expected, mut rows) = (Collecting::default(), Rows::new(Collecting::default()));
        give(&mut expected);
        give(&mut rows);
        assert_eq!(rows.finish().0, expected);
    }

    /// Panics at the first request.
    struct Panicking;

    impl Sink for Panicking {
        fn request(&mut self, _row: &RequestRow) {
            panic!("a bug")
        }
    }

    #[test]
    fn a_panic_of_the_thread_reaches_the_run() {
        let mut rows = Rows::new(Panicking);
        let finish = std::panic::AssertUnwindSafe(move || {
            give(&mut rows);
            rows.finish();
        });
        let panic = std::panic::catch_unwind(finish).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"a bug"));
    }

    #[test]
    fn the_sink_is_dropped_before_the_rows_are() {
        struct Noting {
            _alive: std::sync::Arc<()>,
        }
        impl Sink for Noting {}
        let alive = std::sync::Arc::new(());
        let mut rows = Rows::new(Noting { _alive: alive.clone() });
        give(&mut rows);
        drop(rows);
        assert_eq!(std::sync::Arc::strong_count(&alive), 1);
    }
}
