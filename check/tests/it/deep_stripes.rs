//! Stripes that are as deep as they are wide, with parity along diagonals: X-Code in the log.

use stripewise_check::crash::{Checker, Counts, Effort, Kind, Script};
use stripewise_check::{Options, Summary, run, stress};

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
    for summary in runs(0..150) {
        failed += u64::from(summary.seen.failed > 0);
        count += 1;
    }
    assert!(failed < count / 4, "few lose more than two members: {failed}");
}

#[test]
fn power_and_members_are_lost_at_any_time_and_durable_data_survives() {
    let mut checker = Checker::new(None);
    for seed in 0..150 {
        checker
            .seed(seed, &[Kind::LogDeep])
            .unwrap_or_else(|failure| panic!("seed {seed}: {}", failure.what));
    }
}

#[test]
fn after_any_crash_of_a_few_requests_any_two_members_may_be_missing() {
    let effort = Effort { states: 6, every: 3, cuts: 7 };
    let mut all = Counts::default();
    for script in Script::ALL.into_iter().filter(|&script| script != Script::Full) {
        match Checker::new(None).script(Kind::LogDeep, script, effort, &mut |_| {}) {
            Ok(counts) => all.add(&counts),
            Err(broken) => panic!("{}: {}", script.name(), broken.what),
        }
    }
    println!("{all}");
    assert!(all.crashes > 100 && all.degraded > 100, "{all}");
}
