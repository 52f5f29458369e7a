//! A zip archive of one file, which is a trace. The crate `zip` reads the directory; the file's bytes are a stream of their own,
//! so that a reader can own it and its progress is known.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::unpack::Compression;

/// Most names in a message.
const MOST_NAMES: usize = 10;

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

impl From<ZipError> for Refusal {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(error) => error.into(),
            other => damaged(&other.to_string()),
        }
    }
}

fn damaged(what: &str) -> Refusal {
    Refusal::Unfit(format!("is a damaged zip archive: {what}; fetch it again"))
}

/// What the directory says of a file.
struct Entry {
    name: String,
    method: CompressionMethod,
    is_encrypted: bool,
    checksum: u32,
    packed: u64,
    unpacked: u64,
    /// Where its packed bytes begin.
    begin: u64,
}

/// Opens the only file of the archive. `counted` wraps its packed bytes.
///
/// # Errors
/// An archive of no file or several; a file that is packed in a way that is not read; damage.
pub(crate) fn open<R: Read + Send + 'static>(
    file: File,
    counted: impl FnOnce(BufReader<File>) -> R,
) -> Result<Archived, Refusal> {
    let length = file.metadata()?.len();
    let mut archive = ZipArchive::new(file)?;
    let entry = only(&mut archive)?;
    let (begin, packed) = (entry.begin, entry.packed);
    if begin.checked_add(packed).is_none_or(|end| end > length) {
        return Err(damaged("its file is longer than it"));
    }
    let mut file = archive.into_inner();
    file.seek(SeekFrom::Start(begin))?;
    let packed = counted(BufReader::with_capacity(1 << 16, file)).take(packed);
    let unpacked: Box<dyn Read + Send> = match entry.method {
        CompressionMethod::STORE => Box::new(packed),
        CompressionMethod::DEFLATE => {
            Box::new(flate2::bufread::DeflateDecoder::new(BufReader::with_capacity(1 << 16, packed)))
        }
        CompressionMethod::BZIP2 => Compression::Bzip2.unpack(packed)?,
        CompressionMethod::ZSTD => Compression::Zstd.unpack(packed)?,
        CompressionMethod::XZ => Compression::Xz.unpack(packed)?,
        other => {
            return Err(unfit(
                &entry.name,
                &format!("packed with {}, which is not supported", method(other)),
            ));
        }
    };
    let Entry { checksum, unpacked: left, .. } = entry;
    let bytes = Box::new(Checked { unpacked, left, hasher: crc32fast::Hasher::new(), checksum });
    Ok(Archived { bytes, begin })
}

fn unfit(name: &str, what: &str) -> Refusal {
    Refusal::Unfit(format!("is a zip archive whose file `{name}` is {what}; unpack it first (`unzip`)"))
}

fn method(method: CompressionMethod) -> String {
    match method {
        CompressionMethod::DEFLATE64 => "Deflate64".to_owned(),
        CompressionMethod::LZMA => "LZMA".to_owned(),
        CompressionMethod::PPMD => "PPMd".to_owned(),
        other => format!("an unknown method ({other})"),
    }
}

/// The only file among the entries.
fn only(archive: &mut ZipArchive<File>) -> Result<Entry, Refusal> {
    // Folders, and the copies of attributes that macOS adds.
    let is_file = |name: &str| !name.ends_with('/') && !name.starts_with("__MACOSX/");
    let names = archive.file_names().map(|name| name.map(Cow::into_owned));
    let mut names: Vec<String> = names.collect::<Result<_, _>>()?;
    names.retain(|name| is_file(name));
    let [name] = &names[..] else {
        let more = if names.len() > MOST_NAMES { ", ..." } else { "" };
        return Err(Refusal::Unfit(match names.len() {
            0 => "is a zip archive without a file".to_owned(),
            count => format!(
                "is a zip archive of {count} files; unpack it (`unzip`) and give one of them: {}{more}",
                names[..count.min(MOST_NAMES)].join(", ")
            ),
        }));
    };
    let at = archive.index_for_name(name).ok_or_else(|| damaged("its file is not in its directory"))?;
    let file = archive.by_index_raw(at)?;
    let entry = Entry {
        name: name.clone(),
        method: file.compression(),
        is_encrypted: file.encrypted(),
        checksum: file.crc32(),
        packed: file.compressed_size(),
        unpacked: file.size(),
        begin: file.data_start().ok_or_else(|| damaged("its file is not where its directory says"))?,
    };
    if entry.is_encrypted { Err(unfit(name, "encrypted")) } else { Ok(entry) }
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
