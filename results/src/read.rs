//! Reads tables back as Arrow record batches.

use crate::error::Error;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;
use std::fmt::Display;

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
