//! Records served requests as a trace in our Parquet schema (docs/reference/trace-schema.md), so that the same requests can be
//! replayed over other schemes.
//!
//! The loop only appends 32 bytes a request to a buffer; a separate thread encodes and writes. Buffers circulate
//! between the two. When the thread is behind and no buffer is free, requests are left out and counted: serving never
//! waits for the recording.
//!
//! A Parquet file can be read only once its end is written. So that a recording survives any end of the server, it is a
//! folder of files, each complete at any time: the last one is replaced by a longer one every few seconds, until it is
//! full and the next one begins. A restarted server continues in the same folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;
use stripewise_trace::{FormatName, Request, TraceError, WriteOptions, Writer};

use crate::error::ServeError;

/// Requests in a buffer.
const BUFFER: usize = 4096;
/// Buffers that circulate, so 2 MiB.
const BUFFERS: usize = 16;
/// Requests of a full file, 8 MiB in memory. A file that is not full is rewritten every few seconds: many more requests
/// would take too much of the thread's time, and far fewer would make many files.
const PART: usize = 1 << 18;
/// How long the loop keeps a request in a buffer that is not full.
const KEPT: Duration = Duration::from_secs(1);
/// How long the thread keeps a request in a file that is not full.
const UNWRITTEN: Duration = if cfg!(test) { Duration::from_millis(100) } else { Duration::from_secs(4) };

/// The metadata key with the identifier of the array.
pub(crate) const UUID_NOTE: &str = "stripewise.uuid";

/// The progress of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The folder of its files.
    pub folder: PathBuf,
    /// Requests recorded.
    pub requests: u64,
    /// Requests left out because the disk was too slow, or failed.
    pub left_out: u64,
}

/// A recording in progress.
#[derive(Debug)]
pub(crate) struct Recorder {
    progress: Recording,
    /// The start of the server, in nanoseconds since 1970: times of a recording outlive servers.
    began: Nanos,
    filling: Vec<Request>,
    /// Until when the loop may keep its buffer.
    until: Option<Nanos>,
    full: SyncSender<Vec<Request>>,
    empty: Receiver<Vec<Request>>,
    thread: JoinHandle<Result<(), TraceError>>,
}

impl Recorder {
    /// Begins a recording in `folder`, or continues it. `notes` are stored in the metadata of its files. Times are
    /// counted from now on.
    ///
    /// # Errors
    /// When another server records to the folder, when it has a recording of another array, and when it cannot be used.
    pub(crate) fn start(folder: &Path, notes: Vec<(String, String)>) -> Result<Self, ServeError> {
        let mut parts = Parts::open(folder, notes)?;
        let (full, to_write) = sync_channel::<Vec<Request>>(BUFFERS);
        let (written, empty) = sync_channel(BUFFERS);
        for _ in 1..BUFFERS {
            written.send(Vec::with_capacity(BUFFER)).expect("both ends are here");
        }
        let write = move || {
            let ended = collect(&mut parts, &to_write, &written);
            if let Err(error) = &ended {
                tracing::error!(%error, "nothing is recorded any more");
            }
            ended
        };
        let thread = std::thread::Builder::new().name("record".into()).spawn(write);
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            progress: Recording { folder: folder.to_owned(), requests: 0, left_out: 0 },
            began: since_1970.as_nanos() as Nanos,
            filling: Vec::with_capacity(BUFFER),
            until: None,
            full,
            empty,
            thread: thread.map_err(ServeError::Thread)?,
        })
    }

    /// Records a request. Requests come in order of their times.
    pub(crate) fn record(&mut self, request: Request) {
        if self.filling.len() == BUFFER && !self.hand_on() {
            self.progress.left_out += 1;
            return;
        }
        self.until.get_or_insert(request.time_ns + KEPT.as_nanos() as Nanos);
        self.filling.push(Request { time_ns: self.began + request.time_ns, ..request });
        self.progress.requests += 1;
    }

    /// Passes on the buffer, if it has been kept for long enough.
    pub(crate) fn look(&mut self, now: Nanos) {
        if self.until.is_some_and(|until| until <= now) && !self.hand_on() {
            self.until = Some(now + KEPT.as_nanos() as Nanos);
        }
    }

    /// When [`Self::look`] has work to do.
    pub(crate) fn until(&self) -> Option<Nanos> {
        self.until
    }

    /// Passes the buffer to the thread, if the thread has a free one in exchange.
    fn hand_on(&mut self) -> bool {
        let Ok(next) = self.empty.try_recv() else { return false };
        // There is room for every buffer; a thread that failed has reported that.
        let _ = self.full.send(std::mem::replace(&mut self.filling, next));
        self.until = None;
        true
    }

    /// The progress.
    pub(crate) fn progress(&self) -> &Recording {
        &self.progress
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The errors of the operating system while it was written.
    pub(crate) fn finish(self) -> Result<Recording, ServeError> {
        let Self { progress, filling, full, empty, thread, .. } = self;
        let _ = full.send(filling);
        drop((full, empty));
        let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended?;
        Ok(progress)
    }
}

/// Writes requests until the channel closes.
fn collect(
    parts: &mut Parts,
    full: &Receiver<Vec<Request>>,
    empty: &SyncSender<Vec<Request>>,
) -> Result<(), TraceError> {
    loop {
        let received = match parts.until {
            Some(until) => full.recv_timeout(until.saturating_duration_since(Instant::now())),
            None => full.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok(mut buffer) => {
                parts.add(&buffer)?;
                buffer.clear();
                // The loop may have ended, and waits only for the rest.
                let _ = empty.send(buffer);
            }
            Err(RecvTimeoutError::Timeout) => parts.write()?,
            Err(RecvTimeoutError::Disconnected) => return parts.write(),
        }
    }
}

/// The files of a recording.
struct Parts {
    folder: PathBuf,
    /// Locked, so that two servers do not replace each other's files.
    _lock: File,
    options: WriteOptions,
    /// The file that is not full: its number and its requests.
    number: u64,
    requests: Vec<Request>,
    /// Until when requests may stay out of the file.
    until: Option<Instant>,
}

impl Parts {
    fn open(folder: &Path, notes: Vec<(String, String)>) -> Result<Self, ServeError> {
        let io = |source| TraceError::Io { path: folder.to_owned(), source };
        match fs::create_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            made => made.map_err(io)?,
        }
        let lock = File::open(folder).map_err(io)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            Errno::WOULDBLOCK => ServeError::RecordInUse(folder.to_owned()),
            error => io(error.into()).into(),
        })?;
        let mut number = 0;
        for entry in fs::read_dir(folder).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            number = number.max(name.to_str().and_then(number_of).map_or(0, |number| number + 1));
        }
        if let Some(last) = number.checked_sub(1) {
            let found = stripewise_trace::notes(&folder.join(name_of(last)))?;
            let of = |notes: &[(String, String)], name| notes.iter().find(|(its, _)| its == name).cloned();
            if of(&found, UUID_NOTE) != of(&notes, UUID_NOTE) {
                let name = of(&found, "stripewise.array").or(of(&found, UUID_NOTE));
                let array = name.map_or_else(|| "without a name".to_owned(), |(_, name)| format!("`{name}`"));
                return Err(ServeError::RecordOfAnother { folder: folder.to_owned(), array });
            }
        }
        let options = WriteOptions { notes, overwrite: true, ..WriteOptions::new(FormatName::parquet()) };
        let requests = Vec::with_capacity(PART + BUFFER);
        Ok(Self { folder: folder.to_owned(), _lock: lock, options, number, requests, until: None })
    }

    fn add(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        self.requests.extend_from_slice(requests);
        let until = *self.until.get_or_insert_with(|| Instant::now() + UNWRITTEN);
        if self.requests.len() >= PART {
            self.write()?;
            self.requests.clear();
            self.number += 1;
        } else if until <= Instant::now() {
            self.write()?;
        }
        Ok(())
    }

    /// Rewrites the file with all requests so far.
    fn write(&mut self) -> Result<(), TraceError> {
        self.until = None;
        if self.requests.is_empty() {
            return Ok(());
        }
        let mut writer = Writer::create(&self.folder.join(name_of(self.number)), &self.options)?;
        writer.write(&self.requests)?;
        writer.finish().map(drop)
    }
}

/// The name of a file of a recording: the order of names is the order of times.
fn name_of(number: u64) -> String {
    format!("part-{number:08}.parquet")
}

/// The number of a file of a recording.
fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("part-")?
        .strip_suffix(".parquet")?
        .parse()
        .ok()
        .filter(|&number| name_of(number) == name)
}

#[cfg(test)]
mod tests {
    use stripewise_trace::{Kind, OpenOptions, Source};

    use super::*;

    fn request(nth: u64) -> Request {
        let kind = [Kind::Write, Kind::Read, Kind::Trim, Kind::Flush][nth as usize % 4];
        let bytes = if kind == Kind::Flush { 0 } else { 4096 };
        Request { time_ns: nth * 10, offset: nth * 4096, bytes, volume: 0, kind }
    }

    /// The requests of a recording, as the program reads it.
    fn read(folder: &Path) -> Vec<Request> {
        let mut trace = stripewise_trace::open(folder, &OpenOptions::default()).unwrap();
        let mut batch = Vec::with_capacity(1000);
        let mut read = Vec::new();
        loop {
            trace.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                return read;
            }
            read.extend_from_slice(&batch);
        }
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn recorded_data_is_read_as_a_trace_and_continued() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("served");
        let number = BUFFER as u64 * 3 + 7;
        for _ in 0..2 {
            let mut recorder = Recorder::start(&path, vec![("array".into(), "pool".into())]).unwrap();
            for nth in 0..number {
                recorder.record(request(nth));
            }
            let progress = recorder.finish().unwrap();
            assert_eq!(
                (progress.requests, progress.left_out),
                (number, 0),
                "the buffers hold more than that"
            );
        }
        let read = read(&path);
        let (first, second) = read.split_at(number as usize);
        assert!(first.iter().copied().eq((0..number).map(request)));
        let later = second[0].time_ns;
        assert!(later > first[number as usize - 1].time_ns, "time goes on between servers");
        let again = (0..number).map(request).map(|one| Request { time_ns: later + one.time_ns, ..one });
        assert!(second.iter().copied().eq(again));
        assert_eq!(files(&path), 2);
    }

    #[test]
    fn recorded_data_is_there_before_the_server_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("served");
        let mut recorder = Recorder::start(&path, vec![]).unwrap();
        let kept = KEPT.as_nanos() as Nanos;
        for nth in 0..3 {
            recorder.record(request(nth));
            assert_eq!(recorder.until(), Some(nth * 10 + kept));
            recorder.look(nth * 10 + kept - 1);
            assert!(recorder.until().is_some(), "it is kept as long as it may be");
            recorder.look(nth * 10 + kept);
            assert_eq!(recorder.until(), None);
            let deadline = Instant::now() + Duration::from_secs(20);
            while !path.join(name_of(0)).exists() || read(&path).len() as u64 <= nth {
                assert!(Instant::now() < deadline, "request {nth} was not written");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(read(&path).len() as u64, nth + 1);
        }
        assert_eq!(files(&path), 1, "the file was replaced");
        recorder.finish().unwrap();
    }

    #[test]
    fn a_full_file_is_followed_by_another() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = Parts::open(folder.path(), vec![]).unwrap();
        let number = (2 * PART + 3 * BUFFER) as u64;
        let all: Vec<Request> = (0..number).map(request).collect();
        all.chunks(BUFFER - 1).for_each(|some| parts.add(some).unwrap());
        parts.write().unwrap();
        assert_eq!(files(folder.path()), 3);
        assert!(read(folder.path()) == all);
    }

    #[test]
    fn two_servers_do_not_record_to_the_same_folder() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Recorder::start(folder.path(), vec![]).unwrap();
        assert!(matches!(Recorder::start(folder.path(), vec![]), Err(ServeError::RecordInUse(_))));
        recorder.finish().unwrap();
        assert!(Recorder::start(folder.path(), vec![]).is_ok());
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(Recorder::start(&file, vec![]), Err(ServeError::Record(_))));
    }

    #[test]
    fn two_arrays_are_not_recorded_to_the_same_folder() {
        let folder = tempfile::tempdir().unwrap();
        let start = |uuid: &str, name: &str| {
            let notes = [(UUID_NOTE, uuid), ("stripewise.array", name)];
            Recorder::start(folder.path(), notes.map(|(key, value)| (key.into(), value.into())).to_vec())
        };
        let record = |mut recorder: Recorder| {
            recorder.record(request(0));
            recorder.finish().unwrap();
        };
        record(start("1", "pool").unwrap());
        let error = start("2", "pool").unwrap_err();
        assert!(matches!(&error, ServeError::RecordOfAnother { array, .. } if array == "`pool`"), "{error}");
        record(start("1", "renamed").unwrap());
        assert_eq!(files(folder.path()), 2);
    }

    #[test]
    fn a_disk_that_refuses_is_reported_at_the_end_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("served");
        let mut recorder = Recorder::start(&path, vec![]).unwrap();
        fs::remove_dir(&path).unwrap();
        let number = (BUFFER * BUFFERS) as u64 + 1;
        // Buffers that are not written do not return.
        (0..number).for_each(|nth| recorder.record(request(nth)));
        recorder.look(number * 10 + KEPT.as_nanos() as Nanos);
        assert!(matches!(recorder.finish(), Err(ServeError::Record(_))));
    }
}
