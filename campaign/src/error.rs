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
    /// The file does not say what it must.
    #[error("{0}")]
    Spec(String),
    /// A run that cannot be resolved or made.
    #[error(transparent)]
    Study(#[from] stripewise_study::Error),
}

impl Error {
    /// An error of the operating system.
    pub(crate) fn io(path: &std::path::Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), doing, source }
    }
}
