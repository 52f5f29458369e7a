//! Plans: row locks, and operations that fail.

use stripewise_core::ids::{MemberNo, PlanId};
use stripewise_core::operation::{OperationKind, Outcome};
use stripewise_core::request::RequestKind;
use stripewise_exec::Controller as _;
use stripewise_format::FailReason;

use crate::rig::Rig;

#[test]
fn updates_of_a_row_take_turns_in_order_of_arrival_and_other_rows_pass() {
    let mut rig = Rig::new(4, "");
    for (page, byte) in [(0, 1), (1, 2), (0, 3), (3, 4)] {
        rig.submit(RequestKind::Write, page, 1, byte);
    }
    // The first update of row 0 and the one of row 1 read the rest of their rows; two wait.
    assert_eq!(rig.world.in_flight.len(), 4);
    assert_eq!(rig.array.exec.locked_rows(), 2);
    rig.run();
    let tags = rig.tags();
    let turn = |tag| tags.iter().position(|&one| one == tag);
    assert!(turn(0) < turn(1) && turn(1) < turn(2) && turn(3) < turn(1), "{tags:?}");
    assert_eq!([0, 1, 3].map(|page| rig.read(page)), [(false, 3), (false, 2), (false, 4)]);
    assert_eq!(rig.array.exec.locked_rows(), 0);
}

#[test]
fn a_plan_counts_as_deferring_until_it_stops_or_ends_and_the_next_one_in_its_slot_does_not() {
    let mut rig = Rig::new(4, "queues.plans = 1");
    let plan = PlanId::new(0);
    let defers = |rig: &Rig| rig.array.exec.plans().is_any_deferring();
    for stops in [true, false] {
        rig.submit(RequestKind::Write, 0, 3, 1);
        assert!(!defers(&rig));
        rig.array.exec.defer_parity(plan, 0);
        rig.array.exec.defer_parity(plan, 0);
        assert!(defers(&rig));
        if stops {
            rig.array.exec.defer_no_longer(plan);
            assert!(!defers(&rig));
        }
        rig.run();
        assert!(!defers(&rig));
    }
}

#[test]
fn reads_share_a_row_and_wait_for_an_update() {
    let mut rig = Rig::new(4, "");
    (0..2).for_each(|page| _ = rig.submit(RequestKind::Read, page, 1, 0));
    assert_eq!(rig.world.in_flight.len(), 2, "both read at once");
    rig.submit(RequestKind::Write, 0, 3, 5);
    assert_eq!(rig.world.in_flight.len(), 2, "the update waits for them");
    rig.submit(RequestKind::Read, 2, 1, 0);
    assert_eq!(rig.world.in_flight.len(), 2, "a read behind the update does not overtake it");
    rig.run();
    assert_eq!(rig.tags(), [0, 1, 2, 3]);
    assert!(rig.world.acknowledged[3].2.iter().all(|&byte| byte == 5));
}

#[test]
fn a_read_decodes_a_page_that_cannot_be_read_and_the_member_stays() {
    let mut rig = Rig::new(4, "");
    rig.submit(RequestKind::Write, 0, 3, 9);
    rig.run();
    let before = rig.world.started.len();
    rig.submit(RequestKind::Read, 1, 1, 0);
    rig.end_one(Outcome::MediumError, |_| true);
    assert_eq!(rig.world.in_flight.len(), 3, "the rest of the row");
    rig.run();
    let (_, failed, payload) = &rig.world.acknowledged[1];
    assert!(!failed && payload.iter().all(|&byte| byte == 9));
    assert_eq!((rig.world.started.len() - before, rig.world.failed_members.len()), (4, 0));
}

#[test]
fn a_lost_member_ends_what_was_queued_for_it_and_its_pages_are_decoded() {
    let mut rig = Rig::new(4, "");
    for row in 0..4 {
        rig.submit(RequestKind::Write, row * 3, 3, row as u8 + 1);
    }
    rig.run();
    rig.world.closed.insert(MemberNo::new(2));
    rig.submit(RequestKind::Read, 0, 12, 0);
    assert!(rig.array.loads().total(MemberNo::new(2)) > 0);
    rig.array.member_failed(0, MemberNo::new(2), FailReason::Requested, &mut rig.world);
    rig.array.dispatch(&mut rig.world);
    assert_eq!((rig.array.loads().total(MemberNo::new(2)), &rig.array.placement.lost), (0, &vec![2]));
    rig.run();
    let (_, failed, payload) = rig.world.acknowledged.last().expect("the read ended");
    assert!(!failed);
    for (row, bytes) in payload.chunks_exact(3 * 4096).enumerate() {
        assert!(bytes.iter().all(|&byte| byte == row as u8 + 1), "row {row}");
    }
}

#[test]
fn a_member_whose_write_fails_is_failed_and_the_row_is_degraded() {
    let mut rig = Rig::new(4, "");
    rig.submit(RequestKind::Write, 0, 3, 6);
    let is_write = |kind| kind == OperationKind::Write;
    rig.end_one(Outcome::MediumError, |operation| is_write(operation.kind) && operation.column == 0);
    rig.run();
    let lost = rig.world.started[0].member;
    assert_eq!((&rig.world.failed_members, rig.tags().len()), (&vec![lost], 1));
    assert_eq!((rig.read(0), rig.read(2)), ((false, 6), (false, 6)));
    // A second member is more than the code tolerates: what lies on neither can still be read.
    let other = rig.world.started.iter().find(|operation| operation.column == 1).map(|one| one.member);
    rig.array.member_failed(0, other.unwrap(), FailReason::Requested, &mut rig.world);
    assert_eq!((rig.read(0).0, rig.read(1).0, rig.read(2)), (true, true, (false, 6)));
}
