//! The errors of results, and their remedies.

use crate::digest::Digest;
use parquet::errors::ParquetError;
use std::io;
use std::path::PathBuf;

/// An error of reading or writing results. The messages state the place and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation.
    #[error("{path}: cannot {action}: {source}; {remedy}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operation.
        action: &'static str,
        /// The reason.
        source: io::Error,
        /// The remedy.
        remedy: &'static str,
    },
    /// A table could not be written.
    #[error(
        "{table}: cannot write the table: {source}; make sure there is space on the disk, then run again"
    )]
    Write {
        /// The table's path, or its name when it is in memory.
        table: String,
        /// The reason.
        source: ParquetError,
    },
    /// A table could not be read.
    #[error("{table}: cannot read the table: {message}; {REMOVE}")]
    Read {
        /// The table's path, or its name when it is in memory.
        table: String,
        /// The reason.
        message: String,
    },
    /// The content of a run's directory is not that of a finished run.
    #[error("{path}: {found}; {REMOVE}")]
    Damaged {
        /// The file or directory.
        path: PathBuf,
        /// The damage.
        found: String,
    },
    /// A run was repeated and gave other results.
    #[error(
        "{path}: the same run gave another table of {table} before; either a version that was changed kept \
         its number, or the simulator is not deterministic, which is a bug: please report it"
    )]
    NotReproduced {
        /// The directory of the earlier run.
        path: PathBuf,
        /// The first table that differs.
        table: crate::schema::Table,
    },
    /// A configuration is not TOML.
    #[error("{what} is not TOML: {source}")]
    Toml {
        /// The name of the text.
        what: &'static str,
        /// Line, column and reason.
        source: toml::de::Error,
    },
    /// A text is not a digest.
    #[error("`{text}` is not a digest: expected 64 hexadecimal digits, 0-9 and a-f")]
    Digest {
        /// The text.
        text: String,
    },
    /// No run has a digest that begins so.
    #[error(
        "{root}: no run has a digest that begins with `{prefix}`, of {runs} runs there; `stripewise runs {root}` lists them"
    )]
    UnknownRun {
        /// The directory of results.
        root: PathBuf,
        /// The beginning of a digest.
        prefix: String,
        /// The number of runs in the directory.
        runs: usize,
    },
    /// Several runs have a digest that begins so.
    #[error(
        "{root}: {} runs have a digest that begins with `{prefix}`; give more digits of one:{}",
        candidates.len(),
        listed(candidates)
    )]
    AmbiguousRun {
        /// The directory of results.
        root: PathBuf,
        /// The beginning of their digests.
        prefix: String,
        /// Their digests, in order.
        candidates: Vec<Digest>,
    },
    /// Two totals have the same name.
    #[error("the total `{name}` is given twice; a table has one column of a name")]
    DuplicateTotal {
        /// The name.
        name: String,
    },
    /// A required total is missing.
    #[error("{run}: the total `{name}` is missing; its results come from another version, so run it again")]
    MissingTotal {
        /// The run.
        run: String,
        /// The name.
        name: String,
    },
}

/// The most candidates that an error lists.
const LISTED: usize = 10;

/// The beginnings of digests, a line each.
fn listed(candidates: &[Digest]) -> String {
    let line = |run: &Digest| format!("\n  {}", &run.to_string()[..16]);
    let mut text: String = candidates.iter().take(LISTED).map(line).collect();
    if candidates.len() > LISTED {
        text += &format!("\n  and {} more", candidates.len() - LISTED);
    }
    text
}

const REMOVE: &str =
    "delete the run's directory and run again, or run again with `--force` (in Python, `force=True`)";

impl Error {
    /// Whether the error means that a stored run is damaged; making the run again repairs it.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Read { .. })
    }

    /// For `map_err`: an error of the operating system for a path that is written.
    pub(crate) fn io(path: &std::path::Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| {
            let remedy = match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "choose an output directory that you may write to"
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "make space, or choose another output directory"
                }
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                    "a file is in the way: move it, or choose another output directory"
                }
                _ => "look after the disk, or choose another output directory",
            };
            Error::Io { path, action, source, remedy }
        }
    }
}
