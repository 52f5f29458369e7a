//! Our own Parquet schema, described in `docs/reference/trace-schema.md`: the form for converted traces, since it needs no
//! parsing and loses nothing.

mod columns;
mod content;
mod limits;
mod read;
mod schema;
mod seal;
mod thrift;
mod write;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::errors::{ParquetError, Result};

use schema::Unfit;

pub(crate) use read::ParquetReader;
pub use read::notes;
pub(crate) use write::ParquetWriter;

use crate::{Kind, TraceError};

/// Functions that other Parquet tables need as well: pages with checksums, and limits on unpacking.
pub mod parquet_file {
    pub use super::limits::{Unpacked, check_columns, check_footer, check_footer_of, unpacked};
    pub use super::seal::SealedPages;
}

/// The file's metadata key for the version of the schema, and the version written here.
const VERSION_KEY: &str = "stripewise.trace.schema";
const VERSION: &str = "1";

/// The creator of the file, and the prefix of its name. Another program that changes a trace may keep its metadata,
/// with checksums that no longer match. So the checksums count only in a file of ours.
const CREATED_BY: &str = concat!("stripewise ", env!("CARGO_PKG_VERSION"));
const OURS: &str = "stripewise ";

/// Names of the columns.
const TIME: &str = "time_ns";
/// The name of a column of times in seconds, in place of [`TIME`] in files of others.
const SECONDS: &str = "time_s";
const OFFSET: &str = "offset_bytes";
const SIZE: &str = "size_bytes";
const VOLUME: &str = "volume";
const KIND: &str = "kind";

/// Requests read or written at a time.
const CHUNK: usize = 8192;

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
        Kind::Flush => "flush",
    }
}

fn kind_of(name: &[u8]) -> Option<Kind> {
    match name {
        b"read" => Some(Kind::Read),
        b"write" => Some(Kind::Write),
        b"trim" => Some(Kind::Trim),
        b"flush" => Some(Kind::Flush),
        _ => None,
    }
}

/// Runs a step of the Parquet library over a file of unknown origin. The library panics on some kinds of damage where
/// it should return an error (for example on a page that refers to a missing dictionary); this function returns an
/// error instead.
fn guarded<T>(path: &Path, step: impl FnOnce() -> Result<T>) -> std::result::Result<T, TraceError> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(outcome) => outcome.map_err(|error| damaged(path, &error)),
        Err(_) => Err(damaged(path, &ParquetError::General("the library failed on it".to_owned()))),
    }
}

/// The remedy for damage.
const REMEDY: &str = "fetch it again, or convert it again from its source";

/// The meaning of a Parquet library's error for the trace at `path`.
fn damaged(path: &Path, error: &ParquetError) -> TraceError {
    let reason = match error {
        ParquetError::External(source) if source.is::<Unfit>() => source.to_string(),
        ParquetError::NYI(what) => {
            format!(
                "is a Parquet file of a kind that is not supported: {what}; write it again in another way"
            )
        }
        _ => format!("is a damaged Parquet file: {error}; {REMEDY}"),
    };
    TraceError::NotATrace { path: path.to_owned(), reason }
}
