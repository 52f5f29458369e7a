//! Runs seeds through the checking simulation: `stripewise-check --seeds 0..1000`, `stripewise-check --seed 7
//! --verbose`.

mod command;

use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};
use stripewise_check::{Case, Planted, Summary, stress};

use command::compose::Compose;
use command::crashes::Crashes;
use command::kill::Kill;
use command::progress::Progress;
use command::runner::{self, Runner};

/// Run the array controller over modelled flash with real bytes, concurrent requests and faults, and check every promise of
/// the fault contract (docs/evidence/checking.md). Exit code 1: a promise was broken; the last line is the command that
/// replays the failure.
#[derive(Parser)]
#[command(name = "stripewise-check", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// One seed
    #[arg(long, group = "what")]
    seed: Option<u64>,
    /// Seeds from A up to but not B; stops at the first failure
    #[arg(long, group = "what", value_name = "A..B", value_parser = range)]
    seeds: Option<Range<u64>>,
    /// A case from a file, as --shrink writes it
    #[arg(long, group = "what", value_name = "FILE")]
    case: Option<String>,
    /// Run seeds for this number of minutes, from --from on
    #[arg(long, group = "what")]
    minutes: Option<f64>,
    /// First seed for --minutes
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Continue after a seed that fails
    #[arg(long)]
    keep_going: bool,
    /// Print every event
    #[arg(long, short)]
    verbose: bool,
    /// Make a failing case smaller and print it as TOML, for --case
    #[arg(long)]
    shrink: bool,
    /// Plant a bug, by its name in crates/core/src/bugs.rs or crates/flash/src/bugs.rs (needs a build with debug assertions)
    #[arg(long, value_parser = runner::bug)]
    bug: Option<Planted>,
}

#[derive(Subcommand)]
enum Command {
    Compose(Compose),
    Crashes(Crashes),
    Kill(Kill),
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let parts = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    parts.ok_or_else(|| "expected two numbers such as 0..1000".into())
}

fn main() -> ExitCode {
    runner::guard();
    match Arguments::parse().work() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

impl Arguments {
    /// Runs the command; false if a promise was broken.
    fn work(&self) -> anyhow::Result<bool> {
        if let Some(name) = std::env::var_os("STRIPEWISE_KERNELS") {
            name.to_string_lossy().parse::<stripewise_code::Level>()?.force()?;
        }
        match &self.command {
            Some(Command::Compose(compose)) => return compose.work(),
            Some(Command::Crashes(crashes)) => return crashes.work(),
            Some(Command::Kill(kill)) => return kill.work(),
            None => {}
        }
        let runner = Runner { bug: self.bug, verbose: self.verbose, shrinks: self.shrink };
        if let Some(file) = &self.case {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            let case = Case::from_toml(file, &text)?;
            return Ok(runner.one(&case, &format!("case {file}"), &format!("--case {file}")));
        }
        if let Some(seed) = self.seed {
            return Ok(runner.one(&stress::case(seed), &format!("seed {seed}"), &format!("--seed {seed}")));
        }
        if let Some(seeds) = &self.seeds {
            return Ok(self.many(&runner, seeds.clone(), Duration::MAX));
        }
        let Some(minutes) = self.minutes else {
            bail!("nothing to do: give --seed, --seeds, --minutes or --case");
        };
        Ok(self.many(&runner, self.from..u64::MAX, Duration::try_from_secs_f64(minutes * 60.0)?))
    }

    /// Runs seeds in turn, until one fails or the time is up.
    fn many(&self, runner: &Runner, seeds: Range<u64>, limit: Duration) -> bool {
        let begin = Instant::now();
        let (mut count, mut failed, mut all) = (0, 0, Summary::default());
        let mut progress = Progress::new();
        for seed in seeds {
            let (name, replay) = (format!("seed {seed}"), format!("--seed {seed}"));
            match runner.run(0, &stress::case(seed), &name, &replay, None) {
                Ok(summary) => all.add(&summary),
                Err(failure) => {
                    println!("{}", runner.line(&name, &failure, &replay));
                    failed += 1;
                    if !self.keep_going {
                        return false;
                    }
                }
            }
            count += 1;
            let passed = begin.elapsed();
            progress.show(|| format!("seed {seed}"));
            if passed >= limit {
                break;
            }
        }
        let passed = begin.elapsed().as_secs_f64();
        let Summary { events, over_limit, kept_over_limit, .. } = all;
        println!("{} of {count} seeds pass: {events} events in {passed:.1} s", count - failed);
        println!("{over_limit} members failed by the error limit, {kept_over_limit} kept beyond it");
        failed == 0
    }
}
