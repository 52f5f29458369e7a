//! How fast MSR Cambridge CSV is read on one core: writes a large file of it, then reads it a number of times.
//!
//! `cargo run --release -p stripewise-trace --example msr_speed -- write FILE REQUESTS` makes the file,
//! `... -- read FILE [TIMES]` reads it and prints one line of JSON for each time: bytes, requests, seconds of wall
//! clock and seconds on the processor. `bench/msr_csv.py` does both, and the same with polars.

use std::path::Path;
use std::time::Instant;
use std::{env, fs, process};

use stripewise_base::prng::Prng;
use stripewise_trace::{
    FormatName, Kind, OpenOptions, Request, Source, TraceError, WriteOptions, Writer, open,
};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["write", file, requests] => requests.parse().map(|requests| write(Path::new(file), requests)),
        ["read", file] => Ok(read(Path::new(file), 1)),
        ["read", file, times] => times.parse().map(|times| read(Path::new(file), times)),
        _ => {
            eprintln!("usage: msr_speed write FILE REQUESTS | read FILE [TIMES]");
            process::exit(2);
        }
    };
    if let Err(error) =
        outcome.map_err(|error| error.to_string()).and_then(|done| done.map_err(|error| error.to_string()))
    {
        eprintln!("{error}");
        process::exit(1);
    }
}

/// Requests whose columns are as long as in the published traces: offsets over 200 GB, sizes of 512 B to 64 KiB.
fn write(path: &Path, requests: u64) -> Result<(), TraceError> {
    let mut random = Prng::new(1);
    let mut options = WriteOptions::new("msr".parse::<FormatName>()?);
    options.overwrite = true;
    let mut writer = Writer::create(path, &options)?;
    let mut batch = Vec::with_capacity(4096);
    let mut time_ns = 0;
    for number in 1..=requests {
        time_ns += 100 * random.below(200_000);
        let offset = 512 * random.below(200_000_000_000 / 512);
        let bytes = 512 << random.below(8);
        let kind = if random.chance(65, 100) { Kind::Write } else { Kind::Read };
        batch.push(Request { time_ns, offset, bytes, volume: 0, kind });
        if batch.len() == batch.capacity() || number == requests {
            writer.write(&batch)?;
            batch.clear();
        }
    }
    writer.finish().map(|_| ())
}

fn read(path: &Path, times: u32) -> Result<(), TraceError> {
    let size = fs::metadata(path).map_err(|source| TraceError::Io { path: path.to_owned(), source })?.len();
    for _ in 0..times {
        let (start, busy) = (Instant::now(), on_processor());
        let mut reader = open(path, &OpenOptions::default())?;
        let mut batch = Vec::with_capacity(4096);
        let (mut requests, mut sum) = (0u64, 0u64);
        loop {
            reader.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            requests += batch.len() as u64;
            // Looks at every field, so that none can be left unread.
            for request in &batch {
                let fields = request.time_ns ^ request.offset ^ u64::from(request.bytes) << 32;
                sum = sum.wrapping_add(fields ^ u64::from(request.volume) ^ request.kind as u64);
            }
        }
        println!(
            "{{\"bytes\": {size}, \"requests\": {requests}, \"wall_s\": {:.4}, \"cpu_s\": {:.4}, \"sum\": {sum}}}",
            start.elapsed().as_secs_f64(),
            on_processor() - busy
        );
    }
    Ok(())
}

/// Seconds that this thread has spent on a processor, or 0 where the system does not say.
fn on_processor() -> f64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}
