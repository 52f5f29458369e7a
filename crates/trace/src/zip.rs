//! A zip archive of one file, which is a trace.
//!
//! Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 to 4.5: the archive's end names the place of its directory, the directory
//! names the files, and each file has a header of its own before its bytes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use crate::unpack::Compression;

/// Most bytes of a directory. An entry takes some 100.
const MOST_DIRECTORY: u64 = 16 << 20;
/// Most names in a message.
const MOST_NAMES: usize = 10;
/// The archive's end without the comment that may follow it, and the longest comment.
const END: usize = 22;
const LONGEST_COMMENT: usize = 0xFFFF;
/// The place of the end of large archives, before [`END`]; and that end.
const LOCATOR: usize = 20;
const LARGE_END: usize = 56;
/// Headers without the names and fields that follow them.
const ENTRY: usize = 46;
const LOCAL: usize = 30;

/// The file of an archive.
pub(crate) struct Archived {
    /// Its bytes, checked at their end.
    pub(crate) bytes: Box<dyn Read + Send>,
    /// Where its packed bytes begin in the archive.
    pub(crate) begin: u64,
}

/// Why no file of an archive can be read.
pub(crate) enum Refusal {
    /// The operating system refused.
    Io(io::Error),
    /// What the archive is, and the remedy.
    Unfit(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged("a part lies outside of it"),
            _ => Self::Io(error),
        }
    }
}

fn damaged(what: &str) -> Refusal {
    Refusal::Unfit(format!("is a damaged zip archive: {what}; fetch it again"))
}

/// An entry of the directory.
struct Entry {
    name: String,
    flags: u64,
    method: u64,
    checksum: u32,
    packed: u64,
    unpacked: u64,
    /// The place of its header.
    at: u64,
}

/// Opens the only file of the archive. `counted` wraps its packed bytes.
///
/// # Errors
/// An archive of no file or several; a file that is packed in a way that is not read; damage.
pub(crate) fn open<R: Read + Send + 'static>(
    mut file: File,
    counted: impl FnOnce(BufReader<File>) -> R,
) -> Result<Archived, Refusal> {
    let length = file.metadata()?.len();
    let entry = only(directory(&mut file, length)?)?;
    let (begin, packed) = (entry.begin(&mut file)?, entry.packed);
    if begin.checked_add(packed).is_none_or(|end| end > length) {
        return Err(damaged("its file is longer than it"));
    }
    file.seek(SeekFrom::Start(begin))?;
    let packed = counted(BufReader::with_capacity(1 << 16, file)).take(packed);
    let unpacked: Box<dyn Read + Send> = match entry.method {
        0 => Box::new(packed),
        8 => Box::new(flate2::bufread::DeflateDecoder::new(BufReader::with_capacity(1 << 16, packed))),
        12 => Compression::Bzip2.unpack(packed)?,
        93 => Compression::Zstd.unpack(packed)?,
        95 => Compression::Xz.unpack(packed)?,
        other => {
            let method = match other {
                9 => "Deflate64".to_owned(),
                14 => "LZMA".to_owned(),
                98 => "PPMd".to_owned(),
                other => format!("method {other}"),
            };
            return Err(Refusal::Unfit(format!(
                "is a zip archive whose file `{}` is packed with {method}, which is not supported; unpack it first (`unzip`)",
                entry.name
            )));
        }
    };
    let Entry { checksum, unpacked: left, .. } = entry;
    Ok(Archived {
        bytes: Box::new(Checked { unpacked, left, hasher: crc32fast::Hasher::new(), checksum }),
        begin,
    })
}

/// The only file among the entries.
fn only(entries: Vec<Entry>) -> Result<Entry, Refusal> {
    // Folders, and the copies of attributes that macOS adds.
    let is_file = |entry: &Entry| !entry.name.ends_with('/') && !entry.name.starts_with("__MACOSX/");
    let mut files: Vec<Entry> = entries.into_iter().filter(is_file).collect();
    if files.len() > 1 {
        let names: Vec<&str> = files.iter().take(MOST_NAMES).map(|entry| entry.name.as_str()).collect();
        let more = if files.len() > MOST_NAMES { ", ..." } else { "" };
        return Err(Refusal::Unfit(format!(
            "is a zip archive of {} files; unpack it (`unzip`) and give one of them: {}{more}",
            files.len(),
            names.join(", ")
        )));
    }
    let entry = files.pop().ok_or_else(|| Refusal::Unfit("is a zip archive without a file".to_owned()))?;
    match entry.flags & 1 {
        0 => Ok(entry),
        _ => Err(Refusal::Unfit(format!(
            "is a zip archive whose file `{}` is encrypted; unpack it first (`unzip`)",
            entry.name
        ))),
    }
}

/// The entries of the directory of an archive of `length` bytes.
fn directory(file: &mut File, length: u64) -> Result<Vec<Entry>, Refusal> {
    let last = length.min((END + LONGEST_COMMENT) as u64);
    let tail = read_at(file, length - last, last as usize)?;
    let is_end = |&at: &usize| {
        let end = &tail[at..];
        end.starts_with(b"PK\x05\x06")
            && number(end, 20, 2).is_some_and(|comment| END + comment as usize == end.len())
    };
    let at =
        (0..tail.len()).rev().find(is_end).ok_or_else(|| damaged("it has no end, so it may be cut off"))?;
    let end = &tail[at..];
    let field = |from, bytes| number(end, from, bytes).unwrap_or(0);
    let (mut count, mut size, mut begin) = (field(10, 2), field(12, 4), field(16, 4));
    if count == 0xFFFF || size == 0xFFFF_FFFF || begin == 0xFFFF_FFFF {
        let end_at = length - last + at as u64;
        let locator = end_at.checked_sub(LOCATOR as u64).ok_or_else(|| damaged("it has no end"))?;
        let locator = read_at(file, locator, LOCATOR)?;
        // Without this part the numbers are themselves.
        if locator.starts_with(b"PK\x06\x07") {
            let large = read_at(file, number(&locator, 8, 8).unwrap_or(0), LARGE_END)?;
            if !large.starts_with(b"PK\x06\x06") {
                return Err(damaged("its end is elsewhere"));
            }
            let field = |from| number(&large, from, 8).unwrap_or(0);
            (count, size, begin) = (field(32), field(40), field(48));
        }
    }
    if size > MOST_DIRECTORY {
        return Err(Refusal::Unfit(format!(
            "is a zip archive of {count} files; unpack it (`unzip`) and give one of them"
        )));
    }
    let bytes = read_at(file, begin, size as usize)?;
    let (mut entries, mut rest) = (Vec::new(), bytes.as_slice());
    while entries.len() as u64 != count {
        let (entry, length) =
            Entry::parse(rest).ok_or_else(|| damaged("an entry of its directory is cut off"))?;
        entries.push(entry);
        rest = &rest[length..];
    }
    Ok(entries)
}

/// `count` bytes from `at` on.
fn read_at(file: &mut File, at: u64, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(count as u64).read_to_end(&mut bytes)?;
    if bytes.len() == count { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The number in these bytes, the lowest first.
fn number(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(count)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

impl Entry {
    /// The entry at the start of `bytes`, and its length.
    fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let field = |at, count| number(bytes, at, count);
        let (name, extra, comment) = (field(28, 2)? as usize, field(30, 2)? as usize, field(32, 2)? as usize);
        let length = ENTRY + name + extra + comment;
        if !bytes.starts_with(b"PK\x01\x02") || bytes.len() < length {
            return None;
        }
        let (mut unpacked, mut packed, mut at) = (field(24, 4)?, field(20, 4)?, field(42, 4)?);
        let mut large = large_numbers(&bytes[ENTRY + name..ENTRY + name + extra]);
        for number in [&mut unpacked, &mut packed, &mut at] {
            if *number == 0xFFFF_FFFF {
                *number = large.next().unwrap_or(*number);
            }
        }
        let name = String::from_utf8_lossy(&bytes[ENTRY..ENTRY + name]).into_owned();
        let (flags, method, checksum) = (field(8, 2)?, field(10, 2)?, field(16, 4)? as u32);
        Some((Self { name, flags, method, checksum, packed, unpacked, at }, length))
    }

    /// Where the packed bytes begin.
    fn begin(&self, file: &mut File) -> Result<u64, Refusal> {
        let local = read_at(file, self.at, LOCAL)?;
        let (name, extra) = (number(&local, 26, 2).unwrap_or(0), number(&local, 28, 2).unwrap_or(0));
        match local.starts_with(b"PK\x03\x04") {
            true => Ok(self.at.saturating_add(LOCAL as u64 + name + extra)),
            false => Err(damaged("its file is not where its directory says")),
        }
    }
}

/// The numbers of 64 bits among the further fields of an entry.
fn large_numbers(mut fields: &[u8]) -> impl Iterator<Item = u64> {
    let mut found: &[u8] = &[];
    while let (Some(id), Some(length)) = (number(fields, 0, 2), number(fields, 2, 2)) {
        let Some(content) = fields.get(4..4 + length as usize) else { break };
        if id == 1 {
            found = content;
        }
        fields = &fields[4 + content.len()..];
    }
    found.chunks_exact(8).filter_map(|bytes| number(bytes, 0, 8))
}

/// Checks at the end that the bytes are as many as the directory says, with its checksum.
struct Checked {
    unpacked: Box<dyn Read + Send>,
    left: u64,
    hasher: crc32fast::Hasher,
    checksum: u32,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.unpacked.read(into)?;
        self.hasher.update(&into[..count]);
        let wrong = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        match self.left.checked_sub(count as u64) {
            None => return wrong("the file is longer than the directory says"),
            Some(left) => self.left = left,
        }
        if count == 0 && !into.is_empty() {
            if self.left > 0 {
                return wrong("the file is shorter than the directory says");
            }
            if self.hasher.clone().finalize() != self.checksum {
                return wrong("the checksum is wrong");
            }
        }
        Ok(count)
    }
}
