//! Files that are written under a temporary name and get their final name when they are complete.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that gets its final name when it is [kept](PartialFile::keep). Dropped before, it is removed.
///
/// Its temporary name ends in `.partial`. It is created as a new file, so a link of that name cannot redirect the
/// writes. It is locked while it is written: an unlocked file of that name was left behind by a killed program, and
/// is replaced.
#[derive(Debug)]
pub struct PartialFile {
    file: File,
    partial: PathBuf,
    path: PathBuf,
    is_kept: bool,
}

impl PartialFile {
    /// Creates the temporary file for `path`.
    ///
    /// # Errors
    /// When another program writes the file, and errors of the operating system.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        // Another program may create the file in between, but not every time.
        for _ in 0..4 {
            match File::create_new(&partial) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => remove_left(&partial)?,
                made => {
                    let file = made?;
                    // Any other error means a file system without locks.
                    let is_ours = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
                    // Before the lock was taken, another program may have replaced the file as left behind.
                    if is_ours && leads_to(&partial, &file) {
                        return Ok(Self { file, partial, path: path.to_owned(), is_kept: false });
                    }
                }
            }
        }
        Err(busy(&partial))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Makes the content durable and gives the file its final name.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn keep(mut self) -> io::Result<()> {
        // Otherwise a loss of power could leave an empty file under the name.
        self.file.sync_data()?;
        if !leads_to(&self.partial, &self.file) {
            self.is_kept = true;
            return Err(busy(&self.partial));
        }
        fs::rename(&self.partial, &self.path)?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_kept && leads_to(&self.partial, &self.file) {
            // An error is ignored: the file stays behind, and no remedy exists here.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// Whether `path` names `file` itself, and not a link to it.
fn leads_to(path: &Path, file: &File) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    match (fs::symlink_metadata(path), file.metadata()) {
        (Ok(named), Ok(found)) => identity(named) == identity(found),
        _ => false,
    }
}

/// Removes a file left behind, unless a program writes it. For a link, the link is removed, not its target.
fn remove_left(partial: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(partial) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    // Only a regular file is opened: opening anything else might block.
    if found.is_file()
        && let Ok(file) = File::open(partial)
        && matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    {
        return Err(busy(partial));
    }
    match fs::remove_file(partial) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn busy(partial: &Path) -> io::Error {
    let message =
        format!("another program writes it as `{}`; wait for its end, or name another", partial.display());
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A temporary folder for a test; this crate has no library for that.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("stripewise-partial-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write(path: &Path, text: &str) -> io::Result<()> {
        let partial = PartialFile::create(path)?;
        partial.file().write_all(text.as_bytes())?;
        partial.keep()
    }

    #[test]
    fn a_file_has_its_place_when_it_is_whole_and_not_before() {
        let folder = Folder::new("whole");
        let path = folder.0.join("a");
        let partial = PartialFile::create(&path).unwrap();
        assert_eq!(folder.names(), ["a.partial"]);
        drop(partial);
        assert!(folder.names().is_empty());
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!((folder.names(), fs::read(&path).unwrap()), (vec!["a".to_owned()], b"two".to_vec()));
    }

    #[test]
    fn a_link_in_the_place_of_the_partial_file_leads_nothing_elsewhere() {
        let folder = Folder::new("link");
        let (path, other) = (folder.0.join("a"), folder.0.join("other"));
        fs::write(&other, "theirs").unwrap();
        for target in ["other", "gone"] {
            symlink(target, folder.0.join("a.partial")).unwrap();
            write(&path, "ours").unwrap();
            assert_eq!(fs::read(&other).unwrap(), b"theirs");
            assert_eq!((fs::read(&path).unwrap(), folder.names().len()), (b"ours".to_vec(), 2));
            assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
        }
    }

    #[test]
    fn abandoned_files_are_replaced_and_files_in_use_are_not() {
        let folder = Folder::new("left");
        let path = folder.0.join("a");
        fs::write(folder.0.join("a.partial"), "half").unwrap();
        write(&path, "whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        let first = PartialFile::create(&path).unwrap();
        let error = PartialFile::create(&path).unwrap_err();
        assert!(error.to_string().contains("another program writes it"), "{error}");
        first.file().write_all(b"first").unwrap();
        first.keep().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }
}
