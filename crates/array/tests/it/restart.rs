//! Restart after a power loss.

use stripewise_array::format::FailReason;
use stripewise_array::{Class, Controller, OperationKind, RequestKind, Scheme};
use stripewise_core::ids::MemberNo;

use crate::support::Rig;

const RAID5: &str = "name = \"plain\"\n[geometry]\nlevel = \"raid5\"\n";

/// A rig whose power was lost with two writes in flight.
fn after_a_loss(scheme: &str) -> Rig {
    let mut rig = Rig::new(scheme, 4, 6);
    rig.submit(RequestKind::Write, 0, 1);
    rig.submit(RequestKind::Write, 7, 2);
    rig.step();
    rig.lose_power()
}

#[test]
fn all_rows_are_recomputed_before_the_first_request_is_issued() {
    let mut rig = after_a_loss(RAID5);
    assert!(rig.array.is_resyncing());
    let read = rig.submit(RequestKind::Read, 0, 1);
    rig.run();
    let operations: Vec<_> = rig.started().collect();
    let reads = operations.iter().filter(|one| one.class == Class::PreRead).count();
    let parity: Vec<_> = operations.iter().filter(|one| one.class == Class::Parity).collect();
    assert_eq!((reads, parity.len()), (6 * 3, 6), "three data pages and a parity page of each of six rows");
    assert!(parity.iter().all(|one| one.kind == OperationKind::Write));
    let host = operations.iter().position(|one| one.class == Class::HostRead);
    assert_eq!(host, Some(operations.len() - 1), "what the host reads comes last");
    let acknowledged: Vec<_> = rig.acknowledged().into_iter().map(|(tag, _)| Some(tag)).collect();
    assert_eq!(acknowledged, [read], "and the writes are not acknowledged");
    assert!(rig.array.is_quiet());
}

#[test]
fn a_lost_chunk_that_parity_alone_stands_for_is_left_alone() {
    let mut rig = Rig::new(RAID5, 4, 6);
    rig.array.member_failed(0, MemberNo::new(2), FailReason::Requested, &mut rig.world);
    let mut rig = rig.lose_power();
    assert!(rig.array.is_failed(MemberNo::new(2)), "what was failed stays failed");
    rig.run();
    // By the left-symmetric rotation, each member has the parity of every fourth row.
    let written: Vec<_> = rig.started().filter(|one| one.kind == OperationKind::Write).collect();
    assert_eq!(written, [], "of five rows a data chunk is lost, of row 1 parity");
    assert_eq!(rig.started().count(), 0);
    assert!(rig.array.is_quiet());
}

#[test]
fn without_parity_there_is_nothing_to_make_right() {
    let mut rig = after_a_loss("name = \"plain\"\n[geometry]\nlevel = \"raid0\"\n");
    assert!(!rig.array.is_resyncing());
    rig.run();
    assert_eq!(rig.started().count(), 0);
}

#[test]
fn schemes_that_keep_their_maps_in_memory_alone_are_refused_with_the_reason() {
    let refusal = |lines: &str| {
        let text = format!("name = \"x\"\n{lines}");
        let scheme = Scheme::from_toml("test", &text).unwrap_or_else(|error| panic!("{error}"));
        scheme.check_restart().err().map(|error| error.to_string())
    };
    assert_eq!(refusal(""), None);
    for (lines, key) in [
        ("[placement]\npolicy = \"elastic\"", "placement.policy = \"elastic\""),
        ("[placement]\npolicy = \"parity-logging\"", "placement.policy = \"parity-logging\""),
        ("[placement]\nfirst_writes = \"gather\"", "placement.first_writes = \"gather\""),
        ("[placement]\nfirst_writes = \"encode\"", "placement.first_writes = \"encode\""),
        ("[parity]\nwindow = 3", "parity.window"),
    ] {
        let message = refusal(lines).unwrap_or_else(|| panic!("{key} is not refused"));
        assert!(message.contains(key) && message.contains("in memory alone"), "{message}");
    }
}

#[test]
fn while_parity_is_recomputed_the_state_says_so() {
    let mut rig = after_a_loss(RAID5);
    assert!(rig.array.state().is_resyncing);
    rig.run();
    assert!(!rig.array.state().is_resyncing);
}
