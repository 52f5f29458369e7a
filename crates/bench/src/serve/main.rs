//! Speed of served arrays, compared with nbdkit's file export, through sockets and virtqueues:
//! `cargo run --release -p stripewise-bench --bin stripewise-bench-serve -- --help`.

#![deny(unsafe_code)]

mod guest;
mod nbd;
mod servers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use comfy_table::Table;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use stripewise_base::prng::Prng;

use crate::guest::Guest;
use crate::nbd::Nbd;
use crate::servers::{Server, array, nbdkit};

/// Bytes of a request.
const BLOCK: usize = 4096;

/// Measure `stripewise serve` by NBD and by vhost-user, with and without a recording and a transcript, beside nbdkit's file
/// export.
///
/// All servers run on one processor, and the client that this program is on another. Each has 4 KiB random reads, then writes, in
/// turn with the others; given are medians. nbdkit serves one file of the folder: no parity, no checksums, no log.
///
/// It needs nbdkit, and `stripewise` beside this program: cargo build --release -p stripewise
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// The folder of the files; they are removed at the end.
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    folder: PathBuf,
    /// The `stripewise` program to measure [default: the one in this program's folder].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The scheme: a preset's name or a file, and settings behind commas.
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "durable-was")]
    scheme: String,
    /// Members.
    #[arg(long, alias = "elements", default_value_t = 5)]
    members: u16,
    /// MiB of a member.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(64..=65536))]
    mib: u64,
    /// MiB that are written at the beginning; requests fall within them.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..=65536))]
    span: u64,
    /// Runs of each case, of which the median is given.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// Requests of a run.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1000..))]
    requests: u64,
    /// Requests at a time.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=64))]
    depth: u16,
    /// Only servers whose name contains this, and nbdkit.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// A client of a server, with a fixed number of requests in flight.
trait Client {
    /// Reads or writes the blocks at `offsets`, `depth` at a time.
    fn drive(&mut self, write: bool, depth: usize, offsets: &mut dyn Iterator<Item = u64>) -> Result<()>;
}

/// A server with its client, and the results of each run: for reads and writes, requests per second and processor
/// time per request.
struct Contender {
    name: &'static str,
    server: Server,
    client: Box<dyn Client>,
    runs: [Vec<(f64, f64)>; 2],
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stripewise-bench-serve: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    let all = sched_getaffinity(None)?;
    let mut processors = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu));
    let (Some(theirs), Some(ours)) = (processors.next(), processors.next()) else {
        anyhow::bail!("servers and client need a processor each; this machine lends one");
    };
    let folder = tempfile::Builder::new().prefix("stripewise-bench-").tempdir_in(&arguments.folder)?;
    // Child processes run on the processor of this thread.
    pin(theirs)?;
    let mut contenders = contenders(arguments, folder.path())?;
    pin(ours)?;
    let (bytes, mut random) = (arguments.span << 20, Prng::stream(3, 0));
    for contender in &mut contenders {
        let mut all = (0..bytes / BLOCK as u64).map(|block| block * BLOCK as u64);
        contender.client.drive(true, arguments.depth.into(), &mut all)?;
    }
    for _ in 0..arguments.runs {
        for case in 0..2 {
            for contender in &mut contenders {
                let mut offsets =
                    (0..arguments.requests).map(|_| random.below(bytes / BLOCK as u64) * BLOCK as u64);
                let (begun, cpu) = (Instant::now(), contender.server.cpu_seconds()?);
                contender.client.drive(case == 1, arguments.depth.into(), &mut offsets)?;
                let seconds = begun.elapsed().as_secs_f64();
                let cpu = contender.server.cpu_seconds()? - cpu;
                let requests = arguments.requests as f64;
                contender.runs[case].push((requests / seconds, cpu * 1e6 / requests));
            }
        }
    }
    println!(
        "{}, {} requests of 4 KiB at a time, {} runs",
        arguments.scheme, arguments.depth, arguments.runs
    );
    println!("{}", table(&contenders));
    // Servers first, since they use the folder.
    drop(contenders);
    Ok(())
}

fn pin(processor: usize) -> Result<()> {
    let mut one = CpuSet::new();
    one.set(processor);
    Ok(sched_setaffinity(None, &one)?)
}

fn contenders(arguments: &Arguments, folder: &Path) -> Result<Vec<Contender>> {
    let beside = || Ok::<_, anyhow::Error>(std::env::current_exe()?.with_file_name("stripewise"));
    let program = arguments.program.clone().map_or_else(beside, Ok)?;
    ensure!(
        program.exists(),
        "`{}` is not there; build it with `cargo build --release -p stripewise`",
        program.display()
    );
    let mut contenders = Vec::new();
    for (name, options) in [
        ("NBD", ""),
        ("NBD, recorded", "--record recording"),
        ("NBD, with a transcript", "--transcript transcript"),
        ("vhost-user", "--vhost-user unix:guest.sock"),
    ] {
        if arguments.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let folder = folder.join(name);
        std::fs::create_dir(&folder)?;
        let server = array(&program, &folder, arguments, options)?;
        let client: Box<dyn Client> = match name {
            "vhost-user" => Box::new(Guest::connect(&folder.join("guest.sock"))?),
            _ => Box::new(Nbd::connect(&folder.join("nbd.sock"), "pool")?),
        };
        contenders.push(Contender { name, server, client, runs: Default::default() });
    }
    let server = nbdkit(folder, arguments.span << 20)?;
    let client = Box::new(Nbd::connect(&folder.join("nbdkit.sock"), "").context("connecting to nbdkit")?);
    contenders.push(Contender { name: "nbdkit file", server, client, runs: Default::default() });
    Ok(contenders)
}

/// Medians, and the ratio of each to nbdkit's in the same round.
fn table(contenders: &[Contender]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    let of = |what: &str| [format!("{what}/s"), "CPU us".to_owned(), "of nbdkit".to_owned()];
    table.set_header(["".to_owned()].into_iter().chain(of("reads")).chain(of("writes")));
    let Some(yardstick) = contenders.last() else { return table };
    for contender in contenders {
        let mut row = vec![contender.name.to_owned()];
        for (runs, theirs) in contender.runs.iter().zip(&yardstick.runs) {
            let pairs = runs.iter().zip(theirs);
            row.push(format!("{:.0}", median(runs.iter().map(|run| run.0))));
            row.push(format!("{:.2}", median(runs.iter().map(|run| run.1))));
            row.push(format!("{:.2}", median(pairs.map(|(run, other)| run.0 / other.0))));
        }
        table.add_row(row);
    }
    table
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
