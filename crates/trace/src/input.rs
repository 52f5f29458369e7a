//! A file as a stream of decompressed bytes: detects its type from its first bytes, and counts the bytes consumed.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::TraceError;
use crate::format::members;

/// The compression of a file, detected from its first bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not compressed.
    #[default]
    None,
    /// gzip, of any number of members.
    Gzip,
    /// Zstandard, of any number of frames.
    Zstd,
}

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
    (b"BZh", "is compressed with bzip2; decompress it first (`bunzip2`)"),
    (b"\xFD7zXZ\0", "is compressed with xz; decompress it first (`unxz`)"),
    (b"PK\x03\x04", "is a zip archive; unpack it first (`unzip`)"),
    (b"7z\xBC\xAF\x27\x1C", "is a 7-Zip archive; unpack it first"),
    (b"\xFF\xFE", "is UTF-16 text; convert it first (`iconv -f UTF-16 -t UTF-8`)"),
    (b"\xFE\xFF", "is UTF-16 text; convert it first (`iconv -f UTF-16 -t UTF-8`)"),
];

const LONGEST_MAGIC: usize = 24;

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
        let size = metadata.is_file().then_some(metadata.len());
        Self::of_stream(path, Box::new(file), size)
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
        if head.starts_with(b"PAR1") {
            return Ok(Self::Parquet);
        }
        let compression = match head.as_slice() {
            [0x1F, 0x8B, ..] => Compression::Gzip,
            // A frame of Zstandard, or a skippable frame at the start of a file.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Compression::Zstd,
            _ => Compression::None,
        };
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = Counting { inner: Cursor::new(head).chain(stream), consumed: Arc::clone(&consumed) };
        let bytes: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(counted),
            Compression::Gzip => {
                Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, counted)))
            }
            Compression::Zstd => Box::new(
                zstd::stream::read::Decoder::new(counted)
                    .map_err(|source| TraceError::Io { path: path.to_owned(), source })?,
            ),
        };
        Ok(Self::Stream(Input {
            path: path.to_owned(),
            bytes,
            compression,
            consumed,
            size,
            pending: None,
            sample: Vec::new(),
            resampled: 0,
        }))
    }
}

impl Input {
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
            self.sample = sample;
        }
        Ok(&self.sample)
    }

    fn explain(&self, error: io::Error) -> TraceError {
        let (path, near) = (self.path.clone(), self.consumed());
        let name = match self.compression {
            Compression::None => return TraceError::Io { path, source: error },
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        };
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
