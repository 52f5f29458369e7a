//! The published traces, where they are available: a directory named by `STRIPEWISE_TRACES`.
//!
//! Counts are exact; shares, sizes and spans are those of the collection's own table, to its digits.

use std::path::{Path, PathBuf};

use stripewise_trace::{
    FormatName, Kind, OpenOptions, ReadReport, Request, Source, WriteOptions, digest, open,
};

use crate::common::{Scratch, write};

/// The row of the table for a file.
struct Known {
    file: &'static str,
    /// The format to name, where the lines do not show it.
    name: Option<&'static str>,
    /// The format that is detected or was named.
    format: &'static str,
    requests: usize,
    /// Percent, to the digit given.
    writes: (f64, f64),
    mean_kib: f64,
    /// Seconds, and the unit of the last digit given.
    span: (f64, f64),
    /// Headers, events other than requests, and blank lines.
    passed: [u64; 3],
    /// Requests that were older than one before them.
    sorted: u64,
}

const fn known(
    file: &'static str,
    format: &'static str,
    requests: usize,
    writes: (f64, f64),
    mean_kib: f64,
    span: (f64, f64),
) -> Known {
    Known { file, name: None, format, requests, writes, mean_kib, span, passed: [0; 3], sorted: 0 }
}

const FILES: &[Known] = &[
    known("msr/rsrch_1.csv.zst", "msr", 13_780, (99.7, 0.1), 12.17, (576_558.0, 1.0)),
    known("msr/wdev_1.csv.zst", "msr", 1_055, (100.0, 0.1), 5.13, (595_003.0, 1.0)),
    known("msr/prxy_0.lines1-14000.csv.zst", "msr", 14_000, (97.6, 0.1), 2.74, (643.4, 0.1)),
    known("msr/hm_0.sample1000.csv.zst", "msr", 1_000, (49.2, 0.1), 9.46, (127.2, 0.1)),
    known("spc/Financial1.first949.spc.zst", "spc:asu", 949, (80.7, 0.1), 2.65, (28.44, 0.01)),
    known("spc-noasu/Financial2.first.csv.zst", "spc:noasu", 750, (10.0, 0.1), 2.65, (11.76, 0.01)),
    known("spc-noasu/WebSearch2.slice.csv.zst", "spc:noasu", 949, (0.0, 0.1), 14.32, (2.19, 0.01)),
    known("ssdsim/Financial1.first10000.ascii.zst", "ssdsim:ns", 10_000, (59.2, 0.1), 5.40, (259.6, 0.1)),
    Known {
        name: Some("ssdsim:us"),
        ..known("ssdsim/DTRS1K.trace.zst", "ssdsim:us", 127_043, (11.0, 0.1), 55.33, (300.0, 0.1))
    },
    // The collection's table says 60.07 s, which is the last time itself: 60.066625 - 0.011413 is the span.
    known("mqsim/wsrch-small.trace.zst", "ssdsim:ns", 24_783, (0.02, 0.01), 15.06, (60.055, 0.001)),
    Known {
        name: Some("mqsim"),
        ..known("mqsim/tpcc-small.trace.zst", "mqsim", 6_999, (37.4, 0.1), 8.33, (0.1365, 0.0001))
    },
    known(
        "disksim/ssd-postmark-aligned2.trace.zst",
        "disksim:blocks",
        62_257,
        (16.8, 0.1),
        222.3,
        (490.4, 0.1),
    ),
    known("disksim/tpcc9dev.999.trace.zst", "disksim:blocks", 999, (76.5, 0.1), 9.67, (1.065, 0.001)),
    known(
        "msps/MSN-FS-disk5.lines1-90000.trace.zst",
        "disksim:blocks",
        90_000,
        (10.0, 0.1),
        17.95,
        (65.07, 0.01),
    ),
    Known {
        sorted: 1_297,
        ..known(
            "tencent/cloud_storage.lines1-35000.csv.zst",
            "tencent:ties",
            35_000,
            (49.1, 0.1),
            30.40,
            (1.0, 0.1),
        )
    },
    known("alibaba/io_traces.quoted13rows.csv", "alibaba", 13, (46.2, 0.1), 112.3, (144.361, 0.001)),
    Known {
        sorted: 786,
        ..known(
            "alibaba/alibaba-replaylog.lines1-32000.csv.zst",
            "replayer:log",
            32_000,
            (88.1, 0.1),
            8.36,
            (2_167.0, 1.0),
        )
    },
    Known {
        passed: [1, 0, 0],
        ..known(
            "cloudphysics/cloudPhysicsIO.csv.zst",
            "vscsi-csv:ties",
            113_872,
            (58.7, 0.1),
            36.07,
            (7_200.0, 1.0),
        )
    },
    known("fiu/homes-sample.1.blkparse.zst", "fiu", 1_000, (100.0, 0.1), 4.0, (1_121.0, 1.0)),
    known("fiu/web-vm-sample.blkparse.zst", "fiu", 1_000, (100.0, 0.1), 4.0, (317.5, 0.1)),
    known("fiu/home1sample.blkparse.zst", "fiu", 1_000, (100.0, 0.1), 4.0, (69.07, 0.01)),
    Known {
        passed: [22, 0, 10],
        ..known("blkreplay/linux-mysql.load.gz", "blkreplay", 80_794, (91.1, 0.1), 14.32, (3_599.9, 0.1))
    },
    Known {
        passed: [40, 0, 18],
        ..known("blkreplay/windows-mssql.load.gz", "blkreplay", 42_976, (94.1, 0.1), 24.03, (3_062.0, 1.0))
    },
    Known {
        passed: [0, 8_305, 0],
        ..known(
            "blkparse/ycsb-rocksdb.first10000.txt.zst",
            "blkparse:q",
            1_695,
            (0.0, 0.1),
            114.2,
            (0.680, 0.001),
        )
    },
    Known {
        passed: [2, 6, 0],
        ..known("fio/random-write.v2.iolog.zst", "fio", 9_441, (100.0, 0.1), 4.0, (0.0, 0.001))
    },
    // Ten writes of 4 KiB and ten trims of 2 GiB.
    Known {
        passed: [1, 3, 0],
        ..known("fio/t0038.v3.iolog.zst", "fio", 20, (50.0, 0.1), 1_048_578.0, (0.000_073, 0.000_001))
    },
    Known {
        sorted: 1_540,
        ..known("biotracer/Booting_log176.txt.zst", "biotracer", 18_417, (33.1, 0.1), 53.34, (112.862, 0.001))
    },
    Known {
        sorted: 47,
        ..known("biotracer/Movie_log121.txt.zst", "biotracer", 4_781, (5.4, 0.1), 27.28, (997.5, 0.1))
    },
];

/// The file, or nothing and a printed line.
fn find(file: &str) -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("STRIPEWISE_TRACES") else {
        println!("skipped {file}: STRIPEWISE_TRACES is not set");
        return None;
    };
    let path = Path::new(&directory).join(file);
    if !path.exists() {
        println!("skipped {file}: not in STRIPEWISE_TRACES");
        return None;
    }
    Some(path)
}

fn read(path: &Path, options: &OpenOptions) -> (Vec<Request>, ReadReport) {
    let mut reader = open(path, options).unwrap_or_else(|error| panic!("{error}"));
    let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(1000));
    loop {
        reader.next_batch(&mut batch).unwrap_or_else(|error| panic!("{error}"));
        if batch.is_empty() {
            assert_eq!(reader.progress(), Some(1.0), "{}: the end is all of it", path.display());
            return (all, reader.report());
        }
        all.extend_from_slice(&batch);
    }
}

fn near(what: &str, found: f64, expected: f64, last_digit: f64) {
    assert!(
        (found - expected).abs() <= last_digit * 0.500_001,
        "{what}: {found}, but the table says {expected}"
    );
}

#[test]
fn every_file_has_the_requests_writes_sizes_and_span_that_its_collection_states() {
    for known in FILES {
        let Some(path) = find(known.file) else { continue };
        let format = known.name.map(|name| name.parse().expect("a format"));
        let (requests, report) = read(&path, &OpenOptions { format, ..OpenOptions::default() });
        assert_eq!(report.format, known.format, "{}", known.file);
        assert_eq!(requests.len(), known.requests, "{}", known.file);
        let passed = [report.header_lines, report.other_lines, report.blank_lines];
        assert_eq!((passed, report.sorted_times), (known.passed, known.sorted), "{}", known.file);
        assert_eq!(
            (report.requests, report.lines, report.skipped_bad, report.clamped_times, report.complete),
            (known.requests as u64, known.requests as u64 + passed.iter().sum::<u64>(), 0, 0, true),
            "{}",
            known.file
        );
        let count = requests.len() as f64;
        let writes = requests.iter().filter(|request| request.kind == Kind::Write).count() as f64;
        let bytes: u64 = requests.iter().map(|request| u64::from(request.bytes)).sum();
        near(known.file, 100.0 * writes / count, known.writes.0, known.writes.1);
        let grain = if known.mean_kib > 100.0 { 0.1 } else { 0.01 };
        near(known.file, bytes as f64 / count / 1024.0, known.mean_kib, grain);
        assert_eq!(requests[0].time_ns, 0, "{}", known.file);
        let span = requests[requests.len() - 1].time_ns;
        near(known.file, span as f64 / 1e9, known.span.0, known.span.1);
        println!("{}: {} requests", known.file, requests.len());
    }
}

#[test]
fn lines_without_a_final_line_feed_are_read_and_said_to_be_so() {
    for file in ["spc/Financial1.first949.spc.zst", "mqsim/wsrch-small.trace.zst"] {
        let Some(path) = find(file) else { continue };
        assert!(read(&path, &OpenOptions::default()).1.unterminated, "{file}");
    }
}

/// The first 949 requests of Financial1 exist in SPC's format and, passed through float32, in SSDsim's.
#[test]
fn the_same_requests_in_two_formats_differ_only_in_the_damage_to_their_times() {
    let (Some(spc), Some(ssdsim)) =
        (find("spc/Financial1.first949.spc.zst"), find("ssdsim/Financial1.first10000.ascii.zst"))
    else {
        return;
    };
    let spc = read(&spc, &OpenOptions::default()).0;
    let ssdsim = read(&ssdsim, &OpenOptions::default()).0;
    for (left, right) in spc.iter().zip(&ssdsim) {
        let place = |request: &Request| (request.volume, request.offset, request.bytes, request.kind);
        assert_eq!(place(left), place(right));
        assert!(left.time_ns.abs_diff(right.time_ns) < 2_000, "{left:?} {right:?}");
    }
    assert_eq!(spc.len(), 949);
}

#[test]
fn a_digest_names_the_bytes_of_a_file() {
    let files = [find("msr/wdev_1.csv.zst"), find("msr/hm_0.sample1000.csv.zst")];
    let [Some(one), Some(other)] = files else { return };
    let (one, other) = (digest(&one).expect("a digest"), digest(&other).expect("a digest"));
    assert_eq!(one.len(), 64);
    assert_ne!(one, other);
}

/// The collection's requests without reads and writes are recognized, and refused for that reason.
#[test]
fn a_trace_that_does_not_say_what_is_read_is_refused_with_the_reason() {
    let Some(path) = find("cloudphysics/cloudPhysicsIO.oracleGeneral.bin.zst") else { return };
    let error = open(&path, &OpenOptions::default()).err().expect("no trace").to_string();
    assert!(error.contains("oracleGeneral") && error.contains(".vscsi or .csv"), "{error}");
}

/// Parquet loses nothing, and the original format of a file can hold the requests that were read from it.
#[test]
fn every_file_survives_conversion_to_parquet_and_back_to_its_own_format() {
    let scratch = Scratch::new();
    for known in FILES {
        let Some(path) = find(known.file) else { continue };
        let format: Option<FormatName> = known.name.map(|name| name.parse().expect("a format"));
        let (requests, report) = read(&path, &OpenOptions { format, ..OpenOptions::default() });
        let own: FormatName = report.format.parse().expect("its own name");
        let names = [own, FormatName::parquet()];
        let names = &names[..if cfg!(feature = "parquet") { 2 } else { 1 }];
        for (index, &name) in names.iter().enumerate() {
            let copy = scratch.file(&format!("{index}.copy"));
            let options = WriteOptions { overwrite: true, ..WriteOptions::new(name) };
            write(&copy, &requests, &options).unwrap_or_else(|error| panic!("{error}"));
            let (back, _) = read(&copy, &OpenOptions { format: Some(name), ..OpenOptions::default() });
            assert!(back == requests, "{} through {name}", known.file);
        }
    }
}

#[test]
fn a_disk_trace_whose_clock_makes_gigabytes_a_second_is_refused_until_its_unit_is_named() {
    let Some(path) = find("ssdsim/DTRS1K.trace.zst") else { return };
    let error = open(&path, &OpenOptions::default()).err().expect("refused").to_string();
    assert!(error.contains("GB/s on each volume") && error.contains("--format: ssdsim:us ("), "{error}");
}
