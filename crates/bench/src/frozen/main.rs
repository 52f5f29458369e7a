//! Digests of what the controller does, in simulation and in the engine, compared with those that the tree keeps:
//! `cargo run -p stripewise-bench --bin stripewise-bench-frozen -- --help`.

#![forbid(unsafe_code)]

mod digests;
mod served;
mod simulated;
mod workload;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use stripewise_array::PRESETS;

use crate::digests::{Digests, Key};

/// Repeat short runs of every scheme, and compare the digest of what each does with a file.
///
/// In simulation: every preset over three devices, intact and with trims (every row of every
/// table), and with members that fail (every request, plan and operation). In the engine: every
/// preset that serves, intact, with trims, with a failed member, and while a replacement is
/// rebuilt (every plan, and all bytes read). Each with two seeds. A preset that is refused has
/// the reason as its digest.
///
/// A change of structure alters no digest. A change of behaviour alters those that it means to:
/// write them again with --accept, and give the reason in the commit.
///
/// Exit code 1: a digest differs, is missing, or belongs to a run that no longer exists.
///
/// Examples:
///   stripewise-bench-frozen                 all runs
///   stripewise-bench-frozen --only raid6    the runs whose name contains 'raid6'
///   stripewise-bench-frozen --accept        write the digests of this build
#[derive(Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// Only runs whose name ("SCHEME DEVICE CONDITION SEED") contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Write the digests instead of comparing them.
    #[arg(long)]
    accept: bool,
    /// The file of digests.
    #[arg(long, value_name = "FILE", default_value = "crates/bench/history/frozen.tsv")]
    file: PathBuf,
    /// Threads [default: as many as the machine has].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

fn main() -> ExitCode {
    match compare(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("stripewise-bench-frozen: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the digests are those of the file.
fn compare(arguments: &Arguments) -> Result<bool> {
    let began = Instant::now();
    let keys: Vec<Key> = all().into_iter().filter(|key| key.to_string().contains(&arguments.only)).collect();
    ensure!(!keys.is_empty(), "no run's name contains '{}'; names are like `{}`", arguments.only, all()[0]);
    let jobs = arguments
        .jobs
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let found = digests_of(&keys, jobs)?;
    let kept = Digests::read(&arguments.file);
    if arguments.accept {
        // With `--only`, the other lines stay.
        let mut new = if arguments.file.exists() { kept? } else { Digests::default() };
        new.retain(|key| !key.contains(&arguments.only));
        new.extend(found);
        new.write(&arguments.file)?;
        eprintln!(
            "{}: {} digests, {} of them of this build",
            arguments.file.display(),
            new.len(),
            keys.len()
        );
        return Ok(true);
    }
    let mut kept = kept?;
    kept.retain(|key| key.contains(&arguments.only));
    let differences = kept.differences(&found);
    for difference in &differences {
        println!("{difference}");
    }
    let (runs, seconds) = (keys.len(), began.elapsed().as_secs_f64());
    eprintln!("{runs} runs, {} differ from {}; {seconds:.0} s", differences.len(), arguments.file.display());
    Ok(differences.is_empty())
}

/// Every run.
fn all() -> Vec<Key> {
    PRESETS.iter().flat_map(|&(scheme, _)| simulated::keys(scheme).chain(served::keys(scheme))).collect()
}

/// The digests of the runs `keys`, made by `jobs` threads.
fn digests_of(keys: &[Key], jobs: usize) -> Result<Digests> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new((Digests::default(), 0)));
    let shows = std::io::stderr().is_terminal();
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                let digest = digest_of(key).with_context(|| key.to_string())?;
                let (digests, count) = &mut *done.lock().expect("no thread panics with it");
                digests.insert(key, digest);
                *count += 1;
                if shows {
                    eprint!("\r{count} of {} runs", keys.len());
                }
            }
            Ok(())
        };
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a run does not panic"))
    })?;
    if shows {
        eprintln!();
    }
    Ok(done.into_inner().expect("all threads ended well").0)
}

fn digest_of(key: &Key) -> Result<String> {
    if key.device == served::DEVICE { served::digest(key) } else { simulated::digest(key) }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use super::*;

    fn kept() -> Digests {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("history/frozen.tsv");
        Digests::read(&file).unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// One run of each preset in simulation and in the engine: over the presets, all devices, conditions and seeds.
    #[test]
    fn each_preset_does_what_it_did() {
        let one_of = |(nth, &(scheme, _)): (usize, &(&'static str, &str))| {
            let simulated: Vec<Key> = simulated::keys(scheme).collect();
            let served: Vec<Key> = served::keys(scheme).collect();
            [simulated[nth % simulated.len()].clone(), served[nth % served.len()].clone()]
        };
        let keys: Vec<Key> = PRESETS.iter().enumerate().flat_map(one_of).collect();
        let mut kept = kept();
        kept.retain(|name| keys.iter().any(|key| key.to_string() == name));
        let found = digests_of(&keys, 2).unwrap_or_else(|error| panic!("{error:#}"));
        let differences = kept.differences(&found);
        assert!(
            differences.is_empty(),
            "`make frozen` compares all runs; if the change is meant, `make freeze` writes their digests:\n{}",
            differences.join("\n")
        );
    }

    /// Conditions and seeds have an effect.
    #[test]
    fn the_runs_of_a_scheme_over_a_device_differ() {
        let mut seen = BTreeMap::new();
        for (name, digest) in kept().lines().filter(|(_, digest)| !digest.starts_with("refused")) {
            let mut words = name.split(' ');
            let array = (words.next(), words.next());
            if let Some(other) = seen.insert((array, digest.to_owned()), name.to_owned()) {
                panic!("`{name}` and `{other}` have the same digest");
            }
        }
    }

    #[test]
    fn the_file_has_a_line_for_each_run_and_no_other() {
        let kept = kept();
        let lines: BTreeSet<String> = kept.lines().map(|(name, _)| name.to_owned()).collect();
        let keys: BTreeSet<String> = all().iter().map(ToString::to_string).collect();
        assert!(lines == keys, "`make freeze` writes the file again");
    }
}
