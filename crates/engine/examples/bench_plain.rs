//! Measures how many random 4 KiB requests a second the engine serves over files in the temporary folder.
//!
//! It uses the plain backend, the oracle of faster ones: one thread, one blocking call after the other, every byte
//! copied. The result mostly shows the speed of the operating system's page cache. The last line, bare calls without an
//! array, is the yardstick. A RAID-5 update by read-modify-write takes four calls; a bare write takes one.
//!
//! Run it with `cargo run --release -p stripewise-engine --example bench_plain [REQUESTS]`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_engine::{Engine, EngineError, Options, Request};

const PAGE: u64 = 4096;
const MEMBERS: usize = 6;
const MEMBER_BYTES: u64 = 64 << 20;

/// The kind of request that is timed.
#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let requests = match std::env::args().nth(1) {
        None => 100_000,
        Some(text) => text.parse().map_err(|_| format!("`{text}` is no number of requests"))?,
    };
    println!("{requests} random requests of 4 KiB over {MEMBERS} files of {} MiB", MEMBER_BYTES >> 20);
    println!("{:<10}{:>12}{:>14}{:>14}", "", "in flight", "writes/s", "reads/s");
    for level in ["raid0", "raid5"] {
        let scheme =
            Scheme::from_toml("bench", &format!("name = \"{level}\"\n[geometry]\nlevel = \"{level}\""))?;
        for in_flight in [1, 32] {
            let folder = tempfile::tempdir()?;
            let paths: Vec<_> = (0..MEMBERS).map(|index| folder.path().join(index.to_string())).collect();
            let mut engine = Engine::create(&scheme, &paths, MEMBER_BYTES, Options::default())?;
            let writes = rate(&mut engine, requests, in_flight, Kind::Write)?;
            let reads = rate(&mut engine, requests, in_flight, Kind::Read)?;
            println!("{level:<10}{in_flight:>12}{writes:>14}{reads:>14}");
        }
    }
    let file = tempfile::tempfile()?;
    file.set_len(MEMBERS as u64 * MEMBER_BYTES)?;
    let (writes, reads) = (bare(&file, requests, Kind::Write)?, bare(&file, requests, Kind::Read)?);
    println!("{:<10}{:>12}{writes:>14}{reads:>14}", "bare calls", 1);
    Ok(())
}

/// Requests a second with `in_flight` requests in flight.
fn rate(engine: &mut Engine, requests: u64, in_flight: u64, kind: Kind) -> Result<u64, EngineError> {
    let mut prng = Prng::new(1);
    let pages = engine.capacity() / PAGE;
    let started = Instant::now();
    for submitted in 0..requests {
        if submitted >= in_flight
            && let Some(completion) = engine.poll()
        {
            completion.result?;
        }
        let offset = prng.below(pages) * PAGE;
        engine.submit(match kind {
            Kind::Read => Request::read(offset, PAGE as usize),
            Kind::Write => Request::write(offset, &[submitted as u8; PAGE as usize]),
        })?;
    }
    while let Some(completion) = engine.poll() {
        completion.result?;
    }
    Ok(per_second(requests, started))
}

/// Bare calls a second.
fn bare(file: &File, requests: u64, kind: Kind) -> std::io::Result<u64> {
    let mut prng = Prng::new(1);
    let pages = MEMBERS as u64 * MEMBER_BYTES / PAGE;
    let mut page = [1; PAGE as usize];
    let started = Instant::now();
    for _ in 0..requests {
        let offset = prng.below(pages) * PAGE;
        match kind {
            Kind::Read => file.read_exact_at(&mut page, offset)?,
            Kind::Write => file.write_all_at(&page, offset)?,
        }
    }
    Ok(per_second(requests, started))
}

fn per_second(requests: u64, started: Instant) -> u64 {
    (u128::from(requests) * 1_000_000_000 / started.elapsed().as_nanos().max(1)) as u64
}
