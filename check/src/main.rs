//! Runs seeds through the checking simulation: `stripewise-check --seeds 0..1000`, `stripewise-check --seed 7
//! --verbose`.

use std::cell::RefCell;
use std::io::{IsTerminal as _, Write as _};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Parser;
use stripewise_check::{Case, Failure, Options, Planted, Summary, Tracer, run, shrink, storm};

/// Runs the array controller over modelled flash with real bytes, colliding requests and faults, and checks
/// every promise of the fault contract (docs/checking.md). Exit code 1: a promise was broken; the last line
/// tells how to replay it.
#[derive(Parser)]
#[command(name = "stripewise-check")]
struct Arguments {
    /// One seed
    #[arg(long, group = "what")]
    seed: Option<u64>,
    /// Seeds from A up to but not B, to the first that fails
    #[arg(long, group = "what", value_name = "A..B", value_parser = range)]
    seeds: Option<Range<u64>>,
    /// A case from a file, as --shrink writes it
    #[arg(long, group = "what", value_name = "FILE")]
    case: Option<String>,
    /// So many minutes of seeds, from --from on
    #[arg(long, group = "what")]
    minutes: Option<f64>,
    /// First seed for --minutes
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Go on after a seed that fails
    #[arg(long)]
    keep_going: bool,
    /// Print every event
    #[arg(long, short)]
    verbose: bool,
    /// Make a failing case smaller and print it as TOML, for --case
    #[arg(long)]
    shrink: bool,
    /// Plant a bug, by its name in array/src/bugs.rs or flash/src/bugs.rs (needs the feature planted-bugs)
    #[arg(long, value_parser = bug)]
    bug: Option<Planted>,
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let parts = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    parts.ok_or_else(|| "expected two numbers such as 0..1000".into())
}

fn bug(name: &str) -> Result<Planted, String> {
    if cfg!(not(feature = "planted-bugs")) {
        return Err("needs `--features planted-bugs`".into());
    }
    let known = Planted::all();
    let found = known.iter().find(|(known, _)| known.as_str() == name).map(|(_, bug)| *bug);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        format!("no such bug; there are {}", names.join(", "))
    })
}

thread_local! {
    /// Where the last panic happened.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The run under way: when it began, and the line that is printed if it never ends.
static RUNNING: Mutex<Option<(Instant, String)>> = Mutex::new(None);

/// A run takes milliseconds. One that takes this long is caught in a loop within one event.
const HANGS: Duration = Duration::from_secs(120);

fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        if let Some((begin, line)) = &*RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
            && begin.elapsed() > HANGS
        {
            println!("{line}");
            std::process::exit(1);
        }
    }
}

fn main() -> ExitCode {
    std::thread::spawn(watch);
    // A panic of the controller is a finding like any other: its place is told with it.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        PLACE.set(place.unwrap_or_default());
    }));
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
    /// Does what was asked for; false if a promise was broken.
    fn work(&self) -> anyhow::Result<bool> {
        if let Some(name) = std::env::var_os("STRIPEWISE_KERNELS") {
            name.to_string_lossy().parse::<stripewise_code::Level>()?.force()?;
        }
        if let Some(file) = &self.case {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            let case = Case::from_toml(file, &text)?;
            return Ok(self.one(&case, &format!("case {file}"), &format!("--case {file}")));
        }
        if let Some(seed) = self.seed {
            return Ok(self.one(&storm::case(seed), &format!("seed {seed}"), &format!("--seed {seed}")));
        }
        if let Some(seeds) = &self.seeds {
            return Ok(self.many(seeds.clone(), Duration::MAX));
        }
        let Some(minutes) = self.minutes else {
            bail!("nothing to do: give --seed, --seeds, --minutes or --case");
        };
        Ok(self.many(self.from..u64::MAX, Duration::try_from_secs_f64(minutes * 60.0)?))
    }

    /// Runs a case; `name` and `replay` are told if it never ends.
    fn run(&self, case: &Case, name: &str, replay: &str, tracer: Option<Tracer>) -> Result<Summary, Failure> {
        PLACE.take();
        let hangs = Failure { event: 0, what: format!("no end of one event in {} s", HANGS.as_secs()) };
        let set = |state| *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = state;
        set(Some((Instant::now(), self.line(name, &hangs, replay))));
        let result = run(case, Options { tracer, bug: self.bug });
        set(None);
        result.map_err(|mut failure| {
            failure.what.push_str(&PLACE.take());
            failure
        })
    }

    /// One case, with all that can be told about it.
    fn one(&self, case: &Case, name: &str, replay: &str) -> bool {
        let tracer: Option<Tracer> = self.verbose.then(|| {
            println!("{}", Case { requests: Vec::new(), ..case.clone() }.to_toml());
            let print = |event: u64, line: &str| println!("[{event}] {line}");
            Box::new(print) as Tracer
        });
        let result = self.run(case, name, replay, tracer);
        match &result {
            Ok(summary) => println!("{name} passes: {summary:?}"),
            Err(failure) => {
                if self.shrink {
                    let fails = |case: &Case| self.run(case, name, replay, None).err();
                    let small = shrink(case, 20_000, |case| fails(case).is_some());
                    let failure = fails(&small).unwrap_or_else(|| failure.clone());
                    println!("# {}\n{}", failure.to_string().replace('\n', "\n# "), small.to_toml());
                }
                println!("{}", self.line(name, failure, replay));
            }
        }
        result.is_ok()
    }

    /// Seeds in turn, until one fails or the time is up.
    fn many(&self, seeds: Range<u64>, limit: Duration) -> bool {
        let begin = Instant::now();
        let (mut count, mut failed, mut events, mut told) = (0, 0, 0, Duration::ZERO);
        let shows = std::io::stderr().is_terminal();
        for seed in seeds {
            let (name, replay) = (format!("seed {seed}"), format!("--seed {seed}"));
            match self.run(&storm::case(seed), &name, &replay, None) {
                Ok(summary) => events += summary.events,
                Err(failure) => {
                    println!("{}", self.line(&name, &failure, &replay));
                    failed += 1;
                    if !self.keep_going {
                        return false;
                    }
                }
            }
            count += 1;
            let passed = begin.elapsed();
            if passed >= told + Duration::from_secs(if shows { 1 } else { 60 }) {
                told = passed;
                let end = if shows { "\x1b[K\r" } else { "\n" };
                eprint!("seed {seed}, {} s{end}", passed.as_secs());
                std::io::stderr().flush().ok();
            }
            if passed >= limit {
                break;
            }
        }
        let passed = begin.elapsed().as_secs_f64();
        println!("{} of {count} seeds pass: {events} events in {passed:.1} s", count - failed);
        failed == 0
    }

    /// What broke, and how to see it again.
    fn line(&self, name: &str, failure: &Failure, replay: &str) -> String {
        // Assertions of the controller are checked in the profile that they were found in.
        let profile = if cfg!(debug_assertions) { "" } else { " --release" };
        let feature = if cfg!(feature = "planted-bugs") { " --features planted-bugs" } else { "" };
        let bug = self.bug.map(|bug| format!(" --bug {}", bug.name())).unwrap_or_default();
        let command = format!("cargo run{profile} -p stripewise-check{feature} -- {replay}{bug} --verbose");
        format!("{name} fails at {failure}; replay: {command}")
    }
}
