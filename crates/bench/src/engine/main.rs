//! Speed of the engine over real files, compared with plain io_uring on files of the same folder:
//! `cargo run --release -p stripewise-bench --bin stripewise-bench-engine -- --help`.

#![deny(unsafe_code)]

mod bed;
mod beside;
mod cases;
mod fio;
mod load;
mod raw;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

/// Measure the engine in process, over files of a folder, beside plain io_uring.
///
/// Each case and what it is compared with run in turn, on one processor; given is the median over the runs. Counts of member
/// bytes and reads are exact. The array is filled to 80 % and overwritten at random until collection has found its pace.
///
/// Examples:
///   stripewise-bench-engine                                       files in /dev/shm, five of 512 MiB
///   stripewise-bench-engine --folder /var/tmp --runs 3            files on a disk, past the page cache (O_DIRECT)
///   stripewise-bench-engine --yardstick fio --only "1 MiB"         beside fio instead of io_uring of this program's own
///   stripewise-bench-engine --scheme durable-raid6-was --members 6
///   stripewise-bench-engine --folder /var/tmp --beside raid5.toml --only random    beside another scheme
#[derive(Clone, Debug, Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// The folder of the files; they are removed at the end.
    #[arg(long, value_name = "DIR", default_value = "/dev/shm")]
    folder: PathBuf,
    /// The scheme: a preset's name or a file, and settings behind commas.
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "durable-was,elastic.reserve=25%")]
    scheme: String,
    /// The yardstick: the same requests on files without an array.
    #[arg(long, value_enum, default_value_t = Yardstick::IoUring)]
    yardstick: Yardstick,
    /// Another scheme to compare with, instead of the yardstick.
    #[arg(long, value_name = "NAME|FILE.toml")]
    beside: Option<String>,
    /// Members.
    #[arg(long, alias = "elements", default_value_t = 5, value_parser = clap::value_parser!(u16).range(3..=64))]
    members: u16,
    /// MiB of a member.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u64).range(64..=65536))]
    mib: u64,
    /// Runs of each case, of which the median is given.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// Requests of a run.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1000..))]
    requests: u64,
    /// Only cases whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// What an array is measured beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Yardstick {
    /// This program, by io_uring: the least that the kernel takes for it.
    IoUring,
    /// fio, by io_uring, as it opens files.
    Fio,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stripewise-bench-engine: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    ensure!(
        arguments.folder.is_dir(),
        "`{}` is no folder; name one with --folder",
        arguments.folder.display()
    );
    // One thread on one processor, because migration costs more than the measured work.
    let mut one = CpuSet::new();
    one.set(sched_getcpu());
    sched_setaffinity(None, &one)?;
    match &arguments.beside {
        None => cases::run(arguments),
        Some(other) => beside::run(arguments, other),
    }
}
