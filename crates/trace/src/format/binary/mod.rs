//! Binary formats: records of a few dozen bytes instead of lines.
//!
//! A format turns a stream into items, one at a time. Several streams, such as the files of a blktrace, are merged by
//! time. An error names the number of the damaged record and its byte.

mod blktrace;
mod bytes;
mod merge;
mod records;
mod stream;
mod tar;
mod vscsi;

pub(crate) use merge::{BinaryReader, order};
pub use records::BinaryFormat;
pub(crate) use tar::is_tar;

/// Every binary format, in the order in which they are tried.
pub static BINARY_FORMATS: &[BinaryFormat] = &[blktrace::FORMAT, vscsi::FORMAT];

/// The format and variant that the first bytes of a stream are in.
pub(crate) fn detect(sample: &[u8]) -> Option<(usize, usize)> {
    let find = |(index, format): (usize, &BinaryFormat)| Some((index, (format.detect)(sample)?));
    BINARY_FORMATS.iter().enumerate().find_map(find)
}
