//! Writing Parquet traces.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::{Request, TraceError};

use super::{CHUNK, KIND, OFFSET, SIZE, TIME, VERSION, VERSION_KEY, VOLUME, damaged, kind_name};

/// Requests in a row group: what is held in memory while writing.
const GROUP: usize = 1 << 20;

/// Writes one Parquet trace.
pub(crate) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    pending: Vec<Request>,
}

fn schema() -> Result<Type> {
    let number = |name, bits: i8| {
        let physical = if bits == 64 { Physical::INT64 } else { Physical::INT32 };
        let logical = LogicalType::integer(bits, false);
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        field.with_logical_type(Some(logical)).build().map(Arc::new)
    };
    let kind = Type::primitive_type_builder(KIND, Physical::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::String))
        .build()?;
    let fields =
        vec![number(TIME, 64)?, number(OFFSET, 64)?, number(SIZE, 32)?, number(VOLUME, 32)?, Arc::new(kind)];
    Type::group_type_builder("stripewise_trace").with_fields(fields).build()
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A file in `into`, which `path` names in messages. `notes` are kept in the file's metadata.
    pub(crate) fn new(
        into: W,
        path: &Path,
        notes: &[(String, String)],
    ) -> std::result::Result<Self, TraceError> {
        let pairs =
            std::iter::once((VERSION_KEY.to_owned(), VERSION.to_owned())).chain(notes.iter().cloned());
        let time = ColumnPath::from(TIME);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_dictionary_enabled(time.clone(), false)
            .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
            .set_key_value_metadata(Some(pairs.map(|(key, value)| KeyValue::new(key, value)).collect()))
            .build();
        let schema = schema().map_err(|error| damaged(path, &error))?;
        let file = SerializedFileWriter::new(into, Arc::new(schema), Arc::new(properties));
        Ok(Self { file: file.map_err(|error| failed(path, error))?, pending: Vec::new() })
    }

    pub(crate) fn write(&mut self, requests: &[Request], path: &Path) -> std::result::Result<(), TraceError> {
        for part in requests.chunks(CHUNK) {
            self.pending.extend_from_slice(part);
            if self.pending.len() >= GROUP {
                self.flush().map_err(|error| failed(path, error))?;
            }
        }
        Ok(())
    }

    /// Completes the file and hands back what it was written to.
    pub(crate) fn finish(mut self, path: &Path) -> std::result::Result<W, TraceError> {
        self.flush().and_then(|()| self.file.into_inner()).map_err(|error| failed(path, error))
    }

    fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let requests = &self.pending;
        let mut group = self.file.next_row_group()?;
        numbers_64(&mut group, requests, |request| request.time_ns)?;
        numbers_64(&mut group, requests, |request| request.offset)?;
        numbers_32(&mut group, requests, |request| request.bytes)?;
        numbers_32(&mut group, requests, |request| request.volume)?;
        if let Some(mut column) = group.next_column()? {
            for part in requests.chunks(CHUNK) {
                let names: Vec<ByteArray> =
                    part.iter().map(|request| ByteArray::from(kind_name(request.kind))).collect();
                column.typed::<ByteArrayType>().write_batch(&names, None, None)?;
            }
            column.close()?;
        }
        group.close()?;
        self.pending.clear();
        Ok(())
    }
}

/// Writes the next column, of 64-bit unsigned numbers, which Parquet keeps in signed ones of the same bits.
fn numbers_64<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    requests: &[Request],
    value: impl Fn(&Request) -> u64,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    for part in requests.chunks(CHUNK) {
        let values: Vec<i64> = part.iter().map(|request| value(request) as i64).collect();
        column.typed::<Int64Type>().write_batch(&values, None, None)?;
    }
    column.close()
}

/// The same for 32 bits.
fn numbers_32<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    requests: &[Request],
    value: impl Fn(&Request) -> u32,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    for part in requests.chunks(CHUNK) {
        let values: Vec<i32> = part.iter().map(|request| value(request) as i32).collect();
        column.typed::<Int32Type>().write_batch(&values, None, None)?;
    }
    column.close()
}

fn failed(path: &Path, error: parquet::errors::ParquetError) -> TraceError {
    TraceError::Io { path: path.to_owned(), source: std::io::Error::other(error) }
}
