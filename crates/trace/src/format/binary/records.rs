//! Binary formats: what the list says of each, and how it reads its records.

use super::bytes::Bytes;
use crate::TraceError;
use crate::format::{Expected, Record, Variant};

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
    pub(in crate::format) stages: bool,
    /// The variant that the first bytes of a stream show, if they are of this format.
    pub(super) detect: fn(&[u8]) -> Option<usize>,
    pub(super) make: fn(usize) -> Box<dyn Records>,
}

/// The content of a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Request(Record),
    /// A request to `from` that continues as a request to the place in `record`.
    Remap {
        record: Record,
        from: u32,
    },
}

impl Item {
    pub(super) fn time(&self) -> u64 {
        match self {
            Self::Request(record) | Self::Remap { record, .. } => record.time,
        }
    }
}

/// Why there is no record.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) expected: Expected,
    pub(super) found: String,
}

/// A decoder of one stream.
pub(super) trait Records: Send {
    /// Nanoseconds a tick of the records' times.
    fn tick_ns(&self) -> u64;

    /// Reads the next record and consumes it, if it is valid. Returns its request or remap, or nothing for any other
    /// event. There is at least one byte.
    fn record(&mut self, bytes: &mut Bytes) -> Result<Result<Option<Item>, Bad>, TraceError>;

    /// Skips damaged bytes, at least one, up to the place where the next record may begin.
    fn resume(&mut self, bytes: &mut Bytes) -> Result<(), TraceError>;
}

/// The byte offset of `sector` (512 bytes each), if a request of `bytes` there ends within 64-bit addresses.
pub(super) fn offset_of(sector: u64, bytes: u32) -> Option<u64> {
    let offset = sector.checked_mul(512)?;
    offset.checked_add(u64::from(bytes)).map(|_| offset)
}
