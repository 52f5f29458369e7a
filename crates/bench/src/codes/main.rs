//! Speed of the parity codes, compared with ISA-L and a crate:
//! `cargo run --release -p stripewise-bench --bin stripewise-bench-codes -- --help`.

#![deny(unsafe_code)]

mod contenders;
mod isal;
mod row;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use comfy_table::Table;
use stripewise_code::Level;

use crate::contenders::{Contender, Role};
use crate::isal::Isal;
use crate::row::{CodeRow, Shape, Task};

/// Measure the parity codes beside ISA-L, reed-solomon-simd and memcpy.
///
/// Everyone works on the same members in the same memory, in turn, pinned to one core; given is the median over the
/// rounds, in GB of source a second of processor time. Before anything is measured, the bytes that all make are
/// compared. ISA-L is loaded from the system (`apt install libisal2`) and left out if it is not there.
///
/// Examples:
///   stripewise-bench-codes                      every shape, size and task
///   stripewise-bench-codes --only 8+2           one shape
///   stripewise-bench-codes --size 4096          one size
///   STRIPEWISE_KERNELS=avx2 stripewise-bench-codes   portable, neon, avx2 or avx512 instead of the best
#[derive(Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// Only this shape, of 4+1, 8+1, 4+2, 8+2 and 16+2.
    #[arg(long)]
    only: Option<String>,
    /// Only chunks of this number of bytes, a multiple of 64.
    #[arg(long)]
    size: Option<usize>,
    /// Rounds, of which the median is given.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,
    /// Milliseconds that each contender works in each round.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    milliseconds: u32,
    /// The core to work on.
    #[arg(long, default_value_t = 0)]
    core: usize,
}

const SHAPES: [(usize, usize); 5] = [(4, 1), (8, 1), (4, 2), (8, 2), (16, 2)];
const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];
/// Ratios within this tolerance count as equal.
const TOLERANCE: f64 = 0.05;

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stripewise-bench-codes: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    if let Some(name) = std::env::var_os("STRIPEWISE_KERNELS") {
        name.to_string_lossy().parse::<Level>()?.force()?;
    }
    pin(arguments.core).with_context(|| format!("cannot work on core {}", arguments.core))?;
    let isal = Isal::load();
    if let Err(error) = &isal {
        eprintln!("ISA-L is left out: {error:#}");
    }
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header([
        "row",
        "member",
        "task",
        "stripewise",
        "ISA-L",
        "by",
        "crates",
        "memcpy",
        "of the best",
    ]);
    let sizes = arguments.size.map_or_else(|| SIZES.to_vec(), |size| vec![size]);
    let mut ratios = Vec::new();
    for (data, parity) in SHAPES {
        for &bytes in &sizes {
            ensure!(bytes > 0 && bytes.is_multiple_of(64), "--size is a multiple of 64");
            let shape = Shape { data, parity, bytes };
            if arguments.only.as_ref().is_some_and(|only| *only != shape.to_string()) {
                continue;
            }
            for task in Task::ALL.into_iter().filter(|&task| task != Task::DecodeTwo || parity == 2) {
                let found = measure(shape, task, isal.as_ref().ok(), arguments)
                    .with_context(|| format!("{shape}, {} of {bytes} bytes", task.name()))?;
                eprintln!("{shape} {bytes} {}", task.name());
                ratios.extend(found.of_the_best());
                table.add_row(found.row(shape, task));
            }
        }
    }
    println!("{table}\n");
    let slower = ratios.iter().filter(|&&ratio| ratio < 1.0 - TOLERANCE).count();
    println!(
        "Kernels: {}. Slower than the best opponent by more than {:.0} %: {slower} of {} rows.",
        Level::current(),
        100.0 * TOLERANCE,
        ratios.len()
    );
    Ok(())
}

/// GB per second of each contender.
struct Medians(Vec<(&'static str, Role, f64)>);

impl Medians {
    fn best(&self, role: Role) -> Option<(&'static str, f64)> {
        let of_role = self.0.iter().filter(|(_, of, _)| *of == role).map(|&(name, _, speed)| (name, speed));
        of_role.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Our speed divided by that of the fastest opponent.
    fn of_the_best(&self) -> Option<f64> {
        let opponents = [Role::Isal, Role::Crate].into_iter().filter_map(|role| self.best(role));
        let best = opponents.map(|(_, speed)| speed).max_by(f64::total_cmp)?;
        Some(self.best(Role::Ours)?.1 / best)
    }

    fn row(&self, shape: Shape, task: Task) -> Vec<String> {
        let speed = |role| self.best(role).map_or_else(|| "–".into(), |(_, speed)| format!("{speed:.1}"));
        let by = |role| self.best(role).map_or_else(|| "–".into(), |(name, _)| format!("`{name}`"));
        let size = if shape.bytes < 1 << 20 { format!("{} KiB", shape.bytes >> 10) } else { "1 MiB".into() };
        vec![
            shape.to_string(),
            if shape.bytes.is_multiple_of(1024) { size } else { format!("{} B", shape.bytes) },
            task.name().into(),
            speed(Role::Ours),
            speed(Role::Isal),
            by(Role::Isal),
            speed(Role::Crate),
            speed(Role::Memcpy),
            self.of_the_best().map_or_else(|| "–".into(), |ratio| format!("{ratio:.2}")),
        ]
    }
}

fn measure(shape: Shape, task: Task, isal: Option<&Isal>, arguments: &Arguments) -> Result<Medians> {
    let mut row = CodeRow::new(shape);
    let mut encoder = contenders::all(&mut row, Task::Encode, isal)?;
    encoder[0].run(&mut row, 1);
    let mut all = contenders::all(&mut row, task, isal)?;
    all.iter_mut().try_for_each(|contender| check(contender, &mut row, task))?;
    let budget = f64::from(arguments.milliseconds) * 1e-3;
    let calls: Vec<u64> = all.iter_mut().map(|contender| calibrate(contender, &mut row, budget)).collect();
    let mut seconds = vec![Vec::new(); all.len()];
    for _ in 0..arguments.rounds {
        for (index, contender) in all.iter_mut().enumerate() {
            seconds[index].push(timed(contender, &mut row, calls[index]) / calls[index] as f64);
        }
    }
    let speed = |(contender, mut seconds): (Contender<'_>, Vec<f64>)| {
        seconds.sort_by(f64::total_cmp);
        let bytes =
            if contender.kind == Role::Memcpy { shape.data * shape.bytes } else { shape.source_bytes(task) };
        (contender.name, contender.kind, bytes as f64 * 1e-9 / seconds[seconds.len() / 2])
    };
    Ok(Medians(all.into_iter().zip(seconds).map(speed).collect()))
}

/// Runs a contender once, compares its output with ours, and restores the earlier content.
fn check(contender: &mut Contender<'_>, row: &mut CodeRow, task: Task) -> Result<()> {
    let own_parity = contender.kind == Role::Crate && matches!(task, Task::Encode | Task::Delta);
    if contender.kind == Role::Memcpy {
        return Ok(());
    }
    let written = row.shape().written(task);
    let before = row.bytes_of(&written);
    let run = |contender: &mut Contender<'_>, row: &mut CodeRow| {
        if matches!(task, Task::DecodeOne | Task::DecodeTwo | Task::Encode) {
            row.put(&written, &vec![vec![0x5A; row.shape().bytes]; written.len()]);
        }
        contender.run(row, 1);
        let after = row.bytes_of(&written);
        row.put(&written, &before);
        after
    };
    let found = run(contender, row);
    let mut ours = contenders::all(row, task, None)?.swap_remove(0);
    ensure!(
        own_parity || found == run(&mut ours, row),
        "{} makes other bytes than stripewise",
        contender.name
    );
    ensure!(task == Task::Delta || own_parity || found == before, "{} makes wrong bytes", contender.name);
    Ok(())
}

/// The number of calls that take about `budget` seconds.
fn calibrate(contender: &mut Contender<'_>, row: &mut CodeRow, budget: f64) -> u64 {
    let mut calls = 1;
    loop {
        let seconds = timed(contender, row, calls);
        if seconds > budget / 4.0 {
            return ((calls as f64 * budget / seconds) as u64).max(1);
        }
        calls *= 2;
    }
}

fn timed(contender: &mut Contender<'_>, row: &mut CodeRow, calls: u64) -> f64 {
    let start = cpu_seconds();
    contender.run(row, calls);
    cpu_seconds() - start
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn pin(core: usize) -> Result<()> {
    ensure!(core < rustix::thread::CpuSet::MAX_CPU, "there is no such core");
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(core);
    Ok(rustix::thread::sched_setaffinity(None, &cores)?)
}
