//! A pack: the runs of one batch, a Parquet file with a row a run.
//!
//! A run alone would take 20 KB, most of it for the names of its columns; in a pack of some it takes about one.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use stripewise_results::Figure;
use stripewise_results::steady::Steady;

use crate::error::Error;
use crate::row::{Row, hex};

/// Rows that are read at a time.
const BATCH_ROWS: usize = 1 << 14;

/// The table of some runs. A run has nothing in the columns of totals that only others have.
pub(crate) fn table(rows: &[Row]) -> RecordBatch {
    let mut columns: Vec<(Field, ArrayRef)> = Vec::new();
    let texts = |of: &dyn Fn(&Row) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    // Equal texts are stored once.
    let shared = |of: &dyn Fn(&Row) -> String| -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        rows.iter().for_each(|row| builder.append_value(of(row)));
        Arc::new(builder.finish())
    };
    let mut add = |name: &str, is_nullable: bool, column: ArrayRef| {
        columns.push((Field::new(name, column.data_type().clone(), is_nullable), column));
    };
    add("key", false, texts(&|row| hex(&row.key)));
    add("run_digest", false, texts(&|row| row.run.to_string()));
    add("results_digest", false, texts(&|row| row.results.to_string()));
    add("scheme", false, shared(&|row| row.scheme.clone()));
    add("seed", false, Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.seed))));
    add("steady", false, shared(&|row| steady(row.steady).to_owned()));
    let from = rows.iter().map(|row| match row.steady {
        Steady::From(request) => Some(request),
        _ => None,
    });
    add("steady_from_request", true, Arc::new(UInt64Array::from_iter(from)));
    add("version", false, shared(&|row| row.version.clone()));
    add("trace_digest", false, shared(&|row| row.trace_digest.clone()));
    add("configuration", false, shared(&|row| row.configuration.clone()));
    add("replay", false, shared(&|row| row.replay.clone()));
    let mut names = BTreeSet::new();
    for total in rows.iter().flat_map(|row| row.totals.iter()).filter(|total| names.insert(&total.name)) {
        let values = rows.iter().map(|row| row.totals.get(&total.name));
        let column: ArrayRef = match total.value {
            Figure::Count(_) => Arc::new(UInt64Array::from_iter(values.map(|value| match value {
                Some(Figure::Count(count)) => Some(count),
                _ => None,
            }))),
            Figure::Real(_) => Arc::new(Float64Array::from_iter(values.map(|value| match value {
                Some(Figure::Real(real)) => Some(real),
                _ => None,
            }))),
        };
        add(&total.name, true, column);
    }
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .expect("each column has the type of its field and a value a row")
}

fn steady(steady: Steady) -> &'static str {
    match steady {
        Steady::From(_) => "yes",
        Steady::NotYet => "not yet",
        Steady::Unknown => "unknown",
    }
}

/// Starts a file of tables of this schema.
pub(crate) fn writer<W: Write + Send>(file: W, schema: Arc<Schema>) -> Result<ArrowWriter<W>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_created_by(format!("stripewise {}", env!("CARGO_PKG_VERSION")))
        .build();
    // Without the schema in Arrow's own form: it takes as much space as ten runs, and readers get the same columns.
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(file, schema, options)
}

/// The bytes of a pack of tables, which have one schema.
pub(crate) fn bytes(tables: &[RecordBatch]) -> Result<Vec<u8>, ParquetError> {
    let schema = tables.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
    let mut writer = writer(Vec::new(), schema)?;
    tables.iter().try_for_each(|table| writer.write(table))?;
    writer.into_inner()
}

/// The name of the pack with these bytes: a digest, because Parquet notices few of the bits that change on a disk.
pub(crate) fn name(bytes: &[u8]) -> String {
    hex(&blake3::hash(bytes).as_bytes()[..16])
}

/// The tables of a pack, all columns or those of these names; fewer where the pack has not all of them.
///
/// # Errors
/// When the bytes are not those that the name of the file says, or no Parquet file; those of `each`.
pub(crate) fn read(
    path: &Path,
    bytes: Bytes,
    names: Option<&[&str]>,
    each: &mut dyn FnMut(&RecordBatch) -> Result<(), Error>,
) -> Result<(), Error> {
    let wrong =
        |error: &dyn std::fmt::Display| Error::Pack { path: path.to_owned(), message: error.to_string() };
    if path.file_stem().and_then(|stem| stem.to_str()) != Some(&name(&bytes)) {
        let remedy = "remove it, and `stripewise study run` makes its runs again";
        return Err(wrong(&format_args!(
            "this pack of runs is damaged: its name is not the digest of its bytes; {remedy}"
        )));
    }
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| wrong(&error))?;
    let mask = match names {
        Some(names) => ProjectionMask::columns(builder.parquet_schema(), names.iter().copied()),
        None => ProjectionMask::all(),
    };
    let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
    for batch in reader.map_err(|error| wrong(&error))? {
        each(&batch.map_err(|error| wrong(&error))?)?;
    }
    Ok(())
}

/// A column of texts.
pub(crate) fn text_column<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a StringArray> {
    batch.column_by_name(name)?.as_string_opt::<i32>()
}

/// A column of numbers.
pub(crate) fn real_column(batch: &RecordBatch, name: &str) -> Option<Vec<f64>> {
    let column = batch.column_by_name(name)?;
    match column.data_type() {
        DataType::UInt64 => {
            let values = column.as_primitive::<UInt64Type>();
            Some(values.iter().map(|value| value.map_or(f64::NAN, |value| value as f64)).collect())
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            Some(values.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
        }
        _ => None,
    }
}
