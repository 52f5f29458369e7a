//! Measures which chunk sizes suit random reads and writes of which sizes over four real files, with the plain backend:
//! the experiment of paper 004, section 2.2 (Fig. 2).
//!
//! RAID-5 over four files, chunks of 4 to 128 KiB, requests of 4 to 128 KiB at random multiples of their size, 32 in
//! flight. The plain backend executes one blocking call for each page, one after the other, so the effect of the chunk
//! size on parallelism does not show. Its effect on the number of calls does: pre-reads and parity pages, printed
//! beside the rates. Before reads the files are flushed and the operating system is asked to drop them from its cache
//! (`POSIX_FADV_DONTNEED`). Writes end with a flush, which is included in the time.
//!
//! Run it with `cargo run --release -p stripewise-engine --example chunk_sizes [FOLDER [MIB]]`: the folder of the files
//! (default: the temporary folder), and the amount to read or write for each cell (default: 32 MiB).

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{Advice, fadvise};
use stripewise_array::{Class, Scheme};
use stripewise_base::prng::Prng;
use stripewise_engine::{Engine, Options, Request};

const MEMBERS: usize = 4;
const MEMBER_BYTES: u64 = 64 << 20;
/// Requests in flight.
const DEPTH: u64 = 32;
/// As in `stripewise paper 004`, in KiB.
const CHUNKS: [u32; 6] = [4, 8, 16, 32, 64, 128];
const SIZES: [u32; 10] = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128];

/// The kind of request that is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

/// One measurement.
#[derive(Clone, Copy)]
struct Cell {
    mib_per_second: u64,
    /// Calls of members for each page that the host reads or writes.
    calls: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let mib: u64 = match arguments.next() {
        None => 32,
        Some(text) => text.parse().map_err(|_| format!("`{text}` is no number of MiB"))?,
    };
    println!("RAID-5 of {MEMBERS} files of {} MiB, {mib} MiB a cell", MEMBER_BYTES >> 20);
    println!("MiB a second, and calls of members for each page of the host");
    for (kind, name) in [(Kind::Read, "random reads"), (Kind::Write, "random writes")] {
        println!(
            "\n{name:<14}{}",
            CHUNKS.map(|chunk| format!("{:>16}", format!("chunk {chunk} KiB"))).concat()
        );
        let mut columns = Vec::with_capacity(CHUNKS.len());
        for chunk in CHUNKS {
            columns.push(column(&folder, chunk, kind, mib << 20)?);
        }
        for (row, size) in SIZES.iter().enumerate() {
            let cells = columns.iter().map(|column| {
                let Cell { mib_per_second, calls } = column[row];
                format!("{mib_per_second:>9} ({calls:>4.2})")
            });
            println!("{:<14}{}", format!("{size} KiB"), cells.collect::<String>());
        }
    }
    Ok(())
}

/// All request sizes with one chunk size, over files that were fully written before.
fn column(folder: &Path, chunk: u32, kind: Kind, bytes: u64) -> Result<Vec<Cell>, Box<dyn Error>> {
    let scheme = format!(
        "name = \"chunk\"\n[geometry]\nlevel = \"raid5\"\nchunk = \"{chunk}KiB\"\n[update]\npolicy = \"rmw-vs-reconstruct\""
    );
    let scheme = Scheme::from_toml("chunk", &scheme)?;
    let folder = tempfile::tempdir_in(folder)?;
    let paths: Vec<PathBuf> = (0..MEMBERS).map(|index| folder.path().join(index.to_string())).collect();
    let mut engine = Engine::create(&scheme, &paths, MEMBER_BYTES, Options::default())?;
    let whole: u64 = 1 << 20;
    for offset in (0..engine.capacity() / whole).map(|index| index * whole) {
        engine.write(offset, &vec![1; whole as usize])?;
    }
    engine.flush()?;
    SIZES.iter().map(|size| cell(&mut engine, &paths, size << 10, kind, bytes)).collect()
}

fn cell(
    engine: &mut Engine,
    paths: &[PathBuf],
    size: u32,
    kind: Kind,
    bytes: u64,
) -> Result<Cell, Box<dyn Error>> {
    engine.flush()?;
    if kind == Kind::Read {
        for path in paths {
            fadvise(File::open(path)?, 0, None, Advice::DontNeed)?;
        }
    }
    let before = calls(engine);
    let mut prng = Prng::new(1);
    let slots = engine.capacity() / u64::from(size);
    let requests = (bytes / u64::from(size)).max(1);
    let started = Instant::now();
    for submitted in 0..requests {
        if submitted >= DEPTH
            && let Some(completion) = engine.poll()
        {
            completion.result?;
        }
        let offset = prng.below(slots) * u64::from(size);
        engine.submit(match kind {
            Kind::Read => Request::read(offset, size as usize),
            Kind::Write => Request::write(offset, &vec![submitted as u8; size as usize]),
        })?;
    }
    while let Some(completion) = engine.poll() {
        completion.result?;
    }
    if kind == Kind::Write {
        engine.flush()?;
    }
    let elapsed_ns = started.elapsed().as_nanos().max(1);
    let moved = u128::from(requests) * u128::from(size);
    let pages = requests as f64 * f64::from(size) / 4096.0;
    Ok(Cell {
        mib_per_second: ((moved * 1_000_000_000 / elapsed_ns) >> 20) as u64,
        calls: (calls(engine) - before) as f64 / pages,
    })
}

/// Pages read from and written to members so far, for hosts and for parity.
fn calls(engine: &Engine) -> u64 {
    let done = engine.counts().done;
    let classes = [Class::HostRead, Class::HostWrite, Class::PreRead, Class::Parity];
    classes.iter().map(|class| done[*class as usize]).sum()
}
