//! The errors of reading, writing, generating and folding traces.

use std::path::PathBuf;

/// Why a trace could not be read, written or generated.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused an operation.
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
        /// What the format expects here.
        expected: &'static str,
        /// The text that was found, shortened.
        found: String,
    },
    /// A record of a binary format is damaged.
    #[error("{path}: record {record} at byte {byte}: expected {expected}, found {found}", path = path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// Number of the record from 1.
        record: u64,
        /// Its first byte, counted from 0 in the decompressed file.
        byte: u64,
        /// What the format expects here.
        expected: &'static str,
        /// The bytes that were found, shortened.
        found: String,
    },
    /// No known format fits the file, two fit equally well, or the file is implausible in the format that fits.
    #[error("{path}: {reason}; {remedy}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why no format was chosen.
        reason: String,
        /// The remedy: the formats to name, the likeliest first.
        remedy: String,
    },
    /// The file is recognized as something else, or is too damaged to read.
    #[error("{path} {reason}", path = path.display())]
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What the file is, and the remedy.
        reason: String,
    },
    /// A request is older than the one before it, and the caller asked to refuse that.
    #[error(
        "{path}:{line}: the time steps back by {back_ns} ns, to before {previous_ns} ns after the start; clamp \
         such times, or sort the trace",
        path = path.display()
    )]
    Backward {
        /// The file.
        path: PathBuf,
        /// Line number from 1 (record number for binary formats).
        line: u64,
        /// The size of the step back.
        back_ns: u64,
        /// The time of the previous request, since the trace's first.
        previous_ns: u64,
    },
    /// A request that the format to be written cannot hold.
    #[error("{path}: request {request} does not fit the format {format}: {loss}", path = path.display())]
    Unfit {
        /// The file to be written.
        path: PathBuf,
        /// The format's name.
        format: String,
        /// Number of the request, from 1.
        request: u64,
        /// The information that would be lost, and the remedy.
        loss: String,
    },
    /// The trace ended without a single request.
    #[error("{path}: no request, read as {format}: {found}; {remedy}", path = path.display())]
    NoRequests {
        /// The file.
        path: PathBuf,
        /// Its format, as `--format` names it.
        format: String,
        /// Lines read (records, for binary formats).
        lines: u64,
        /// Lines of events other than requests.
        other_lines: u64,
        /// What the lines were, in words.
        found: String,
        /// What the user can do.
        remedy: String,
    },
    /// A part of a trace that contains no request.
    #[error(
        "the slice holds no request: {requests} requests were read, the last {seconds:.6} s after the start; choose another \
         part of the time, of the requests or of the volumes",
        seconds = *latest_ns as f64 * 1e-9
    )]
    EmptySlice {
        /// The number of requests that were read before the end of the part, or of the trace.
        requests: u64,
        /// The time of the latest of them, since the trace's first.
        latest_ns: u64,
    },
    /// A request or a trace that cannot be placed on the array.
    #[error("{0}")]
    Fold(String),
    /// A setting without a meaning, with the remedy.
    #[error("{0}")]
    Setting(String),
}
