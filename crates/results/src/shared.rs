//! Files in folders that others may write to: results that a group shares, caches, folders of reports.
//!
//! Such a folder may have anything under the name of a file: a link to a file elsewhere, a device, a FIFO whose reader waits for
//! ever, a file of any size. So a file is read only if it is a regular file of at most the size that its kind can have. A file
//! is written under a new name and renamed, so that a link is replaced and not followed.

use std::fs::{self, File};
use std::io::{self, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::OFlags;
use stripewise_trace::PartialFile;

/// Opens a regular file to read it. Does not wait, whatever the file is.
///
/// # Errors
/// When the path leads to something else, and those of the operating system.
pub fn open(path: &Path) -> io::Result<File> {
    opened(path, OFlags::NONBLOCK)
}

/// The bytes of a regular file that has at most `most`.
///
/// # Errors
/// Those of [`open`]; when the file is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    whole(&open(path)?, most)
}

/// The text of a regular file that has at most `most` bytes.
///
/// # Errors
/// Those of [`read`]; when it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text(read(path, most)?)
}

/// The bytes of a file of a cache of this user; a link, or a file of another user, is an error.
///
/// # Errors
/// Those of [`read`], and these.
pub fn read_own(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = opened(path, OFlags::NONBLOCK | OFlags::NOFOLLOW)?;
    if file.metadata()?.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    whole(&file, most)
}

/// Writes a file in the place of the one that is there. A link of its name is replaced, and nothing is written through it.
///
/// # Errors
/// When the name is that of a device, a folder or the like, or of a link to one; those of the operating system.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    may_be_replaced(path)?;
    put(path, 0o666, bytes)
}

/// [`replace`] by what `write` writes, for a file that takes a while: one that a killed program left is found again.
///
/// # Errors
/// Those of [`replace`], and of `write`; when another program writes the file.
pub fn replace_by(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    may_be_replaced(path)?;
    let partial = PartialFile::create(path)?;
    write(partial.file())?;
    partial.keep()
}

/// Writes a file of a cache: only this user can read it, and only this user can write to folders that are made for it.
///
/// # Errors
/// Those of the operating system.
pub fn replace_own(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    put(path, 0o600, bytes)
}

fn may_be_replaced(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) { Err(not_regular()) } else { Ok(()) }
}

/// Writes a new file, and gives it its name. Processes that write the same file do not meet.
fn put(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{time:x}-{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let made = File::options().write(true).create_new(true).mode(mode).open(partial);
    let mut file = made?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(partial, path));
    if written.is_err() {
        // The error is reported; nothing else is wrong with a file that stays.
        let _ = fs::remove_file(partial);
    }
    written
}

fn opened(path: &Path, flags: OFlags) -> io::Result<File> {
    // To open a FIFO or a device can have effects, so the kind is looked at before, and again at what was opened.
    let found = fs::metadata(path)?;
    let file = if found.is_file() {
        File::options().read(true).custom_flags(flags.bits() as i32).open(path)?
    } else {
        return Err(not_regular());
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file; remove it")
}

fn whole(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let long = || {
        let message = format!("it has more than {most} bytes, and no file of this kind does; remove it");
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    if file.metadata()?.len() > most {
        return Err(long());
    }
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(long()) } else { Ok(bytes) }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "four").unwrap();
        symlink(at("file"), at("link")).unwrap();
        assert_eq!(read_text(&at("file"), 4).unwrap(), "four");
        assert_eq!(read(&at("link"), 4).unwrap(), b"four");
        assert_eq!(read(&at("file"), 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        for name in ["fifo", "device", "."] {
            assert_eq!(read(&at(name), 4).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        // A sparse file of a terabyte takes no place on the disk.
        File::create(at("huge")).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(&at("huge"), 1 << 20).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(read_own(&at("file"), 4).is_ok() && read_own(&at("link"), 4).is_err());
    }

    #[test]
    fn nothing_is_written_through_a_planted_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("precious"), "precious").unwrap();
        symlink(at("precious"), at("report.html")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        symlink(at("precious"), at("line.json")).unwrap();
        symlink(at("precious"), at("line.json.partial")).unwrap();
        replace_by(&at("line.json"), |mut file| file.write_all(b"ours")).unwrap();
        for name in ["report.html", "dangling", "line.json"] {
            if name != "line.json" {
                replace(&at(name), b"ours").unwrap();
            }
            assert!(fs::symlink_metadata(at(name)).unwrap().is_file());
            assert_eq!(fs::read(at(name)).unwrap(), b"ours");
        }
        assert_eq!(fs::read(at("precious")).unwrap(), b"precious");
        assert!(!at("nowhere").exists());
        symlink("/dev/null", at("device")).unwrap();
        assert!(replace(&at("device"), b"ours").is_err() && at("device").exists());
    }

    #[test]
    fn caches_are_of_their_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache/digests/a");
        fs::write(folder.path().join("precious"), "precious").unwrap();
        replace_own(&path, b"one").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(folder.path().join("precious"), &path).unwrap();
        assert!(read_own(&path, 100).is_err());
        replace_own(&path, b"two").unwrap();
        assert_eq!(read_own(&path, 3).unwrap(), b"two");
        assert_eq!(fs::read(folder.path().join("precious")).unwrap(), b"precious");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}
