//! Runs one case under supervision, and prints how to reproduce a failure.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use stripewise_check::{Case, Failure, Options, Planted, Summary, Tracer, run, shrink};

/// Settings for running cases.
#[derive(Clone, Copy)]
pub(crate) struct Runner {
    /// The planted bug.
    pub(crate) bug: Option<Planted>,
    /// Whether every event is printed.
    pub(crate) verbose: bool,
    /// Whether a failing case is shrunk.
    pub(crate) shrinks: bool,
}

thread_local! {
    /// Source location of the last panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The current runs, by job: the start of each, and the line to print if it never ends.
static RUNNING: Mutex<BTreeMap<usize, (Instant, String)>> = Mutex::new(BTreeMap::new());

/// A run takes milliseconds. A run of this length is in an endless loop within one event.
const HANGS: Duration = Duration::from_secs(120);

/// Starts the supervision of runs that never end, and records the source locations of panics.
pub(crate) fn guard() {
    std::thread::spawn(watch);
    // A panic of the controller is a finding like any other; the report includes its location.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        PLACE.set(place.unwrap_or_default());
    }));
}

fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, line)) = running.values().find(|(begin, _)| begin.elapsed() > HANGS) {
            println!("{line}");
            std::process::exit(1);
        }
    }
}

/// The bug with this name.
pub(crate) fn bug(name: &str) -> Result<Planted, String> {
    if cfg!(not(debug_assertions)) {
        return Err("needs debug assertions: build without `--release`, or with `--profile checking`".into());
    }
    let known = [Planted::all(), Planted::of_metadata(), Planted::rare()].concat();
    let found = known.iter().find(|(known, _)| known.as_str() == name).map(|(_, bug)| *bug);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        format!("no such bug; there are {}", names.join(", "))
    })
}

impl Runner {
    /// Runs a case as one of several jobs. `name` and `replay` are printed if it never ends.
    pub(crate) fn run(
        &self,
        job: usize,
        case: &Case,
        name: &str,
        replay: &str,
        tracer: Option<Tracer>,
    ) -> Result<Summary, Failure> {
        PLACE.take();
        let hangs = Failure { event: 0, what: format!("no end of one event in {} s", HANGS.as_secs()) };
        let running = || RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running().insert(job, (Instant::now(), self.line(name, &hangs, replay)));
        let result = run(case, Options { tracer, bug: self.bug });
        running().remove(&job);
        result.map_err(|mut failure| {
            failure.what.push_str(&PLACE.take());
            failure
        })
    }

    /// Runs one case, and prints all information about a failure.
    pub(crate) fn one(&self, case: &Case, name: &str, replay: &str) -> bool {
        let tracer: Option<Tracer> = self.verbose.then(|| {
            println!("{}", Case { requests: Vec::new(), ..case.clone() }.to_toml());
            let print = |event: u64, line: &str| println!("[{event}] {line}");
            Box::new(print) as Tracer
        });
        let result = self.run(0, case, name, replay, tracer);
        match &result {
            Ok(summary) => println!("{name} passes: {summary:?}"),
            Err(failure) => {
                if self.shrinks {
                    let fails = |case: &Case| self.run(0, case, name, replay, None).err();
                    let small = shrink(case, 20_000, |case| fails(case).is_some());
                    let failure = fails(&small).unwrap_or_else(|| failure.clone());
                    println!("# {}\n{}", failure.to_string().replace('\n', "\n# "), small.to_toml());
                }
                println!("{}", self.line(name, failure, replay));
            }
        }
        result.is_ok()
    }

    /// The violation, and the command that reproduces it.
    pub(crate) fn line(&self, name: &str, failure: &Failure, replay: &str) -> String {
        // Failed assertions of the controller are reproduced in the build profile in which they occurred.
        let profile = if cfg!(debug_assertions) { "" } else { " --release" };
        let bug = self.bug.map(|bug| format!(" --bug {}", bug.name())).unwrap_or_default();
        let command = format!("cargo run{profile} -p stripewise-check -- {replay}{bug} --verbose");
        format!("{name} fails at {failure}; replay: {command}")
    }
}
