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
use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, UInt64Array, new_null_array,
};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use stripewise_results::steady::Steady;
use stripewise_results::{Figure, guarded};
use stripewise_trace::parquet_file::{check_footer_of, unpacked};

use crate::error::Error;
use crate::row::{Row, hex};

/// Most rows that are read at a time.
const BATCH_ROWS: u64 = 1 << 10;
/// Most bytes that the values of a dictionary take when they are repeated for the rows that are read at a time.
const BATCH_BYTES: u64 = 64 << 20;
/// Least bytes of a row in a file, if there are more than [`FEW_ROWS`]: its key and two digests cannot be compressed.
const ROW_BYTES: u64 = 64;
const FEW_ROWS: u64 = 1 << 10;
/// Most columns of a pack: one for each total, and some.
const MOST_COLUMNS: usize = 1 << 10;
/// How much larger the pages of a pack are when they are unpacked, if they take more than [`FEW_BYTES`].
const MOST_RATIO: u64 = 64;
const FEW_BYTES: u64 = 1 << 20;

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

/// The table with the columns of `schema`, in that order; it has nothing in those that it lacked.
pub(crate) fn widened(table: &RecordBatch, schema: &Arc<Schema>) -> RecordBatch {
    let column = |field: &FieldRef| {
        let its = table.column_by_name(field.name()).cloned();
        its.unwrap_or_else(|| new_null_array(field.data_type(), table.num_rows()))
    };
    let columns = schema.fields().iter().map(column).collect();
    RecordBatch::try_new(schema.clone(), columns)
        .expect("the schema has the columns of this table, with their types")
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
    let damaged = |found: String| Error::Pack {
        path: path.to_owned(),
        message: format!("this is no pack of runs: {found}; remove it"),
    };
    let opened = guarded(|| open(bytes, names)).map_err(damaged)?;
    let mut reader = opened.map_err(|error| damaged(error.to_string()))?;
    while let Some(batch) = guarded(|| reader.next()).map_err(damaged)? {
        each(&batch.map_err(|error| damaged(error.to_string()))?)?;
    }
    Ok(())
}

/// Opens a pack that anyone may have written: what the library will allocate is checked before.
fn open(bytes: Bytes, names: Option<&[&str]>) -> Result<ParquetRecordBatchReader, ParquetError> {
    let wrong = |found: &str| ParquetError::General(found.to_owned());
    check_footer_of(&bytes)?;
    let plain = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new().with_skip_arrow_metadata(true))?;
    let file = plain.metadata().clone();
    let size = bytes.len() as u64;
    let rows = file.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
    if rows.fold(0, u64::saturating_add) > FEW_ROWS + size / ROW_BYTES {
        return Err(wrong("it has more rows than there is room for"));
    }
    if plain.schema().fields().len() > MOST_COLUMNS {
        return Err(wrong("it has too many columns"));
    }
    let mut fields = Vec::new();
    for field in plain.schema().fields() {
        let kind = match field.data_type() {
            // Equal texts stay one text.
            DataType::Utf8 => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            number @ (DataType::UInt64 | DataType::Float64) => number.clone(),
            _ => return Err(wrong("it has a column that is neither text nor number")),
        };
        fields.push(field.as_ref().clone().with_data_type(kind));
    }
    let unpacked = unpacked(&bytes, &file)?;
    let pages = || unpacked.iter().flatten();
    if pages().map(|chunk| chunk.bytes).sum::<u64>() > FEW_BYTES + size * MOST_RATIO {
        return Err(wrong("its pages take too much memory"));
    }
    // Values are repeated where some pages of a column have a dictionary and others have none.
    let repeated = pages().filter(|chunk| chunk.is_mixed).map(|chunk| chunk.dictionary_bytes).sum::<u64>();
    let rows = (BATCH_BYTES / repeated.max(1)).clamp(1, BATCH_ROWS);
    let options =
        ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_schema(Arc::new(Schema::new(fields)));
    let metadata = ArrowReaderMetadata::try_new(file, options)?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata);
    let mask = match names {
        Some(names) => ProjectionMask::columns(builder.parquet_schema(), names.iter().copied()),
        None => ProjectionMask::all(),
    };
    builder.with_projection(mask).with_batch_size(rows as usize).build()
}

/// A column of texts, of which equal ones may be stored once.
pub(crate) struct Texts<'a> {
    numbers: &'a Int32Array,
    texts: &'a StringArray,
}

impl<'a> Texts<'a> {
    /// The text of a row; empty where it has none.
    pub(crate) fn value(&self, row: usize) -> &'a str {
        if self.numbers.is_null(row) {
            return "";
        }
        let at = usize::try_from(self.numbers.value(row)).ok();
        at.filter(|&at| at < self.texts.len()).map_or("", |at| self.texts.value(at))
    }
}

/// A column of texts.
pub(crate) fn text_column<'a>(batch: &'a RecordBatch, name: &str) -> Option<Texts<'a>> {
    let column = batch.column_by_name(name)?.as_dictionary_opt::<Int32Type>()?;
    Some(Texts { numbers: column.keys(), texts: column.values().as_string_opt::<i32>()? })
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use stripewise_results::{Digest, Figures};

    use super::*;

    fn row(run: u8, configuration: &str) -> Row {
        Row {
            key: [run; 16],
            run: Digest([run; 32]),
            results: Digest([run; 32]),
            scheme: "baseline".into(),
            seed: 3,
            version: "1+2".into(),
            trace_digest: "uniform".into(),
            configuration: configuration.to_owned(),
            replay: "b = 2".into(),
            steady: Steady::NotYet,
            totals: Figures::from_list(&[("response_mean_ns", Figure::Real(1.0))]).unwrap(),
        }
    }

    fn pack(tables: &[RecordBatch]) -> (PathBuf, Bytes) {
        let bytes = bytes(tables).unwrap();
        (PathBuf::from(format!("{}.parquet", name(&bytes))), bytes.into())
    }

    /// Rows that were read, and the most memory of one batch without what batches share.
    fn measured(path: &Path, bytes: Bytes) -> Result<(usize, usize), Error> {
        let (mut rows, mut most) = (0, 0);
        read(path, bytes, None, &mut |batch| {
            rows += batch.num_rows();
            most = most.max(batch.get_array_memory_size());
            Ok(())
        })?;
        Ok((rows, most))
    }

    #[test]
    fn a_small_pack_asks_for_little_memory() {
        // A text of 900 KB that all rows share: 64 rows of it would be repeated in a column of plain texts.
        let long = "x".repeat(900_000);
        let (path, bytes) = pack(&[table(&vec![row(1, &long); 1000])]);
        assert!(bytes.len() < 20_000, "{}", bytes.len());
        let (rows, most) = measured(&path, bytes).unwrap();
        assert!(rows == 1000 && most < 8 << 20, "{rows} rows, {most} bytes");
        // More of them than a file of this size can have with keys and digests that differ.
        let (path, bytes) = pack(&[table(&vec![row(1, &long); 16384])]);
        assert!(bytes.len() < 20_000, "{}", bytes.len());
        let error = measured(&path, bytes).unwrap_err().to_string();
        assert!(error.contains("more rows than there is room for; remove it"), "{error}");
        let texts: Vec<Row> = (0..100).map(|run| row(run, &format!("{run}{long}"))).collect();
        let (path, bytes) = pack(&[table(&texts)]);
        let error = measured(&path, bytes).unwrap_err().to_string();
        assert!(error.contains("take too much memory") || error.contains("pages of up to 16 MiB"), "{error}");
    }

    #[test]
    fn a_table_has_nothing_in_columns_that_only_others_have() {
        let own = table(&[row(1, "a")]);
        let offered = Arc::new(Field::new("offered", DataType::Float64, true));
        let mut fields: Vec<FieldRef> = own.schema().fields().iter().cloned().collect();
        fields.insert(3, offered);
        let widened = widened(&own, &Arc::new(Schema::new(fields)));
        assert_eq!((widened.num_columns(), widened.num_rows()), (own.num_columns() + 1, 1));
        assert!(widened.column(3).is_null(0));
        assert_eq!(widened.column_by_name("key"), own.column_by_name("key"));
        assert_eq!(real_column(&widened, "response_mean_ns"), Some(vec![1.0]));
    }

    #[test]
    fn texts_of_dictionaries_and_others_are_read_alike() {
        // Beyond a megabyte the writer ends the dictionary of a column, and writes values.
        let text = |run: u8| format!("{run} {}", "y".repeat(9000));
        let rows: Vec<Row> = (0..130).map(|run| row(run, &text(run))).collect();
        let table = table(&rows);
        let (path, bytes) = pack(&[table]);
        let mut at = 0;
        let found = read(&path, bytes, None, &mut |batch| {
            let texts = text_column(batch, "configuration").expect("the column");
            for row in 0..batch.num_rows() {
                assert_eq!(texts.value(row), text(at));
                at += 1;
            }
            Ok(())
        });
        assert!(found.is_ok() && at == 130, "{found:?}");
    }

    #[test]
    fn a_changed_byte_is_an_error_or_reads_and_never_ends_the_program() {
        let (_, bytes) = pack(&[table(&[row(1, "a"), row(2, "b")])]);
        for at in 0..bytes.len() {
            for changed in [0, 0x7F, 0xFF, bytes[at] ^ 1, bytes[at].wrapping_add(1)] {
                let mut other = bytes.to_vec();
                other[at] = changed;
                let path = PathBuf::from(format!("{}.parquet", name(&other)));
                let _ = measured(&path, other.into());
            }
        }
    }
}
