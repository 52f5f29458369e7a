//! Parquet traces as other programs write them: the forms that `docs/reference/trace-schema.md` allows, and those that it
//! refuses.

#![cfg(feature = "parquet")]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use stripewise_trace::{Kind, OpenOptions, Request, Source, TraceError, open};

use crate::common::{Scratch, drain};

/// Values of one column, with nulls where the column has them.
enum Column {
    Wide(Vec<Option<i64>>),
    Narrow(Vec<Option<i32>>),
    Real(Vec<f64>),
    Text(Vec<&'static str>),
}

fn wide(values: &[i64]) -> Column {
    Column::Wide(values.iter().copied().map(Some).collect())
}

fn narrow(values: &[i32]) -> Column {
    Column::Narrow(values.iter().copied().map(Some).collect())
}

fn file(path: &Path, schema: &str, columns: Vec<Column>, version: Option<&str>) {
    let pairs =
        version.map(|version| vec![KeyValue::new("stripewise.trace.schema".to_owned(), version.to_owned())]);
    file_with(path, schema, columns, WriterProperties::builder().set_key_value_metadata(pairs).build());
}

fn file_with(path: &Path, schema: &str, columns: Vec<Column>, properties: WriterProperties) {
    let (schema, properties) =
        (Arc::new(parse_message_type(schema).expect("a schema")), Arc::new(properties));
    let into = File::create(path).expect("a file");
    let optional = schema.get_fields()[0].is_optional();
    let mut writer = SerializedFileWriter::new(into, schema, properties).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    for values in columns {
        let mut column = group.next_column().expect("a column").expect("as many as in the schema");
        let levels =
            |present: Vec<bool>| optional.then(|| present.into_iter().map(i16::from).collect::<Vec<i16>>());
        match values {
            Column::Wide(values) => {
                let levels = levels(values.iter().map(Option::is_some).collect());
                let values: Vec<i64> = values.into_iter().flatten().collect();
                column.typed::<Int64Type>().write_batch(&values, levels.as_deref(), None)
            }
            Column::Narrow(values) => {
                let levels = levels(values.iter().map(Option::is_some).collect());
                let values: Vec<i32> = values.into_iter().flatten().collect();
                column.typed::<Int32Type>().write_batch(&values, levels.as_deref(), None)
            }
            Column::Real(values) => {
                let levels = levels(vec![true; values.len()]);
                column.typed::<DoubleType>().write_batch(&values, levels.as_deref(), None)
            }
            Column::Text(values) => {
                let levels = levels(vec![true; values.len()]);
                let values: Vec<ByteArray> = values.into_iter().map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&values, levels.as_deref(), None)
            }
        }
        .expect("values");
        column.close().expect("the column");
    }
    group.close().expect("the group");
    writer.close().expect("the file");
}

fn read(path: &Path) -> Result<(Vec<Request>, u64), TraceError> {
    let mut reader = open(path, &OpenOptions::default())?;
    let requests = drain(&mut reader, 2)?;
    Ok((requests, reader.report().clamped_times))
}

const SIGNED: &str = "message m {
    OPTIONAL BYTE_ARRAY kind (UTF8);
    OPTIONAL INT64 size_bytes;
    OPTIONAL INT32 weather;
    OPTIONAL INT64 offset_bytes;
    OPTIONAL INT64 time_ns;
}";

type Spoil = fn(&mut Vec<Column>);

/// The columns of [`SIGNED`], changed by `spoil`.
fn signed(spoil: impl FnOnce(&mut Vec<Column>)) -> Vec<Column> {
    let mut columns = vec![
        Column::Text(vec!["read", "write", "flush"]),
        wide(&[4096, 512, 0]),
        narrow(&[-1, -2, -3]),
        wide(&[0, i64::MAX, 0]),
        wide(&[1_000, 1_700, 1_600]),
    ];
    spoil(&mut columns);
    columns
}

/// Files of one folder are one trace in the order of their names, whatever the order of their creation. Files with
/// another ending are ignored.
#[test]
fn the_parquet_files_of_a_folder_are_one_trace() {
    let scratch = Scratch::new();
    let folder = scratch.file("served");
    std::fs::create_dir(&folder).expect("a folder");
    assert!(read(&folder).unwrap_err().to_string().contains("neither Parquet files"));
    let at =
        |first: i64| move |columns: &mut Vec<Column>| columns[4] = wide(&[first, first + 50, first + 70]);
    for (name, first) in [("c.parquet", 2_040), ("a.parquet", 1_000), ("b.parquet", 2_000)] {
        file(&folder.join(name), SIGNED, signed(at(first)), None);
    }
    std::fs::write(folder.join("d.parquet.partial"), b"PAR1").expect("a file");
    let (requests, clamped) = read(&folder).expect("reads");
    let times: Vec<u64> = requests.iter().map(|request| request.time_ns).collect();
    // The last file begins before the second has ended.
    assert_eq!((times, clamped), (vec![0, 50, 70, 1_000, 1_050, 1_070, 1_070, 1_090, 1_110], 1));
    let mut reader = open(&folder, &OpenOptions::default()).expect("opens");
    let sizes = ["a.parquet", "b.parquet", "c.parquet"]
        .map(|name| std::fs::metadata(folder.join(name)).unwrap().len());
    assert_eq!(reader.report().file_bytes, Some(sizes.iter().sum()));
    let mut batch = Vec::with_capacity(3);
    for part in [1.0, 2.0, 3.0] {
        reader.next_batch(&mut batch).expect("reads");
        assert_eq!((batch.len(), reader.progress()), (3, Some(part / 3.0)));
    }
    file(&folder.join("b.parquet"), SIGNED, signed(|columns| columns[1] = wide(&[4096, 0, 0])), None);
    match read(&folder) {
        Err(TraceError::Record { path, line: 2, .. }) => assert!(path.ends_with("served/b.parquet")),
        other => panic!("{other:?}"),
    }
    std::fs::write(folder.join("sdb.blktrace.0"), b"").expect("a file");
    assert!(read(&folder).unwrap_err().to_string().contains("holds 2 traces"));
}

#[test]
fn columns_may_be_signed_nullable_in_any_order_and_among_others_and_volume_may_be_absent() {
    let scratch = Scratch::new();
    let path = scratch.file("t.parquet");
    file(&path, SIGNED, signed(|_| {}), None);
    let (requests, clamped) = read(&path).expect("reads");
    let one = |time_ns, offset, bytes, kind| Request { time_ns, offset, bytes, volume: 0, kind };
    let expected = [
        one(0, 0, 4096, Kind::Read),
        one(700, i64::MAX as u64, 512, Kind::Write),
        one(700, 0, 0, Kind::Flush),
    ];
    assert_eq!(
        (requests.as_slice(), clamped),
        (&expected[..], 1),
        "the last is older than the one before it"
    );
}

#[test]
fn unsigned_columns_use_all_their_bits() {
    let schema = "message m {
        REQUIRED INT64 time_ns (INTEGER(64,false));
        REQUIRED INT64 offset_bytes (INTEGER(64,false));
        REQUIRED INT32 size_bytes (INTEGER(32,false));
        REQUIRED INT32 volume (INTEGER(32,false));
        REQUIRED BYTE_ARRAY kind (STRING);
    }";
    let scratch = Scratch::new();
    let path = scratch.file("t.parquet");
    let columns = vec![
        wide(&[0, -1]),
        wide(&[-8193, 7]),
        narrow(&[4096, -1]),
        narrow(&[-2, 5]),
        Column::Text(vec!["trim", "write"]),
    ];
    file(&path, schema, columns, Some("1"));
    let expected = [
        Request { time_ns: 0, offset: u64::MAX - 8192, bytes: 4096, volume: u32::MAX - 1, kind: Kind::Trim },
        Request { time_ns: u64::MAX, offset: 7, bytes: u32::MAX, volume: 5, kind: Kind::Write },
    ];
    assert_eq!(read(&path).expect("reads").0, expected);
}

/// [`SIGNED`] with another column of times, and its requests' times, or the error.
fn times(path: &Path, column: &str, values: Column) -> Result<Vec<u64>, TraceError> {
    let schema = SIGNED.replace("INT64 time_ns", column);
    file(path, &schema, signed(|columns| columns[4] = values), None);
    read(path).map(|(requests, _)| requests.iter().map(|request| request.time_ns).collect())
}

#[test]
fn times_have_the_unit_of_their_type_or_of_their_name() {
    let scratch = Scratch::new();
    let path = scratch.file("t.parquet");
    let since_1970 = 1_600_000_000_000_000;
    for (column, values, expected) in [
        ("INT64 time_ns (TIMESTAMP(MILLIS,true))", wide(&[5, 6, 1_004]), [0, 1_000_000, 999_000_000]),
        (
            "INT64 time_ns (TIMESTAMP(MICROS,false))",
            wide(&[since_1970, since_1970, since_1970 + 999_000]),
            [0, 0, 999_000_000],
        ),
        ("INT64 time_ns (TIMESTAMP(NANOS,true))", wide(&[7, 8, 9]), [0, 1, 2]),
        ("INT64 time_ns (TIMESTAMP_MILLIS)", wide(&[1, 2, 3]), [0, 1_000_000, 2_000_000]),
        ("INT64 time_ns (TIMESTAMP_MICROS)", wide(&[1, 2, 3]), [0, 1_000, 2_000]),
        ("INT32 time_ns (INTEGER(16,false))", narrow(&[1, 2, 65_535]), [0, 1, 65_534]),
        ("INT32 time_ns (INT_8)", narrow(&[1, 2, 127]), [0, 1, 126]),
        ("INT32 time_s", narrow(&[1, 2, 4]), [0, 1_000_000_000, 3_000_000_000]),
        (
            "DOUBLE time_s",
            Column::Real(vec![1.6e9, 1.6e9 + 0.5, 1.6e9 + 2.0]),
            [0, 500_000_000, 2_000_000_000],
        ),
        ("INT64 time_s (TIMESTAMP_MICROS)", wide(&[1, 2, 3]), [0, 1_000, 2_000]),
    ] {
        assert_eq!(times(&path, column, values).expect(column), expected, "{column}");
    }
    for (column, values, row, found) in [
        ("INT64 time_ns (TIMESTAMP(MILLIS,true))", wide(&[1, -1, 3]), 2, "negative"),
        ("INT64 time_ns (TIMESTAMP(MILLIS,true))", wide(&[1, 2, i64::MAX]), 3, "9223372036854775807"),
        ("INT64 time_ns (TIMESTAMP(MILLIS,true))", wide(&[1, i64::MAX, -1]), 2, "9223372036854775807"),
        ("DOUBLE time_s", Column::Real(vec![0.5, f64::NAN, -1.0]), 2, "NaN"),
    ] {
        match times(&path, column, values) {
            Err(TraceError::Record { line, column: 1, found: text, .. }) => {
                assert!(line == row && text.contains(found), "{column}: {line}, {text}");
            }
            other => panic!("{column}: {other:?}"),
        }
    }
}

#[test]
fn a_column_of_another_type_is_refused_by_its_name_with_the_remedy() {
    let scratch = Scratch::new();
    let path = scratch.file("t.parquet");
    let refused = |at: usize, from: &str, to: &str, values: Column| {
        let schema = SIGNED.replace(from, to);
        assert_ne!(schema, SIGNED);
        file(&path, &schema, signed(|columns| columns[at] = values), None);
        let error = open(&path, &OpenOptions::default()).err().expect(to).to_string();
        assert!(!error.contains("damaged") && !error.contains("fetch"), "{error}");
        error
    };
    let ones = || wide(&[1, 1, 1]);
    let reals = || Column::Real(vec![1.0; 3]);
    let error = refused(4, "INT64 time_ns", "DOUBLE time_ns", reals());
    assert!(
        error.contains("column `time_ns` holds DOUBLE") && error.contains("`time_s` holds seconds"),
        "{error}"
    );
    let error = refused(4, "time_ns", "time_ns (DECIMAL(18,3))", ones());
    assert!(
        error.contains("column `time_ns` holds decimals (INT64)") && error.contains("cast it"),
        "{error}"
    );
    let error = refused(1, "size_bytes", "size_bytes (DECIMAL(18,0))", ones());
    assert!(
        error.contains("column `size_bytes` holds decimals (INT64), not whole numbers; cast it"),
        "{error}"
    );
    let error = refused(3, "offset_bytes", "offset_bytes (TIMESTAMP_MILLIS)", ones());
    assert!(error.contains("column `offset_bytes` holds timestamps (INT64)"), "{error}");
    let error = refused(3, "INT64 offset_bytes", "DOUBLE offset_bytes", reals());
    assert!(error.contains("column `offset_bytes` holds DOUBLE, not whole numbers; cast it"), "{error}");
    let error = refused(4, "INT64 time_ns", "INT32 time_ns (DATE)", narrow(&[1, 1, 1]));
    assert!(error.contains("column `time_ns` holds dates"), "{error}");
    let error = refused(4, "time_ns", "time_ns (TIME_MICROS)", ones());
    assert!(error.contains("column `time_ns` holds times of day"), "{error}");
}

/// The number of a compression, where the metadata of a column names it: field 4 of a structure, and the count of values as
/// field 5 after it.
fn compression_field(number: u8) -> [u8; 3] {
    [0x15, number << 1, 0x16]
}

#[test]
fn compressions_of_other_programs_are_read_or_called_by_their_names() {
    let scratch = Scratch::new();
    let path = scratch.file("t.parquet");
    file(&path, SIGNED, signed(|_| {}), None);
    let expected = read(&path).expect("reads");
    let properties = |compression| WriterProperties::builder().set_compression(compression).build();
    for compression in [Compression::LZ4, Compression::LZ4_RAW, Compression::SNAPPY] {
        file_with(&path, SIGNED, signed(|_| {}), properties(compression));
        assert_eq!(read(&path).expect("reads"), expected, "{compression}");
    }
    // No encoder of these is at hand: the metadata says that Snappy is another one.
    let bytes = std::fs::read(&path).expect("the file");
    for (number, name) in [(3, "LZO"), (4, "Brotli")] {
        let mut bytes = bytes.clone();
        let places = (0..bytes.len() - 3).filter(|&at| bytes[at..at + 3] == compression_field(1));
        let places: Vec<usize> = places.collect();
        assert_eq!(places.len(), 5, "one a column");
        places.into_iter().for_each(|at| bytes[at + 1] = number << 1);
        let error = read(&scratch.with("other.parquet", &bytes)).expect_err(name).to_string();
        assert!(
            error.contains(&format!(
                "is compressed with {name}, which is not supported; write it again with zstd"
            )),
            "{error}"
        );
    }
}

#[test]
fn a_value_without_meaning_is_an_error_with_its_row_and_column() {
    let scratch = Scratch::new();
    let path = scratch.file("t.parquet");
    let cases: [(Spoil, u64, u32, &str); 6] = [
        (|columns| columns[0] = Column::Text(vec!["read", "erase", "x"]), 2, 5, "erase"),
        (|columns| columns[1] = wide(&[4096, -1, 0]), 2, 3, "negative"),
        (|columns| columns[1] = wide(&[0, 512, 0]), 1, 3, "0"),
        (|columns| columns[1] = wide(&[4096, 512, 1 << 32]), 3, 3, "4294967296"),
        (|columns| columns[3] = wide(&[0, 0, -5]), 3, 2, "negative"),
        (|columns| columns[4] = wide(&[-9, 0, 0]), 1, 1, "negative"),
    ];
    for (spoil, row, position, text) in cases {
        file(&path, SIGNED, signed(spoil), None);
        match read(&path) {
            Err(TraceError::Record { line, column, found, .. }) => {
                assert_eq!((line, column), (row, position), "{text}");
                assert!(found.contains(text), "{found}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_file_that_is_no_trace_says_which_column_or_version_it_has() {
    let scratch = Scratch::new();
    let path = scratch.file("t.parquet");
    let refused = |path: &Path| match read(path) {
        Err(TraceError::NotATrace { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    file(&path, SIGNED, signed(|columns| columns[3] = Column::Wide(vec![Some(1), None, Some(2)])), None);
    assert!(refused(&path).contains("column `offset_bytes` holds a null"));
    file(&path, SIGNED, signed(|_| {}), Some("2"));
    assert!(refused(&path).contains("version 2"));
    file(&path, &SIGNED.replace("size_bytes", "size"), signed(|_| {}), None);
    assert!(refused(&path).contains("no column `size_bytes`"));
    let swapped = signed(|columns| columns[0] = wide(&[0, 1, 1]));
    file(&path, &SIGNED.replace("BYTE_ARRAY kind (UTF8)", "INT64 kind"), swapped, None);
    assert!(refused(&path).contains("column `kind` holds INT64, not text"));
    let nested = "message m { OPTIONAL INT64 time_ns; OPTIONAL group offset_bytes { OPTIONAL INT64 x; } }";
    file(&path, nested, vec![wide(&[0]), wide(&[0])], None);
    assert!(refused(&path).contains("no column `offset_bytes`"));
}
