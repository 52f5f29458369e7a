//! Where finished runs are kept beside the directory of results.

use std::fmt::Debug;

use stripewise_results::{Digest, FinishedRun, Store};

use crate::error::Error;

/// A place where finished runs are kept beside the directory of results, such as a bucket of an object store.
pub trait Remote: Debug + Send + Sync {
    /// Brings a run to the directory of results, if the place has it. Whether the place has all tables of the run that are
    /// then in the directory.
    ///
    /// # Errors
    /// [`Error::Remote`]; a run that is damaged there, or has other results than in the directory.
    fn fetch(&self, store: &Store, run: Digest) -> Result<bool, Error>;

    /// Keeps a finished run. Equal tables that are there stay; with `force`, damaged ones are replaced.
    ///
    /// # Errors
    /// As those of [`Self::fetch`].
    fn keep(&self, run: &FinishedRun, force: bool) -> Result<(), Error>;
}
