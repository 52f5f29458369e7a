//! A trace written in a format reads back as the same requests; a request that a format cannot hold is refused by
//! name.

use std::fs;

use proptest::prelude::*;
use stripewise_trace::format::FORMATS;
use stripewise_trace::{
    Compression, FormatName, Kind, OpenOptions, Request, TraceError, WriteOptions, Writer, open,
};

use crate::common::{HOLDS_ALL, Scratch, drain, named, read, traces, write};

fn format(name: &str) -> FormatName {
    name.parse().expect("a format")
}

/// Writes and reads back; the format is not named, which tests detection too.
fn there_and_back(requests: &[Request], name: &str, file: &str, open_as: &OpenOptions) -> Vec<Request> {
    let scratch = Scratch::new();
    let path = scratch.file(file);
    let rounded =
        write(&path, requests, &WriteOptions::new(format(name))).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rounded, 0);
    assert!(!scratch.file(&format!("{file}.partial")).exists());
    let mut reader = open(&path, open_as).unwrap_or_else(|error| panic!("{error}"));
    let back = drain(&mut reader, 13).unwrap_or_else(|error| panic!("{error}"));
    let report = reader.report();
    assert!(report.complete && report.clamped_times == 0 && report.requests == requests.len() as u64);
    back
}

fn on_one_volume(requests: &[Request]) -> Vec<Request> {
    requests.iter().map(|request| Request { volume: 0, ..*request }).collect()
}

proptest! {
    #[test]
    fn spc_keeps_nanoseconds_and_bytes(requests in traces(1, 512)) {
        prop_assume!(!requests.is_empty());
        prop_assert_eq!(there_and_back(&requests, "spc", "t.spc", &OpenOptions::default()), requests);
    }

    #[test]
    fn spc_without_asus_keeps_one_volume(requests in traces(1, 512)) {
        prop_assume!(!requests.is_empty());
        let requests = on_one_volume(&requests);
        prop_assert_eq!(there_and_back(&requests, "spc:noasu", "t.csv", &OpenOptions::default()), requests);
    }

    #[test]
    fn msr_keeps_100_ns_and_single_bytes(requests in traces(100, 1)) {
        prop_assume!(!requests.is_empty());
        prop_assert_eq!(there_and_back(&requests, "msr", "t.csv.gz", &OpenOptions::default()), requests);
    }

    #[test]
    fn ssdsim_and_mqsim_keep_nanoseconds_and_sectors(requests in traces(1, 512)) {
        prop_assume!(!requests.is_empty());
        for name in ["ssdsim", "mqsim"] {
            prop_assert_eq!(&there_and_back(&requests, name, "t.trace", &OpenOptions::default()), &requests);
        }
    }

    #[test]
    fn ssdsim_in_microseconds_keeps_those_when_it_is_named(requests in traces(1_000, 512)) {
        prop_assume!(!requests.is_empty());
        let back = there_and_back(&requests, "ssdsim:us", "t.trace.zst", &named("ssdsim:us"));
        prop_assert_eq!(back, requests);
    }

    #[test]
    fn disksim_keeps_nanoseconds_and_sectors(requests in traces(1, 512)) {
        prop_assume!(!requests.is_empty());
        prop_assert_eq!(there_and_back(&requests, "disksim", "t.dis", &OpenOptions::default()), requests);
    }

    #[test]
    fn rounding_moves_times_down_to_the_grain_and_counts_them(requests in traces(1, 512)) {
        prop_assume!(!requests.is_empty());
        let scratch = Scratch::new();
        let path = scratch.file("t.csv");
        let options = WriteOptions { round_times: true, ..WriteOptions::new(format("msr")) };
        let rounded = write(&path, &requests, &options).expect("rounds");
        let expected: Vec<Request> =
            requests.iter().map(|r| Request { time_ns: r.time_ns / 100 * 100, ..*r }).collect();
        prop_assert_eq!(rounded, requests.iter().filter(|r| r.time_ns % 100 > 0).count() as u64);
        prop_assert_eq!(read(fs::read(&path).expect("the file"), &named("msr")).expect("reads").0, expected);
    }
}

#[cfg(feature = "parquet")]
proptest! {
    #[test]
    fn parquet_keeps_everything(requests in traces(1, 1), kinds in proptest::collection::vec(0u8..4, 60)) {
        prop_assume!(!requests.is_empty());
        let mut requests = requests;
        for (request, kind) in requests.iter_mut().zip(kinds) {
            match kind {
                2 => request.kind = Kind::Trim,
                3 => (request.kind, request.bytes) = (Kind::Flush, 0),
                _ => {}
            }
        }
        prop_assert_eq!(there_and_back(&requests, "parquet", "t.parquet", &OpenOptions::default()), requests);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_keeps_the_largest_numbers_and_more_requests_than_one_row_group() {
    let request = |index: u64| Request {
        time_ns: index * 1_000_003,
        offset: u64::MAX - u64::from(u32::MAX) - index,
        bytes: u32::MAX - (index % 7) as u32,
        volume: u32::MAX - (index % 5) as u32,
        kind: [Kind::Read, Kind::Write, Kind::Trim][index as usize % 3],
    };
    let requests: Vec<Request> = (0..(1 << 20) + 70_000).map(request).collect();
    let scratch = Scratch::new();
    let path = scratch.file("t.parquet");
    let mut writer = Writer::create(&path, &WriteOptions::new(FormatName::parquet())).expect("creates");
    requests.chunks(10_000).for_each(|part| writer.write(part).expect("writes"));
    assert_eq!(writer.finish().expect("finishes").requests, requests.len() as u64);
    let back = drain(&mut open(&path, &OpenOptions::default()).expect("opens"), 5_000).expect("reads");
    assert!(back == requests, "all {} requests come back as they were", requests.len());
}

/// One request that each format can hold, for the tests that spoil it.
const PLAIN: Request =
    Request { time_ns: 3_000_000_000, offset: 8 * 512, bytes: 4096, volume: 0, kind: Kind::Write };

fn refusal(name: &str, request: Request) -> String {
    let scratch = Scratch::new();
    let path = scratch.file("t");
    match write(&path, &[PLAIN, request], &WriteOptions::new(format(name))) {
        Err(TraceError::Unfit { request: 2, loss, .. }) => {
            assert!(!path.exists() && !scratch.file("t.partial").exists(), "nothing is left behind");
            loss
        }
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn what_a_text_format_cannot_hold_is_refused_with_what_would_be_lost() {
    for known in FORMATS.iter().filter(|format| format.is_written()) {
        if !HOLDS_ALL.contains(&known.name) {
            assert!(refusal(known.name, Request { kind: Kind::Trim, ..PLAIN }).contains("no trims"));
            assert!(refusal(known.name, Request { kind: Kind::Flush, ..PLAIN }).contains("no flushes"));
        }
        assert!(refusal(known.name, Request { bytes: 0, ..PLAIN }).contains("size is 0"));
        assert!(refusal(known.name, Request { time_ns: PLAIN.time_ns - 1, ..PLAIN }).contains("1 ns older"));
        assert!(refusal(known.name, Request { offset: u64::MAX, ..PLAIN }).contains("64-bit"));
    }
    for name in
        ["spc", "ssdsim", "mqsim", "disksim", "msps", "replayer", "tencent", "fiu", "blkparse", "blkreplay"]
    {
        assert!(refusal(name, Request { offset: 100, ..PLAIN }).contains("offset 100 is no multiple of 512"));
    }
    for name in ["vscsi-csv", "cydonia", "biotracer"] {
        assert!(refusal(name, Request { offset: 100, ..PLAIN }).contains("offset 100 is no multiple of 512"));
    }
    for name in ["ssdsim", "mqsim", "disksim", "msps", "replayer", "tencent", "fiu", "blkparse", "biotracer"]
    {
        assert!(refusal(name, Request { bytes: 100, ..PLAIN }).contains("size 100 is no multiple of 512"));
    }
    assert!(refusal("msr", Request { time_ns: PLAIN.time_ns + 1, ..PLAIN }).contains("grain of 100 ns"));
    assert!(
        refusal("ssdsim:us", Request { time_ns: PLAIN.time_ns + 1, ..PLAIN }).contains("grain of 1000 ns")
    );
    assert!(
        refusal("tencent", Request { time_ns: PLAIN.time_ns + 1, ..PLAIN })
            .contains("grain of 1000000000 ns")
    );
    for name in ["replayer:log", "blkreplay", "vscsi-csv", "cydonia", "biotracer"] {
        assert!(refusal(name, Request { volume: 1, ..PLAIN }).contains("volume 1 has no column"));
    }
    assert!(refusal("fio", Request { volume: 1 << 16, ..PLAIN }).contains("not below 65536"));
    assert!(refusal("spc:noasu", Request { volume: 1, ..PLAIN }).contains("volume 1 has no column"));
    assert!(refusal("msr", Request { volume: 70_000 * 2, ..PLAIN }).contains("host 2"));
}

#[test]
fn msr_numbers_a_second_host_from_65536_and_writes_it_so() {
    let start = 128_166_372_003_061_629_u64;
    let line = |(after, rest)| format!("{},{rest},1\n", start + after);
    let text: String =
        [(0, "hm,0,Read,0,512"), (1, "web,0,Write,512,512"), (2, "hm,3,Read,0,512")].map(line).concat();
    let (requests, _) = read(text, &OpenOptions::default()).expect("reads");
    assert_eq!(requests.iter().map(|request| request.volume).collect::<Vec<_>>(), [0, 65_536, 3]);
    assert_eq!(there_and_back(&requests, "msr", "t.csv", &OpenOptions::default()), requests);
}

#[test]
fn an_existing_file_is_replaced_only_on_demand_and_only_by_a_whole_one() {
    let scratch = Scratch::new();
    let path = scratch.with("t.csv", b"precious");
    let mut options = WriteOptions::new(format("msr"));
    assert!(matches!(Writer::create(&path, &options), Err(TraceError::Io { .. })));
    options.overwrite = true;
    let mut writer = Writer::create(&path, &options).expect("creates");
    writer.write(&[PLAIN]).expect("writes");
    drop(writer);
    assert_eq!(fs::read(&path).expect("the file"), b"precious", "an unfinished trace replaces nothing");
    write(&path, &[PLAIN], &options).expect("writes");
    assert_eq!(read(fs::read(&path).expect("the file"), &OpenOptions::default()).expect("reads").0.len(), 1);
}

#[test]
fn text_is_compressed_by_the_name_of_its_file_and_parquet_is_not() {
    let scratch = Scratch::new();
    let requests = vec![PLAIN; 100];
    for (name, compression) in
        [("t", Compression::None), ("t.gz", Compression::Gzip), ("t.zst", Compression::Zstd)]
    {
        let path = scratch.file(name);
        write(&path, &requests, &WriteOptions::new(format("spc"))).expect("writes");
        let reader = open(&path, &OpenOptions::default()).expect("opens");
        assert_eq!(reader.report().compression, compression);
    }
    let parquet = Writer::create(&scratch.file("t.parquet.zst"), &WriteOptions::new(FormatName::parquet()));
    assert!(matches!(parquet, Err(TraceError::Setting(_))));
    assert!(!scratch.file("t.parquet.zst.partial").exists());
}
