//! What a store is kept in: a folder, or a bucket of an object store.

use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::error::Error;
use crate::folder::Folder;
use crate::store::{Moment, Partial};

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

    /// The bytes of a file.
    fn read(&self, path: &Path) -> Result<Bytes, Error>;

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

/// The place of a store without a slash at its end, and what it is kept in.
pub(crate) fn open(place: &Path) -> Result<(PathBuf, Arc<dyn Media>), Error> {
    match place.to_str().and_then(|text| text.split_once("://")) {
        None => Ok((place.to_owned(), Arc::new(Folder))),
        Some(("file", path)) => Ok((path.into(), Arc::new(Folder))),
        Some(_) => objects(place),
    }
}

#[cfg(feature = "object-stores")]
fn objects(place: &Path) -> Result<(PathBuf, Arc<dyn Media>), Error> {
    let text = place.to_string_lossy();
    let text = text.trim_end_matches('/');
    Ok((text.into(), Arc::new(crate::objects::Objects::open(text)?)))
}

#[cfg(not(feature = "object-stores"))]
fn objects(place: &Path) -> Result<(PathBuf, Arc<dyn Media>), Error> {
    Err(Error::Spec(format!(
        "{}: this program was built without object stores; give a folder, or build it with `--features object-stores`",
        place.display()
    )))
}
