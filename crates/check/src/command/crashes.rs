//! `stripewise-check crashes`: arrays that lose power at any time and are assembled again.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::Args;
use stripewise_check::Planted;
use stripewise_check::crash::{
    Broken, Checker, Counts, CrashCase, Effort, Fault, Kind, Question, Script, Target,
};

use super::progress::Progress;
use super::runner;

/// Lose power at any time of an array's life, with any part of the unflushed writes and any members that parity tolerates, and
/// check the content of the assembled array by docs/design/fault-contract.md
#[derive(Args)]
pub(crate) struct Crashes {
    /// Crashes, drawn from seeds
    #[arg(long, default_value_t = 1_000_000)]
    count: u64,
    /// One seed, or seeds from A up to but not B, instead of a count
    #[arg(long, value_name = "A..B", value_parser = seeds, conflicts_with = "count")]
    seed: Option<Range<u64>>,
    /// Only arrays of this kind [default: all]
    #[arg(long, value_name = "NAME")]
    scheme: Option<Kind>,
    /// Run every crash of a small script (overwrite, trim, together, parts, full), or a case from a file, instead
    #[arg(long, value_name = "NAME|FILE")]
    case: Option<String>,
    /// End each scenario by destroying more copies of this structure than parity tolerates: superblocks, checkpoints,
    /// newest-checkpoint, commits, summary, stripe, record, table or bitmap
    #[arg(long, value_name = "STRUCTURE", conflicts_with = "case")]
    destroy: Option<Target>,
    /// End each scenario with this fault of redundancy (or several, with commas): returns-after-damage, returns-stale,
    /// out-during-rebuild, dead-rot, rot-apart, beyond-under-load, full-scrub, unreadable,
    /// resized or mixed-copies
    #[arg(long, value_name = "FAULT", value_delimiter = ',', conflicts_with = "case")]
    fault: Vec<Fault>,
    /// Ask these questions about redundancy: redundancy, charges, restart, recovery or repairs [default: all]
    #[arg(long, value_name = "QUESTION", value_delimiter = ',')]
    oracle: Vec<Question>,
    /// Threads [default: as many as the machine has]
    #[arg(long)]
    jobs: Option<usize>,
    /// Continue after a failure
    #[arg(long)]
    keep_going: bool,
    /// Print the case of a failure without making it smaller
    #[arg(long)]
    no_shrink: bool,
    /// Plant a bug, by its name in crates/core/src/bugs.rs (needs a build with debug assertions)
    #[arg(long, value_parser = runner::bug)]
    bug: Option<Planted>,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    match text.parse() {
        Ok(seed) => Ok(seed..seed + 1),
        Err(_) => crate::range(text),
    }
}

/// State shared by all threads.
struct Shared {
    next: AtomicU64,
    ends: AtomicBool,
    sums: Mutex<(Counts, u64, Progress)>,
    begin: Instant,
}

impl Crashes {
    /// Runs the command; false if a promise was broken.
    pub(crate) fn work(&self) -> anyhow::Result<bool> {
        let kinds = self.scheme.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
        match &self.case {
            Some(name) => match name.parse() {
                Ok(script) => Ok(self.script(&kinds, script)),
                Err(_) if !std::path::Path::new(name).exists() => {
                    bail!("{name} is neither a script nor a file")
                }
                Err(_) => self.file(name),
            },
            None => self.many(&kinds),
        }
    }

    fn checker(&self) -> Checker {
        let checker = Checker::new(match self.bug {
            Some(Planted::Array(bug)) => Some(bug),
            _ => None,
        });
        let checker = checker.corrupts(self.destroy);
        let checker = if self.fault.is_empty() { checker } else { checker.strikes(&self.fault) };
        if self.oracle.is_empty() { checker } else { checker.asks(&self.oracle) }
    }

    /// The options that choose faults and questions, for a replay.
    fn options(&self) -> String {
        let list = |option: &str, names: Vec<&str>| match names.is_empty() {
            true => String::new(),
            false => format!(" --{option} {}", names.join(",")),
        };
        list("fault", self.fault.iter().map(|fault| fault.name()).collect())
            + &list("oracle", self.oracle.iter().map(|question| question.name()).collect())
    }

    fn file(&self, file: &str) -> anyhow::Result<bool> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        let case = CrashCase::from_toml(file, &text)?;
        let result = self.checker().case(&case);
        match &result {
            Ok(counts) => println!("{file} passes\n{counts}"),
            Err(what) => println!("{file} fails: {what}"),
        }
        Ok(result.is_ok())
    }

    /// Runs every crash of a script.
    fn script(&self, kinds: &[Kind], script: Script) -> bool {
        let mut passes = true;
        for kind in kinds {
            let name = format!("{}, {}", kind.name(), script.name());
            let (begin, mut progress) = (Instant::now(), Progress::new());
            let report =
                &mut |counts: &Counts| progress.show(|| format!("{name}: {} crashes", counts.crashes));
            let result = self.checker().script(*kind, script, Effort::ALL, report);
            match result {
                Ok(counts) => println!("{name}: all pass, {:.1} s\n{counts}", begin.elapsed().as_secs_f64()),
                Err(broken) => {
                    let replay = format!("--scheme {} --case {}", kind.name(), script.name());
                    self.print_failure(&mut self.checker(), &name, &broken, &replay);
                    passes = false;
                }
            }
        }
        passes
    }

    /// Prints the case of a failure, the violation, and the command that reproduces it.
    fn print_failure(&self, checker: &mut Checker, name: &str, broken: &Broken, replay: &str) {
        let small = if self.no_shrink { broken.clone() } else { checker.shrink(broken) };
        let profile = if cfg!(debug_assertions) { "" } else { " --release" };
        let bug = self.bug.map(|bug| format!(" --bug {}", bug.name())).unwrap_or_default();
        let command = format!("cargo run{profile} -p stripewise-check -- crashes {replay}{bug}");
        let line = |text: &str| text.replace('\n', "\n# ");
        println!("# {}\n{}", line(&small.what), small.case.to_toml());
        println!("{name} fails: {}; replay: {command}", broken.what);
    }

    /// Runs seeds until the number of crashes is reached.
    fn many(&self, kinds: &[Kind]) -> anyhow::Result<bool> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let seeds = self.seed.clone().unwrap_or(0..u64::MAX);
        let shared = Shared {
            next: AtomicU64::new(seeds.start),
            ends: AtomicBool::new(false),
            sums: Mutex::new((Counts::default(), 0, Progress::new())),
            begin: Instant::now(),
        };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.unwrap_or(threads).max(1) {
                scope.spawn(|| self.job(kinds, seeds.end, &shared));
            }
        });
        let (counts, failed, _) = shared.sums.into_inner().unwrap_or_else(PoisonError::into_inner);
        let seconds = shared.begin.elapsed().as_secs_f64();
        println!("{counts}");
        let rate = counts.crashes as f64 / seconds;
        println!("{failed} lives broke a promise; {seconds:.1} s, {rate:.0} crashes a second");
        Ok(failed == 0)
    }

    fn job(&self, kinds: &[Kind], end: u64, shared: &Shared) {
        let mut checker = self.checker();
        while !shared.ends.load(Ordering::Relaxed) {
            let seed = shared.next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            let result = checker.seed(seed, kinds);
            let mut sums = shared.sums.lock().unwrap_or_else(PoisonError::into_inner);
            let (counts, failed, progress) = &mut *sums;
            match result {
                Ok(more) => counts.add(&more),
                Err(broken) => {
                    *failed += 1;
                    let mut only =
                        self.scheme.map_or(String::new(), |kind| format!(" --scheme {}", kind.name()));
                    if let (Some(_), Some(corruption)) = (self.destroy, broken.case.corruption) {
                        only += &format!(" --destroy {}", corruption.target.name());
                    }
                    only += &self.options();
                    self.print_failure(
                        &mut checker,
                        &format!("seed {seed}"),
                        &broken,
                        &format!("--seed {seed}{only}"),
                    );
                    shared.ends.fetch_or(!self.keep_going, Ordering::Relaxed);
                }
            }
            let crashes = counts.crashes;
            let is_enough = self.seed.is_none() && crashes >= self.count;
            shared.ends.fetch_or(is_enough, Ordering::Relaxed);
            let seconds = shared.begin.elapsed().as_secs_f64().max(0.001);
            let (goal, done) = match &self.seed {
                None => (format!("{} crashes", self.count), crashes as f64 / self.count as f64),
                Some(seeds) => {
                    let (from, all) = (seeds.start, seeds.end - seeds.start);
                    (format!("{all} seeds"), (seed - from) as f64 / all as f64)
                }
            };
            progress.show(|| {
                let rate = crashes as f64 / seconds;
                format!("{} of {goal}: {crashes} crashes, {rate:.0}/s, {failed} failed", bar(done))
            });
        }
    }
}

/// A progress bar; it is full when `done` is 1.
fn bar(done: f64) -> String {
    const WIDTH: usize = 20;
    let full = (done.clamp(0.0, 1.0) * WIDTH as f64) as usize;
    format!("[{}{}] {:.0} %", "#".repeat(full), ".".repeat(WIDTH - full), done.clamp(0.0, 1.0) * 100.0)
}
