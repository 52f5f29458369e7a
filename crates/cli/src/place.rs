//! The place of results of `compare` and `run`: a directory, or a bucket that a directory of this machine mirrors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stripewise_results::{FinishedRun, Store};
use stripewise_runs::{Finished, Remote};
use stripewise_study::{RunBucket, is_bucket};

use crate::failure::Outcome;

/// A place of results.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Directory(PathBuf),
    Bucket(Arc<RunBucket>),
}

impl Place {
    /// The place with this path or URL.
    ///
    /// # Errors
    /// A URL of another form; settings of a bucket that are missing; a program without object stores.
    pub(crate) fn open(place: &Path) -> Outcome<Self> {
        if let Some(path) = place.to_str().and_then(|text| text.strip_prefix("file://")) {
            return Ok(Self::Directory(path.into()));
        }
        if !is_bucket(place) {
            return Ok(Self::Directory(place.to_owned()));
        }
        Ok(Self::Bucket(Arc::new(RunBucket::open(place)?)))
    }

    /// The directory of this machine.
    pub(crate) fn directory(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Bucket(bucket) => bucket.mirror(),
        }
    }

    /// Where finished runs are kept beside the directory.
    pub(crate) fn remote(&self) -> Option<Arc<dyn Remote>> {
        match self {
            Self::Directory(_) => None,
            Self::Bucket(bucket) => Some(Arc::clone(bucket) as Arc<dyn Remote>),
        }
    }

    /// The place, as it was given.
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Bucket(bucket) => bucket.root(),
        }
    }

    /// A file or directory of the place, as users reach it.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        match self {
            Self::Directory(_) => path.to_owned(),
            Self::Bucket(bucket) => bucket.place_of(path),
        }
    }

    /// Keeps a file of the directory. Where it is.
    ///
    /// # Errors
    /// When it cannot be put in the bucket.
    pub(crate) fn keep(&self, file: PathBuf) -> Outcome<PathBuf> {
        match self {
            Self::Directory(_) => Ok(file),
            Self::Bucket(bucket) => Ok(bucket.put(&file)?),
        }
    }

    /// All runs, in the order of their digests.
    ///
    /// # Errors
    /// When they cannot be listed or read, or one is damaged.
    pub(crate) fn runs(&self) -> Outcome<Vec<FinishedRun>> {
        match self {
            Self::Directory(path) => Ok(Store::new(path).runs()?),
            Self::Bucket(bucket) => Ok(bucket.fetch_all()?),
        }
    }

    /// Names the results of runs as users reach them.
    pub(crate) fn named(&self, finished: &Finished) -> Outcome<stripewise_results::summary::Entry> {
        let mut entry = finished.entry()?;
        entry.path = entry.path.map(|path| self.shown(&path));
        Ok(entry)
    }
}
