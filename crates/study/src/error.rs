//! The errors of studies.

use std::io;
use std::path::PathBuf;

use stripewise_base::suggest::ConfigError;

/// Why a study could not be read, planned or made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A mistake in a study file: its place and the remedy.
    #[error("{0}")]
    Text(ConfigError),
    /// A file or directory that cannot be used.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What failed.
        doing: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A pack that cannot be read or written.
    #[error("{}: {message}", path.display())]
    Pack {
        /// The file.
        path: PathBuf,
        /// The reason.
        message: String,
    },
    /// A pack that cannot be written.
    #[error("cannot write a pack of runs: {0}")]
    Write(#[from] parquet::errors::ParquetError),
    /// Equal inputs gave other results.
    #[error(
        "THE RUN {run} HAS TWO RESULTS, one in {} and another one in {}. A run depends on its inputs alone, so the program or a \
         machine is at fault: do not trust any result of this store before you know which. Make the run again on another \
         machine, test the memory of the machines, and report the fault with both files",
        one.display(),
        other.display()
    )]
    NotReproduced {
        /// The run digest.
        run: stripewise_results::Digest,
        /// The pack with one result.
        one: PathBuf,
        /// The pack with another result.
        other: PathBuf,
    },
    /// A trace that changed after the study was planned.
    #[error(
        "{}: this trace has changed since the study began: it was {was} and is {is} now; finished runs were of the old one. \
         Run the study again",
        path.display()
    )]
    TraceChanged {
        /// The trace.
        path: PathBuf,
        /// The digest of its content when the study was planned.
        was: String,
        /// The digest of its content now.
        is: String,
    },
    /// A trace that differs from that of the study.
    #[error("{}: this trace is {has}, and the study is of {needs}; copy the right one here", path.display())]
    OtherTrace {
        /// The trace.
        path: PathBuf,
        /// The digest of its content.
        has: String,
        /// The digest that the study is of.
        needs: String,
    },
    /// A worker of another build.
    #[error(
        "worker {worker} is stripewise {has}, and the study needs {needs}: their results may differ. Install the same build \
         everywhere"
    )]
    OtherBuild {
        /// The worker.
        worker: String,
        /// Its build.
        has: String,
        /// The build of the coordinator.
        needs: String,
    },
    /// A worker process that cannot be started, or the error that it reports.
    #[error("{0}")]
    Worker(String),
    /// The file does not say what it must.
    #[error("{0}")]
    Spec(String),
    /// A run that cannot be resolved or made.
    #[error(transparent)]
    Runs(#[from] stripewise_runs::Error),
}

impl Error {
    /// Whether a file is not there any more.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// An error of the operating system.
    pub(crate) fn io(path: &std::path::Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), doing, source }
    }
}
