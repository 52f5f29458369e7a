//! Checks every reader of traces.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use stripewise_trace::format::{BINARY_FORMATS, format_names};
use stripewise_trace::{
    Disorder, FormatName, Kind, OpenOptions, ReadReport, Request, Source, TraceError, WriteOptions, Writer,
    open_stream,
};

/// Reads `bytes` as `format`, in each of its variants, with and without permission to skip bad records.
pub fn check(format: &str, bytes: &[u8]) {
    // The input is then the compressed content; the target `packed` tests it.
    if is_packed(bytes) {
        return;
    }
    let variants = format_names().into_iter().map(|(name, _)| name);
    for name in variants.filter(|name| name.split(':').next() == Some(format)) {
        check_as(name.parse().expect("a name from the list"), bytes);
    }
}

/// Runs the check for one variant.
pub fn check_as(named: FormatName, bytes: &[u8]) {
    for (skip_bad, disorder) in [
        (0, Disorder::Clamp),
        (u64::MAX, Disorder::Clamp),
        (u64::MAX, Disorder::Sort),
        (u64::MAX, Disorder::Refuse),
    ] {
        let options = OpenOptions { format: Some(named), skip_bad, disorder };
        let read = same_in_any_pieces(bytes, &options);
        sound(&read, bytes, &options);
        if disorder != Disorder::Refuse && !read.requests.is_empty() {
            survives(&read.requests, &options, named);
            survives_as_msr(&read.requests);
        }
    }
}

/// The result of a read: the requests before its end or its error.
#[derive(Debug)]
pub struct Outcome {
    /// The delivered requests.
    pub requests: Vec<Request>,
    /// The report, if the trace could be opened.
    pub report: Option<ReadReport>,
    /// The error that ended the read early.
    pub error: Option<TraceError>,
}

/// Reads `stream` to its end in batches of `capacity`.
pub fn read(stream: Box<dyn Read + Send>, options: &OpenOptions, capacity: usize) -> Outcome {
    let mut outcome = Outcome { requests: Vec::new(), report: None, error: None };
    let mut reader = match open_stream(stream, Path::new("trace"), options) {
        Ok(reader) => reader,
        Err(error) => return Outcome { error: Some(error), ..outcome },
    };
    let mut batch = Vec::with_capacity(capacity);
    loop {
        let read = reader.next_batch(&mut batch);
        outcome.requests.extend_from_slice(&batch);
        if batch.is_empty() || read.is_err() {
            outcome.error = read.err();
            outcome.report = Some(reader.report());
            return outcome;
        }
    }
}

/// The result must not depend on whether the bytes arrive at once or in pieces.
pub fn same_in_any_pieces(bytes: &[u8], options: &OpenOptions) -> Outcome {
    let whole = read(Box::new(io::Cursor::new(bytes.to_vec())), options, 4096);
    let pieces = read(Box::new(Pieces { rest: bytes.to_vec(), at: 0, calls: 0 }), options, 7);
    assert_eq!(whole.requests, pieces.requests, "as {:?}", options.format);
    assert_eq!(whole.report, pieces.report);
    let text = |outcome: &Outcome| outcome.error.as_ref().map(ToString::to_string);
    assert_eq!(text(&whole), text(&pieces));
    whole
}

/// Checks the properties of a report, an error and the requests.
pub fn sound(outcome: &Outcome, bytes: &[u8], options: &OpenOptions) {
    for pair in outcome.requests.windows(2) {
        assert!(pair[0].time_ns <= pair[1].time_ns, "{pair:?}");
    }
    if let Some(first) = outcome.requests.first() {
        assert_eq!(first.time_ns, 0);
    }
    for request in &outcome.requests {
        assert!(request.bytes > 0 || request.kind == Kind::Flush, "{request:?}");
        assert!(request.offset.checked_add(u64::from(request.bytes)).is_some(), "{request:?}");
    }
    if let Some(report) = &outcome.report {
        let ReadReport { requests, lines, skipped_bad, clamped_times, sorted_times, .. } = *report;
        assert_eq!(requests, outcome.requests.len() as u64, "{report:?}");
        let others = report.blank_lines + report.header_lines + report.other_lines + skipped_bad;
        assert_eq!(lines, requests + others, "{report:?}");
        assert!(skipped_bad <= options.skip_bad && clamped_times + sorted_times <= requests, "{report:?}");
        assert_eq!(report.first_bad.is_some(), skipped_bad > 0);
        // A trace without a request is read to its end, and an error.
        let is_empty = matches!(outcome.error, Some(TraceError::NoRequests { .. }));
        assert_eq!(report.complete, outcome.error.is_none() || is_empty, "{report:?}");
        assert_eq!(is_empty, report.complete && requests == 0, "{report:?}");
        assert!(options.disorder != Disorder::Refuse || clamped_times + sorted_times == 0, "{report:?}");
        // So few requests are sorted completely, except with the small windows under the fuzzer.
        assert!(options.disorder != Disorder::Sort || clamped_times == 0 || cfg!(fuzzing), "{report:?}");
    }
    if let Some(error) = &outcome.error {
        assert!(!error.to_string().is_empty());
        let name = options.format.map_or(String::new(), |format| format.to_string());
        let binary = BINARY_FORMATS.iter().any(|format| name.starts_with(&format!("{}:", format.name)));
        if !binary {
            lies_inside(error, bytes);
        } else if let TraceError::Binary { record, byte, .. } = error {
            assert!(*record > 0 && *record <= 1 + byte && *byte <= bytes.len() as u64, "{error}");
        }
    }
}

/// The position in an error lies within the input.
fn lies_inside(error: &TraceError, bytes: &[u8]) {
    let line = |number: u64| bytes.split(|&byte| byte == b'\n').nth(number as usize - 1);
    match error {
        TraceError::Record { line: number, column, .. } => {
            let line = line(*number).unwrap_or_else(|| panic!("no line {number}: {error}"));
            assert!((1..=line.len() + 1).contains(&(*column as usize)), "no column {column}: {error}");
        }
        TraceError::Backward { line: number, back_ns, .. } => {
            assert!(line(*number).is_some_and(|line| !line.is_empty()) && *back_ns > 0, "{error}");
        }
        _ => {}
    }
}

/// The requests can be written in their own format and are the same when read back, or the format refuses them.
fn survives(requests: &[Request], options: &OpenOptions, format: FormatName) {
    let Some(written) = write(requests, &WriteOptions::new(format)) else { return };
    let back = read(Box::new(io::Cursor::new(written)), &OpenOptions { skip_bad: 0, ..options.clone() }, 64);
    assert!(back.error.is_none(), "{format}: {:?}", back.error);
    assert_eq!(back.requests, requests, "{format}");
}

/// The same with MSR's format, with its resolution of 100 ns, if every size and address fits.
fn survives_as_msr(requests: &[Request]) {
    let mut data: Vec<Request> = requests.to_vec();
    data.retain(|request| matches!(request.kind, Kind::Read | Kind::Write));
    if data.is_empty() {
        return;
    }
    let first = data.first().map_or(0, |request| request.time_ns / 100);
    for request in &mut data {
        request.time_ns = (request.time_ns / 100 - first) * 100;
        request.volume %= 1 << 16;
    }
    let format: FormatName = "msr".parse().expect("a format");
    let written = write(&data, &WriteOptions::new(format)).expect("MSR holds all of it");
    let options = OpenOptions { format: Some(format), ..OpenOptions::default() };
    let back = read(Box::new(io::Cursor::new(written)), &options, 64);
    assert!(back.error.is_none(), "{:?}", back.error);
    assert_eq!(back.requests, data);
}

/// The encoding of `requests`, or `None` if the format cannot represent them.
fn write(requests: &[Request], options: &WriteOptions) -> Option<Vec<u8>> {
    let sink = Sink::default();
    let mut writer = match Writer::to_stream(Box::new(sink.clone()), Path::new("copy"), options) {
        Ok(writer) => writer,
        Err(TraceError::Setting(_)) => return None,
        Err(error) => panic!("{error}"),
    };
    for part in requests.chunks(5) {
        match writer.write(part) {
            Ok(()) => {}
            Err(TraceError::Unfit { loss, .. }) => {
                assert!(!loss.is_empty());
                return None;
            }
            Err(error) => panic!("{error}"),
        }
    }
    let report = writer.finish().expect("memory takes all");
    assert_eq!((report.requests, report.rounded_times), (requests.len() as u64, 0));
    let bytes = sink.0.lock().expect("not poisoned").clone();
    Some(bytes)
}

/// Whether the first bytes identify compressed data or Parquet.
fn is_packed(bytes: &[u8]) -> bool {
    let zstd = matches!(bytes, [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..]);
    bytes.starts_with(&[0x1F, 0x8B]) || zstd
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

/// Returns its bytes a few at a time, with occasional interruptions.
struct Pieces {
    rest: Vec<u8>,
    at: usize,
    calls: usize,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(5) {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let rest = &self.rest[self.at..];
        let count = rest.len().min(into.len()).min(1 + self.calls * 7 % 13);
        into[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
