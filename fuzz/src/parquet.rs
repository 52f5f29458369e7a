//! Checks Parquet files: arbitrary bytes, and our own files with damage.

use std::fs;
use std::path::{Path, PathBuf};

use stripewise_trace::{
    FormatName, Kind, OpenOptions, Request, Source, TraceError, WriteOptions, Writer, open,
};

/// Reads `bytes` as a file. Then converts them to requests, which a file must preserve, and changes one byte of that
/// file.
pub fn check(bytes: &[u8]) {
    let scratch = Scratch::new();
    fs::write(&scratch.0, bytes).expect("a scratch file");
    if let Ok(requests) = read(&scratch.0) {
        keeps(&scratch, &requests);
    }
    let (requests, spoil) = requests(bytes);
    let mut file = keeps(&scratch, &requests);
    let at = usize::from(spoil) * 251 % file.len();
    file[at] ^= 1 << (spoil % 8);
    fs::write(&scratch.0, &file).expect("a scratch file");
    if let Ok(read) = read(&scratch.0) {
        assert_eq!(read, requests, "byte {at} was changed, and nothing noticed it");
    }
}

/// Writes `requests`, reads them back, and returns the file.
fn keeps(scratch: &Scratch, requests: &[Request]) -> Vec<u8> {
    let options = WriteOptions { overwrite: true, ..WriteOptions::new(FormatName::parquet()) };
    let mut writer = Writer::create(&scratch.0, &options).expect("creates");
    for part in requests.chunks(9) {
        writer.write(part).expect("Parquet holds every sound request");
    }
    writer.finish().expect("finishes");
    assert_eq!(read(&scratch.0).expect("reads what it wrote"), requests);
    fs::read(&scratch.0).expect("the file")
}

fn read(path: &Path) -> Result<Vec<Request>, TraceError> {
    let mut reader = open(path, &OpenOptions::default())?;
    if reader.report().format != "parquet" {
        return Err(TraceError::Setting("another format, which has a target of its own".to_owned()));
    }
    let (mut all, mut batch) = (Vec::new(), Vec::with_capacity(11));
    loop {
        match reader.next_batch(&mut batch) {
            Err(TraceError::NoRequests { .. }) => break,
            read => read?,
        }
        if batch.is_empty() {
            break;
        }
        all.extend_from_slice(&batch);
    }
    let report = reader.report();
    assert!(report.complete && report.requests == all.len() as u64 && report.lines == report.requests);
    for pair in all.windows(2) {
        assert!(pair[0].time_ns <= pair[1].time_ns);
    }
    for request in &all {
        assert!(request.bytes > 0 || request.kind == Kind::Flush);
        assert!(request.offset.checked_add(u64::from(request.bytes)).is_some());
    }
    Ok(all)
}

/// Requests of 18 bytes each, the first at time 0, and the remaining byte.
fn requests(bytes: &[u8]) -> (Vec<Request>, u8) {
    let (mut time_ns, mut requests) = (0u64, Vec::new());
    for (index, part) in bytes.as_chunks::<18>().0.iter().enumerate() {
        let word = |at: usize| u32::from_le_bytes([part[at], part[at + 1], part[at + 2], part[at + 3]]);
        let kind = [Kind::Read, Kind::Write, Kind::Trim, Kind::Flush][usize::from(part[0] % 4)];
        time_ns = time_ns.saturating_add(if index == 0 { 0 } else { u64::from(word(1)) << (part[0] >> 3) });
        let offset = (u64::from(word(5)) << 32 | u64::from(word(9))).min(u64::MAX - u64::from(u32::MAX));
        let bytes = word(13).max(u32::from(kind != Kind::Flush));
        requests.push(Request { time_ns, offset, bytes, volume: u32::from(part[17]) * 0x0101_0101, kind });
    }
    (requests, bytes.last().copied().unwrap_or(0))
}

/// A file of this process, deleted when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let name =
            format!("stripewise-fuzz-{}-{:?}.parquet", std::process::id(), std::thread::current().id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}
