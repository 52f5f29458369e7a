//! Tests of the oracle of redundancy: it finds every bug that makes an array say more of its redundancy, or other things of
//! its members, than is true.

#![cfg(debug_assertions)]

use stripewise_array::Bug;
use stripewise_check::crash::{Broken, Checker, Fault, Kind};

/// For a bug: the fault that ends lives (none: lives as drawn), the kinds of arrays, the seed that found it last, which is tried
/// first, and the number of seeds from 0 within which it must be found.
type Budget = (Bug, Option<Fault>, [Kind; 2], u64, u64);

/// The budgets of all bugs. `docs/evidence/checking.md` has the same ones.
const BUDGETS: &[Budget] = &[
    (Bug::VictimCharged, None, [Kind::Log5, Kind::Journal5], 4, 50),
    (Bug::MismatchNotCharged, None, [Kind::Log5, Kind::Journal5], 20, 200),
    (Bug::StaleCharged, Some(Fault::ReturnsStale), [Kind::Journal5, Kind::Journal6], 0, 20),
    (Bug::CleanTooEarly, Some(Fault::ReturnsStale), [Kind::Log5, Kind::Log6], 2, 20),
    (Bug::OpenBatchesNotScrubbed, Some(Fault::FullScrub), [Kind::Log5, Kind::Log6], 22, 200),
    (Bug::RecordsFreedBeyond, Some(Fault::BeyondUnderLoad), [Kind::Journal5, Kind::Journal6], 14, 100),
    (Bug::LastSourceIgnored, Some(Fault::OutDuringRebuild), [Kind::Log5, Kind::Log6], 3, 400),
    (Bug::CopiesNotReplaced, Some(Fault::OutDuringRebuild), [Kind::Log5, Kind::Log6], 295, 400),
    (Bug::ReturningCalledFailed, Some(Fault::OutDuringRebuild), [Kind::Journal6, Kind::Journal6], 3, 400),
    (Bug::NotReplayed, Some(Fault::OutDuringRebuild), [Kind::Journal5, Kind::Window5], 2, 400),
    (Bug::UnchangedRowsForgotten, Some(Fault::OutDuringRebuild), [Kind::Journal5, Kind::Journal5], 179, 400),
    (Bug::AllMissingRecorded, Some(Fault::OutDuringRebuild), [Kind::Journal6, Kind::Journal6], 37, 400),
    (Bug::KeptMetadataCleared, Some(Fault::OutDuringRebuild), [Kind::Journal5, Kind::Journal5], 1, 400),
    (Bug::FailedWriteDeferred, Some(Fault::BeyondUnderLoad), [Kind::Window5, Kind::Window5], 15, 400),
    (Bug::DamageForgotten, Some(Fault::ReturnsAfterDamage), [Kind::Log5, Kind::Log6], 0, 20),
    (Bug::CopyTrusted, Some(Fault::MixedCopies), [Kind::Log5, Kind::Log6], 0, 20),
    (Bug::RepairsNotFlushed, Some(Fault::RotApart), [Kind::Journal5, Kind::Window5], 0, 40),
    (Bug::VacantNotRead, Some(Fault::Unreadable), [Kind::Journal5, Kind::Journal6], 0, 20),
    (Bug::TornCopyCharged, Some(Fault::OutDuringRebuild), [Kind::Bitmap5, Kind::Bitmap5], 139, 600),
    (Bug::FailedKeeperCounts, Some(Fault::OutDuringRebuild), [Kind::Journal5, Kind::Window5], 1, 600),
    (Bug::FreedRecordNotRead, Some(Fault::Unreadable), [Kind::Journal5, Kind::Window5], 7, 400),
    (Bug::RecordNotAwaited, Some(Fault::Unreadable), [Kind::Window5, Kind::Window5], 947, 1200),
    (Bug::FreedRecordedBeyond, Some(Fault::BeyondUnderLoad), [Kind::Journal6, Kind::Journal6], 2235, 2400),
    (Bug::LaterBatchPassed, Some(Fault::RotApart), [Kind::Log5, Kind::Log6], 0, 20),
    (Bug::DeadStripeCounted, Some(Fault::RotApart), [Kind::Log5, Kind::Log5], 48, 400),
    (Bug::BusyCopyWhole, Some(Fault::Unreadable), [Kind::Journal6, Kind::Journal6], 27, 60),
];

#[test]
fn every_bug_of_what_an_array_says_is_found_within_its_budget() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for &(bug, fault, kinds, known, budget) in BUDGETS {
        let faults: Vec<Fault> = fault.into_iter().collect();
        let checker = |bug| Checker::new(bug).strikes(&faults);
        let (mut planted, mut sound) = (checker(Some(bug)), checker(None));
        // A seed that finds a defect of the controller says nothing of the bug.
        let found = std::iter::once(known).chain(0..budget).find_map(|seed| {
            let Broken { what, .. } = planted.seed(seed, &kinds).err()?;
            sound.seed(seed, &kinds).is_ok().then_some((seed, what))
        });
        match found {
            Some((seed, what)) => println!("{bug:?}: seed {seed}, {what}"),
            None => missed.push(format!("{bug:?} ({budget} seeds)")),
        }
    }
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not found: {}", missed.join(", "));
}

#[test]
fn the_table_of_the_documents_names_these_bugs_and_budgets() {
    let text = include_str!("../../../../docs/evidence/checking.md");
    let (_, text) = text.split_once("### The oracle of redundancy").expect("the section on the oracle");
    for (bug, .., budget) in BUDGETS {
        let row = format!("| `{bug:?}` |");
        let line = text.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("no row {row}"));
        assert!(line.ends_with(&format!("| {budget} |")), "{line}: {budget}");
    }
}
