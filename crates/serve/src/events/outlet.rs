//! The destinations of events: a thread writes them to the log and the file, and passes them to the thread of the
//! operator's program. The serving thread only puts them in a bounded queue, and never waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use super::{Event, EventFile, RotatingFile, Severity, Source, What, program};
use crate::error::ServeError;

/// Most events that wait to be written.
const WAITING_MAX: usize = 1024;
/// Most events that wait for the operator's program.
const PROGRAM_WAITING_MAX: usize = 256;
/// How long the server waits for unwritten events, when it begins and when it ends, and for the program.
const PATIENCE: Duration = Duration::from_secs(5);

/// An entry of the queue of the writing thread.
#[derive(Debug)]
enum Entry {
    Event(Event),
    /// Dropped by the thread when all events before it are written.
    Mark(#[expect(dead_code, reason = "only that it is dropped matters")] SyncSender<()>),
}

/// Accepts events from any thread, without waiting.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    array: Arc<Source>,
    to: SyncSender<Entry>,
    dropped: Arc<AtomicU64>,
}

impl Events {
    /// Reports an event that happens now.
    pub(crate) fn report(&self, what: What) {
        if self.to.try_send(Entry::Event(Event::now(&self.array, what))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts events that were lost elsewhere.
    pub(crate) fn add_dropped(&self, events: u64) {
        self.dropped.fetch_add(events, Ordering::Relaxed);
    }
}

/// The thread that writes events.
#[derive(Debug)]
pub(crate) struct Outlet {
    events: Events,
    /// Closed by the thread when it has written everything.
    over: Receiver<()>,
    programs: Programs,
}

/// The operator's program, which may still run when all events are written.
#[derive(Debug)]
pub(crate) struct Programs(Option<Receiver<()>>);

impl Programs {
    /// Waits for the program, up to a limit.
    pub(crate) fn wait(self) {
        if let Some(over) = self.0 {
            wait(&over, "the server ends before its program for events has");
        }
    }
}

fn wait(over: &Receiver<()>, otherwise: &str) {
    if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        tracing::warn!("{otherwise}");
    }
}

impl Outlet {
    /// Starts the thread that writes the events of `array` to the log, and to a file and a program if
    /// they are given.
    ///
    /// # Errors
    /// When the system starts no thread. If the file cannot be written, the log names it, and the array is served
    /// without it.
    pub(crate) fn start(
        array: Source,
        file: Option<EventFile>,
        program: Option<PathBuf>,
    ) -> Result<Self, ServeError> {
        let (to, events) = sync_channel(WAITING_MAX);
        let (ends, over) = sync_channel(0);
        let dropped = Arc::new(AtomicU64::new(0));
        let array = Arc::new(array);
        let (own, left_out) = (array.clone(), dropped.clone());
        let started = program.map(start_program).transpose()?;
        let (starts, programs) = started.unzip();
        let write = move || {
            Writer { file: file.and_then(open), array: own, left_out, starts }.run(&events);
            drop(ends);
        };
        Builder::new().name("events".into()).spawn(write).map_err(ServeError::Thread)?;
        Ok(Self { events: Events { array, to, dropped }, over, programs: Programs(programs) })
    }

    /// The queue for events.
    pub(crate) fn events(&self) -> Events {
        self.events.clone()
    }

    /// Waits until the events that were reported so far are written, up to a limit.
    pub(crate) fn catch_up(&self) {
        let (mark, passed) = sync_channel(0);
        if self.events.to.try_send(Entry::Mark(mark)).is_ok() {
            wait(&passed, "the server begins before its first events were written");
        }
    }

    /// Waits until all events are written, up to a limit: a file system that hangs does not delay the end further.
    /// Every other clone of [`Self::events`] must be dropped before.
    pub(crate) fn finish(self) -> Programs {
        drop(self.events);
        wait(&self.over, "the server ends before all events were written");
        self.programs
    }
}

fn open(at: EventFile) -> Option<RotatingFile> {
    let path = at.current.display().to_string();
    RotatingFile::open(at)
        .inspect_err(|error| tracing::warn!(path, %error, "events are not kept in their file; the array is served all the same"))
        .ok()
}

/// Starts the thread of the operator's program. Returns its queue, and a channel that closes when it has ended.
fn start_program(path: PathBuf) -> Result<(SyncSender<Event>, Receiver<()>), ServeError> {
    let (to, events) = sync_channel(PROGRAM_WAITING_MAX);
    let (ends, over) = sync_channel(0);
    let run = move || {
        program::run(&path, program::TIME_LIMIT, &events);
        drop(ends);
    };
    Builder::new().name("on-event".into()).spawn(run).map_err(ServeError::Thread)?;
    Ok((to, over))
}

struct Writer {
    file: Option<RotatingFile>,
    array: Arc<Source>,
    left_out: Arc<AtomicU64>,
    starts: Option<SyncSender<Event>>,
}

impl Writer {
    fn run(mut self, entries: &Receiver<Entry>) {
        let mut is_file_bad = false;
        for entry in entries {
            let Entry::Event(event) = entry else { continue };
            is_file_bad = self.write(&event, is_file_bad);
            let events = self.left_out.swap(0, Ordering::Relaxed);
            if events > 0 {
                let left_out = Event::now(&self.array, What::EventsDropped { events });
                is_file_bad = self.write(&left_out, is_file_bad);
            }
        }
    }

    /// Writes an event. Returns whether the file could not be written, which is logged once.
    fn write(&mut self, event: &Event, was_bad: bool) -> bool {
        log(event);
        let failed = self.file.as_mut().and_then(|file| file.append(&event.line()).err());
        if let Some(error) = failed.as_ref().filter(|_| !was_bad) {
            tracing::warn!(%error, "an event could not be written to its file");
        }
        if let Some(starts) = &self.starts
            && starts.try_send(event.clone()).is_err()
        {
            tracing::warn!(
                event = event.what.kind(),
                "the program for events is too slow, and is not started for this one"
            );
        }
        failed.is_some()
    }
}

/// Writes an event to the log, as one line.
fn log(event: &Event) {
    let value = serde_json::to_value(&event.what).unwrap_or_default();
    let number = |field: &str| value.get(field).and_then(serde_json::Value::as_u64);
    let path =
        event.what.member().and_then(|member| member.path.as_ref()).map(|path| path.display().to_string());
    // The compiler must know the fields: those that an event lacks are left out.
    macro_rules! report {
        ($level:ident) => {
            tracing::$level!(
                event = event.what.kind(),
                array = event.array,
                member = number("member"),
                path,
                latency_ns = number("latency_ns"),
                read_errors = number("read_errors"),
                write_errors = number("write_errors"),
                checksum_errors = number("checksum_errors"),
                timeouts = number("timeouts"),
                errors = number("errors"),
                limit = number("limit"),
                last_offset_bytes = number("last_offset_bytes"),
                read_bytes = number("read_bytes"),
                damaged_pages = number("damaged_pages"),
                repaired_pages = number("repaired_pages"),
                repaired = number("repaired"),
                obsolete = number("obsolete"),
                lost = number("lost"),
                lost_stripes = number("lost_stripes"),
                spares_left = number("spares_left"),
                connections = number("connections"),
                "{}",
                event.message
            )
        };
    }
    match event.severity {
        Severity::Info => report!(info),
        Severity::Warning => report!(warn),
        Severity::Error => report!(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn what_is_reported_is_in_the_file_when_the_server_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let at = EventFile::of(folder.path(), "pool");
        let outlet = Outlet::start("pool".into(), Some(at.clone()), None).unwrap();
        let events = outlet.events();
        super::super::tests::all().into_iter().for_each(|what| events.report(what));
        drop(events);
        outlet.finish().wait();
        let lines = at.lines().unwrap();
        let read: Vec<What> =
            lines.iter().map(|line| serde_json::from_str::<Event>(line).unwrap().what).collect();
        assert_eq!(read, super::super::tests::all());
    }

    #[test]
    fn after_catching_up_every_event_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = EventFile::of(folder.path(), "pool");
        let outlet = Outlet::start("pool".into(), Some(at.clone()), None).unwrap();
        (0..500).for_each(|events| outlet.events().report(What::EventsDropped { events }));
        outlet.catch_up();
        assert_eq!(at.lines().unwrap().len(), 500);
    }

    #[test]
    fn a_flood_never_waits_and_what_is_missing_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let at = EventFile::of(folder.path(), "pool");
        let (to, queue) = sync_channel(4);
        let dropped = Arc::new(AtomicU64::new(0));
        let events = Events { array: Arc::new("pool".into()), to, dropped: dropped.clone() };
        let begun = Instant::now();
        for _ in 0..10 {
            events.report(What::SpaceReturned {});
        }
        assert!(begun.elapsed() < Duration::from_secs(1));
        assert_eq!(dropped.load(Ordering::Relaxed), 6);
        drop(events);
        let file = RotatingFile::open(at.clone()).ok();
        Writer { file, array: Arc::new("pool".into()), left_out: dropped, starts: None }.run(&queue);
        let lines = at.lines().unwrap();
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().any(|line| line.contains("\"events-dropped\",\"events\":6")), "{lines:?}");
    }
}
