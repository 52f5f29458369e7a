//! Writes tables as Parquet during a run, in constant memory.
//!
//! Rows are gathered in lanes of 257 values, one lane a column: few enough to stay in the processor's first-level
//! caches, since the simulator needs the rest. A full lane is packed (`crate::pack`); 256 of them are a page; four
//! pages of every column are a row group, which is written. No further compression is applied: packing leaves about
//! 13 to 30 of a request's 112 bytes, and Snappy or Zstandard would cost more than all the other steps to halve that.
//!
//! These tables do not use `ArrowWriter`: it gathers each column through an index, encodes a value at a time, and so
//! takes 2.5 to 5 times as long (`cargo run --release -p stripewise-results --example rows` measures both). Parquet's
//! own writer produces the file's structure (page headers, row groups, footer).

use crate::digest::{RunInputs, TableDigest, TableHasher};
use crate::error::Error;
use crate::pack::{BLOCK, LANE, Lane, PackedPage};
use crate::schema::{Row, Table, schema};
use bytes::Bytes;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter as AnyColumn, get_column_writer};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::sync::Arc;
use stripewise_sim::Figure;
use stripewise_trace::parquet_file::SealedPages;

/// Lanes packed into a page: a page holds 1 + 256 * 256 rows.
pub(crate) const PAGE_LANES: usize = 256;
/// Pages of a column in a row group.
const GROUP_PAGES: usize = 4;
/// Bytes given to the operating system at once.
const WRITE_BYTES: usize = 1 << 20;

/// The rows of one table, packed a page of each column at a time, and the digest of the pages.
pub(crate) struct Pages<R: Row> {
    lanes: Vec<Lane>,
    /// Values in each lane. The first of a lane repeats the last of the previous one, except at the start of a page.
    filled: usize,
    packed_lanes: usize,
    columns: Vec<PackedPage>,
    /// The current packed page, for the hash and the file.
    page: Vec<u8>,
    rows: u64,
    hasher: TableHasher,
    row: PhantomData<R>,
}

impl<R: Row> Pages<R> {
    pub(crate) fn new() -> Self {
        let names = R::COLUMNS.iter().map(|column| (column.name, column.width.data_type().to_string()));
        Self {
            lanes: vec![[0; LANE]; R::COLUMNS.len()],
            filled: 0,
            packed_lanes: 0,
            columns: R::COLUMNS.iter().map(|column| PackedPage::new(column.width.parquet_bits())).collect(),
            page: Vec::new(),
            rows: 0,
            hasher: TableHasher::new(R::TABLE, names),
            row: PhantomData,
        }
    }

    /// Adds a row. When the lanes are full, they are to be packed.
    #[inline]
    pub(crate) fn push(&mut self, row: &R) -> bool {
        row.scatter(&mut self.lanes, self.filled);
        self.filled += 1;
        self.filled == LANE
    }

    /// Packs the lanes. When the page is full, it is to be ended.
    #[inline(never)]
    pub(crate) fn pack(&mut self) -> bool {
        for (page, lane) in self.columns.iter_mut().zip(&mut self.lanes) {
            page.add(lane, self.filled);
            lane[0] = lane[BLOCK];
        }
        self.filled = 1;
        self.packed_lanes += 1;
        self.packed_lanes == PAGE_LANES
    }

    /// Ends a page. `each` gets the page of each column in order: the place of the column, the bytes, which it may take, and
    /// the number of values.
    pub(crate) fn end_page(&mut self, each: &mut dyn FnMut(usize, &mut Vec<u8>, u64)) {
        self.rows += self.columns[0].values();
        self.filled = 0;
        self.packed_lanes = 0;
        for (place, column) in self.columns.iter_mut().enumerate() {
            self.page.clear();
            let values = column.values();
            column.take(&mut self.page);
            self.hasher.page(&self.page);
            each(place, &mut self.page, values);
        }
    }

    /// Packs the remaining rows. Whether there is a page that is to be ended.
    pub(crate) fn pack_rest(&mut self) -> bool {
        // A lane of one value contains no new value, except at the start of a page.
        if self.filled > usize::from(self.packed_lanes > 0) {
            self.pack();
        }
        self.packed_lanes > 0
    }

    /// Rows and digest of all pages that have ended.
    pub(crate) fn digest(&self) -> TableDigest {
        TableDigest { table: R::TABLE, rows: self.rows, digest: self.hasher.finish() }
    }

    /// Bytes of memory held for rows that are not written yet.
    fn memory_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(PackedPage::memory).sum();
        size_of_val(&self.lanes[..]) + columns + self.page.capacity()
    }
}

/// Writes one table of fixed columns. It keeps a write error until [`TableWriter::finish`] returns it, and drops the
/// rows after the error. So a simulation need not check every row.
pub struct TableWriter<R: Row, W: Write + Send> {
    name: String,
    pages: Pages<R>,
    group_pages: usize,
    columns: Vec<ColumnWriter>,
    file: SerializedFileWriter<BufWriter<W>>,
    failed: Option<ParquetError>,
}

impl<R: Row, W: Write + Send> TableWriter<R, W> {
    /// Starts a table in `out`. `name` names it in errors; the inputs of the run become the file's metadata.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn new(out: W, name: &str, inputs: &RunInputs) -> Result<Self, Error> {
        let failed = |source| Error::Write { table: name.to_owned(), source };
        let schema = schema::<R>();
        let descriptor = ArrowSchemaConverter::new().convert(&schema).map_err(failed)?;
        let column = |descriptor: &ColumnDescPtr| ColumnWriter {
            descriptor: descriptor.clone(),
            group: Vec::new(),
            values: 0,
        };
        let mut properties = properties(R::TABLE, inputs);
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let out = BufWriter::with_capacity(WRITE_BYTES, out);
        let file = SerializedFileWriter::new(out, descriptor.root_schema_ptr(), Arc::new(properties))
            .map_err(failed)?;
        Ok(Self {
            name: name.to_owned(),
            pages: Pages::new(),
            group_pages: 0,
            columns: descriptor.columns().iter().map(column).collect(),
            file,
            failed: None,
        })
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: &R) {
        if self.pages.push(row) && self.pages.pack() {
            self.end_page();
        }
    }

    fn end_page(&mut self) {
        let Self { pages, columns, failed, .. } = self;
        pages.end_page(&mut |place, page, values| {
            if failed.is_none() {
                *failed = columns[place].write_page(page, values).err();
            }
        });
        self.group_pages += 1;
        if self.group_pages == GROUP_PAGES {
            self.end_group();
        }
    }

    fn end_group(&mut self) {
        self.group_pages = 0;
        if self.failed.is_none() {
            self.failed = self.write_group().err();
        }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let metadata = column.close()?;
            let bytes = Bytes::from(std::mem::take(&mut column.group));
            group.append_column(&bytes, metadata)?;
            column.group = cleared(bytes);
        }
        group.close()?;
        Ok(())
    }

    /// Bytes of memory held for rows that are not written yet.
    pub fn memory_bytes(&self) -> usize {
        let groups: usize = self.columns.iter().map(|column| column.group.capacity()).sum();
        self.pages.memory_bytes() + groups + WRITE_BYTES
    }

    /// Writes the remaining rows and the footer; returns the output and the table's digest.
    ///
    /// # Errors
    /// When any part of the table could not be written.
    pub fn finish(mut self) -> Result<(W, TableDigest), Error> {
        if self.pages.pack_rest() {
            self.end_page();
        }
        if self.group_pages > 0 {
            self.end_group();
        }
        let written = match self.failed.take() {
            Some(error) => Err(error),
            None => self.file.into_inner(),
        };
        let out = written.and_then(|out| out.into_inner().map_err(|error| error.into_error().into()));
        let out = out.map_err(|source| Error::Write { table: self.name, source })?;
        Ok((out, self.pages.digest()))
    }
}

/// One column of the current row group.
struct ColumnWriter {
    descriptor: ColumnDescPtr,
    /// Finished pages, in the form of the file.
    group: Vec<u8>,
    values: u64,
}

impl ColumnWriter {
    fn write_page(&mut self, packed: &mut Vec<u8>, values: u64) -> Result<(), ParquetError> {
        let size = packed.len();
        let bytes = Bytes::from(std::mem::take(packed));
        let page = Page::DataPage {
            buf: bytes.clone(),
            num_values: values as u32,
            encoding: Encoding::DELTA_BINARY_PACKED,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        SealedPages::new(&mut self.group).write_page(CompressedPage::new(page, size))?;
        self.values += values;
        *packed = cleared(bytes);
        Ok(())
    }

    fn close(&mut self) -> Result<ColumnCloseResult, ParquetError> {
        let (bytes, values) = (self.group.len(), std::mem::take(&mut self.values));
        let metadata = ColumnChunkMetaData::builder(self.descriptor.clone())
            .set_encodings(vec![Encoding::DELTA_BINARY_PACKED, Encoding::RLE])
            .set_compression(Compression::UNCOMPRESSED)
            .set_num_values(values as i64)
            .set_total_compressed_size(bytes as i64)
            .set_total_uncompressed_size(bytes as i64)
            .set_data_page_offset(0)
            .build()?;
        Ok(ColumnCloseResult {
            bytes_written: bytes as u64,
            rows_written: values,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        })
    }
}

/// The memory of bytes without other owners, emptied for reuse.
fn cleared(bytes: Bytes) -> Vec<u8> {
    let mut memory = Vec::from(bytes);
    memory.clear();
    memory
}

/// Writes the totals, a table whose columns are not fixed.
pub(crate) fn write_totals<W: Write + Send>(
    out: W,
    name: &str,
    inputs: &RunInputs,
    totals: &crate::figures::Figures,
) -> Result<(W, TableDigest), Error> {
    let schema = totals.to_batch().schema();
    let write = || {
        let descriptor = ArrowSchemaConverter::new().convert(&schema)?;
        let mut properties = properties(Table::Totals, inputs);
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let properties = Arc::new(properties);
        let mut file = SerializedFileWriter::new(out, descriptor.root_schema_ptr(), properties.clone())?;
        let mut group = file.next_row_group()?;
        for (total, descriptor) in totals.iter().zip(descriptor.columns()) {
            let mut chunk = Vec::new();
            let pages = Box::new(SealedPages::new(&mut chunk));
            let mut column = get_column_writer(descriptor.clone(), properties.clone(), pages);
            match (&mut column, total.value) {
                (AnyColumn::Int64ColumnWriter(column), Figure::Count(count)) => {
                    column.write_batch(&[count as i64], None, None)?
                }
                (AnyColumn::DoubleColumnWriter(column), Figure::Real(real)) => {
                    column.write_batch(&[real], None, None)?
                }
                _ => unreachable!("the schema has a column of 64 bits for a count, and a float for a real"),
            };
            let closed = column.close()?;
            group.append_column(&Bytes::from(chunk), closed)?;
        }
        group.close()?;
        file.into_inner()
    };
    let out = write().map_err(|source| Error::Write { table: name.to_owned(), source })?;
    Ok((out, totals.digest()))
}

fn properties(table: Table, inputs: &RunInputs) -> WriterProperties {
    let named = inputs.named();
    let metadata = named.iter().map(|(key, value)| (*key, value.as_str())).chain([("table", table.name())]);
    let metadata =
        metadata.map(|(key, value)| KeyValue::new(format!("stripewise.{key}"), value.to_owned())).collect();
    WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by(format!("stripewise {}", inputs.version))
        .set_key_value_metadata(Some(metadata))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_compression(Compression::UNCOMPRESSED)
        .build()
}
