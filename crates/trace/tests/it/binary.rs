//! Binary formats: records built by hand from the formats' descriptions, and the published traces where they are
//! available.

use std::fs;
use std::path::{Path, PathBuf};

use stripewise_trace::{
    Disorder, FormatName, Kind, OpenOptions, ReadReport, Request, TraceError, WriteOptions, Writer, digest,
    open,
};

use crate::common::{Scratch, drain, named, read};

/// Events of a blktrace, and bits that describe a request.
const Q: u32 = 1;
const D: u32 = 7;
const C: u32 = 8;
const REMAP: u32 = 15;
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const PC: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const CGROUP: u32 = 1 << 8;

const SDA: u32 = 8 << 20;
const DM: u32 = 253 << 20;

/// One record with its payload, in either byte order.
fn event(big: bool, time: u64, sector: u64, bytes: u32, action: u32, device: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let put = |out: &mut Vec<u8>, bytes: &[u8]| {
        if big { out.extend(bytes.iter().rev()) } else { out.extend(bytes) }
    };
    put(&mut out, &0x6561_7407u32.to_le_bytes());
    put(&mut out, &1u32.to_le_bytes());
    put(&mut out, &time.to_le_bytes());
    put(&mut out, &sector.to_le_bytes());
    for word in [bytes, action, 4711, device, 3] {
        put(&mut out, &word.to_le_bytes());
    }
    put(&mut out, &0u16.to_le_bytes());
    put(&mut out, &(payload.len() as u16).to_le_bytes());
    out.extend_from_slice(payload);
    out
}

fn little(time: u64, sector: u64, bytes: u32, action: u32) -> Vec<u8> {
    event(false, time, sector, bytes, action, SDA, &[])
}

fn request(time_ns: u64, offset: u64, bytes: u32, volume: u32, kind: Kind) -> Request {
    Request { time_ns, offset, bytes, volume, kind }
}

fn read_path(path: &Path, options: &OpenOptions) -> (Vec<Request>, ReadReport) {
    let mut reader = open(path, options).unwrap_or_else(|error| panic!("{error}"));
    let requests = drain(&mut reader, 100).unwrap_or_else(|error| panic!("{error}"));
    (requests, reader.report())
}

#[test]
fn a_blktrace_of_either_byte_order_yields_its_queued_requests_and_counts_the_rest() {
    for big in [false, true] {
        let event = |time, sector, bytes, action, payload: &[u8]| {
            event(big, time, sector, bytes, action, SDA, payload)
        };
        let bytes = [
            event(1, 0, 0, NOTIFY, b"swapper/1\0\0\0"),
            event(1_000, 8, 4096, Q | READ, &[]),
            event(1_100, 8, 4096, D | READ, &[1, 2, 3, 4, 5, 6, 7, 8]),
            event(1_200, 16, 8192, Q | WRITE | CGROUP, &[0; 8]),
            event(1_300, 0, 0, Q | WRITE | FLUSH, &[]),
            event(1_400, 1 << 40, 1 << 20, Q | WRITE | DISCARD, &[]),
            event(1_500, 24, 512, Q | WRITE | FLUSH, &[]),
            event(1_600, 0, 36, Q | PC | READ, &[]),
            event(1_700, 0, 0, Q | READ, &[]),
            event(1_800, 8, 4096, C | READ, &[]),
        ]
        .concat();
        let (requests, report) = read(bytes, &OpenOptions::default()).expect("reads");
        let expected = [
            request(0, 4096, 4096, SDA, Kind::Read),
            request(200, 8192, 8192, SDA, Kind::Write),
            request(300, 0, 0, SDA, Kind::Flush),
            request(400, 512 << 40, 1 << 20, SDA, Kind::Trim),
            request(500, 24 * 512, 512, SDA, Kind::Write),
        ];
        assert_eq!(requests, expected);
        assert_eq!((report.lines, report.requests, report.other_lines), (10, 5, 5));
        assert_eq!((report.format.as_str(), report.complete), ("blktrace:q", true));
    }
}

#[test]
fn requests_are_taken_when_issued_or_completed_if_that_is_named_or_all_there_is() {
    let bytes =
        [little(5, 8, 512, D | WRITE), little(9, 8, 512, C | WRITE), little(12, 16, 512, C | READ)].concat();
    for (name, found, requests) in
        [("", "blktrace:d", 1), ("blktrace:d", "blktrace:d", 1), ("blktrace:c", "blktrace:c", 2)]
    {
        let options = if name.is_empty() { OpenOptions::default() } else { named(name) };
        let (read, report) = read(bytes.clone(), &options).expect("reads");
        assert_eq!((report.format.as_str(), read.len()), (found, requests));
    }
    let (_, report) = read(bytes.clone(), &OpenOptions::default()).expect("reads");
    assert!(report.note.is_some_and(|note| note.contains("no request for blktrace:q: read as blktrace:d")));
    let error = read(bytes, &named("blktrace")).expect_err("no request is queued").to_string();
    assert!(error.contains("3 of other events; requests at another stage"), "{error}");
    assert!(error.contains("blktrace:d or blktrace:c"), "{error}");
}

#[test]
fn a_request_that_is_passed_on_to_another_device_of_the_trace_counts_once() {
    let remap = |to: u32, from: u32, order: bool| {
        let devices = if order { [from, to] } else { [to, from] };
        [devices[0].to_be_bytes().to_vec(), devices[1].to_be_bytes().to_vec(), vec![0; 8]].concat()
    };
    for order in [false, true] {
        let bytes = [
            event(false, 1, 100, 4096, Q | WRITE, DM, &[]),
            event(false, 2, 900, 4096, REMAP | WRITE, SDA, &remap(SDA, DM, order)),
            event(false, 3, 900, 4096, Q | WRITE, SDA, &[]),
            // Another process writes to the disk, and a partition, whose own requests are not traced, passes one on.
            event(false, 4, 900, 4096, Q | WRITE, SDA, &[]),
            event(false, 5, 300, 512, REMAP | READ, SDA, &remap(SDA, SDA | 3, order)),
            event(false, 6, 300, 512, Q | READ, SDA, &[]),
        ]
        .concat();
        let (requests, report) = read(bytes, &OpenOptions::default()).expect("reads");
        let expected = [
            request(0, 51_200, 4096, DM, Kind::Write),
            request(3, 460_800, 4096, SDA, Kind::Write),
            request(5, 153_600, 512, SDA, Kind::Read),
        ];
        assert_eq!(requests, expected);
        assert_eq!((report.lines, report.other_lines), (6, 3));
        assert!(report.note.is_some_and(|note| note.starts_with("1 requests passed on")));
    }
}

/// Three CPUs, with a gap in their numbers; the second wrote a record late.
fn per_cpu() -> [(&'static str, Vec<u8>); 3] {
    [
        ("sdb.blktrace.0", [little(10, 0, 512, Q), little(40, 4, 512, Q)].concat()),
        ("sdb.blktrace.2", [little(30, 2, 512, Q), little(20, 1, 512, Q), little(50, 5, 512, Q)].concat()),
        ("sdb.blktrace.11", little(35, 3, 512, Q)),
    ]
}

#[test]
fn the_files_of_all_cpus_are_found_from_any_of_them_and_merged_by_time() {
    let scratch = Scratch::new();
    for (name, bytes) in per_cpu() {
        scratch.with(name, &bytes);
    }
    scratch.with("other.csv", b"1,2,3\n");
    let folder = scratch.file("");
    let mut digests = Vec::new();
    for name in ["", "sdb", "sdb.blktrace.0", "sdb.blktrace.11"] {
        let path = folder.join(name);
        let (requests, report) = read_path(&path, &OpenOptions::default());
        let order: Vec<(u64, u64)> = requests.iter().map(|r| (r.time_ns, r.offset / 512)).collect();
        assert_eq!(order, [(0, 0), (10, 1), (20, 2), (25, 3), (30, 4), (40, 5)], "{name}");
        assert_eq!((report.sorted_times, report.clamped_times, report.lines), (1, 0, 6));
        assert_eq!(report.file_bytes, Some(6 * 48));
        digests.push(digest(&path).expect("a digest"));
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    let refuse = OpenOptions { disorder: Disorder::Refuse, ..OpenOptions::default() };
    let mut reader = open(&folder, &refuse).expect("opens");
    assert!(matches!(drain(&mut reader, 100), Err(TraceError::Backward { line: 2, back_ns: 10, .. })));
    scratch.with("sda.blktrace.0", &little(1, 0, 512, Q));
    match open(&folder, &OpenOptions::default()) {
        Err(TraceError::NotATrace { reason, .. }) => assert!(reason.contains("holds 2 traces"), "{reason}"),
        _ => panic!("it chose one of two"),
    }
}

#[test]
fn a_tar_archive_of_the_files_reads_as_they_do() {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in per_cpu() {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append_data(&mut header, format!("host/{name}"), bytes.as_slice()).expect("appends");
    }
    let packed = archive.into_inner().expect("finishes");
    let compressed = zstd::encode_all(packed.as_slice(), 1).expect("packs");
    for bytes in [packed, compressed] {
        let (requests, report) = read(bytes, &OpenOptions::default()).expect("reads");
        assert_eq!(
            requests.iter().map(|request| request.offset / 512).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5]
        );
        assert_eq!((report.format.as_str(), report.sorted_times, report.complete), ("blktrace:q", 1, true));
    }
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(5);
    header.set_cksum();
    archive.append_data(&mut header, "notes.txt", &b"hello"[..]).expect("appends");
    match read(archive.into_inner().expect("finishes"), &OpenOptions::default()) {
        Err(TraceError::NotATrace { reason, .. }) => {
            assert!(reason.contains("without files of a blktrace"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn damage_to_a_blktrace_is_reported_by_record_and_byte_and_skipped_on_demand() {
    let whole = [little(1, 0, 512, Q), little(2, 1, 512, Q), little(3, 2, 512, Q)].concat();
    let mut spoiled = whole.clone();
    spoiled[48] = 0;
    let error = read(spoiled.clone(), &OpenOptions::default()).expect_err("the second record is none");
    assert_eq!(
        error.to_string(),
        "trace: record 2 at byte 48: expected a record, which begins with the magic number 0x65617407, found 00 74 61 65"
    );
    let lenient = OpenOptions { skip_bad: 1, ..OpenOptions::default() };
    let (requests, report) = read(spoiled, &lenient).expect("skips it");
    assert_eq!((requests.len(), report.skipped_bad, report.lines), (2, 1, 3));
    let error = read(&whole[..100], &OpenOptions::default()).expect_err("the third record is cut");
    assert!(
        error.to_string().contains("record 3 at byte 96: expected a whole record of 48 bytes, found 4 bytes"),
        "{error}"
    );
    let long = event(false, 1, 0, 0, NOTIFY, SDA, &[7; 100]);
    let error = read(&long[..90], &OpenOptions::default()).expect_err("the payload is cut");
    assert!(
        error.to_string().contains("record 1 at byte 0: expected a whole record with its payload"),
        "{error}"
    );
}

/// A vscsi record of either version.
fn vscsi(version: u16, operation: u16, bytes: u32, lba: u64, time_us: u64) -> Vec<u8> {
    let (mut out, head) = (Vec::new(), [operation.to_le_bytes(), (version << 8).to_le_bytes()].concat());
    let words = [7, bytes, 1].map(u32::to_le_bytes).concat();
    let places = [lba, time_us].map(u64::to_le_bytes).concat();
    match version {
        1 => out.extend([[7, bytes, 1].map(u32::to_le_bytes).concat(), head, places].concat()),
        _ => out.extend([head, words, places, 99u64.to_le_bytes().to_vec()].concat()),
    }
    out
}

#[test]
fn vscsi_records_of_both_versions_are_distinguished_and_read() {
    for version in [1, 2] {
        let record = |operation, bytes, lba, time| vscsi(version, operation, bytes, lba, time);
        let bytes = [
            record(0x28, 4096, 8, 5_000_000),
            record(0x8A, 512, 1 << 33, 5_000_003),
            record(0x35, 0, 0, 5_000_004),
            record(0x0A, 1024, 2, 5_000_010),
        ]
        .concat();
        let (requests, report) = read(bytes, &OpenOptions::default()).expect("reads");
        let expected = [
            request(0, 4096, 4096, 0, Kind::Read),
            request(3_000, 512 << 33, 512, 0, Kind::Write),
            request(10_000, 1024, 1024, 0, Kind::Write),
        ];
        assert_eq!(requests, expected);
        assert_eq!((report.format, report.other_lines), (format!("vscsi:v{version}"), 1));
    }
}

#[test]
fn damage_to_a_vscsi_trace_is_reported_by_record_and_byte() {
    let whole: Vec<u8> = (0..100).flat_map(|n| vscsi(1, 0x28, 512, n, n)).collect();
    let mut spoiled = whole.clone();
    spoiled[32 * 80 + 15] = 9;
    let error = read(spoiled.clone(), &OpenOptions::default()).expect_err("record 81 has another version");
    assert!(error.to_string().contains("record 81 at byte 2560: expected the version"), "{error}");
    let (requests, report) =
        read(spoiled, &OpenOptions { skip_bad: 1, ..OpenOptions::default() }).expect("skips it");
    assert_eq!((requests.len(), report.skipped_bad), (99, 1));
    let error = read(&whole[..32 * 99 + 5], &OpenOptions::default()).expect_err("the last record is cut");
    assert!(error.to_string().contains("record 100 at byte 3168"), "{error}");
    let far = [vscsi(1, 0x28, 512, 1, 0), vscsi(1, 0x28, 512, u64::MAX / 512, 0)].concat();
    let error = read(far, &OpenOptions::default()).expect_err("it ends beyond 64 bits");
    assert!(error.to_string().contains("an LBA within 64-bit addresses"), "{error}");
}

#[test]
fn binary_formats_are_read_and_not_written() {
    let format: FormatName = "blktrace".parse().expect("a format");
    assert_eq!(format.to_string(), "blktrace:q");
    assert!(
        "vscsi:v3".parse::<FormatName>().is_err_and(|error| error.to_string().contains("vscsi:v1, vscsi:v2"))
    );
    let scratch = Scratch::new();
    let path = scratch.file("t");
    assert!(matches!(Writer::create(&path, &WriteOptions::new(format)), Err(TraceError::Setting(_))));
}

/// The file of the collection, or nothing and a printed line.
fn find(file: &str) -> Option<PathBuf> {
    let path = std::env::var_os("STRIPEWISE_TRACES").map(|folder| Path::new(&folder).join(file));
    let path = path.filter(|path| path.exists());
    if path.is_none() {
        println!("skipped {file}: not in STRIPEWISE_TRACES, or that is not set");
    }
    path
}

#[test]
fn the_published_traces_have_the_records_requests_writes_and_sizes_that_their_collection_states() {
    // Records, requests, writes, trims, flushes, bytes, span in ns: counted by an independent script.
    for (file, format, counts, span) in [
        (
            "blktrace/hadoop-eternity8.sdb.tar.zst",
            "blktrace:q",
            [712_871, 107_616, 2_961, 0, 2, 29_086_558_720],
            176.9,
        ),
        ("blktrace/nvme-sample.blktrace.0.zst", "blktrace:q", [6_743, 963, 0, 0, 0, 3_944_448], 0.345),
        ("blktrace/keks.tar.zst", "blktrace:d", [2_589, 1_192, 1_158, 10, 24, 13_524_992], 56.33),
        ("cloudphysics/cloudPhysicsIO.vscsi.zst", "vscsi:v1", [113_872, 113_872, 0, 0, 0, 0], 7_200.1),
    ] {
        let Some(path) = find(file) else { continue };
        let (requests, report) = read_path(&path, &OpenOptions::default());
        let count = |kind| requests.iter().filter(|request| request.kind == kind).count() as u64;
        let bytes: u64 = requests.iter().map(|request| u64::from(request.bytes)).sum();
        assert_eq!(
            (report.format.as_str(), report.skipped_bad, report.clamped_times),
            (format, 0, 0),
            "{file}"
        );
        let [records, all, writes, trims, flushes, total] = counts;
        assert_eq!((report.lines, report.requests), (records, all), "{file}");
        let (mean, share) = (bytes as f64 / all as f64 / 1024.0, count(Kind::Write) as f64 / all as f64);
        if total > 0 {
            let found = [count(Kind::Write), count(Kind::Trim), count(Kind::Flush), bytes];
            assert_eq!(found, [writes, trims, flushes, total], "{file}");
        } else {
            assert!((share - 0.587).abs() < 0.0005 && (mean - 36.07).abs() < 0.005, "{file}: {share} {mean}");
        }
        let seconds = requests.last().map_or(0, |request| request.time_ns) as f64 / 1e9;
        assert!((seconds / span - 1.0).abs() < 0.002, "{file}: {seconds} s");
    }
}

#[test]
fn the_binary_vscsi_trace_and_its_csv_twin_hold_the_same_requests() {
    let twins = [find("cloudphysics/cloudPhysicsIO.vscsi.zst"), find("cloudphysics/cloudPhysicsIO.csv.zst")];
    let [Some(binary), Some(text)] = twins else { return };
    let (binary, text) =
        (read_path(&binary, &OpenOptions::default()).0, read_path(&text, &OpenOptions::default()).0);
    assert_eq!(binary.len(), text.len());
    for (left, right) in binary.iter().zip(&text) {
        assert_eq!((left.offset, left.bytes, left.kind), (right.offset, right.bytes, right.kind));
        // The text has whole seconds, rounded down.
        assert!(left.time_ns.abs_diff(right.time_ns) < 1_000_000_000, "{left:?} {right:?}");
    }
}

#[test]
fn an_oracle_general_file_is_refused_with_the_reason() {
    let Some(path) = find("cloudphysics/cloudPhysicsIO.oracleGeneral.bin.zst") else { return };
    match open(&path, &OpenOptions::default()) {
        Err(TraceError::NotATrace { reason, .. }) => assert!(reason.contains("oracleGeneral"), "{reason}"),
        _ => panic!("it opened"),
    }
}

#[test]
fn a_single_file_among_those_of_a_compressed_trace_is_read_with_the_others() {
    let scratch = Scratch::new();
    for (name, bytes) in per_cpu() {
        let packed = zstd::encode_all(bytes.as_slice(), 1).expect("packs");
        fs::write(scratch.file(&format!("{name}.zst")), packed).expect("a scratch file");
    }
    let (requests, _) = read_path(&scratch.file("sdb.blktrace.2.zst"), &OpenOptions::default());
    assert_eq!(requests.len(), 6);
}
