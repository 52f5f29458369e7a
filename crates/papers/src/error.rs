//! What is wrong with a paper's file, or with an evaluation of it.

use stripewise_base::suggest::ConfigError;

/// An error of an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such paper.
    #[error("{0}")]
    Unknown(String),
    /// Something in the file is wrong: its TOML, a key, a name, an expression. It says where, and the remedy.
    #[error(transparent)]
    File(Box<ConfigError>),
    /// A study cannot be made.
    #[error(transparent)]
    Runs(#[from] stripewise_runs::Error),
    /// The tables of a run cannot be read.
    #[error(transparent)]
    Results(#[from] stripewise_results::Error),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] stripewise_trace::TraceError),
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::File(Box::new(error))
    }
}
