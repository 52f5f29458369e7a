//! Time and memory of hot data identification, compared with an exact LRU and a hash map:
//! `cargo run --release -p stripewise-bench --bin stripewise-bench-hotness -- --help`.

#![forbid(unsafe_code)]

mod contenders;
mod stream;

use std::hint::black_box;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use comfy_table::Table;
use stripewise_base::units::parse_count;

use crate::contenders::{CONTENDERS, Contender, Make};
use crate::stream::{Stream, StreamFindings};

/// Counts the allocations of the opponents while they are filled; afterwards it only forwards calls.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Measure what it takes to sort a written chunk into a hot and a cold tier.
///
/// Single-chunk requests, of which 80 % go to the first fifth of the chunks, and no two of which follow each other. Each
/// contender first takes as many writes as there are chunks. Given are nanoseconds of processor time a chunk, the best of
/// several rounds, and the bytes of the tables; then of all writes in the hot tier, those of hot chunks (80 % at random), and
/// of all writes of hot chunks, those in the hot tier.
///
/// Examples:
///   stripewise-bench-hotness                           1 Mi and 64 Mi chunks
///   stripewise-bench-hotness --chunks 16M --only glru  16 million, one contender
#[derive(Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// Chunks of the array, from 1000 to 4294967295.
    #[arg(long, value_parser = chunks, default_values = ["1048576", "67108864"])]
    chunks: Vec<u64>,
    /// Only contenders whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Rounds, of which the best is given.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,
}

fn chunks(text: &str) -> Result<u64, String> {
    let chunks = parse_count(text).map_err(|error| error.to_string())?;
    let range = 1000..=u64::from(u32::MAX);
    if range.contains(&chunks) { Ok(chunks) } else { Err("must be 1000 to 4294967295".into()) }
}

/// Chunks per round.
const ROUND: usize = 1 << 20;

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stripewise-bench-hotness: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header([
        "chunks",
        "contender",
        "ns a chunk",
        "KiB",
        "bytes a chunk",
        "hot in hot tier",
        "hot found",
    ]);
    for &chunks in &arguments.chunks {
        for &(name, make) in CONTENDERS {
            if arguments.only.as_ref().is_none_or(|only| name.contains(only.as_str())) {
                eprintln!("{name}, {chunks} chunks");
                table.add_row(row(chunks, name, make, arguments.rounds));
            }
        }
    }
    println!("{table}");
    Ok(())
}

fn row(chunks: u64, name: &str, make: Make, rounds: u32) -> Vec<String> {
    let mut stream = Stream::new(chunks);
    let profiler = dhat::Profiler::builder().testing().build();
    let before = dhat::HeapStats::get().curr_bytes;
    let mut contender = make(chunks);
    let mut left = chunks;
    while left > 0 {
        let batch = stream.next();
        contender.run(batch, |_, _| ());
        left = left.saturating_sub(batch.len() as u64);
    }
    // Our tables report their own size, since large tables are mapped without the allocator.
    let allocated = dhat::HeapStats::get().curr_bytes - before;
    let bytes = contender.own_bytes().unwrap_or(allocated as u64);
    drop(profiler);
    let round = |contender: &mut Contender, stream: &mut Stream| {
        let mut seconds = 0.0;
        for _ in 0..ROUND.div_ceil(Stream::BATCH) {
            let batch = stream.next();
            let start = cpu_seconds();
            let mut hot = 0u64;
            contender.run(batch, |_, tier| hot += u64::from(tier));
            black_box(hot);
            seconds += cpu_seconds() - start;
        }
        seconds * 1e9 / ROUND as f64
    };
    let best = (0..rounds).map(|_| round(&mut contender, &mut stream)).fold(f64::INFINITY, f64::min);
    let mut found = StreamFindings::default();
    for _ in 0..ROUND.div_ceil(Stream::BATCH) {
        let batch = stream.next();
        contender.run(batch, |page, tier| found.add(page < chunks / 5, tier > 0));
    }
    vec![
        chunks.to_string(),
        name.into(),
        format!("{best:.1}"),
        format!("{:.1}", bytes as f64 / 1024.0),
        format!("{:.3}", bytes as f64 / chunks as f64),
        found.purity(),
        found.share(),
    ]
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
