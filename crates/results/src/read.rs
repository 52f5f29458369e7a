//! Reads tables back as Arrow record batches.

use crate::digest::TableDigest;
use crate::error::Error;
use crate::schema::modernized;
use crate::verify::Verifier;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::ChunkReader;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use stripewise_trace::parquet_file::{check_columns, check_footer};

/// The unsigned columns of a table by name.
pub type Columns = BTreeMap<String, Vec<u64>>;

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 16;

/// A table's rows, one record batch at a time. Also an Arrow `RecordBatchReader`, for consumers of that interface.
pub struct Batches {
    table: String,
    metadata: Vec<(String, String)>,
    reader: ParquetRecordBatchReader,
    /// The schema with present names, where the file has former ones.
    modernized: Option<SchemaRef>,
    /// The verifier of the rows read so far, where the expected digest is known.
    verifier: Option<Verifier>,
    /// Whether the end was reached, or an error.
    is_done: bool,
}

impl Batches {
    pub(crate) fn new(source: impl ChunkReader + 'static, table: &str) -> Result<Self, Error> {
        Self::checked(source, table, |_| Ok(()))
    }

    fn checked(
        source: impl ChunkReader + 'static,
        table: &str,
        check: impl FnOnce(&ParquetMetaData) -> Result<(), ParquetError>,
    ) -> Result<Self, Error> {
        let wrong = |error: &dyn Display| Error::Read { table: table.to_owned(), message: error.to_string() };
        let open = || {
            let builder = ParquetRecordBatchReaderBuilder::try_new(source)?;
            check(builder.metadata())?;
            let pairs = builder.metadata().file_metadata().key_value_metadata().into_iter().flatten();
            let metadata = pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect();
            Ok::<_, ParquetError>((metadata, builder.with_batch_size(BATCH_ROWS).build()?))
        };
        let opened = guarded(open).map_err(|error| wrong(&error))?;
        let (metadata, reader) = opened.map_err(|error| wrong(&error))?;
        let modernized = modernized(&reader.schema());
        Ok(Self { table: table.to_owned(), metadata, reader, modernized, verifier: None, is_done: false })
    }

    /// The table in a file that should have this digest. The digest is verified during reading: where the rows
    /// differ, the last item is an error.
    pub(crate) fn of_file(file: File, table: &str, expected: TableDigest) -> Result<Self, Error> {
        let wrong = |message: String| Error::Read { table: table.to_owned(), message };
        guarded(|| check_footer(&file))
            .and_then(|checked| checked.map_err(|error| error.to_string()))
            .map_err(wrong)?;
        let other = file.try_clone().map_err(|error| wrong(error.to_string()))?;
        let mut batches = Self::checked(file, table, |metadata| check_columns(&other, metadata))?;
        batches.verifier = Some(Verifier::new(expected, &batches.reader.schema()).map_err(wrong)?);
        Ok(batches)
    }

    /// Reads the remaining rows, only for their errors.
    pub(crate) fn drain(mut self) -> Result<(), Error> {
        self.try_for_each(|batch| batch.map(drop)).map_err(|error| self.explain(error))
    }

    /// Converts an error of reading to an error of results.
    pub(crate) fn explain(&self, error: ArrowError) -> Error {
        match error {
            ArrowError::ExternalError(error) => match error.downcast::<Error>() {
                Ok(error) => *error,
                Err(error) => Error::Read { table: self.table.clone(), message: error.to_string() },
            },
            error => Error::Read { table: self.table.clone(), message: error.to_string() },
        }
    }

    /// The next batch, verified; none at the end.
    fn read(&mut self) -> Result<Option<RecordBatch>, String> {
        let reader = &mut self.reader;
        let batch = guarded(|| reader.next())?.transpose().map_err(|error| error.to_string())?;
        match (&batch, &mut self.verifier) {
            (Some(batch), Some(verifier)) => verifier.add(batch)?,
            (None, verifier) => verifier.take().map_or(Ok(()), Verifier::finish)?,
            _ => {}
        }
        match (batch, &self.modernized) {
            (Some(batch), Some(schema)) => {
                let columns = batch.columns().to_vec();
                RecordBatch::try_new(schema.clone(), columns).map(Some).map_err(|error| error.to_string())
            }
            (batch, _) => Ok(batch),
        }
    }

    /// The value of a key of the file's metadata, such as `stripewise.configuration`.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// All rows at once, column by column; columns of other types are left out.
    pub(crate) fn columns(mut self) -> Result<Columns, Error> {
        let mut columns = Columns::new();
        while let Some(batch) = self.next() {
            let batch = batch.map_err(|error| self.explain(error))?;
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                extend(columns.entry(field.name().clone()).or_default(), column);
            }
        }
        Ok(columns)
    }

    /// Passes the columns `names`, some rows at a time, to `each`, which gets them in the order of `names`.
    pub(crate) fn scan(mut self, names: &[&str], mut each: impl FnMut(&[Vec<u64>])) -> Result<(), Error> {
        let mut columns: Vec<Vec<u64>> = vec![Vec::new(); names.len()];
        while let Some(batch) = self.next() {
            let batch = batch.map_err(|error| self.explain(error))?;
            for (column, name) in columns.iter_mut().zip(names) {
                let missing = || Error::Read {
                    table: self.table.clone(),
                    message: format!("there is no column `{name}`"),
                };
                column.clear();
                extend(column, batch.column_by_name(name).ok_or_else(missing)?);
            }
            each(&columns);
        }
        Ok(())
    }
}

/// Reads the table in a file, and checks that it is the one of this digest. Errors name it `table`.
///
/// # Errors
/// When it is not, or cannot be read.
pub fn verify_file(file: File, table: &str, expected: TableDigest) -> Result<(), Error> {
    Batches::of_file(file, table, expected)?.drain()
}

/// Runs a step of the Parquet library over a file of unknown origin. On some kinds of damage the library panics where
/// it should return an error. A panic must not leave this crate, since Python's Arrow interface cannot pass it on.
///
/// # Errors
/// When the library panicked.
pub fn guarded<T>(step: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|_| "the Parquet library failed on it".to_owned())
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
        if self.is_done {
            return None;
        }
        let batch = self.read();
        self.is_done = !matches!(batch, Ok(Some(_)));
        let named = |message| {
            let error = Error::Read { table: self.table.clone(), message };
            ArrowError::ExternalError(Box::new(error))
        };
        batch.map_err(named).transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.modernized.clone().unwrap_or_else(|| self.reader.schema())
    }
}
