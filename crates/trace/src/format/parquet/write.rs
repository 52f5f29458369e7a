//! Writes Parquet traces.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer, get_typed_column_writer};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use crate::{Request, TraceError};

use super::content::{Content, NOTES_KEY, REQUESTS_KEY, of_notes};
use super::seal::SealedPages;
use super::{CHUNK, CREATED_BY, KIND, OFFSET, SIZE, TIME, VERSION, VERSION_KEY, VOLUME, damaged, kind_name};

/// Requests in a row group: the writer holds this many in memory.
const GROUP: usize = 1 << 20;

/// Writes one Parquet trace.
pub(crate) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    pending: Vec<Request>,
    /// The checksum of the written requests.
    content: Content,
    /// The current column chunk.
    chunk: Vec<u8>,
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
    /// A writer to `into`, which `path` names in messages. `notes` are kept in the file's metadata.
    pub(crate) fn new(
        into: W,
        path: &Path,
        notes: &[(String, String)],
    ) -> std::result::Result<Self, TraceError> {
        let pairs =
            std::iter::once((VERSION_KEY.to_owned(), VERSION.to_owned())).chain(notes.iter().cloned());
        let mut pairs: Vec<KeyValue> = pairs.map(|(key, value)| KeyValue::new(key, value)).collect();
        pairs.push(KeyValue::new(NOTES_KEY.to_owned(), of_notes(&pairs)));
        let time = ColumnPath::from(TIME);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_dictionary_enabled(time.clone(), false)
            .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
            .set_created_by(CREATED_BY.to_owned())
            .set_key_value_metadata(Some(pairs))
            .build();
        let schema = schema().map_err(|error| damaged(path, &error))?;
        let file = SerializedFileWriter::new(into, Arc::new(schema), Arc::new(properties));
        let file = file.map_err(|error| failed(path, error))?;
        Ok(Self { file, pending: Vec::new(), content: Content::default(), chunk: Vec::new() })
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

    /// Completes the file and returns the writer below it.
    pub(crate) fn finish(mut self, path: &Path) -> std::result::Result<W, TraceError> {
        self.flush().map_err(|error| failed(path, error))?;
        let content = KeyValue::new(REQUESTS_KEY.to_owned(), self.content.text());
        self.file.append_key_value_metadata(content);
        self.file.into_inner().map_err(|error| failed(path, error))
    }

    fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.content.add(&self.pending);
        let requests = &self.pending;
        let columns = self.file.schema_descr().columns().to_vec();
        let properties = self.file.properties().clone();
        let mut group = self.file.next_row_group()?;
        for (index, descriptor) in columns.into_iter().enumerate() {
            self.chunk.clear();
            let pages = Box::new(SealedPages::new(&mut self.chunk));
            let column = get_column_writer(descriptor, properties.clone(), pages);
            let closed = match index {
                0 => values::<Int64Type>(column, requests, |request| request.time_ns as i64),
                1 => values::<Int64Type>(column, requests, |request| request.offset as i64),
                2 => values::<Int32Type>(column, requests, |request| request.bytes as i32),
                3 => values::<Int32Type>(column, requests, |request| request.volume as i32),
                _ => values::<ByteArrayType>(column, requests, |request| {
                    ByteArray::from(kind_name(request.kind))
                }),
            }?;
            let chunk = Bytes::from(std::mem::take(&mut self.chunk));
            group.append_column(&chunk, closed)?;
            self.chunk = Vec::from(chunk);
        }
        group.close()?;
        self.pending.clear();
        Ok(())
    }
}

/// Writes a column. Unsigned numbers are stored as signed ones of the same bits, as Parquet requires.
fn values<T: DataType>(
    column: ColumnWriter<'_>,
    requests: &[Request],
    value: impl Fn(&Request) -> T::T,
) -> Result<ColumnCloseResult> {
    let mut column = get_typed_column_writer::<T>(column);
    for part in requests.chunks(CHUNK) {
        let values: Vec<T::T> = part.iter().map(&value).collect();
        column.write_batch(&values, None, None)?;
    }
    column.close()
}

fn failed(path: &Path, error: parquet::errors::ParquetError) -> TraceError {
    TraceError::Io { path: path.to_owned(), source: std::io::Error::other(error) }
}
