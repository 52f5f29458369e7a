//! What can go wrong with a trace.

use std::path::PathBuf;

/// Why a trace could not be read, written or generated.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// A record does not follow its format.
    #[error("{path}:{line}:{column}: expected {expected}, found `{found}`", path = path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Line number from 1 (record number for binary formats).
        line: u64,
        /// Column from 1, in bytes.
        column: u32,
        /// What the format asks for here.
        expected: &'static str,
        /// What stands there, shortened.
        found: String,
    },
    /// No known format fits the file, or two fit equally well.
    #[error("{path}: {reason}; name the format with --format ({known})", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why no format was chosen.
        reason: String,
        /// The formats' names.
        known: String,
    },
    /// A setting that has no meaning, with the remedy.
    #[error("{0}")]
    Setting(String),
}
