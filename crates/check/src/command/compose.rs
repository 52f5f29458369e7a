//! `stripewise-check compose`: combinations of members of all axes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use clap::Args;
use stripewise_base::prng::Prng;
use stripewise_check::composition::{Combination, Pairs, Space, case, covering, shuffle, table};
use stripewise_check::{Planted, Summary};

use super::progress::Progress;
use super::runner::{self, Runner};

/// Runs combinations of members of all axes: a covering array in which any three members occur together that may, or all that
/// are accepted (docs/reference/composition.md)
#[derive(Args)]
pub(crate) struct Compose {
    /// Run all accepted combinations instead of the covering array, in a shuffled order, so that each part of them is a
    /// sample
    #[arg(long, group = "what")]
    all: bool,
    /// One combination, AXIS=MEMBER,...; axes that are not named have their first member
    #[arg(long, group = "what", value_name = "COMBINATION", value_parser = Combination::parse)]
    of: Option<Combination>,
    /// Print docs/reference/composition.md
    #[arg(long, group = "what")]
    table: bool,
    /// Print the combinations and run none
    #[arg(long)]
    list: bool,
    /// Only rows from A up to but not B
    #[arg(long, value_name = "A..B", value_parser = crate::range)]
    rows: Option<std::ops::Range<u64>>,
    /// The first seed of each row; even seeds lose a member, odd seeds lose power
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Seeds of each row [default: 1 with --all or --of, else 4]
    #[arg(long)]
    seeds: Option<u64>,
    /// Threads [default: as many as the machine has]
    #[arg(long)]
    jobs: Option<usize>,
    /// Stop after this number of minutes
    #[arg(long)]
    minutes: Option<f64>,
    /// Continue after a row that fails
    #[arg(long)]
    keep_going: bool,
    /// Print every event (of one combination)
    #[arg(long, short, requires = "of")]
    verbose: bool,
    /// Make a failing case smaller and print it as TOML, for --case (of one combination)
    #[arg(long, requires = "of")]
    shrink: bool,
    /// Plant a bug
    #[arg(long, value_parser = runner::bug)]
    bug: Option<Planted>,
}

/// Totals over rows.
#[derive(Default)]
struct Sums {
    runs: u64,
    failed: u64,
    all: Summary,
}

impl Compose {
    /// Runs the command; false if a promise was broken.
    pub(crate) fn work(&self) -> anyhow::Result<bool> {
        let space = Space::new();
        if let Some(of) = &self.of {
            return self.one(&space, of);
        }
        let pairs = Pairs::new(&space);
        if self.table {
            print!("{}", table::document(&space, &pairs));
            return Ok(true);
        }
        let rows = self.rows(&pairs);
        if self.list {
            rows.iter().for_each(|(number, row)| println!("{number} {row}"));
            return Ok(true);
        }
        self.many(&space, &rows)
    }

    /// The requested rows, with their numbers.
    fn rows(&self, pairs: &Pairs) -> Vec<(u64, Combination)> {
        let mut rows = Vec::new();
        if self.all {
            pairs.each(|combination| {
                rows.push(combination);
                true
            });
            shuffle(&mut rows, &mut Prng::stream(0, 0x616C_6C6C));
        } else {
            rows = covering(pairs);
        }
        let requested = self.rows.clone().unwrap_or(0..u64::MAX);
        (0..).zip(rows).filter(|(number, _)| requested.contains(number)).collect()
    }

    fn seeds(&self, default: u64) -> std::ops::Range<u64> {
        self.seed..self.seed + self.seeds.unwrap_or(default)
    }

    fn runner(&self) -> Runner {
        Runner { bug: self.bug, verbose: self.verbose, shrinks: self.shrink }
    }

    fn one(&self, space: &Space, of: &Combination) -> anyhow::Result<bool> {
        let mut passes = true;
        for seed in self.seeds(1) {
            let case = case(space, of, seed).map_err(|reason| anyhow!("{of} is refused: {reason}"))?;
            passes &= self.runner().one(&case, &format!("{of}, seed {seed}"), &replay(of, seed));
        }
        Ok(passes)
    }

    fn many(&self, space: &Space, rows: &[(u64, Combination)]) -> anyhow::Result<bool> {
        let begin = Instant::now();
        let limit =
            self.minutes.map_or(Ok(Duration::MAX), |minutes| Duration::try_from_secs_f64(minutes * 60.0))?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (next, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
        let sums = Mutex::new((Sums::default(), Progress::new()));
        let work = |job: usize| -> anyhow::Result<()> {
            while !ends.load(Ordering::Relaxed) && begin.elapsed() < limit {
                let Some((number, row)) = rows.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                for seed in self.seeds(if self.all { 1 } else { 4 }) {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = format!("row {number}, {row}, seed {seed}");
                    let case =
                        case(space, row, seed).map_err(|reason| anyhow!(reason)).context(name.clone())?;
                    let result = self.runner().run(job, &case, &name, &replay(row, seed), None);
                    let (sums, progress) = &mut *sums.lock().unwrap_or_else(PoisonError::into_inner);
                    sums.runs += 1;
                    match result {
                        Ok(summary) => sums.all.add(&summary),
                        Err(failure) => {
                            println!("{}", self.runner().line(&name, &failure, &replay(row, seed)));
                            sums.failed += 1;
                            ends.fetch_or(!self.keep_going, Ordering::Relaxed);
                        }
                    }
                    let begun = next.load(Ordering::Relaxed).min(rows.len());
                    progress.show(|| format!("{begun} of {} rows, {} runs failed", rows.len(), sums.failed));
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let jobs: Vec<_> =
                (0..self.jobs.unwrap_or(threads).max(1)).map(|job| scope.spawn(move || work(job))).collect();
            jobs.into_iter()
                .try_for_each(|job| job.join().map_err(|_| anyhow!("a job ended with a panic"))?)
        })?;
        let (Sums { runs, failed, all }, _) = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
        let begun = next.load(Ordering::Relaxed).min(rows.len());
        println!(
            "{} of {runs} runs pass, {begun} of {} rows: {} events, {} members lost, power lost {} times, {} blocks collected, \
             {:.1} s",
            runs - failed,
            rows.len(),
            all.events,
            all.lost,
            all.seen.power_losses,
            all.erased,
            begin.elapsed().as_secs_f64()
        );
        Ok(failed == 0)
    }
}

fn replay(of: &Combination, seed: u64) -> String {
    format!("compose --of {of} --seed {seed}")
}
