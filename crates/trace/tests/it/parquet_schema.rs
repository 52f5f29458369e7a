//! Parquet traces as other programs write them: the forms that `docs/reference/trace-schema.md` allows, and those that it
//! refuses.

#![cfg(feature = "parquet")]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
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
    Text(Vec<&'static str>),
}

fn wide(values: &[i64]) -> Column {
    Column::Wide(values.iter().copied().map(Some).collect())
}

fn narrow(values: &[i32]) -> Column {
    Column::Narrow(values.iter().copied().map(Some).collect())
}

fn file(path: &Path, schema: &str, columns: Vec<Column>, version: Option<&str>) {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let pairs =
        version.map(|version| vec![KeyValue::new("stripewise.trace.schema".to_owned(), version.to_owned())]);
    let properties = Arc::new(WriterProperties::builder().set_key_value_metadata(pairs).build());
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
    assert!(refused(&path).contains("null"));
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
