//! The crash checker checked: every bug of the redo journal that can be planted is found within its budget.

#![cfg(feature = "planted-bugs")]

use stripewise_array::Bug;
use stripewise_check::crash::{Checker, Kind};

/// Seeds from 0 on within which each bug must be found.
const BUDGETS: &[(Bug, u64)] = &[
    (Bug::JournalSkipped, 200),
    (Bug::JournalNotFlushed, 200),
    (Bug::JournalFreedEarly, 2000),
    (Bug::JournalWithoutParity, 200),
    (Bug::MissingNotJournaled, 3000),
    (Bug::TableNotWritten, 2000),
];

#[test]
fn every_bug_of_the_journal_is_found_within_its_budget() {
    for &(bug, budget) in BUDGETS {
        let mut checker = Checker::new(Some(bug));
        let kinds = [Kind::Journal5, Kind::Journal6];
        let found = (0..budget).find(|&seed| checker.seed(seed, &kinds).is_err());
        println!("{bug:?}: {found:?}");
        assert!(found.is_some(), "{bug:?} is not found by {budget} seeds");
    }
}
