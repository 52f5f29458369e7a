//! Pages with checksums. The Parquet library verifies the checksum of a page that has one, and writes none. This
//! module adds checksums to the library's pages before they reach the file.
//!
//! Source: Apache Parquet format, `parquet.thrift`, `PageHeader.crc`: the CRC-32 (of gzip) of the page as it is
//! stored, without its header.

use std::io::{self, Write};

use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};

/// The longest header of a page that gets a checksum. Ours take some 30 bytes.
const LONGEST_HEADER: usize = 4096;

/// The first byte of a 32-bit field whose number is one more than that of the field before it.
const NEXT_I32: u8 = 0x15;

/// Appends pages with their checksums, as a column chunk for
/// [`SerializedRowGroupWriter::append_column`](parquet::file::writer::SerializedRowGroupWriter::append_column).
#[derive(Debug)]
pub struct SealedPages<'a> {
    chunk: &'a mut Vec<u8>,
}

impl<'a> SealedPages<'a> {
    /// Appends to `chunk`, which is empty at the start of a column chunk.
    pub fn new(chunk: &'a mut Vec<u8>) -> Self {
        Self { chunk }
    }
}

impl PageWriter for SealedPages<'_> {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        let data = page.compressed_page().buffer().clone();
        let mut head = Head::default();
        let mut tracked = TrackedWrite::new(&mut head);
        let mut spec = SerializedPageWriter::new(&mut tracked).write_page(page)?;
        tracked.flush()?;
        drop(tracked);
        let plain = (head.length as usize).checked_sub(data.len()).and_then(|length| head.kept.get(..length));
        let plain =
            plain.ok_or_else(|| ParquetError::General("the header of a page is too long".to_owned()))?;
        let begin = self.chunk.len();
        seal(plain, crc32fast::hash(&data), self.chunk)?;
        let longer = self.chunk.len() - begin - plain.len();
        self.chunk.extend_from_slice(&data);
        spec.offset = begin as u64;
        spec.compressed_size += longer;
        spec.uncompressed_size += longer;
        spec.bytes_written = (self.chunk.len() - begin) as u64;
        Ok(spec)
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Appends to `out` the header `plain`, which has no checksum, with this checksum: field 4, between the sizes of the
/// page (fields 1 to 3) and the fields of its kind (from 5 on).
fn seal(plain: &[u8], checksum: u32, out: &mut Vec<u8>) -> Result<()> {
    let other = || ParquetError::General("the header of a page has an unexpected form".to_owned());
    let mut at = 0;
    for _ in 0..3 {
        let (first, number) = plain.get(at..).and_then(<[u8]>::split_first).ok_or_else(other)?;
        let length = number.iter().position(|byte| byte & 0x80 == 0).ok_or_else(other)?;
        if *first != NEXT_I32 {
            return Err(other());
        }
        at += length + 2;
    }
    let (next, rest) = plain.get(at..).and_then(<[u8]>::split_first).ok_or_else(other)?;
    // The upper half is the difference between the field's number and that of the field before.
    if next >> 4 < 2 {
        return Err(other());
    }
    out.extend_from_slice(&plain[..at]);
    out.push(NEXT_I32);
    let signed = checksum as i32;
    let mut number = ((signed << 1) ^ (signed >> 31)) as u32;
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
    out.push(next - 0x10);
    out.extend_from_slice(rest);
    Ok(())
}

/// Keeps the first bytes that are written, and counts all.
#[derive(Default)]
struct Head {
    kept: Vec<u8>,
    length: u64,
}

impl Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = LONGEST_HEADER - self.kept.len();
        self.kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
