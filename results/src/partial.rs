//! Directories of runs that are being written, and what is left of those whose process is dead.
//!
//! A directory is called `.partial-RUN-PROCESS-NUMBER`. Its writer holds a lock on a file in it, which the system gives back
//! when the process ends, however it ends. The file names the host, because a lock need not be seen from another host that
//! shares the directory of results.

use crate::digest::Digest;
use crate::error::Error;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What names the files of a run that is not finished, before the run digest.
const PARTIAL: &str = ".partial-";
/// Locked by the process that writes a run, and so tells whether it still lives. Gone when the run is
/// finished.
pub(crate) const LOCK: &str = "lock";
/// The ending of a finished run that was put aside for a better one.
const ASIDE: &str = "old";
/// More than the name of any host takes.
const LONGEST_HOST: u64 = 4096;

/// The directory of a run that is being written; removed when dropped.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) path: PathBuf,
    lock: Option<File>,
}

impl Drop for Partial {
    fn drop(&mut self) {
        // It is gone already when the run was finished. What cannot be removed now goes when a run is made later.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Partial {
    /// Makes a directory for `run` under `root`.
    pub(crate) fn make(root: &Path, run: Digest) -> Result<Self, Error> {
        for attempt in 0u32.. {
            let path = root.join(format!("{PARTIAL}{run}-{}-{attempt}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    // From here on the directory is removed when anything fails.
                    let mut partial = Self { path, lock: None };
                    let lock = partial.path.join(LOCK);
                    let mut file = File::create_new(&lock).map_err(Error::io(&lock, "make the file"))?;
                    file.lock().map_err(Error::io(&lock, "lock the file"))?;
                    file.write_all(host().as_bytes()).map_err(Error::io(&lock, "write the file"))?;
                    // Before it was locked it looked dead, and may have been removed.
                    if lock.exists() {
                        partial.lock = Some(file);
                        return Ok(partial);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(&path, "make the directory")(error)),
            }
        }
        unreachable!("no process makes 2^32 directories of one run")
    }

    /// Puts the finished run at `path` aside, to be removed when what this returns is dropped.
    pub(crate) fn put_aside(&self, path: &Path) -> Result<Self, Error> {
        let aside = Self { path: self.path.with_extension(ASIDE), lock: None };
        fs::rename(path, &aside.path).map_err(Error::io(path, "put aside the run that is there"))?;
        Ok(aside)
    }
}

/// Removes what dead processes of this host left under `root`, whichever runs they wrote; of the run `ours`, also what was
/// left by a version that did not name its host.
pub(crate) fn remove_dead(root: &Path, ours: Digest) -> Result<(), Error> {
    let entries = fs::read_dir(root).map_err(Error::io(root, "list the directory"))?;
    let entries = entries.collect::<io::Result<Vec<_>>>().map_err(Error::io(root, "list the directory"))?;
    let host = host();
    for path in entries.into_iter().map(|entry| entry.path()) {
        let Some((run, is_aside)) = path.file_name().and_then(|name| name.to_str()).and_then(run_of) else {
            continue;
        };
        if is_aside {
            // It is needed as long as there is the directory that takes its place.
            if !path.with_extension("").exists() {
                remove(&path)?;
            }
            continue;
        }
        // A directory without a lock file is one that is being made this moment, or is being removed.
        let Ok(lock) = File::open(path.join(LOCK)) else { continue };
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

/// The run that a directory of this name is of, and whether it was put aside; none for a name of any other form.
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
