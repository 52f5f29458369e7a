//! Stripes that are as deep as they are wide, with parity along diagonals: X-Code in the log.

use stripewise_check::crash::{Checker, Kind};
use stripewise_check::{Options, Summary, run, stress};

/// The runs of these seeds.
fn runs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = Summary> {
    seeds.map(|seed| {
        let case = stress::deep(seed);
        run(&case, Options::default()).unwrap_or_else(|failure| panic!("seed {}: {failure}\n{}", case.seed, case.to_toml()))
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
        checker.seed(seed, &[Kind::LogDeep]).unwrap_or_else(|failure| panic!("seed {seed}: {}", failure.what));
    }
}
