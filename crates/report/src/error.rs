//! The errors of making a report.

use std::io;
use std::path::PathBuf;

/// An error of making a report. The messages state the place and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A run's tables could not be read.
    #[error(transparent)]
    Results(#[from] stripewise_results::Error),
    /// There is no run to report on.
    #[error("no run was given; make one first, as with `stripewise compare`")]
    NoRuns,
    /// The report could not be written.
    #[error("{path}: cannot write the report: {source}; give another path with -o")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}
