//! A file as a stream of decompressed bytes: detects its type from its first bytes, and counts the bytes consumed.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::format::members;
use crate::unpack::Compression;
use crate::{TraceError, zip};

/// The type of a file according to its first bytes.
pub(crate) enum Content {
    /// Text or a binary format, possibly compressed.
    Stream(Input),
    /// Parquet, which cannot be read as a stream.
    Parquet,
}

/// A stream of decompressed bytes.
pub(crate) struct Input {
    path: PathBuf,
    bytes: Box<dyn Read + Send>,
    pub(crate) compression: Compression,
    consumed: Arc<AtomicU64>,
    /// Size of the file; none for a stream without a file.
    pub(crate) size: Option<u64>,
    /// The error that ended a read after some bytes. The next read returns it.
    pending: Option<io::Error>,
    /// The bytes read for detection, and the number of them that were read a second time.
    sample: Vec<u8>,
    resampled: usize,
}

/// Formats of files that the user must convert first: their first bytes, and the remedy.
const FOREIGN: &[(&[u8], &str)] = &[
    (
        b"version https://git-lfs",
        "is a Git LFS pointer and not the trace; fetch the trace with `git lfs pull`",
    ),
    (b"7z\xBC\xAF\x27\x1C", "is a 7-Zip archive; unpack it first"),
    (b"Rar!\x1A\x07", "is a RAR archive; unpack it first"),
    (b"\x1F\x9D", "is compressed with compress; decompress it first (`gzip -d`)"),
    (b"\x02\x21\x4C\x18", "is compressed with LZ4 in its old form; decompress it first (`lz4 -d`)"),
    (b"PARE", "is an encrypted Parquet file; write it again without encryption"),
    (b"\xFF\xFE", "is UTF-16 text; convert it first (`iconv -f UTF-16 -t UTF-8`)"),
    (b"\xFE\xFF", "is UTF-16 text; convert it first (`iconv -f UTF-16 -t UTF-8`)"),
];

const LONGEST_MAGIC: usize = 24;
const PARQUET: &[u8] = b"PAR1";

/// Bytes of [`Input::sample`].
const SAMPLE: usize = if cfg!(fuzzing) { 700 } else { 64 << 10 };

impl Content {
    pub(crate) fn of_file(path: &Path) -> Result<Self, TraceError> {
        let io = |source| TraceError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_dir() {
            return Err(io(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        if !metadata.is_file() {
            return Self::of_pipe(path, Box::new(file)).map(Self::Stream);
        }
        let mut head = [0; LONGEST_MAGIC];
        let read = file.read_at(&mut head, 0).map_err(io)?;
        if Compression::of(&head[..read]) == Compression::Zip {
            return Input::of_zip(path, file, metadata.len()).map(Self::Stream);
        }
        Self::of_stream(path, Box::new(file), Some(metadata.len()))
    }

    /// The content of a stream that can be read once and from its start only.
    ///
    /// # Errors
    /// As [`Self::of_stream`]; Parquet is refused, since it is read from its end.
    pub(crate) fn of_pipe(path: &Path, stream: Box<dyn Read + Send>) -> Result<Input, TraceError> {
        match Self::of_stream(path, stream, None)? {
            Self::Stream(input) => Ok(input),
            Self::Parquet => {
                let reason = "is Parquet, which cannot be read from a stream; give a file".to_owned();
                Err(TraceError::NotATrace { path: path.to_owned(), reason })
            }
        }
    }

    /// `path` is for messages only.
    pub(crate) fn of_stream(
        path: &Path,
        mut stream: Box<dyn Read + Send>,
        size: Option<u64>,
    ) -> Result<Self, TraceError> {
        let mut head = Vec::with_capacity(LONGEST_MAGIC);
        let read = stream.by_ref().take(LONGEST_MAGIC as u64).read_to_end(&mut head);
        read.map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
        if let Some((_, remedy)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(TraceError::NotATrace { path: path.to_owned(), reason: (*remedy).to_owned() });
        }
        if head.starts_with(PARQUET) {
            return Ok(Self::Parquet);
        }
        let compression = Compression::of(&head);
        if compression == Compression::Zip {
            let reason = "is a zip archive, which cannot be read from a stream; give a file".to_owned();
            return Err(TraceError::NotATrace { path: path.to_owned(), reason });
        }
        let counted = Counting { inner: Cursor::new(head).chain(stream), consumed: Arc::default() };
        let consumed = Arc::clone(&counted.consumed);
        let bytes = compression.unpack(counted);
        let bytes = bytes.map_err(|source| TraceError::Io { path: path.to_owned(), source })?;
        Ok(Self::Stream(Input::new(path, bytes, compression, consumed, size)))
    }
}

impl Input {
    fn new(
        path: &Path,
        bytes: Box<dyn Read + Send>,
        compression: Compression,
        consumed: Arc<AtomicU64>,
        size: Option<u64>,
    ) -> Self {
        let (path, sample) = (path.to_owned(), Vec::new());
        Self { path, bytes, compression, consumed, size, pending: None, sample, resampled: 0 }
    }

    /// The only file of the zip archive at `path`.
    fn of_zip(path: &Path, file: File, size: u64) -> Result<Self, TraceError> {
        let consumed = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&consumed);
        let archived = zip::open(file, |inner| Counting { inner, consumed: counted });
        let archived = archived.map_err(|refusal| match refusal {
            zip::Refusal::Io(source) => TraceError::Io { path: path.to_owned(), source },
            zip::Refusal::Unfit(reason) => TraceError::NotATrace { path: path.to_owned(), reason },
        })?;
        consumed.store(archived.begin, Ordering::Relaxed);
        Ok(Self::new(path, archived.bytes, Compression::Zip, consumed, Some(size)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads until `into` is full or the end is reached, so the result does not depend on the pieces in which a
    /// stream yields its bytes. An error is returned only after the bytes before it.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<usize, TraceError> {
        let mut filled = 0;
        if self.resampled < self.sample.len() {
            let sample = &self.sample[self.resampled..];
            filled = sample.len().min(into.len());
            into[..filled].copy_from_slice(&sample[..filled]);
            self.resampled += filled;
        }
        while filled < into.len() && self.pending.is_none() {
            match self.bytes.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.pending = Some(error),
            }
        }
        match self.pending.take_if(|_| filled == 0) {
            Some(error) => Err(self.explain(error)),
            None => Ok(filled),
        }
    }

    /// The first bytes, which later reads return a second time. Call it before the first read.
    pub(crate) fn sample(&mut self) -> Result<&[u8], TraceError> {
        if self.sample.is_empty() {
            let mut sample = vec![0; SAMPLE];
            let count = self.read(&mut sample)?;
            sample.truncate(count);
            self.check_unpacked(&sample)?;
            self.sample = sample;
        }
        Ok(&self.sample)
    }

    /// Refuses content that a plain file is refused for too, and content that is packed once more.
    fn check_unpacked(&self, sample: &[u8]) -> Result<(), TraceError> {
        if !self.is_compressed() {
            return Ok(());
        }
        let within = Compression::of(sample);
        let reason = match FOREIGN.iter().find(|(magic, _)| sample.starts_with(magic)) {
            Some((_, reason)) => format!("holds a file that {reason}"),
            None if within != Compression::None => {
                format!("is compressed twice, with {} within; decompress it once", within.name())
            }
            None if sample.starts_with(PARQUET) => "is compressed Parquet; decompress it first".to_owned(),
            None => return Ok(()),
        };
        Err(TraceError::NotATrace { path: self.path.clone(), reason })
    }

    fn explain(&self, error: io::Error) -> TraceError {
        let (path, near) = (self.path.clone(), self.consumed());
        if !self.is_compressed() {
            return TraceError::Io { path, source: error };
        }
        let name = self.compression.name();
        if error.kind() == io::ErrorKind::OutOfMemory {
            let reason =
                format!("needs too much memory to be unpacked from {name}; decompress it first (`unxz`)");
            return TraceError::NotATrace { path, reason };
        }
        let reason = format!("{name} data is damaged or cut off before byte {near} of the file ({error})");
        TraceError::Io { path, source: io::Error::new(error.kind(), reason) }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.compression != Compression::None
    }

    /// Bytes of the file consumed so far, compressed ones if it is compressed.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Self::read(self, into).map_err(|error| match error {
            TraceError::Io { source, .. } => source,
            other => io::Error::other(other),
        })
    }
}

/// Counts the bytes that pass through.
struct Counting<R> {
    inner: R,
    consumed: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Whether the trace at `path` can be read once only: it is a named pipe, a process substitution of a shell, or anything
/// else that is there and is neither a file nor a folder.
pub fn is_read_once(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The BLAKE3 digest of a trace's bytes as they are on disk, in hexadecimal: results identify a trace by it. A trace
/// of several files has the digest of their concatenation.
///
/// # Errors
/// The operating system's.
pub fn digest(path: &Path) -> Result<String, TraceError> {
    digest_while(path, &mut || true).map(Option::unwrap_or_default)
}

/// [`digest`], or nothing as soon as `may_continue`, called at every MiB, returns false.
///
/// # Errors
/// The operating system's.
pub fn digest_while(
    path: &Path,
    may_continue: &mut dyn FnMut() -> bool,
) -> Result<Option<String>, TraceError> {
    let io = |source| TraceError::Io { path: path.to_owned(), source };
    let mut hasher = blake3::Hasher::new();
    for path in members(path)? {
        let mut file = File::open(path).map_err(io)?;
        loop {
            if !may_continue() {
                return Ok(None);
            }
            if io::copy(&mut file.by_ref().take(1 << 20), &mut hasher).map_err(io)? == 0 {
                break;
            }
        }
    }
    Ok(Some(hasher.finalize().to_hex().to_string()))
}
