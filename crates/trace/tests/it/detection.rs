//! Detection never reads a trace in another unit silently; stages of requests; traces without requests.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use stripewise_trace::format::FORMATS;
use stripewise_trace::slice::{Selection, Slice};
use stripewise_trace::{FormatName, Kind, OpenOptions, Request, TraceError, WriteOptions, Writer, open};

use crate::common::{Scratch, drain, named, read, write};

/// Requests as real traces have them: of one kind or two, close together or far apart, on one volume or several, with
/// coarse or fine times and addresses.
fn shaped() -> impl Strategy<Value = Vec<Request>> {
    let grain = prop::sample::select(vec![1_000u64, 500_000, 1_000_000, 1_000_000_000]);
    let sectors = prop::sample::select(vec![1u64, 8, 512]);
    let (reach, volumes) =
        (prop::sample::select(vec![100u64, 1 << 20, 1 << 30]), prop::sample::select(vec![1u32, 3]));
    let kinds = prop::sample::select(vec![[Kind::Read; 2], [Kind::Write; 2], [Kind::Read, Kind::Write]]);
    let one = (0u64..1_000, 0u64..1 << 30, 1u64..8, 0u32..3, any::<bool>());
    let requests = proptest::collection::vec(one, 1..120);
    (grain, sectors, reach, volumes, kinds, requests).prop_map(
        |(grain, sectors, reach, volumes, kinds, drawn)| {
            let mut time_ns = 0;
            let request = |(gap, place, size, volume, second): (u64, u64, u64, u32, bool)| {
                let request = Request {
                    time_ns,
                    offset: place % reach * sectors * 512,
                    bytes: (size * sectors * 512) as u32,
                    volume: volume % volumes,
                    kind: kinds[usize::from(second)],
                };
                time_ns += gap * grain;
                request
            };
            drawn.into_iter().map(request).collect()
        },
    )
}

/// The text of these requests in a format, with what the format cannot hold left out; none if it is not written.
fn rendered(requests: &[Request], name: &str) -> Vec<u8> {
    let tick_ns = match name {
        "tencent" | "tencent:spread" | "vscsi-csv:spread" => 1_000_000_000,
        _ => 1_000,
    };
    let is_single =
        ["spc:noasu", "replayer:log", "blkreplay", "vscsi-csv", "cydonia", "biotracer", "biosnoop"];
    let volumes = !is_single.iter().any(|single| name.starts_with(single));
    let page = if name == "disksim:pages" { 4_096 } else { 512 };
    let held = |request: &Request| Request {
        time_ns: request.time_ns / tick_ns * tick_ns,
        volume: request.volume * u32::from(volumes),
        // Fewer than eight pages, otherwise nothing shows that they are no blocks.
        bytes: if page == 512 { request.bytes } else { request.bytes / 512 % 7 * page + page },
        ..*request
    };
    let requests: Vec<Request> = requests.iter().map(held).collect();
    let sink = Sink::default();
    let options = WriteOptions::new(name.parse().expect("a format"));
    let mut writer = Writer::to_stream(Box::new(sink.clone()), Path::new("text"), &options).expect("begins");
    writer.write(&requests).unwrap_or_else(|error| panic!("{name}: {error}"));
    writer.finish().expect("finishes");
    let text = sink.0.lock().expect("not poisoned");
    text.clone()
}

/// Memory that outlives the writer.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether `text` names the format, or a twin with the same columns and units.
fn names(text: &str, name: &str) -> bool {
    let base = name.split(':').next().unwrap_or_default();
    let twins = FORMATS.iter().filter(|format| format.name == base || format.same_as == Some(base));
    let twins: Vec<&str> = twins.flat_map(|format| [Some(format.name), format.same_as]).flatten().collect();
    text.contains(name) || (!name.contains(':') && twins.iter().any(|twin| text.contains(twin)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_trace_is_read_in_its_own_format_or_both_that_fit_are_named(requests in shaped()) {
        let written = FORMATS.iter().filter(|format| format.is_written()).map(|format| format.name);
        let variants = ["spc:noasu", "ssdsim:us", "disksim:pages", "replayer:log", "tencent:spread", "vscsi-csv:spread"];
        for name in written.chain(variants) {
            let text = rendered(&requests, name);
            match read(text.clone(), &OpenOptions::default()) {
                Ok((found, report)) => {
                    // A unit that the lines do not show is at least in the note.
                    let note = report.note.unwrap_or_default();
                    prop_assert!(names(&format!("{} {note}", report.format), name), "{}: {} {}", name, report.format, note);
                    if names(&report.format, name) {
                        let (own, _) = read(text, &named(name)).expect("reads");
                        prop_assert_eq!(found, own, "{}", name);
                    }
                }
                Err(TraceError::Format { reason, remedy, .. }) => {
                    let base = name.split(':').next().unwrap_or_default();
                    prop_assert!(names(&format!("{reason}; {remedy}"), base), "{}: {}; {}", name, reason, remedy);
                }
                Err(error) => prop_assert!(false, "{}: {}", name, error),
            }
        }
    }

    #[test]
    fn whole_times_are_never_taken_for_milliseconds_or_seconds(
        requests in shaped(),
        codes in prop::sample::select(vec![[0, 2], [2, 3], [1, 5], [28, 2], [6, 7]]),
        share in 0usize..4,
    ) {
        // MQSim with other codes of operations, in all lines or some.
        let text = String::from_utf8(rendered(&requests, "mqsim")).expect("text");
        let other = |(number, line): (usize, &str)| {
            let (rest, code) = line.rsplit_once(' ').expect("columns");
            let code = if number % 4 >= share { codes[usize::from(code == "1")] } else { code.parse().expect("0 or 1") };
            format!("{rest} {code}\n")
        };
        let text: String = text.lines().enumerate().map(other).collect();
        match read(text.clone(), &OpenOptions::default()) {
            Ok((_, report)) => prop_assert_eq!(report.format, "ssdsim:ns"),
            Err(error) => prop_assert!(!matches!(error, TraceError::NoRequests { .. }), "{}", error),
        }
        // Seconds of which another program made nanoseconds, which the size of times since 1970 shows.
        for name in ["spc", "k5cloud", "systor"] {
            let text = String::from_utf8(rendered(&requests, name)).expect("text");
            let (seconds, _) = read(text.clone(), &named(name)).expect("reads");
            if let Ok((found, report)) = read(text.replace('.', ""), &OpenOptions::default()) {
                prop_assert!(report.format.contains(":ns,"), "{}: {}", name, report.format);
                prop_assert_eq!(found, seconds, "{}", name);
            }
        }
    }
}

#[test]
fn the_codes_of_another_simulator_are_refused_with_the_reason_and_the_remedy() {
    let text = "100 0 8 8 6\n200 0 16 8 7\n";
    match read(text, &OpenOptions::default()) {
        Err(TraceError::Format { reason, remedy, .. }) => {
            assert!(reason.contains("disksim:blocks, but its times are whole numbers"), "{reason}");
            assert!(remedy.contains("--format if that is right") && remedy.contains("--columns"), "{remedy}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(read(text, &named("disksim")).expect("named").0[1].time_ns, 100_000_000);
    // Some programs write whole times without a point; one time with a point shows what they are.
    let mixed = "100 0 8 8 6\n200.5 0 17 8 7\n";
    assert_eq!(read(mixed, &OpenOptions::default()).expect("reads").0[1].time_ns, 100_500_000);
}

#[test]
fn times_of_msr_that_are_no_filetimes_are_refused_with_the_columns_that_read_them() {
    let text = |start: u64, step: u64| -> String {
        (0..20).map(|n| format!("{},hm,3,Read,{},4096,500\n", start + n * step, n * 4096)).collect()
    };
    for (start, step, reason, spec, span_ns) in [
        (0, 10_000, "lies in the year 1601: its times are relative", "time:us,", 190_000_000),
        (1_577_808_000_000_000, 10_000, "likely Unix time in us", "time:us,", 190_000_000),
        (1_577_808_000_000_000_000, 10_000, "likely Unix time in ns", "time:ns,", 190_000),
        (1_577_808_000_000, 10, "likely Unix time in ms", "time:ms,", 190_000_000),
    ] {
        let text = text(start, step);
        match read(text.clone(), &OpenOptions::default()) {
            Err(TraceError::Format { reason: found, remedy, .. }) => {
                assert!(found.contains(reason), "{found}");
                let columns = remedy.split('\'').nth(1).expect("a specification");
                assert!(columns.starts_with(spec), "{remedy}");
                let (requests, _) = read(text.clone(), &named(&format!("columns:{columns}"))).expect("reads");
                assert_eq!((requests[19].time_ns, requests[19].volume), (span_ns, 3));
            }
            other => panic!("{other:?}"),
        }
        // What is named is taken at its word.
        assert_eq!(read(text, &named("msr")).expect("reads").0[19].time_ns, step * 19 * 100);
    }
}

/// Lines of blkparse at these actions, three of each.
fn blkparse(actions: &str) -> String {
    let line = |(number, action): (usize, char)| {
        format!("  8,16   1  {number}     0.00{number}000000   123  {action}  WS {} + 8 [fio]\n", number * 8)
    };
    actions.repeat(3).chars().enumerate().map(line).collect()
}

#[test]
fn requests_are_taken_at_the_first_stage_that_has_some_and_the_note_says_so() {
    for (actions, found, note, other) in [
        ("D", "blkparse:d", "no request for blkparse:q: read as blkparse:d", ""),
        ("DC", "blkparse:d", "no request for blkparse:q: read as blkparse:d", "if not, name blkparse:c"),
        ("CG", "blkparse:c", "no request for blkparse:q: read as blkparse:c", ""),
        ("QD", "blkparse:q", "read as blkparse:q", "if not, name blkparse:d"),
        ("GQ", "blkparse:q", "", ""),
    ] {
        let (requests, report) = read(blkparse(actions), &OpenOptions::default()).expect("reads");
        assert_eq!((report.format.as_str(), requests.len()), (found, 3), "{actions}");
        let text = report.note.unwrap_or_default();
        assert!(text.contains(note) && text.contains(other), "{actions}: {text}");
        assert_eq!(text.contains("if not"), !other.is_empty(), "{actions}: {text}");
    }
    let flushes = " 259,0 0 1 0.000 77 D WFS 2048 + 8 [jbd2]\n 259,0 0 2 0.1 0 C WFS 2048 + 8 [0]\n\
                   259,0 0 3 0.2 77 D FN [kworker/0:1H]\n 259,0 0 4 0.3 0 C FN 0 [0]\n";
    let (requests, _) = read(flushes, &OpenOptions::default()).expect("reads");
    let found: Vec<(Kind, u32)> = requests.iter().map(|request| (request.kind, request.bytes)).collect();
    assert_eq!(found, [(Kind::Write, 4_096), (Kind::Flush, 0)]);
    let perf = |event: &str| format!("fio 1 [000] 5.000001: block:block_rq_{event}: 8,0 W () 8 + 8 [0]\n");
    for (event, found) in [("issue", "issue"), ("insert", "insert"), ("complete", "complete")] {
        let (_, report) = read(perf(event).repeat(2), &OpenOptions::default()).expect("reads");
        assert_eq!(report.format, format!("perf-script:{found}"));
    }
}

#[test]
fn a_trace_without_a_request_is_an_error_that_says_what_there_is_and_what_to_do() {
    // Only what a format puts before the first request, or nothing.
    for format in FORMATS.iter().filter(|format| format.is_written()) {
        let scratch = Scratch::new();
        let path = scratch.file("none");
        write(&path, &[], &WriteOptions::new(format.name.parse().expect("a format"))).expect("writes");
        let mut reader = open(&path, &named(format.name)).expect("opens");
        match drain(&mut reader, 10) {
            Err(TraceError::NoRequests { lines, other_lines: 0, remedy, .. }) => {
                assert!(reader.report().complete && lines == reader.report().header_lines);
                assert!(!remedy.is_empty());
            }
            other => panic!("{}: {other:?}", format.name),
        }
        assert!(open(&path, &OpenOptions::default()).is_err(), "{}: detection needs a request", format.name);
    }
    let error = |text: &str, options: &OpenOptions| read(text, options).expect_err("no request").to_string();
    assert_eq!(
        error("", &named("msr")),
        "trace: no request, read as msr: the file is empty; record the trace, or fetch it, again"
    );
    let text = format!("{}CPU0 (8,16):\n\n", blkparse("GDC"));
    let found = error(&text, &named("blkparse"));
    assert!(found.contains("it has 11 lines, 9 of other events, 1 of headers, 1 blank"), "{found}");
    assert!(found.contains("--format blkparse:d or blkparse:c"), "{found}");
    let found = error(&blkparse("GI"), &OpenOptions::default());
    assert!(found.contains("read as blkparse:q: it has 6 lines, 6 of other events"), "{found}");
    let lenient = OpenOptions { skip_bad: u64::MAX, ..named("msr") };
    assert!(
        error("a\nb\n", &lenient).contains("2 skipped; name its format"),
        "{}",
        error("a\nb\n", &lenient)
    );
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_without_a_request_is_an_error_too() {
    let scratch = Scratch::new();
    let path = scratch.file("none.parquet");
    write(&path, &[], &WriteOptions::new(FormatName::parquet())).expect("writes");
    let mut reader = open(&path, &OpenOptions::default()).expect("opens");
    assert!(matches!(drain(&mut reader, 10), Err(TraceError::NoRequests { .. })));
}

#[test]
fn a_slice_of_a_trace_without_requests_names_the_trace() {
    for selection in [Selection::default(), Selection { volumes: vec![3], ..Selection::default() }] {
        let scratch = Scratch::new();
        let path = scratch.with("t", blkparse("G").as_bytes());
        let mut slice =
            Slice::new(open(&path, &named("blkparse")).expect("opens"), selection).expect("a slice");
        assert!(matches!(drain(&mut slice, 10), Err(TraceError::NoRequests { .. })));
    }
}

#[test]
fn a_format_that_is_only_read_is_not_written() {
    for known in FORMATS.iter().filter(|format| !format.is_written()) {
        let scratch = Scratch::new();
        let options = WriteOptions::new(known.name.parse().expect("a format"));
        assert!(
            matches!(Writer::create(&scratch.file("t"), &options), Err(TraceError::Setting(_))),
            "{}",
            known.name
        );
        assert!(!scratch.file("t.partial").exists());
    }
}

#[test]
fn iosnoop_without_times_is_refused_with_the_option_that_adds_them() {
    let text = "COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n\
                fio              101    WS   8,16     4096         4096      0.50\n";
    let error = read(text, &named("iosnoop")).expect_err("it has no times").to_string();
    assert!(error.contains("trace:2:1: expected a time") && error.contains("iosnoop -s"), "{error}");
    // The columns of times that the header does not name are part of the name of a process.
    let start = "STARTs         COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n\
                 50.5           1.5 x            101    R    8,16     4096         4096      0.50\n";
    assert_eq!(read(start, &OpenOptions::default()).expect("reads").0.len(), 1);
}

#[test]
fn biosnoop_gives_the_time_of_issue_when_that_is_named() {
    let text = "1.000000 dd 7 sda W 8 4096 0.25\n1.000100 a b 7 sdb R 8 4096 3.00 0.50\n";
    let times = |name: &str| -> Vec<(u64, u32)> {
        let (requests, _) = read(text, &named(name)).expect("reads");
        requests.iter().map(|request| (request.time_ns, request.volume)).collect()
    };
    assert_eq!(times("biosnoop"), [(0, 0), (100_000, 1)]);
    // 1.0001 s less 0.5 ms is earlier than 1 s less 0.25 ms.
    assert_eq!(times("biosnoop:issue"), [(0, 1), (150_000, 0)]);
}
