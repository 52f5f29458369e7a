//! The cost of metadata with which an array can be assembled again:
//! `cargo run --release -p stripewise-bench --bin stripewise-bench-durable`.

#![forbid(unsafe_code)]

mod host;
mod members;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use comfy_table::Table;
use rustix::time::{ClockId, clock_gettime};
use stripewise_array::Scheme;
use stripewise_base::share::Share;

use host::{Host, PAGE_BYTES};

/// Measure the cost of metadata: its share of the writes, with and without flushes; the time of recovery by capacity and by
/// the length of the log; checkpoints.
///
/// Members lie in memory and take no time, so times are processor time of the controller. Counts are exact.
///
/// Examples:
///   stripewise-bench-durable                                 five members of 256 MiB
///   stripewise-bench-durable --scheme durable-raid6-was --members 6
#[derive(Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// The scheme; it must have metadata = "on".
    #[arg(long, default_value = "durable-was")]
    scheme: String,
    /// How much of the room for data hosts cannot fill, in percent [default: the scheme's].
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=90))]
    reserve: Option<u32>,
    /// Segments in use, in percent, beyond which they are collected [default: the scheme's].
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=100))]
    collect_above: Option<u32>,
    /// Members.
    #[arg(long, alias = "elements", default_value_t = 5, value_parser = clap::value_parser!(u32).range(3..=64))]
    members: u32,
    /// MiB of a member.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(32..=4096))]
    mib: u32,
    /// Runs of each timing, of which the median is given.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stripewise-bench-durable: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    let mut scheme = Scheme::preset(&arguments.scheme)?;
    let share = |percent: u32| Share(percent * 10_000);
    scheme.elastic.reserve = arguments.reserve.map_or(scheme.elastic.reserve, share);
    scheme.elastic.collect_above = arguments.collect_above.map_or(scheme.elastic.collect_above, share);
    println!("{} over {} members\n", scheme.name, arguments.members);
    println!(
        "4 KiB random writes, 32 at a time, over an array that is 80 % full\n{}\n",
        writes(arguments, &scheme)?
    );
    println!(
        "AssemblyOptions by capacity, nothing behind the last checkpoint\n{}\n",
        by_capacity(arguments, &scheme)?
    );
    println!(
        "AssemblyOptions by the length of the log behind the last checkpoint\n{}",
        by_length(arguments, &scheme)?
    );
    Ok(())
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(header);
    table
}

fn pages_of(mib: u32) -> u32 {
    (u64::from(mib) * (1 << 20) / u64::from(PAGE_BYTES)) as u32
}

/// Processor time of this thread, in seconds.
fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Pages written for each host page, without flushes and with many.
fn writes(arguments: &Arguments, scheme: &Scheme) -> Result<Table> {
    let mut table = table(&[
        "flush",
        "writes",
        "pages written a write",
        "parity",
        "moved",
        "metadata",
        "metadata share",
        "flushes a write",
        "reads a write",
        "us a write",
        "summaries",
        "commit records",
        "checkpoints",
    ]);
    for (name, every, count) in [("none", 0, 400_000), ("every 32", 32, 400_000), ("every write", 1, 100_000)]
    {
        let mut host = Host::create(scheme, arguments.members, pages_of(arguments.mib))?;
        let span = host.pages() * 8 / 10;
        host.fill(span)?;
        // Until collection is in its steady state.
        host.write_randomly(2 * span, span, 32, every)?;
        host.take_written();
        let before = host.array.metadata_counts();
        let begin = cpu();
        host.write_randomly(count, span, 32, every)?;
        let taken = cpu() - begin;
        let written = host.take_written();
        let after = host.array.metadata_counts();
        let each = |pages: u64| format!("{:.3}", pages as f64 / count as f64);
        table.add_row([
            name.to_string(),
            count.to_string(),
            each(written.pages()),
            each(written.parity),
            each(written.moved),
            each(written.metadata),
            format!("{:.2} %", written.metadata as f64 * 100.0 / written.pages() as f64),
            each(written.flushes),
            each(written.reads),
            format!("{:.2}", taken * 1e6 / count as f64),
            each(after.summaries - before.summaries),
            each(after.commits - before.commits),
            each(after.checkpoints - before.checkpoints),
        ]);
    }
    Ok(table)
}

/// Seconds of an assembly, as the median of several runs, and the host.
fn opening(arguments: &Arguments, mut host: Host) -> Result<(f64, Host)> {
    let mut times = Vec::new();
    for _ in 0..arguments.runs {
        let begin = cpu();
        host = host.reopen()?;
        times.push(cpu() - begin);
    }
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], host))
}

fn by_capacity(arguments: &Arguments, scheme: &Scheme) -> Result<Table> {
    let mut table = table(&["MiB of all members", "MiB filled", "ms", "pages read", "read a MiB filled"]);
    for part in [8, 4, 2, 1] {
        let mib = (arguments.mib / part).max(32);
        let mut host = Host::create(scheme, arguments.members, pages_of(mib))?;
        let span = host.pages() * 8 / 10;
        host.fill(span)?;
        // The first assembly writes a checkpoint, so that no log remains after it.
        let (_, host) = opening(arguments, host)?;
        let (seconds, host) = opening(arguments, host)?;
        let filled = (span * u64::from(PAGE_BYTES)) >> 20;
        table.add_row([
            (mib * arguments.members).to_string(),
            filled.to_string(),
            format!("{:.1}", seconds * 1e3),
            host.opened.pages_read.to_string(),
            format!("{:.2}", host.opened.pages_read as f64 / filled as f64),
        ]);
    }
    Ok(table)
}

fn by_length(arguments: &Arguments, scheme: &Scheme) -> Result<Table> {
    let mut table = table(&["writes since", "flush", "batches replayed", "dropped", "ms", "pages read"]);
    for (writes, every) in [(0, 0), (1_000, 0), (10_000, 0), (1_000, 32), (10_000, 32), (1_000, 1)] {
        let mut host = Host::create(scheme, arguments.members, pages_of(arguments.mib))?;
        let span = host.pages() / 2;
        host.fill(span)?;
        let mut host = host.reopen()?;
        host.write_randomly(writes, span, 32, every)?;
        let begin = cpu();
        let host = host.reopen()?;
        let seconds = cpu() - begin;
        table.add_row([
            writes.to_string(),
            if every == 0 { "none".into() } else { format!("every {every}") },
            host.opened.replayed.to_string(),
            host.opened.dropped.to_string(),
            format!("{:.1}", seconds * 1e3),
            host.opened.pages_read.to_string(),
        ]);
    }
    Ok(table)
}
