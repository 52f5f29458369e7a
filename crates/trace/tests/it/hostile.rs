//! Input from outside: any bytes yield an answer or an error with position and content, never a panic.

use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;
use stripewise_trace::format::format_names;
use stripewise_trace::{
    Compression, Disorder, FormatName, Kind, OpenOptions, Request, TraceError, digest, open, open_stream,
};

use crate::common::{Scratch, named, read};

const MSR: &str = "128166372003061629,hm,1,Read,383496192,32768,413\n";

/// The properties of every delivered request, whatever its source.
fn sound(requests: &[Request]) -> Result<(), TestCaseError> {
    for pair in requests.windows(2) {
        prop_assert!(pair[0].time_ns <= pair[1].time_ns);
    }
    for request in requests {
        let empty = request.bytes == 0 && request.kind != Kind::Flush;
        prop_assert!(!empty && request.offset.checked_add(u64::from(request.bytes)).is_some());
    }
    Ok(())
}

/// Lines of formats with states, headers and events.
const LINES: &[&str] = &[
    "fio version 2 iolog",
    "fio version 3 iolog",
    "30 /dev/null trim 0 2147483648",
    "/dev/sdb wait 18446744073709551615 0",
    "/dev/sdb sync",
    "8,17 1 2 0.000007000 4020 Q FWFS 100 + 8 [jbd2/sda1-8]",
    "  8,17   1        4     0.000009000  4020  Q   D 2048 + 0 [fstrim]",
    "Throughput (R/W): 303KiB/s / 303KiB/s",
    "BeginHeader",
    "EndHeader",
    "DiskRead, 8612, store.exe (5064), 5428, 1, 0xfffffa8065e75010, 0x02ead20000, 0x00002000, 99999999999999999, 5, 0x0",
    "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0",
    "  0.000000000 ;     37766853 ;   64 ; W ; 0.0 ; 0.0",
    "8\t\t8\t\t4096\t\t4\t\t1.740780627\t\t1.74\t\t1.74\t\t1.74",
    "8 8 4096 5 1398396860.157615635 1 1 1",
    "8 8 4096 5 18446744073.7 1 1 1",
    "1538323200,4247200,128,1,1058",
    "18446744073709551615,4247200,128,1,1058",
    "1456095145.133076000,,,0,899056122368,131072",
    "1,5633898,2a,512,42932745",
    "467651 2522 my daemon 644661632 8 W 6 0 98b9",
    "8.724,6,1,4096,21511340032,8.781,4096",
    "STARTs         ENDs           COMM             PID    TYPE DEV      BLOCK        BYTES     LATms",
    "50.100000      50.100500      my 2 daemons     101    WS   8,16     4096         4096      0.50",
    "0.000250    Web 7 Content  910    nvme0n1 R 4096       8192      0.10 0.20",
    "            fio  1234 [001]  1000.100000: block:block_rq_issue: 259,0 WS 4096 () 2048 + 8 [fio]",
    "   kworker/1:1H    90 [001]  1000.100700: block:block_rq_complete: 259,0 FF () 18446744073709551615 + 0 [0]",
    "W Doub 1194877    15     17221.000     21894.380",
    "R Hit 8 8 1 18446744073709551.615",
];

/// Bytes that partly look like a trace: fields, separators, and arbitrary bytes.
fn almost_lines() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => "[0-9]{1,20}".prop_map(String::into_bytes),
        8 => prop::sample::select(vec![",", " ", "\n", "\r\n", ".", "\t"]).prop_map(|s| s.as_bytes().to_vec()),
        3 => prop::sample::select(vec!["Read", "Write", "r", "W", "hm", "0", "1"]).prop_map(|s| s.as_bytes().to_vec()),
        2 => Just(MSR.as_bytes().to_vec()),
        1 => Just(b"0,303567,3584,w,0.026214\n".to_vec()),
        1 => Just(b"26214000 0 303574 7 0\n".to_vec()),
        4 => prop::sample::select(LINES).prop_map(|line| format!("{line}\n").into_bytes()),
        2 => prop::sample::select(LINES).prop_map(|line| line.as_bytes()[..line.len() / 2].to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..12),
    ];
    proptest::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop_oneof![proptest::collection::vec(any::<u8>(), 0..400), almost_lines()],
        skip_bad in prop_oneof![Just(0), Just(3), Just(u64::MAX)],
        refuse in any::<bool>(),
    ) {
        let disorder = if refuse { Disorder::Refuse } else { Disorder::Clamp };
        for name in std::iter::once(None).chain(format_names().iter().map(|(name, _)| Some(name.as_str()))) {
            let format = name.map(|name| name.parse().expect("a format"));
            let options = OpenOptions { format, skip_bad, disorder };
            match read(bytes.clone(), &options) {
                Ok((requests, report)) => {
                    sound(&requests)?;
                    prop_assert_eq!(requests.len() as u64, report.requests);
                    prop_assert!(report.complete && report.skipped_bad <= skip_bad);
                    let passed = report.blank_lines + report.header_lines + report.other_lines;
                    let others = passed + report.skipped_bad;
                    prop_assert_eq!(report.lines, report.requests + others, "every line is accounted for");
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn damage_to_a_compressed_file_is_an_error_and_no_panic(
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
        cut in any::<prop::sample::Index>(),
    ) {
        let text = MSR.repeat(300);
        for packed in [gzip(text.as_bytes()), zstd::encode_all(text.as_bytes(), 1).expect("packs")] {
            let mut damaged = packed.clone();
            damaged[at.index(packed.len())] ^= 1 << bit;
            read(damaged, &named("msr")).ok();
            let cut = 6 + cut.index(packed.len() - 6);
            match read(&packed[..cut], &named("msr")) {
                Err(TraceError::Io { source, .. }) => prop_assert!(source.to_string().contains("cut off"), "{source}"),
                other => prop_assert!(false, "a file cut at {cut} read as {other:?}"),
            }
        }
    }

    #[test]
    fn a_broken_line_is_reported_by_its_number_and_the_lines_around_it_are_kept(
        lines in 2usize..400,
        at in any::<prop::sample::Index>(),
        junk in "[a-z]{1,9}",
    ) {
        let bad = at.index(lines);
        let mut text: Vec<String> = vec![MSR.to_owned(); lines];
        text[bad] = format!("128166372003061629,hm,1,Read,{junk},32768,413\n");
        let text = text.concat();
        match read(text.clone(), &named("msr")) {
            Err(TraceError::Record { line, column, expected, found, .. }) => {
                prop_assert_eq!((line, column, found), (bad as u64 + 1, 30, junk));
                prop_assert_eq!(expected, "an offset: a whole number of bytes");
            }
            other => prop_assert!(false, "{other:?}"),
        }
        let (requests, report) = read(text, &OpenOptions { skip_bad: 1, ..named("msr") }).expect("skips it");
        prop_assert_eq!((requests.len(), report.skipped_bad), (lines - 1, 1));
        let place = format!("trace:{}:30", bad + 1);
        prop_assert!(report.first_bad.is_some_and(|first| first.contains(&place)));
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("packs")
}

#[cfg(feature = "parquet")]
mod parquet {
    use std::fs;

    use proptest::prelude::*;
    use stripewise_trace::{FormatName, Kind, OpenOptions, Request, TraceError, WriteOptions, open};

    use crate::common::{Scratch, drain, write};

    fn file(scratch: &Scratch) -> Vec<u8> {
        let request =
            |time_ns| Request { time_ns, offset: time_ns * 4096, bytes: 4096, volume: 3, kind: Kind::Write };
        let requests: Vec<Request> = (0..500).map(request).collect();
        let path = scratch.file("whole.parquet");
        write(&path, &requests, &WriteOptions::new(FormatName::parquet())).expect("writes");
        fs::read(path).expect("the file")
    }

    proptest! {
        #[test]
        fn no_damage_to_a_parquet_file_makes_the_reader_panic(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
        ) {
            let scratch = Scratch::new();
            let mut bytes = file(&scratch);
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let path = scratch.with("damaged.parquet", &bytes);
            if let Ok(mut reader) = open(&path, &OpenOptions::default()) {
                drain(&mut reader, 100).ok();
            }
        }
    }

    #[test]
    fn a_cut_parquet_file_is_called_damaged() {
        let scratch = Scratch::new();
        let whole = file(&scratch);
        let path = scratch.with("cut.parquet", &whole[..whole.len() - 9]);
        match open(&path, &OpenOptions::default()) {
            Err(TraceError::NotATrace { reason, .. }) => {
                assert!(reason.contains("damaged Parquet"), "{reason}")
            }
            _ => panic!("it opened"),
        }
    }
}

#[test]
fn files_of_several_gzip_members_and_zstd_frames_are_one_trace() {
    let pack = |text: &str| (gzip(text.as_bytes()), zstd::encode_all(text.as_bytes(), 1).expect("packs"));
    let (first, second) = (pack(&MSR.repeat(3)), pack(&MSR.repeat(4)));
    let skippable = [&[0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0][..], b"note"].concat();
    for (bytes, compression) in [
        ([first.0, second.0].concat(), Compression::Gzip),
        ([first.1.clone(), second.1.clone()].concat(), Compression::Zstd),
        ([skippable, first.1, second.1].concat(), Compression::Zstd),
    ] {
        let (requests, report) = read(bytes, &OpenOptions::default()).expect("reads");
        assert_eq!((requests.len(), report.compression), (7, compression));
    }
}

#[test]
fn headers_repeated_blank_lines_a_byte_order_mark_and_either_line_end_are_passed_and_counted() {
    let header = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n";
    let text = format!("\u{FEFF}{header}{MSR}\n{header}{}   \n\r\n\n", MSR.replace('\n', "\r\n"));
    let (requests, report) = read(text, &OpenOptions::default()).expect("reads");
    assert_eq!(requests.len(), 2);
    assert_eq!((report.header_lines, report.blank_lines, report.lines), (2, 4, 8));
    assert_eq!((report.skipped_bad, report.unterminated), (0, false));
}

#[test]
fn a_line_of_words_is_a_header_only_if_it_names_every_column() {
    for line in ["hello world\n", "Timestamp,Hostname\n", "a,b,c,d,e,f,-\n", "<html>\n"] {
        assert!(matches!(
            read(format!("{MSR}{line}{MSR}"), &named("msr")),
            Err(TraceError::Record { line: 2, .. })
        ));
    }
}

#[test]
fn steps_back_in_time_are_clamped_and_counted_or_refused_by_line() {
    let text = "10 0 8 8 1\n30 0 8 8 1\n20 0 8 8 1\n5 0 8 8 1\n40 0 8 8 1\n";
    let (requests, report) = read(text, &named("ssdsim")).expect("reads");
    assert_eq!(requests.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [0, 20, 20, 20, 30]);
    assert_eq!(report.clamped_times, 2);
    match read(text, &OpenOptions { disorder: Disorder::Refuse, ..named("ssdsim:us") }) {
        Err(TraceError::Backward { line: 3, back_ns: 10_000, previous_ns: 20_000, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn filetimes_are_whole_numbers_of_64_bits_of_which_a_float_would_lose_16_ticks() {
    let line = |ticks: u64| format!("{ticks},hm,0,Read,0,512,0\n");
    let start = 128_166_372_003_061_629;
    let text = line(start) + &line(start + 1) + &line(start + 3);
    let (requests, _) = read(text, &OpenOptions::default()).expect("reads");
    assert_eq!(requests.iter().map(|request| request.time_ns).collect::<Vec<_>>(), [0, 100, 300]);
}

#[test]
fn detection_names_the_format_and_says_what_it_left_open() {
    let detected = |text: &str| {
        let (_, report) = read(text.repeat(3), &OpenOptions::default()).expect("reads");
        (report.format, report.note.unwrap_or_default())
    };
    assert_eq!(detected(MSR), ("msr".to_owned(), String::new()));
    assert_eq!(detected("0,303567,3584,W,0.026214,extra\n").0, "spc:asu");
    assert_eq!(detected("303567,3584,r,0.026214\n").0, "spc:noasu");
    let (name, note) = detected("1151.274000 7 540655855 16 1\n");
    assert_eq!(name, "disksim:blocks");
    assert!(note.contains("msps has the same columns"), "{note}");
    assert_eq!(
        detected("   7.5   0    8     16    3\n").0,
        "disksim:blocks",
        "flags beyond bit 0, columns aligned"
    );
    let (name, note) = detected("26214000 1 240840 6 0\n");
    assert_eq!(name, "ssdsim:ns");
    assert!(note.contains("name ssdsim:us") && note.contains("mqsim has the same columns"), "{note}");
}

#[test]
fn detection_tolerates_damage_in_a_quarter_of_the_lines_and_no_more() {
    let text = |good: usize, bad: usize| MSR.repeat(good) + &"junk,1\n".repeat(bad);
    let lenient = OpenOptions { skip_bad: 100, ..OpenOptions::default() };
    assert_eq!(read(text(30, 10), &lenient).expect("three quarters are good").0.len(), 30);
    match read(text(30, 11), &lenient) {
        Err(TraceError::Format { reason, remedy, .. }) => {
            assert!(reason.contains("msr comes nearest, and fails at line 31, column 1"), "{reason}");
            assert!(remedy.contains("(the likeliest: msr, "), "{remedy}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_trace_is_named_with_the_remedy() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let cases: [(&[u8], &str); 6] = [
        (pointer.as_bytes(), "git lfs pull"),
        (b"7z\xBC\xAF\x27\x1C\0\x04", "7-Zip"),
        (b"\x1F\x9D\x90", "gzip -d"),
        (b"PARE\x15\0", "encryption"),
        (b"\xFF\xFE1\x002\x00", "iconv"),
        (b"\x01\x00\x00\x00\x00\x10", "binary"),
    ];
    for (bytes, remedy) in cases {
        match read(bytes, &OpenOptions::default()) {
            Err(TraceError::NotATrace { reason, .. }) => assert!(reason.contains(remedy), "{reason}"),
            other => panic!("{remedy}: {other:?}"),
        }
    }
    assert!(matches!(read("", &OpenOptions::default()), Err(TraceError::Format { .. })));
    match read("x".repeat(300 << 10), &named("msr")) {
        Err(TraceError::NotATrace { reason, .. }) => assert!(reason.contains("longer than"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_file_and_a_directory_are_errors_that_name_them() {
    let scratch = Scratch::new();
    for path in [scratch.file("none"), scratch.file("")] {
        let error = open(&path, &OpenOptions::default()).err().expect("no trace").to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn an_unknown_format_is_an_error_with_the_nearest_known() {
    let message = |text: &str| text.parse::<FormatName>().expect_err("unknown").to_string();
    assert!(message("diskism").contains("did you mean `disksim`?"));
    assert!(message("elephant").contains("msr, spc, spc:asu, spc:noasu, ssdsim"));
    assert!(message("ssdsim:ms").contains("ssdsim:ns, ssdsim:us"));
    assert!(message("msr:us").contains("has no variants"));
    for (name, _) in format_names() {
        let parsed: FormatName = name.parse().expect("known");
        assert_eq!(parsed.to_string().parse::<FormatName>().expect("known"), parsed);
    }
}

#[test]
fn requests_of_any_line_length_cross_block_boundaries_unharmed() {
    // Lines of many lengths, over several blocks of the reader's window, so its boundary falls on every kind of
    // place.
    let mut text = String::new();
    let mut lines = 0u64;
    while text.len() < 900 << 10 {
        text += &format!(
            "{},h{},1,Write,{},512,1\n",
            1_000_000 + lines,
            "o".repeat(lines as usize % 97),
            lines * 512
        );
        lines += 1;
    }
    let (requests, report) = read(text, &named("msr")).expect("reads");
    assert_eq!(report.lines, lines);
    for (index, request) in (0u64..).zip(&requests) {
        assert_eq!((request.time_ns, request.offset), (index * 100, index * 512));
    }
}

#[test]
fn a_digest_is_blake3_of_the_bytes() {
    let scratch = Scratch::new();
    let path = scratch.with("abc", b"abc");
    // The known answer of BLAKE3's own test for "abc".
    let known = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
    assert_eq!(digest(&path).expect("a digest"), known);
}

#[test]
fn parquet_is_refused_where_it_cannot_be_read() {
    let stream = open_stream(Box::new(&b"PAR1...."[..]), Path::new("-"), &OpenOptions::default());
    match stream {
        Err(TraceError::NotATrace { reason, .. }) => assert!(reason.contains("give a file"), "{reason}"),
        _ => panic!("it opened"),
    }
    match read(MSR, &named("parquet")) {
        Err(TraceError::NotATrace { reason, .. }) => assert!(reason.contains("PAR1"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn readers_and_writers_can_move_to_another_thread() {
    fn movable<T: Send>() {}
    movable::<stripewise_trace::Reader>();
    movable::<stripewise_trace::Writer>();
}
