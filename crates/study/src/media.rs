//! What a store is kept in: a folder, or a bucket of an object store.

use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;

use crate::error::Error;

/// Most bytes of a small file: of a failure, of the trials of a search, of what decided seeds, of the record of a run.
pub(crate) const FILE_BYTES: u64 = 64 << 20;
/// Most bytes of a pack: packs are joined until they have 16 MiB.
pub(crate) const PACK_BYTES: u64 = 64 << 20;

/// A file that a process has not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The time since it was written to.
    pub age: Duration,
}

/// The moments of a commit. A test ends the process at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// All runs of a batch are made.
    Made,
    /// The pack is written under its first name.
    Written,
    /// The pack has its name.
    Renamed,
    /// The folder is on the disk too.
    Committed,
}

/// Files under names. A name is the place of the store with a path behind it, so errors and users see where a file is.
///
/// A file is there with all its bytes, or not at all.
pub(crate) trait Media: Debug + Send + Sync {
    /// The place, as other processes name it.
    fn place(&self, root: &Path) -> String;

    /// The files of a folder with this ending, in the order of their names, with their sizes; none if there is no folder.
    fn list(&self, folder: &Path, ending: &str) -> Result<Vec<(PathBuf, u64)>, Error>;

    /// Prepares the reading of all these packs, of which nothing else is in their folder.
    fn prefetch(&self, _packs: &[PathBuf]) -> Result<(), Error> {
        Ok(())
    }

    /// The files of this name in folders of `root`, in order; none if there is no folder.
    fn list_below(&self, root: &Path, name: &str) -> Result<Vec<PathBuf>, Error>;

    /// The bytes of a file that has at most `most`; a longer one is an error before it is in memory.
    fn read_at_most(&self, path: &Path, most: u64) -> Result<Bytes, Error>;

    /// The bytes of a small file.
    fn read(&self, path: &Path) -> Result<Bytes, Error> {
        self.read_at_most(path, FILE_BYTES)
    }

    /// The bytes of a pack.
    fn read_pack(&self, path: &Path) -> Result<Bytes, Error> {
        self.read_at_most(path, PACK_BYTES)
    }

    /// Writes a file of at most `most` bytes, which may be more than fit in memory, to an empty file of this machine.
    fn copy(&self, path: &Path, most: u64, to: &mut File) -> Result<(), Error>;

    /// Writes a file where there is none. Other bytes that are there stay, and are returned.
    fn create(&self, path: &Path, bytes: &Bytes) -> Result<Option<Bytes>, Error>;

    /// Writes a pack, whose name says what its bytes are.
    fn put_pack(&self, path: &Path, bytes: Vec<u8>, at: &dyn Fn(Moment)) -> Result<(), Error>;

    /// Writes a small file, in the place of the one that is there.
    fn replace(&self, path: &Path, bytes: Vec<u8>) -> Result<(), Error>;

    /// Writes a file of any size, in the place of the one that is there.
    fn write(&self, path: &Path, write: Write<'_>) -> Result<(), Error>;

    /// Removes a file, which another command may have removed.
    fn remove(&self, path: &Path) -> Result<(), Error>;

    /// The half written files that nothing was written to for longer than `age`.
    fn partials(&self, _root: &Path, _age: Duration) -> Result<Vec<Partial>, Error> {
        Ok(Vec::new())
    }
}

/// Writes to an empty file, and returns it.
pub(crate) type Write<'a> = Box<dyn FnOnce(File) -> Result<File, Error> + 'a>;
