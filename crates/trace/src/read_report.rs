//! What the reading of a trace met.

use std::path::PathBuf;

use serde::Serialize;

use crate::unpack::Compression;

/// The requests that were read, and the corrections that they needed. Final once [`ReadReport::complete`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReadReport {
    /// The file.
    pub path: PathBuf,
    /// Its format, as `--format` names it.
    pub format: String,
    /// A question that the choice of the format left open.
    pub note: Option<String>,
    /// Its compression.
    pub compression: Compression,
    /// Its size, if it is a file.
    pub file_bytes: Option<u64>,
    /// Lines read (records, for binary formats).
    pub lines: u64,
    /// Requests delivered.
    pub requests: u64,
    /// Lines of white space only.
    pub blank_lines: u64,
    /// Lines that name columns, and other text around the data.
    pub header_lines: u64,
    /// Lines of events other than requests: another stage of a request, the opening of a file.
    pub other_lines: u64,
    /// Lines that were no records and were skipped.
    pub skipped_bad: u64,
    /// The error of the first of them.
    pub first_bad: Option<String>,
    /// Requests that were older than the one before them and were given its time.
    pub clamped_times: u64,
    /// Requests that were older than one before them and were put in their place.
    pub sorted_times: u64,
    /// Requests that had the time of the one before them and were given a later one within the format's grain.
    pub spread_times: u64,
    /// Whether the last line lacks its line feed, as in a truncated file.
    pub unterminated: bool,
    /// Whether the end was reached.
    pub complete: bool,
}

impl ReadReport {
    /// What a trace without requests held, for a message; `unit` is what was counted, a line or a record.
    pub(crate) fn found(&self, unit: &str) -> String {
        if self.lines == 0 {
            return "the file is empty".to_owned();
        }
        let counts = [
            (self.other_lines, "of other events"),
            (self.header_lines, "of headers"),
            (self.blank_lines, "blank"),
            (self.skipped_bad, "skipped"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        let plural = if self.lines == 1 { "" } else { "s" };
        format!("it has {} {unit}{plural}, {}", self.lines, counts.join(", "))
    }
}
