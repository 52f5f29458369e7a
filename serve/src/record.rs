//! Recording what is served as a trace in our Parquet schema (docs/trace-schema.md), so that the same requests can be
//! replayed over other schemes.
//!
//! The loop only appends 32 bytes a request to a buffer; a thread of its own encodes and writes. Buffers go around between the
//! two. When the thread is behind and no buffer is free, requests are left out and counted: serving never waits for it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use stripewise_trace::{Request, TraceError, WriteOptions, Writer};

use crate::error::ServeError;

/// Requests in a buffer.
const BUFFER: usize = 4096;
/// Buffers that go around, so 2 MiB. The writer itself holds a row group of 2^20 requests, 32 MiB.
const BUFFERS: usize = 16;

/// How far a recording is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The file; complete under this name once the server was stopped.
    pub file: PathBuf,
    /// Requests recorded.
    pub requests: u64,
    /// Requests left out because the disk was too slow.
    pub left_out: u64,
}

/// A recording that goes on.
#[derive(Debug)]
pub(crate) struct Recorder {
    told: Recording,
    filling: Vec<Request>,
    full: SyncSender<Vec<Request>>,
    empty: Receiver<Vec<Request>>,
    thread: JoinHandle<Result<(), TraceError>>,
}

impl Recorder {
    /// Begins the new file `path`; `notes` are kept in its metadata.
    ///
    /// # Errors
    /// When the file exists or cannot be made.
    pub(crate) fn start(path: &Path, notes: Vec<(String, String)>) -> Result<Self, ServeError> {
        let format = "parquet".parse().expect("it is a format");
        let mut writer = Writer::create(path, &WriteOptions { notes, ..WriteOptions::new(format) })?;
        let (full, to_write) = sync_channel::<Vec<Request>>(BUFFERS);
        let (written, empty) = sync_channel(BUFFERS);
        for _ in 1..BUFFERS {
            written.send(Vec::with_capacity(BUFFER)).expect("both ends are here");
        }
        let write = move || {
            for mut buffer in to_write {
                writer.write(&buffer)?;
                buffer.clear();
                // The loop may have ended and wait for the rest alone.
                let _ = written.send(buffer);
            }
            writer.finish().map(drop)
        };
        let thread = std::thread::Builder::new().name("record".into()).spawn(write);
        Ok(Self {
            told: Recording { file: path.to_owned(), requests: 0, left_out: 0 },
            filling: Vec::with_capacity(BUFFER),
            full,
            empty,
            thread: thread.map_err(ServeError::Thread)?,
        })
    }

    /// Records a request. Requests come in order of their times.
    pub(crate) fn record(&mut self, request: Request) {
        if self.filling.len() == BUFFER {
            match self.empty.try_recv() {
                Ok(next) => {
                    let full = std::mem::replace(&mut self.filling, next);
                    // There is room for every buffer there is; a thread that failed says so at the end.
                    let _ = self.full.send(full);
                }
                Err(_) => {
                    self.told.left_out += 1;
                    return;
                }
            }
        }
        self.filling.push(request);
        self.told.requests += 1;
    }

    /// How far it is.
    pub(crate) fn told(&self) -> &Recording {
        &self.told
    }

    /// Writes the rest, and gives the file its name.
    ///
    /// # Errors
    /// What the operating system refused while it was written.
    pub(crate) fn finish(self) -> Result<Recording, ServeError> {
        let Self { told, filling, full, empty, thread } = self;
        let _ = full.send(filling);
        drop((full, empty));
        let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended?;
        Ok(told)
    }
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

    #[test]
    fn what_was_recorded_is_read_as_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("served.parquet");
        let mut recorder = Recorder::start(&path, vec![("array".into(), "pool".into())]).unwrap();
        let number = BUFFER as u64 * 3 + 7;
        for nth in 0..number {
            recorder.record(request(nth));
        }
        assert!(!path.exists(), "a file that is not complete has another name");
        let told = recorder.finish().unwrap();
        assert_eq!(told.requests + told.left_out, number);
        assert_eq!(told.left_out, 0, "the buffers hold more than that");
        let mut trace = stripewise_trace::open(&path, &OpenOptions::default()).unwrap();
        let mut batch = Vec::with_capacity(1000);
        let mut read = Vec::new();
        loop {
            trace.next_batch(&mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            read.extend_from_slice(&batch);
        }
        assert!(read.iter().copied().eq((0..number).map(request)));
        assert!(Recorder::start(&path, vec![]).is_err(), "a file that is there stays");
    }

    #[test]
    fn a_disk_that_is_full_is_told_at_the_end_and_never_waited_for() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            eprintln!("skipped: no /dev/full");
            return;
        }
        // A file is made under another name first, so let the folder be the device.
        assert!(matches!(Recorder::start(&full.join("x"), vec![]), Err(ServeError::Record(_))));
    }
}
