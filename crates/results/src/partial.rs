//! Directories of runs that are being written, and the removal of those whose process has ended.
//!
//! A directory is called `.partial-RUN-PROCESS-NUMBER`; no two of a process have the same number, as the one that left a name
//! would remove the directory of the other. Its writer holds a lock on a file in it, which the system
//! releases when the process ends, in any way. The file names the host, because a lock may be invisible to another
//! host that shares the directory of results.

use crate::digest::Digest;
use crate::error::Error;
use crate::shared;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The prefix of the name of an unfinished run, before the run digest.
const PARTIAL: &str = ".partial-";
/// The lock file of the process that writes a run: the lock shows that the process still lives. Removed when the run
/// is finished.
pub(crate) const LOCK: &str = "lock";
/// The extension of a finished run that was put aside for a better one.
const ASIDE: &str = "old";
/// The number of the next directory of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);
/// Longer than the name of any host.
const LONGEST_HOST: u64 = 4096;

/// The directory of a run that is being written; removed when dropped.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) path: PathBuf,
    lock: Option<File>,
    /// Whether `path` is this directory, and not perhaps one of another writer with the same name.
    is_there: bool,
}

impl Drop for Partial {
    fn drop(&mut self) {
        // A later run removes a directory that cannot be removed now.
        if self.is_there {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

impl Partial {
    /// Creates a directory for `run` under `root`.
    pub(crate) fn make(root: &Path, run: Digest) -> Result<Self, Error> {
        // A number is there already if a process before this one had the same number as this.
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = root.join(format!("{PARTIAL}{run}-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    // From here on any failure removes the directory.
                    let mut partial = Self { path, lock: None, is_there: true };
                    let lock = partial.path.join(LOCK);
                    let mut file = File::create_new(&lock).map_err(Error::io(&lock, "make the file"))?;
                    file.lock().map_err(Error::io(&lock, "lock the file"))?;
                    file.write_all(host().as_bytes()).map_err(Error::io(&lock, "write the file"))?;
                    // Before the lock was taken the directory looked abandoned, and may have been removed.
                    if lock.exists() {
                        partial.lock = Some(file);
                        return Ok(partial);
                    }
                    partial.is_there = false;
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(&path, "make the directory")(error)),
            }
        }
    }

    /// Moves the directory to `path`, where it stays.
    pub(crate) fn move_to(&mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.is_there = false;
        Ok(())
    }

    /// Puts the finished run at `path` aside, and removes it when the returned value is dropped.
    pub(crate) fn put_aside(&self, path: &Path) -> Result<Self, Error> {
        let aside = Self { path: self.path.with_extension(ASIDE), lock: None, is_there: true };
        fs::rename(path, &aside.path).map_err(Error::io(path, "put aside the run that is there"))?;
        Ok(aside)
    }
}

/// Removes the directories that dead processes of this host left under `root`, whichever runs they wrote; for the run
/// `ours`, also those of a version that did not record its host.
pub(crate) fn remove_dead(root: &Path, ours: Digest) -> Result<(), Error> {
    let entries = fs::read_dir(root).map_err(Error::io(root, "list the directory"))?;
    let entries = entries.collect::<io::Result<Vec<_>>>().map_err(Error::io(root, "list the directory"))?;
    let host = host();
    for path in entries.into_iter().map(|entry| entry.path()) {
        let Some((run, is_aside)) = path.file_name().and_then(|name| name.to_str()).and_then(run_of) else {
            continue;
        };
        if is_aside {
            // The old run is needed as long as the directory that replaces it exists.
            if !path.with_extension("").exists() {
                remove(&path)?;
            }
            continue;
        }
        // A directory without a lock file is just being created or removed.
        let Ok(lock) = shared::open(&path.join(LOCK)) else { continue };
        match lock.try_lock() {
            Ok(()) => {
                let mut of = String::new();
                let is_read = (&lock).take(LONGEST_HOST).read_to_string(&mut of).is_ok();
                if is_read && (of == host || (of.is_empty() && run == ours)) {
                    remove(&path)?;
                }
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(Error::io(&path, "lock the file")(error)),
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(path, "remove what a stopped run left")(error))
        }
        _ => Ok(()),
    }
}

/// The run to which a directory of this name belongs, and whether it was put aside; none for a name of any other
/// form.
fn run_of(name: &str) -> Option<(Digest, bool)> {
    let rest = name.strip_prefix(PARTIAL)?;
    let (rest, is_aside) = match rest.strip_suffix(ASIDE).and_then(|rest| rest.strip_suffix('.')) {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let mut parts = rest.split('-');
    let (run, process, number) = (parts.next()?, parts.next()?, parts.next()?);
    let are_numbers = [process, number].iter().all(|part| part.parse::<u32>().is_ok());
    (are_numbers && parts.next().is_none()).then_some(())?;
    Some((run.parse().ok()?, is_aside))
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads make one run: one of them has moved its directory away when the other begins.
    #[test]
    fn a_finished_writer_leaves_the_directory_of_the_next_one_of_its_run_alone() {
        let root = std::env::temp_dir().join(format!("stripewise-partial-{}", std::process::id()));
        fs::create_dir_all(&root).expect("a folder");
        let run = Digest([7; 32]);
        let mut first = Partial::make(&root, run).expect("made");
        first.move_to(&root.join("finished")).expect("moved");
        let second = Partial::make(&root, run).expect("made");
        // Another host that shares the folder may give the name again.
        fs::create_dir(&first.path).expect("the name is free");
        let again = first.path.clone();
        drop(first);
        assert!(second.path.join(LOCK).exists() && again.exists());
        drop(second);
        fs::remove_dir_all(&root).expect("removed");
    }
}
