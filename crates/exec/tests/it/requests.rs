//! Requests: accepted, refused, split over rows, acknowledged.

use stripewise_core::ids::MemberNo;
use stripewise_core::operation::{OperationKind, Outcome};
use stripewise_core::request::{RequestKind, SubmitError};
use stripewise_exec::Controller as _;

use crate::rig::Rig;

#[test]
fn a_write_is_acknowledged_after_all_of_its_rows_and_read_back() {
    let mut rig = Rig::new(4, "");
    let tag = rig.submit(RequestKind::Write, 0, 6, 7);
    // Two whole rows, with a page for each member.
    assert_eq!(rig.world.in_flight.len(), 8);
    for left in (0..8).rev() {
        assert_eq!(rig.tags().len(), 0, "{} operations are in flight", left + 1);
        rig.end_one(Outcome::Done, |_| true);
    }
    assert_eq!(rig.tags(), [tag]);
    assert_eq!((rig.read(0), rig.read(5), rig.read(6)), ((false, 7), (false, 7), (false, 0)));
    assert_eq!(rig.array.exec.memory().in_use(), 0, "every buffer was returned");
}

#[test]
fn requests_beyond_the_end_of_odd_length_or_for_too_long_a_queue_are_refused() {
    let mut rig = Rig::new(4, "queues.requests = 2");
    let out = rig.try_submit(RequestKind::Read, 47, 2, 0);
    assert_eq!(out, Err(SubmitError::OutOfRange { capacity: 48 * 4096 }));
    assert_eq!(rig.try_submit(RequestKind::Write, 3, 0, 0), Err(SubmitError::Shape));
    rig.submit(RequestKind::Read, 0, 1, 0);
    rig.submit(RequestKind::Read, 1, 1, 0);
    assert_eq!(rig.try_submit(RequestKind::Read, 2, 1, 0), Err(SubmitError::Busy));
    rig.end_one(Outcome::Done, |_| true);
    assert!(rig.try_submit(RequestKind::Read, 2, 1, 0).is_ok());
}

#[test]
fn with_few_plans_a_long_request_continues_as_plans_end() {
    let mut rig = Rig::new(4, "queues.plans = 2");
    let tag = rig.submit(RequestKind::Read, 0, 12, 0);
    assert_eq!(rig.world.in_flight.len(), 6, "two rows of three pages");
    rig.run();
    assert_eq!((rig.tags(), rig.world.started.len()), (vec![tag], 12));
}

#[test]
fn a_flush_flushes_every_member_and_no_more_than_once() {
    let mut rig = Rig::new(4, "");
    rig.submit(RequestKind::Flush, 0, 0, 0);
    let flushed: Vec<u16> = rig.world.started.iter().map(|operation| operation.member.number()).collect();
    assert_eq!(flushed, [0, 1, 2, 3]);
    assert!(rig.world.started.iter().all(|operation| operation.kind == OperationKind::Flush));
    rig.run();
    assert_eq!((rig.tags().len(), rig.world.started.len()), (1, 4));
}

#[test]
fn operations_wait_for_a_member_that_admits_none() {
    let mut rig = Rig::new(4, "");
    rig.world.closed.insert(MemberNo::new(1));
    rig.submit(RequestKind::Write, 0, 3, 1);
    let members: Vec<u16> = rig.world.in_flight.iter().map(|one| one.operation.member.number()).collect();
    assert_eq!(members, [0, 2, 3]);
    assert_eq!(rig.array.loads().total(MemberNo::new(1)), 1);
    rig.run();
    assert_eq!(rig.tags().len(), 0);
    rig.world.closed.clear();
    rig.array.dispatch(&mut rig.world);
    assert!(rig.world.in_flight.is_empty(), "a member that refused is not asked again until it reports");
    rig.array.member_ready(MemberNo::new(1));
    rig.array.dispatch(&mut rig.world);
    rig.run();
    assert_eq!((rig.tags().len(), rig.array.loads().total(MemberNo::new(1))), (1, 0));
}
