//! Measures how fast MSR Cambridge CSV is read on one core: writes a large file of it, then reads it a number of
//! times.
//!
//! `cargo run --release -p stripewise-trace --example msr_speed -- write FILE REQUESTS` makes the file,
//! `... -- read FILE [TIMES]` reads it and prints one line of JSON for each time: bytes, requests, seconds of wall
//! clock and seconds on the processor. `crates/bench/msr_csv.py` does both, and the same with polars.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;
use std::{env, fs, process};

use stripewise_base::prng::Prng;
use stripewise_trace::{OpenOptions, Source, TraceError, open};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["write", file, requests] => requests.parse::<u64>().map(|requests| write(Path::new(file), requests)),
        ["read", file] => Ok(read(Path::new(file), 1)),
        ["read", file, times] => times.parse::<u32>().map(|times| read(Path::new(file), times)),
        _ => {
            eprintln!("usage: msr_speed write FILE REQUESTS | read FILE [TIMES]");
            process::exit(2);
        }
    };
    let failure = match outcome {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(error) => format!("not a number: {error}"),
    };
    eprintln!("{failure}");
    process::exit(1);
}

/// Lines whose columns are as wide as those of the published traces: offsets over 200 GB, sizes of 512 B to 64 KiB,
/// responses of 0.1 to 10 ms. Reads and writes are mixed at random, which is the worst case for a reader.
fn write(path: &Path, requests: u64) -> Result<(), TraceError> {
    let io = |source| TraceError::Io { path: path.to_owned(), source };
    let mut random = Prng::new(1);
    let mut file = BufWriter::new(fs::File::create(path).map_err(io)?);
    let mut ticks = 128_166_372_000_000_000;
    for _ in 0..requests {
        ticks += random.below(200_000);
        let kind = if random.chance(65, 100) { "Write" } else { "Read" };
        let (offset, size) = (512 * random.below(200_000_000_000 / 512), 512u64 << random.below(8));
        let response = 1_000 + random.below(99_000);
        writeln!(file, "{ticks},prxy,0,{kind},{offset},{size},{response}").map_err(io)?;
    }
    file.flush().map_err(io)
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
            // Uses every field, so the compiler cannot drop the reading of any.
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

/// Seconds that this thread has spent on a processor, or 0 where the system does not report them.
fn on_processor() -> f64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}
