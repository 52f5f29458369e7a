//! Tests of the checker: it finds every planted bug within its budget.

#![cfg(debug_assertions)]

use stripewise_array::Bug as Array;
use stripewise_array::cache::CachePolicy;
use stripewise_array::read::ReadPolicy;
use stripewise_check::{Case, Failure, Faults, Options, Planted, run, stress};
use stripewise_flash::Bug as Flash;

/// The number of seeds from 0 within which the stress test must find each bug. `docs/evidence/checking.md` contains the same
/// table.
const BUDGETS: &[(Planted, u64)] = &[
    (Planted::Array(Array::AcknowledgeBeforeWrite), 20),
    (Planted::Array(Array::AcknowledgeBeforeParity), 50),
    (Planted::Array(Array::AcknowledgeFirstRow), 20),
    (Planted::Array(Array::AcknowledgeMerged), 200),
    (Planted::Array(Array::HoldSkipped), 20),
    (Planted::Array(Array::WaiterForgotten), 50),
    (Planted::Array(Array::BufferLeaked), 20),
    (Planted::Array(Array::OldDataForgotten), 20),
    (Planted::Array(Array::PartialWriteClears), 20),
    (Planted::Array(Array::MergeLosesSectors), 200),
    (Planted::Array(Array::TrimKeepsParity), 20),
    (Planted::Array(Array::DegradedParitySkipped), 20),
    (Planted::Array(Array::PartOfLostNotDecoded), 20),
    (Planted::Array(Array::StaleMemberRead), 20),
    (Planted::Array(Array::CorruptionIgnored), 50),
    (Planted::Array(Array::RepairWrongContent), 100),
    (Planted::Array(Array::RedirectNotHeld), 500),
    (Planted::Array(Array::LateRowRedirected), 200),
    (Planted::Array(Array::HedgeKeepsReads), 200),
    (Planted::Array(Array::LoserBufferFreed), 100),
    (Planted::Array(Array::HedgeHoldGivenBack), 8000),
    (Planted::Array(Array::RedirectedSegmentNotHeld), 8000),
    (Planted::Array(Array::DecodeWithoutHold), 200),
    (Planted::Array(Array::StraightFailureIgnored), 500),
    (Planted::Array(Array::FailureHidden), 20),
    (Planted::Array(Array::FailureInvented), 20),
    (Planted::Array(Array::FlushDropped), 200),
    (Planted::Array(Array::FreshRowRead), 200),
    (Planted::Array(Array::EncodeBufferForgotten), 50),
    (Planted::Array(Array::LateMemberEncodesAlone), 50),
    (Planted::Array(Array::LateParityKept), 200),
    (Planted::Array(Array::ReleasedTooEarly), 50),
    (Planted::Array(Array::LateVersionDecoded), 500),
    (Planted::Array(Array::PageWrittenTwiceAtOnce), 500),
    (Planted::Array(Array::ParityOutOfTurn), 500),
    (Planted::Array(Array::CoveredContentDropped), 500),
    (Planted::Array(Array::QLeftOld), 20),
    (Planted::Array(Array::QByPosition), 50),
    (Planted::Array(Array::TwoLostAsOne), 20),
    (Planted::Array(Array::UnreadParityUpdated), 20),
    (Planted::Array(Array::DegradedQSkipped), 20),
    (Planted::Array(Array::FlushWithoutQ), 2000),
    (Planted::Array(Array::CacheNotDrained), 500),
    (Planted::Array(Array::CacheOverlayForgotten), 200),
    (Planted::Array(Array::CacheDropsChunk), 20),
    (Planted::Array(Array::CacheLosesSectors), 20),
    (Planted::Array(Array::CacheTakesPartForWhole), 20),
    (Planted::Array(Array::CacheLossHidden), 5000),
    (Planted::Array(Array::DeltaDropped), 50),
    (Planted::Array(Array::OlderDeltasForgotten), 50),
    (Planted::Array(Array::DeltaNotFolded), 50),
    (Planted::Array(Array::DeltaOfOtherRow), 50),
    (Planted::Array(Array::DeltaWithoutOld), 50),
    (Planted::Array(Array::LostDeltasIgnored), 200),
    (Planted::Array(Array::DeltasFreedEarly), 200),
    (Planted::Array(Array::TrimKeepsDeltas), 200),
    (Planted::Array(Array::WrittenForgotten), 50),
    (Planted::Array(Array::MoveBeforeWritten), 50),
    (Planted::Array(Array::MoveNotAwaited), 100),
    (Planted::Array(Array::SetAsideOvertaken), 2000),
    (Planted::Array(Array::LeftPageReused), 5000),
    (Planted::Array(Array::EvictionNotStopped), 500),
    (Planted::Array(Array::UnflushedMoveKept), 2000),
    (Planted::Array(Array::FreeColumnsForgotten), 200),
    (Planted::Array(Array::LeftColumnsLeftOut), 10_000),
    (Planted::Array(Array::KeptParityNotUpdated), 50),
    (Planted::Array(Array::KeptParityNotWritten), 50),
    (Planted::Array(Array::KeptParityLost), 8000),
    (Planted::Array(Array::OldSlotStaysValid), 50),
    (Planted::Array(Array::OlderChunkInstalled), 50),
    (Planted::Array(Array::ReserveIgnored), 200),
    (Planted::Array(Array::StripeWithoutParity), 50),
    (Planted::Array(Array::StripeAcknowledgedEarly), 50),
    (Planted::Array(Array::SegmentFreedEarly), 5000),
    (Planted::Array(Array::OldChunkMoved), 50),
    (Planted::Array(Array::SegmentNotHeld), 8000),
    (Planted::Array(Array::BatchLosesRequest), 50),
    (Planted::Array(Array::BatchRepeatsRequest), 50),
    (Planted::Array(Array::BatchReorders), 1000),
    (Planted::Array(Array::MergeNotJoined), 50),
    (Planted::Array(Array::DurableTooEarly), 50),
    (Planted::Array(Array::AbsentTakenForLost), 50),
    (Planted::Array(Array::FailedSlotUsed), 50),
    (Planted::Array(Array::StripeWithoutQ), 50),
    (Planted::Array(Array::DiagonalShifted), 50),
    (Planted::Array(Array::LiveChunkDropped), 50),
    (Planted::Array(Array::LimitIgnoresNeed), 200),
    (Planted::Array(Array::LimitIgnoresResync), 9000),
    (Planted::Array(Array::LimitForgetsDeltas), 600),
    (Planted::Array(Array::ResyncSkipped), 50),
    (Planted::Array(Array::ResyncBelievesParity), 1000),
    (Planted::Array(Array::ResyncNotAwaited), 2000),
    (Planted::Array(Array::MembersNotFlushed), 500),
    (Planted::Array(Array::VolatileCacheKept), 200),
    (Planted::Array(Array::PersistentCacheLost), 200),
    (Planted::Array(Array::RedoForgotten), 2000),
    (Planted::Array(Array::PersistentCacheNotDrained), 2000),
    (Planted::Array(Array::CachedParityDropped), 100),
    (Planted::Array(Array::CachedParityIgnored), 200),
    (Planted::Array(Array::CachedMembersIgnored), 100),
    (Planted::Array(Array::RedirtiedPageFreed), 50),
    (Planted::Array(Array::AcknowledgedBeforeCached), 100),
    (Planted::Array(Array::FlushSkipsDestages), 500),
    (Planted::Array(Array::AbsorbNotHeld), 500),
    (Planted::Flash(Flash::PinSkipped), 50),
    (Planted::Flash(Flash::HoldKept), 5000),
    (Planted::Flash(Flash::GcFreesEarly), 20),
    (Planted::Flash(Flash::GcKeepsMapping), 20),
];

/// Bugs that few seeds find, each with one that does: it is tried first, which saves most of the time of this test. A bug that
/// its seed no longer finds is looked for from seed 0 on, and the output names the seed that then finds it.
const FOUND: &[(Array, u64)] = &[
    (Array::LimitIgnoresResync, 8174),
    (Array::HedgeHoldGivenBack, 4819),
    (Array::SegmentNotHeld, 4043),
    (Array::RedirectedSegmentNotHeld, 4043),
    (Array::SegmentFreedEarly, 1605),
    (Array::FlushWithoutQ, 1090),
    (Array::PersistentCacheNotDrained, 1190),
    (Array::LeftPageReused, 767),
    (Array::KeptParityLost, 668),
    (Array::LeftColumnsLeftOut, 8397),
    (Array::ResyncBelievesParity, 536),
    (Array::ResyncNotAwaited, 534),
    (Array::CacheLossHidden, 515),
    (Array::UnflushedMoveKept, 333),
    (Array::BatchReorders, 204),
    (Array::RedoForgotten, 197),
];

/// Seeds that are run without a bug in this build; `tests/stress.rs` runs many more.
const CALM: u64 = 300;

/// Whether `bug` can show in `case`. Other cases are not run, so that rare bugs are found in little time.
fn concerns(bug: Planted, case: &Case) -> bool {
    match bug {
        Planted::Array(Array::SegmentNotHeld | Array::SegmentFreedEarly) => {
            case.scheme.placement.facts().forms_stripes
        }
        Planted::Array(Array::CacheLossHidden) => {
            case.scheme.cache.policy != CachePolicy::None && !case.losses.is_empty()
        }
        Planted::Array(Array::HedgeHoldGivenBack) => {
            case.scheme.read.policy == ReadPolicy::Hedged && !case.scheme.placement.facts().forms_stripes
        }
        Planted::Array(Array::RedirectedSegmentNotHeld) => {
            case.scheme.read.policy != ReadPolicy::Direct && case.scheme.placement.facts().forms_stripes
        }
        Planted::Array(Array::ResyncBelievesParity) => {
            let Faults { failed_read_ppm, corrupt_read_ppm, .. } = case.faults;
            !case.power_losses.is_empty() && failed_read_ppm + corrupt_read_ppm > 0
        }
        Planted::Array(Array::KeptParityLost) => {
            case.scheme.parity_memory_rows() > 0 && !case.power_losses.is_empty() && !case.losses.is_empty()
        }
        Planted::Array(Array::SetAsideOvertaken) => case.scheme.placement.facts().has_zones,
        Planted::Array(Array::LimitIgnoresResync) => {
            case.error_limit.is_some() && !case.power_losses.is_empty()
        }
        Planted::Array(Array::ResyncNotAwaited | Array::RedoForgotten) => !case.power_losses.is_empty(),
        Planted::Array(Array::MembersNotFlushed) => case.volatile_members && !case.power_losses.is_empty(),
        _ => true,
    }
}

/// Whether `bug` needs first writes that wait until their row can be encoded. A separate stress test draws these.
fn is_about_encoding(bug: Planted) -> bool {
    matches!(bug, Planted::Array(Array::EncodeBufferForgotten | Array::LateMemberEncodesAlone))
}

/// Whether `bug` needs rows that writes share.
fn is_about_shared_rows(bug: Planted) -> bool {
    matches!(
        bug,
        Planted::Array(Array::PageWrittenTwiceAtOnce | Array::ParityOutOfTurn | Array::CoveredContentDropped)
    )
}

fn find(bug: Planted, seeds: u64) -> Option<(u64, Failure)> {
    let known = FOUND.iter().filter(|&&(found, seed)| Planted::Array(found) == bug && seed < seeds);
    known.map(|&(_, seed)| seed).chain(0..seeds).find_map(|seed| {
        let options = Options { bug: Some(bug), ..Options::default() };
        let case = match bug {
            bug if is_about_encoding(bug) => stress::encoding(seed),
            bug if is_about_shared_rows(bug) => stress::hot_rows(seed),
            Planted::Array(Array::DiagonalShifted) => stress::deep(seed),
            _ => stress::case(seed),
        };
        if !concerns(bug, &case) {
            return None;
        }
        run(&case, options).err().map(|failure| (seed, failure))
    })
}

#[test]
fn every_planted_bug_is_found_within_its_budget() {
    // The controller's own assertions may detect a bug first; their message is in the failure.
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for &(bug, budget) in BUDGETS {
        match find(bug, budget) {
            Some((seed, failure)) => println!("{}: seed {seed}, {failure}", bug.name()),
            None => missed.push(format!("{} ({budget} seeds)", bug.name())),
        }
    }
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not found: {}", missed.join(", "));
}

#[test]
fn every_bug_has_a_budget() {
    for (name, bug) in Planted::all() {
        let budgets = BUDGETS.iter().filter(|(known, _)| *known == bug).count();
        assert_eq!(budgets, 1, "{name}");
    }
}

#[test]
fn the_table_of_the_documents_is_the_one_that_is_tested() {
    let text = include_str!("../../../../docs/evidence/checking.md");
    for (bug, budget) in BUDGETS {
        let row = format!("| `{}` |", bug.name());
        let line = text.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("no row {row}"));
        assert!(line.ends_with(&format!("| {budget} |")), "{line}: {budget}");
    }
}

#[test]
fn without_a_bug_the_first_seeds_pass() {
    for seed in 0..CALM {
        run(&stress::case(seed), Options::default())
            .unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
}
