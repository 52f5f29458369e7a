//! Speed of the simulator, compared with a minimal yardstick: `cargo run --release -p stripewise-bench -- --help`.

#![forbid(unsafe_code)]

mod cases;
mod measure;
mod yardstick;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use comfy_table::Table;

use crate::measure::Measured;

/// Measure the simulator's speed, tables on, beside a bare yardstick in the same run.
///
/// Every case is run several times, in turn with the yardstick: a page map, greedy collection and an event queue,
/// without controller, bus, tables or options. Given is the best run of each; times are processor time.
///
/// Examples:
///   stripewise-bench                    all cases
///   stripewise-bench --only raid5-6ch   one case
///   stripewise-bench --runs 3 --json    fewer runs, for a script
#[derive(Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// Run only the cases whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Runs of each case, and of its yardstick.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Leave the yardstick out (for profiling).
    #[arg(long)]
    no_yardstick: bool,
    /// Print one JSON object a case.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    match bench(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stripewise-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<()> {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header([
        "case",
        "req/CPU-s",
        "aim",
        "peer",
        "ns/flash op",
        "of yardstick",
        "programs a member page",
        "requests",
    ]);
    let mut notes = Vec::new();
    for case in cases::all() {
        if arguments.only.as_ref().is_some_and(|only| !case.name.contains(only.as_str())) {
            continue;
        }
        eprintln!("{}: {}", case.name, case.about);
        let measured = measure::best_of(&case, arguments.runs, !arguments.no_yardstick)?;
        if arguments.json {
            println!("{}", measured.json(&case));
            continue;
        }
        table.add_row(row(&case, &measured));
        notes.push(format!("- `{}`: {}.", case.name, case.about));
    }
    if !arguments.json {
        println!("{table}\n\n{}", notes.join("\n"));
    }
    Ok(())
}

fn row(case: &cases::Benchmark, measured: &Measured) -> Vec<String> {
    let thousands = |rate: f64| format!("{:.0} k", rate / 1000.0);
    vec![
        case.name.into(),
        thousands(measured.requests_per_second(case)),
        case.aim.map_or_else(|| "-".into(), |aim| thousands(aim as f64)),
        case.peer.map_or_else(|| "-".into(), |(name, rate)| format!("{name} {}", thousands(rate as f64))),
        format!("{:.1}", measured.ns_per_operation()),
        measured.ratio().map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")),
        format!("{:.3}", measured.write_amplification),
        case.config.limit_requests.to_string(),
    ]
}
