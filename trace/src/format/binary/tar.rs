//! The files of a blktrace in a tar archive. A stream has them one behind the other and the reader needs them side by
//! side, so the requests of all are held in memory, 64 bytes each, until they are merged.

use std::io::{Cursor, Read};
use std::path::Path;

use super::{Head, Stream, Tally, detect};
use crate::TraceError;
use crate::format::is_blktrace_member;
use crate::input::{Content, Input};

/// Whether a stream that begins so is a tar archive.
pub(crate) fn is_tar(sample: &[u8]) -> bool {
    sample.get(257..262) == Some(b"ustar")
}

/// The format and the variant of the first file of a blktrace in the archive, and what each file holds.
pub(super) struct Unpacked {
    pub(super) chosen: (usize, usize),
    pub(super) files: Vec<Vec<Head>>,
}

/// Reads every file of a blktrace in the archive `input`, as `named` or as its first file shows.
pub(super) fn unpack(
    input: Input,
    named: Option<(usize, usize)>,
    tally: &mut Tally,
) -> Result<Unpacked, TraceError> {
    let path = input.path().to_owned();
    let damaged = |source| TraceError::Io { path: path.clone(), source };
    let (mut chosen, mut files) = (named, Vec::new());
    let mut archive = tar::Archive::new(input);
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry.path().map_err(damaged)?.into_owned();
        let belongs = name.file_name().and_then(|name| name.to_str()).is_some_and(is_blktrace_member);
        if !entry.header().entry_type().is_file() || !belongs {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        let within = format!("{}: {}", path.display(), name.display());
        let Content::Stream(mut input) =
            Content::of_stream(Path::new(&within), Box::new(Cursor::new(bytes)), None)?
        else {
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
            heads.push(head);
        }
        files.push(heads);
    }
    match chosen {
        Some(chosen) if !files.is_empty() => Ok(Unpacked { chosen, files }),
        _ => {
            let reason =
                "is a tar archive without files of a blktrace (NAME.blktrace.0 ...); unpack it and give the \
                          trace inside"
                    .to_owned();
            Err(TraceError::NotATrace { path, reason })
        }
    }
}
