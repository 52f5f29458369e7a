//! Tests of the crash checker: it finds every planted bug of the log with metadata within its budget.

#![cfg(debug_assertions)]

use stripewise_array::Bug;
use stripewise_check::crash::{Checker, Kind};

/// The number of seeds from 0 within which each bug must be found. `docs/evidence/checking.md` contains the same table.
const BUDGETS: &[(Bug, u64)] = &[
    (Bug::FlushDropped, 100),
    (Bug::CommitEarly, 50),
    (Bug::CheckpointNotFlushed, 3000),
    (Bug::TombstoneLost, 50),
    (Bug::SummaryInOneCopy, 20),
    (Bug::EpochNotDurable, 50),
    (Bug::AssemblyNotFlushed, 1000),
    (Bug::NumberReused, 50),
    (Bug::GapIgnored, 300),
    (Bug::LossForgotten, 1000),
    (Bug::StampIgnored, 1000),
    (Bug::StaleMemberRead, 100),
    (Bug::ChecksumIgnored, 1000),
    (Bug::SegmentFreedEarly, 200),
    (Bug::StripeWithoutParity, 20),
    (Bug::StripeWithoutQ, 20),
    (Bug::ShortStripeExtended, 50),
    (Bug::FirstRowRebuilt, 200),
    (Bug::SpaceNotReserved, 50),
    (Bug::WaitingNotWritten, 50),
];

/// Bugs that only arrays with deep stripes show.
const DEEP: &[Bug] = &[Bug::FirstRowRebuilt, Bug::SpaceNotReserved, Bug::WaitingNotWritten];

#[test]
fn every_bug_of_the_log_is_found_within_its_budget() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for &(bug, budget) in BUDGETS {
        let mut checker = Checker::new(Some(bug));
        let kinds: &[Kind] = if DEEP.contains(&bug) { &[Kind::LogDeep] } else { &[Kind::Log5, Kind::Log6] };
        let found = (0..budget).find_map(|seed| Some((seed, checker.seed(seed, kinds).err()?.what)));
        match found {
            Some((seed, what)) => println!("{bug:?}: seed {seed}, {what}"),
            None => missed.push(format!("{bug:?} ({budget} seeds)")),
        }
    }
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not found: {}", missed.join(", "));
}

#[test]
fn the_table_of_the_documents_is_the_one_that_is_tested() {
    let text = include_str!("../../../../docs/evidence/checking.md");
    let (_, text) = text.split_once("## Crashes").expect("the section on crashes");
    for (bug, budget) in BUDGETS {
        let row = format!("| `{bug:?}` |");
        let line = text.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("no row {row}"));
        assert!(line.ends_with(&format!("| {budget} |")), "{line}: {budget}");
    }
}
