//! Parity logging: members with deltas of parity belong to every group.

use stripewise_array::Controller;
use stripewise_array::format::FailReason;
use stripewise_core::ids::MemberNo;

use crate::support::Rig;

const LOGGING: &str =
    "name = \"logging\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"parity-logging\"\n";

/// Four members with data, and one with deltas.
fn rig() -> (Rig, u16) {
    let rig = Rig::new(LOGGING, 5, 40);
    let log = rig.array.parity_log_member(0).expect("it has a log");
    (rig, log.number())
}

#[test]
fn one_member_may_be_lost_whether_it_has_data_or_deltas() {
    let (rig, log) = rig();
    assert_eq!(log, 4);
    assert!((0..5).all(|member| rig.array.tolerates_loss_of(MemberNo::new(member))));
}

#[test]
fn without_the_deltas_no_member_with_data_may_be_lost_and_the_other_way_round() {
    let (mut rig, log) = rig();
    rig.array.member_failed(0, MemberNo::new(log), FailReason::Requested, &mut rig.world);
    assert!((0..log).all(|member| !rig.array.tolerates_loss_of(MemberNo::new(member))));
    let (mut rig, log) = self::rig();
    rig.array.member_failed(0, MemberNo::new(1), FailReason::Requested, &mut rig.world);
    assert!(!rig.array.tolerates_loss_of(MemberNo::new(log)));
}
