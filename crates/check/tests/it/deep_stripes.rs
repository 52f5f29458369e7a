//! Stripes that are as deep as they are wide, with parity along diagonals: X-Code in the log.

use stripewise_check::crash::{Checker, Counts, Effort, Kind, Script};
use stripewise_check::{Options, Summary, run, stress};

/// Lives of arrays, some of them full. `stripewise-check crashes --scheme log6-x-code` runs more.
const SEEDS: u64 = 100;

/// The runs of these seeds.
fn runs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = Summary> {
    seeds.map(|seed| {
        let case = stress::deep(seed);
        run(&case, Options::default())
            .unwrap_or_else(|failure| panic!("seed {}: {failure}\n{}", case.seed, case.to_toml()))
    })
}

#[test]
fn the_first_seeds_keep_every_promise() {
    let (mut failed, mut count) = (0, 0);
    for summary in runs(0..60) {
        failed += u64::from(summary.seen.failed > 0);
        count += 1;
    }
    assert!(failed < count / 4, "few lose more than two members: {failed}");
}

#[test]
fn power_and_members_are_lost_at_any_time_and_durable_data_survives() {
    let mut checker = Checker::new(None);
    let mut all = Counts::default();
    for seed in 0..SEEDS {
        match checker.seed(seed, &[Kind::LogDeep]) {
            Ok(counts) => all.add(&counts),
            Err(broken) => panic!("seed {seed}: {}", broken.what),
        }
    }
    println!("{all}");
    assert!(all.crashes > SEEDS && all.degraded > SEEDS && all.under_load > SEEDS / 2, "{all}");
}

/// A sample of `stripewise-check crashes --scheme log6-x-code --case overwrite` and of the other scripts, which run all crashes.
#[test]
fn after_any_crash_of_a_few_requests_any_two_members_may_be_missing() {
    for script in Script::ALL {
        // Filling an array takes thousands of events.
        let is_full = script == Script::Full;
        let effort = if is_full {
            Effort { states: 2, every: 150, cuts: 31 }
        } else {
            Effort { states: 4, every: 9, cuts: 13 }
        };
        let counts = match Checker::new(None).script(Kind::LogDeep, script, effort, &mut |_| {}) {
            Ok(counts) => counts,
            Err(broken) => panic!("{}: {}", script.name(), broken.what),
        };
        println!("{}\n{counts}", script.name());
        // During requests and during assembly, with all members and without some, with half of the writes.
        let Counts { under_load, while_opening, degraded, undecided, .. } = counts;
        let least = [under_load, while_opening, degraded, undecided].into_iter().min();
        assert!(least >= Some(if is_full { 2 } else { 20 }), "{}\n{counts}", script.name());
    }
}
