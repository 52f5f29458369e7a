//! Reads tables back as Arrow record batches.

use crate::error::Error;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;
use std::collections::BTreeMap;
use std::fmt::Display;

/// The unsigned columns of a table by name.
pub type Columns = BTreeMap<String, Vec<u64>>;

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 16;

/// A table's rows, one record batch at a time. Also an Arrow `RecordBatchReader`, for what takes one.
pub struct Batches {
    table: String,
    metadata: Vec<(String, String)>,
    reader: ParquetRecordBatchReader,
}

impl Batches {
    pub(crate) fn new(source: impl ChunkReader + 'static, table: &str) -> Result<Self, Error> {
        let wrong = |error: &dyn Display| Error::Read { table: table.to_owned(), message: error.to_string() };
        let builder = ParquetRecordBatchReaderBuilder::try_new(source).map_err(|error| wrong(&error))?;
        let pairs = builder.metadata().file_metadata().key_value_metadata().into_iter().flatten();
        let metadata = pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect();
        let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|error| wrong(&error))?;
        Ok(Self { table: table.to_owned(), metadata, reader })
    }

    /// The value of a key of the file's metadata, such as `stripewise.configuration`.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// All rows at once, column by column; columns of other types are left out.
    pub(crate) fn columns(mut self) -> Result<Columns, Error> {
        let mut columns = Columns::new();
        while let Some(batch) = self.next() {
            let batch = batch
                .map_err(|error| Error::Read { table: self.table.clone(), message: error.to_string() })?;
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                extend(columns.entry(field.name().clone()).or_default(), column);
            }
        }
        Ok(columns)
    }
}

/// Appends the values of a column of unsigned numbers; one of another type has none.
fn extend(values: &mut Vec<u64>, column: &ArrayRef) {
    if let Some(column) = column.as_primitive_opt::<UInt64Type>() {
        values.extend_from_slice(column.values());
    } else if let Some(column) = column.as_primitive_opt::<UInt32Type>() {
        values.extend(column.values().iter().map(|&value| u64::from(value)));
    } else if let Some(column) = column.as_primitive_opt::<UInt8Type>() {
        values.extend(column.values().iter().map(|&value| u64::from(value)));
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let named = |error: ArrowError| {
            let error = Error::Read { table: self.table.clone(), message: error.to_string() };
            ArrowError::ExternalError(Box::new(error))
        };
        Some(self.reader.next()?.map_err(named))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}
