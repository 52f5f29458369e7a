//! The crash checker checked: every bug of the log with metadata that can be planted is found within its budget.

#![cfg(feature = "planted-bugs")]

use stripewise_array::Bug;
use stripewise_check::crash::{Checker, Kind};

/// Seeds from 0 on within which each bug must be found. The table of `docs/checking.md` is this one.
const BUDGETS: &[(Bug, u64)] = &[
    (Bug::FlushDropped, 100),
    (Bug::CommitEarly, 100),
    (Bug::HeaderBeforeBody, 20_000),
    (Bug::TombstoneLost, 2000),
    (Bug::SummaryInOneCopy, 200),
    (Bug::RelocationReborn, 20_000),
    (Bug::ChecksumIgnored, 500),
    (Bug::SegmentFreedEarly, 20_000),
    (Bug::StripeWithoutParity, 100),
    (Bug::StripeWithoutQ, 200),
    (Bug::StaleElementRead, 2000),
];

#[test]
fn every_bug_of_the_log_is_found_within_its_budget() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for &(bug, budget) in BUDGETS {
        let mut checker = Checker::new(Some(bug));
        let kinds = [Kind::Log5, Kind::Log6];
        let found = (0..budget).find_map(|seed| Some((seed, checker.seed(seed, &kinds).err()?.what)));
        match found {
            Some((seed, what)) => println!("{bug:?}: seed {seed}, {what}"),
            None => missed.push(format!("{bug:?} ({budget} seeds)")),
        }
    }
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not found: {}", missed.join(", "));
}
