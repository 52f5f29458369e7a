//! The files of a blktrace in a tar archive. A stream contains them one after the other, and the reader needs them
//! side by side. So memory holds the requests of all files, 64 bytes each, until they are merged.

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::detect;
use super::stream::{Head, Stream, Tally};
use crate::TraceError;
use crate::format::is_blktrace_member;
use crate::input::{Content, Input};

/// Whether a stream that begins with `sample` is a tar archive.
pub(crate) fn is_tar(sample: &[u8]) -> bool {
    sample.get(257..262) == Some(b"ustar")
}

/// The format and the variant of the first file of a blktrace in the archive, and the content of each file.
pub(super) struct Unpacked {
    pub(super) chosen: (usize, usize),
    pub(super) files: Vec<Vec<Head>>,
}

/// Most requests of an archive: 1 GiB of them.
const MOST_REQUESTS: usize = if cfg!(fuzzing) { 1 << 10 } else { 16 << 20 };
/// Most bytes of an entry that extends the next one, such as a long name.
const MOST_EXTENSION: u64 = 64 << 10;

/// Reads every file of a blktrace in the archive `input`, in the format `named` or that of its first file. A file is
/// decoded while it streams, so memory holds only its requests.
pub(super) fn unpack(
    input: Input,
    named: Option<(usize, usize)>,
    tally: &mut Tally,
) -> Result<Unpacked, TraceError> {
    let path = input.path().to_owned();
    let damaged = |source| TraceError::Io { path: path.clone(), source };
    let refused = |reason: String| TraceError::NotATrace { path: path.clone(), reason };
    let (mut chosen, mut files) = (named, Vec::new());
    let (mut long_name, mut requests) = (None, 0);
    let shared = Shared(Arc::new(Mutex::new(Taken { input, ahead: 0 })));
    let mut archive = tar::Archive::new(shared.clone());
    // The library holds extensions of any length in memory; this code reads them up to a bound.
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() || kind.is_pax_local_extensions() {
            let mut bytes = Vec::new();
            entry.by_ref().take(MOST_EXTENSION).read_to_end(&mut bytes).map_err(damaged)?;
            if kind.is_gnu_longname() {
                bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
                long_name = Some(bytes);
                continue;
            }
            for pair in tar::PaxExtensions::new(&bytes).filter_map(Result::ok) {
                match pair.key_bytes() {
                    b"path" => long_name = Some(pair.value_bytes().to_vec()),
                    b"size" => {
                        let reason = "is a tar archive with a file of 8 GiB or more; unpack it and give the trace inside";
                        return Err(refused(reason.to_owned()));
                    }
                    _ => {}
                }
            }
            continue;
        }
        let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        let name = String::from_utf8_lossy(&name).into_owned();
        let belongs =
            Path::new(&name).file_name().and_then(|name| name.to_str()).is_some_and(is_blktrace_member);
        if !kind.is_file() || !belongs {
            continue;
        }
        let within = format!("{}: {name}", path.display());
        let member = Box::new(ArchiveMember { shared: shared.clone(), left: entry.size() });
        let Content::Stream(mut input) = Content::of_stream(Path::new(&within), member, None)? else {
            continue;
        };
        let (format, variant) = match chosen {
            Some(chosen) => chosen,
            None => match detect(input.sample()?) {
                Some(found) => *chosen.insert(found),
                None => continue,
            },
        };
        let mut stream = Stream::new(input, format, variant);
        let mut heads = Vec::new();
        while let Some(head) = stream.next(tally)? {
            requests += 1;
            if requests > MOST_REQUESTS {
                let reason = format!(
                    "is a tar archive of more than {MOST_REQUESTS} requests, which must be held in memory until its files are \
                     merged; unpack it and give the folder"
                );
                return Err(refused(reason));
            }
            heads.push(head);
        }
        files.push(heads);
    }
    match chosen {
        Some(chosen) if !files.is_empty() => Ok(Unpacked { chosen, files }),
        _ => {
            let reason = "is a tar archive without files of a blktrace (NAME.blktrace.0 ...); unpack it and give the \
                          trace inside";
            Err(refused(reason.to_owned()))
        }
    }
}

/// The stream of an archive, from which both the archive and its members read.
struct Taken {
    input: Input,
    /// Bytes that a member read past the archive, and that the archive must still skip.
    ahead: u64,
}

/// The archive's side of its stream.
#[derive(Clone)]
struct Shared(Arc<Mutex<Taken>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Shared {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut taken = self.lock();
        if taken.ahead == 0 {
            return Read::read(&mut taken.input, into);
        }
        let passed = taken.ahead.min(into.len() as u64);
        taken.ahead -= passed;
        let passed = passed as usize;
        into[..passed].fill(0);
        Ok(passed)
    }
}

/// One file of the archive. It reads from the archive's stream itself, since a decoder cannot take the reader that
/// the library lends.
struct ArchiveMember {
    shared: Shared,
    left: u64,
}

impl Read for ArchiveMember {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let mut taken = self.shared.lock();
        let count = Read::read(&mut taken.input, &mut into[..most])?;
        if count == 0 && most > 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the archive is cut off within this file",
            ));
        }
        taken.ahead += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}
