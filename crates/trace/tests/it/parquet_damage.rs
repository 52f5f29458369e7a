//! Damaged or malicious traces in Parquet: they yield an error that names the file and the remedy, never other
//! requests.

#![cfg(feature = "parquet")]

use std::fs;

use parquet::basic::ZstdLevel;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use stripewise_trace::{FormatName, Kind, OpenOptions, Request, TraceError, WriteOptions, notes, open};

use crate::common::other_programs::{built, made};
use crate::common::{Scratch, drain, write};

fn requests(count: u64) -> Vec<Request> {
    let kinds = [Kind::Read, Kind::Write, Kind::Trim];
    let request = |n: u64| Request {
        time_ns: n * 1_003,
        offset: n * n * 4096,
        bytes: 512 + (n as u32 % 7) * 512,
        volume: n as u32 % 3,
        kind: kinds[n as usize % 3],
    };
    (0..count).map(request).collect()
}

fn file(scratch: &Scratch, requests: &[Request]) -> Vec<u8> {
    let path = scratch.file("whole.parquet");
    let notes = vec![("source".to_owned(), "a test".to_owned())];
    write(&path, requests, &WriteOptions { notes, ..WriteOptions::new(FormatName::parquet()) })
        .expect("writes");
    fs::read(path).expect("the file")
}

/// The content of a file: its requests and its notes.
type Said = (Vec<Request>, Vec<(String, String)>);

fn said(path: &std::path::Path) -> Result<Said, TraceError> {
    let requests = drain(&mut open(path, &OpenOptions::default())?, 100)?;
    Ok((requests, notes(path)?))
}

#[test]
fn no_byte_of_a_trace_can_change_without_an_error_or_with_other_requests() {
    let scratch = Scratch::new();
    let written = requests(40);
    let whole = file(&scratch, &written);
    let truth = said(&scratch.file("whole.parquet")).expect("reads");
    assert_eq!(truth.0, written);
    // The library reports its panics on standard error, which these reads do not need.
    std::panic::set_hook(Box::new(|_| ()));
    let path = scratch.file("damaged.parquet");
    let mut unnoticed = Vec::new();
    // Every other byte, to save time.
    for at in (0..whole.len()).step_by(2) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at / 2 % 8);
        fs::write(&path, &bytes).expect("a file");
        match said(&path) {
            Ok(other) if other != truth => unnoticed.push(at),
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("damaged.parquet"), "{error}"),
        }
    }
    drop(std::panic::take_hook());
    assert!(
        unnoticed.is_empty(),
        "{} changes of {} bytes went unnoticed: {unnoticed:?}",
        unnoticed.len(),
        whole.len()
    );
}

#[test]
fn damage_to_a_page_is_noticed_by_every_reader_of_parquet_and_names_file_and_remedy() {
    let scratch = Scratch::new();
    let mut bytes = file(&scratch, &requests(5000));
    let path = scratch.with("page.parquet", &bytes);
    let reader = SerializedFileReader::new(fs::File::open(&path).expect("the file")).expect("opens");
    let column = reader.metadata().row_group(0).column(1).clone();
    let (begin, length) = column.byte_range();
    bytes[(begin + length - 5) as usize] ^= 4;
    let path = scratch.with("page.parquet", &bytes);

    let reader = SerializedFileReader::new(fs::File::open(&path).expect("the file")).expect("opens");
    let error =
        reader.get_row_iter(None).expect("begins").find_map(Result::err).expect("the page is damaged");
    assert!(error.to_string().contains("CRC"), "{error}");

    let error = said(&path).expect_err("the page is damaged").to_string();
    assert!(error.contains("page.parquet is a damaged Parquet file") && error.contains("CRC"), "{error}");
    assert!(error.contains("convert it again"), "{error}");
}

#[test]
fn a_trace_that_another_program_changed_may_carry_our_checksums_on() {
    let scratch = Scratch::new();
    file(&scratch, &requests(10));
    let ours = SerializedFileReader::new(fs::File::open(scratch.file("whole.parquet")).expect("the file"))
        .expect("opens");
    let carried = ours.metadata().file_metadata().key_value_metadata().cloned();
    let path = scratch.file("changed.parquet");
    made(&path, 7, WriterProperties::builder().set_key_value_metadata(carried).build(), |_| "read".into());
    assert_eq!(said(&path).expect("reads").0.len(), 7);
}

#[test]
fn kinds_that_are_built_from_the_ones_before_are_read() {
    let scratch = Scratch::new();
    let path = scratch.file("built.parquet");
    let kinds = [&b"read"[..], b"write", b"trim"];
    made(&path, 10_000, built(), |at| kinds[at % 3].to_vec().into());
    let (requests, _) = said(&path).expect("reads");
    assert_eq!(requests.len(), 10_000);
    assert!(
        requests
            .iter()
            .enumerate()
            .all(|(at, request)| request.kind == [Kind::Read, Kind::Write, Kind::Trim][at % 3])
    );
}

#[test]
fn a_page_that_unpacks_to_more_than_16_mib_is_refused_with_the_bound() {
    let scratch = Scratch::new();
    let path = scratch.file("large.parquet");
    let properties = WriterProperties::builder()
        .set_compression(parquet::basic::Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(64 << 20)
        .set_data_page_row_count_limit(usize::MAX)
        .build();
    made(&path, (16 << 20) / 8 + 10_000, properties, |_| "read".into());
    assert!(fs::metadata(&path).expect("the file").len() < 64 << 10);
    let error = said(&path).expect_err("its pages are too large").to_string();
    assert!(
        error.contains("large.parquet") && error.contains("16 MiB") && error.contains("smaller pages"),
        "{error}"
    );
}
