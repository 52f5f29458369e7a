//! Tests of the crash checker: it finds every planted bug of the redo journal, and of members that return in place,
//! within its budget.

#![cfg(debug_assertions)]

use stripewise_array::Bug;
use stripewise_check::crash::{Checker, Kind};

/// The number of seeds from 0 within which each bug must be found.
const BUDGETS: &[(Bug, u64)] = &[
    (Bug::JournalSkipped, 200),
    (Bug::JournalNotFlushed, 200),
    (Bug::JournalFreedEarly, 2000),
    (Bug::JournalWithoutParity, 200),
    (Bug::MissingNotJournaled, 3000),
    (Bug::TableNotWritten, 2000),
];

/// The same for bugs of deferred parity.
const LATE_BUDGETS: &[(Bug, u64)] = &[
    (Bug::BeforeImageOmitted, 100),
    (Bug::BeforeImageFreed, 500),
    (Bug::LateParityForgotten, 100),
    (Bug::LateParityNotRecorded, 1000),
];

/// The same for a returning member, with a journal and with a bitmap.
const RETURN_BUDGETS: &[(Bug, u64)] = &[(Bug::ReturnBelieved, 200)];

#[test]
fn a_member_that_returns_and_is_trusted_is_found_within_its_budget() {
    found(RETURN_BUDGETS, [Kind::Journal5, Kind::Journal6]);
    found(RETURN_BUDGETS, [Kind::Bitmap5, Kind::Bitmap6]);
}

#[test]
fn every_bug_of_the_journal_is_found_within_its_budget() {
    found(BUDGETS, [Kind::Journal5, Kind::Journal6]);
}

#[test]
fn every_bug_of_deferred_parity_is_found_within_its_budget() {
    found(LATE_BUDGETS, [Kind::Window5, Kind::Window6]);
}

fn found(budgets: &[(Bug, u64)], kinds: [Kind; 2]) {
    for &(bug, budget) in budgets {
        let mut checker = Checker::new(Some(bug));
        let found = (0..budget).find(|&seed| checker.seed(seed, &kinds).is_err());
        println!("{bug:?}: {found:?}");
        assert!(found.is_some(), "{bug:?} is not found by {budget} seeds");
    }
}
