//! What can go wrong with a report.

use std::io;
use std::path::PathBuf;

/// An error of making a report. The messages say where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A run's tables could not be read.
    #[error(transparent)]
    Results(#[from] stripewise_results::Error),
    /// There is nothing to report on.
    #[error("no run was given; make one first, as with `stripewise compare`")]
    NoRuns,
    /// The report could not be written.
    #[error("{path}: cannot write the report: {source}; give another path with -o")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}
