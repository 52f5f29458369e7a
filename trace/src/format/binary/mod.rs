//! Binary formats: records of a few dozen bytes instead of lines.
//!
//! A format turns a stream into items, one at a time. Several streams, such as the files of a blktrace, are merged by
//! time. An error names the number of the damaged record and its byte.

mod blktrace;
mod bytes;
mod merge;
mod tar;
mod vscsi;

use std::path::PathBuf;

use crate::format::{Expected, Record, Variant};
use crate::input::Input;
use crate::{OpenOptions, ReadReport, TraceError};

use bytes::Bytes;
pub(crate) use merge::{BinaryReader, order};
pub(crate) use tar::is_tar;

/// A binary format.
#[derive(Clone, Copy)]
pub struct BinaryFormat {
    /// Its name for `--format`.
    pub name: &'static str,
    /// Its records and units, in one line.
    pub about: &'static str,
    /// Its variants, the default first.
    pub variants: &'static [Variant],
    /// Whether records are stages of requests, in files of the CPUs that wrote them.
    stages: bool,
    /// The variant that the first bytes of a stream show, if they are of this format.
    detect: fn(&[u8]) -> Option<usize>,
    make: fn(usize) -> Box<dyn Records>,
}

/// Every binary format, in the order in which they are tried.
pub static BINARY_FORMATS: &[BinaryFormat] = &[blktrace::FORMAT, vscsi::FORMAT];

/// The format and variant that the first bytes of a stream are in.
pub(crate) fn detect(sample: &[u8]) -> Option<(usize, usize)> {
    let find = |(index, format): (usize, &BinaryFormat)| Some((index, (format.detect)(sample)?));
    BINARY_FORMATS.iter().enumerate().find_map(find)
}

/// The content of a record.
#[derive(Clone, Copy, Debug)]
enum Item {
    Request(Record),
    /// A request to `from` that continues as a request to the place in `record`.
    Remap {
        record: Record,
        from: u32,
    },
}

impl Item {
    fn time(&self) -> u64 {
        match self {
            Self::Request(record) | Self::Remap { record, .. } => record.time,
        }
    }
}

/// An item and its position.
#[derive(Clone, Copy, Debug)]
struct Head {
    item: Item,
    /// Number of the record in its stream, from 1, and its first byte.
    record: u64,
    byte: u64,
}

/// Why there is no record.
#[derive(Debug)]
struct Bad {
    expected: Expected,
    found: String,
}

/// A decoder of one stream.
trait Records: Send {
    /// Nanoseconds a tick of the records' times.
    fn tick_ns(&self) -> u64;

    /// Reads the next record and consumes it, if it is valid. Returns its request or remap, or nothing for any other
    /// event. There is at least one byte.
    fn record(&mut self, bytes: &mut Bytes) -> Result<Result<Option<Item>, Bad>, TraceError>;

    /// Skips damaged bytes, at least one, up to the place where the next record may begin.
    fn resume(&mut self, bytes: &mut Bytes) -> Result<(), TraceError>;
}

/// One stream and its decoder.
struct Stream {
    bytes: Bytes,
    records: Box<dyn Records>,
    path: PathBuf,
    /// Records read, skipped ones included.
    count: u64,
}

/// The state that the streams of one trace share.
struct Tally {
    report: ReadReport,
    skip_bad: u64,
}

impl Stream {
    fn new(input: Input, format: usize, variant: usize) -> Self {
        let path = input.path().to_owned();
        Self { bytes: Bytes::new(input), records: (BINARY_FORMATS[format].make)(variant), path, count: 0 }
    }

    /// The next item, or none at the end.
    fn next(&mut self, tally: &mut Tally) -> Result<Option<Head>, TraceError> {
        loop {
            if self.bytes.ahead(1)?.is_empty() {
                return Ok(None);
            }
            let at = self.bytes.position;
            match self.records.record(&mut self.bytes)? {
                Ok(item) => {
                    self.count += 1;
                    tally.report.lines += 1;
                    match item {
                        Some(item) => return Ok(Some(Head { item, record: self.count, byte: at })),
                        None => tally.report.other_lines += 1,
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
    fn new(report: ReadReport, options: &OpenOptions) -> Self {
        Self { report, skip_bad: options.skip_bad }
    }

    /// Counts a damaged record, unless the options allow no more of them.
    fn pass(&mut self, error: TraceError) -> Result<(), TraceError> {
        if self.report.skipped_bad == self.skip_bad {
            return Err(error);
        }
        self.report.skipped_bad += 1;
        self.report.first_bad.get_or_insert_with(|| error.to_string());
        Ok(())
    }
}

/// Bytes as errors print them.
fn shown(bytes: &[u8]) -> String {
    let text: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    if text.is_empty() { "the end of the file".to_owned() } else { text.join(" ") }
}

fn u16_at(bytes: &[u8], at: usize, big: bool) -> u16 {
    let mut value = [0; 2];
    value.copy_from_slice(&bytes[at..at + 2]);
    if big { u16::from_be_bytes(value) } else { u16::from_le_bytes(value) }
}

fn u32_at(bytes: &[u8], at: usize, big: bool) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[at..at + 4]);
    if big { u32::from_be_bytes(value) } else { u32::from_le_bytes(value) }
}

fn u64_at(bytes: &[u8], at: usize, big: bool) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    if big { u64::from_be_bytes(value) } else { u64::from_le_bytes(value) }
}

/// The byte offset of `sector` (512 bytes each), if a request of `bytes` there ends within 64-bit addresses.
fn offset_of(sector: u64, bytes: u32) -> Option<u64> {
    let offset = sector.checked_mul(512)?;
    offset.checked_add(u64::from(bytes)).map(|_| offset)
}
