//! One stream of a trace, decoded, and what the streams of a trace count together.

use std::path::PathBuf;

use super::BINARY_FORMATS;
use super::bytes::Bytes;
use super::records::{Bad, Item, Records};
use crate::TraceError;
use crate::input::Input;
use crate::open_options::OpenOptions;
use crate::read_report::ReadReport;

/// An item and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) item: Item,
    /// Number of the record in its stream, from 1, and its first byte.
    pub(super) record: u64,
    pub(super) byte: u64,
}

/// One stream and its decoder.
pub(super) struct Stream {
    pub(super) bytes: Bytes,
    records: Box<dyn Records>,
    path: PathBuf,
    /// Records read, skipped ones included.
    count: u64,
}

/// The state that the streams of one trace share.
pub(super) struct Tally {
    pub(super) report: ReadReport,
    skip_bad: u64,
}

impl Stream {
    pub(super) fn new(input: Input, format: usize, variant: usize) -> Self {
        let path = input.path().to_owned();
        Self { bytes: Bytes::new(input), records: (BINARY_FORMATS[format].make)(variant), path, count: 0 }
    }

    /// The next item, or none at the end.
    pub(super) fn next(&mut self, tally: &mut Tally) -> Result<Option<Head>, TraceError> {
        loop {
            if self.bytes.ahead(1)?.is_empty() {
                return Ok(None);
            }
            let at = self.bytes.position;
            match self.records.record(&mut self.bytes)? {
                Ok(item) => {
                    self.count += 1;
                    match item {
                        // It counts when it is merged: reading may end before, by an error in another one.
                        Some(item) => return Ok(Some(Head { item, record: self.count, byte: at })),
                        None => {
                            tally.report.lines += 1;
                            tally.report.other_lines += 1;
                        }
                    }
                }
                Err(Bad { expected, found }) => {
                    let (path, record) = (self.path.clone(), self.count + 1);
                    tally.pass(TraceError::Binary { path, record, byte: at, expected, found })?;
                    tally.report.lines += 1;
                    self.count += 1;
                    self.records.resume(&mut self.bytes)?;
                }
            }
        }
    }
}

impl Tally {
    pub(super) fn new(report: ReadReport, options: &OpenOptions) -> Self {
        Self { report, skip_bad: options.skip_bad }
    }

    /// Counts a damaged record, unless the options allow no more of them.
    pub(super) fn pass(&mut self, error: TraceError) -> Result<(), TraceError> {
        if self.report.skipped_bad == self.skip_bad {
            return Err(error);
        }
        self.report.skipped_bad += 1;
        self.report.first_bad.get_or_insert_with(|| error.to_string());
        Ok(())
    }
}
