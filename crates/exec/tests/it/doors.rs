//! The executor's doors: a placement or a driver that breaks the interface is stopped at the call, with the numbers.

use stripewise_core::geometry::Place;
use stripewise_core::ids::{MemberNo, NONE, PlanId, RequestId, RowNo};
use stripewise_core::memory::{Memory as _, PageMemory};
use stripewise_core::operation::{Class, Operation, OperationKind, Outcome, Timing};
use stripewise_core::request::{HostRequest, RequestKind};
use stripewise_exec::plan::Purpose;
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::{ArrayOf, Controller as _, Executor};
use stripewise_testkit::World;

use crate::placement::WholeRows;
use crate::rig::Rig;

/// The plan and the request that are taken first.
const PLAN: PlanId = PlanId::new(0);
const REQUEST: RequestId = RequestId::new(0);

/// Four members of 16 pages, and two plans: in an idle array, and while a read is in flight.
fn idle() -> Rig {
    Rig::new(4, "queues.plans = 2")
}

fn reading() -> Rig {
    let mut rig = idle();
    rig.submit(RequestKind::Read, 0, 1, 0);
    rig
}

/// The executor of an idle array with a plan for row 0.
fn planned() -> Executor<PageMemory> {
    let mut exec = idle().array.exec;
    assert_eq!(exec.take_plan(RowNo::new(0), Purpose::Read), PLAN);
    exec
}

/// Calls a function that needs all of the rig.
fn with<R>(
    rig: &mut Rig,
    call: impl FnOnce(&mut Executor<PageMemory>, &mut WholeRows, &mut World) -> R,
) -> R {
    let ArrayOf { exec, placement } = &mut rig.array;
    call(exec, placement, &mut rig.world)
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "a plan is taken, and none of 2 is free")]
fn a_plan_is_taken_only_if_one_is_free() {
    let mut exec = idle().array.exec;
    (0..3).for_each(|row| _ = exec.take_plan(RowNo::new(row), Purpose::Read));
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 continues, and is free")]
fn a_plan_that_begins_is_under_way() {
    with(&mut idle(), |exec, placement, world| exec.begin(PLAN, placement, world));
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 continues with row 0 as Exclusive, and the row has no such lock")]
fn a_plan_that_begins_has_the_lock_that_it_takes() {
    let mut rig = idle();
    rig.array.exec.take_plan(RowNo::new(0), Purpose::Read);
    rig.array.exec.take_turn(PLAN, RowLock::Exclusive);
    with(&mut rig, |exec, placement, world| exec.begin(PLAN, placement, world));
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 continues, and awaits 1 operations")]
fn a_plan_does_not_begin_again_while_it_awaits_operations() {
    with(&mut reading(), |exec, placement, world| exec.begin(PLAN, placement, world));
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 continues, and awaits 1 operations")]
fn a_plan_does_not_run_while_it_awaits_operations() {
    with(&mut reading(), |exec, placement, world| exec.run(PLAN, placement, world));
}

#[test]
#[should_panic(expected = "plan 0 continues, and awaits 1 operations")]
fn a_plan_does_not_fail_while_it_awaits_operations() {
    with(&mut reading(), |exec, placement, world| exec.fail_plan(PLAN, placement, world));
}

#[test]
#[should_panic(expected = "plan 0 continues, and is free")]
fn a_plan_that_is_woken_is_under_way() {
    idle().array.exec.wake(PLAN);
}

#[test]
#[should_panic(expected = "plan 0 continues with row 0 as Shared, and the row has no such lock")]
fn a_plan_that_is_woken_has_the_lock_that_it_takes() {
    let mut exec = planned();
    assert!(exec.try_lock(RowNo::new(0), RowLock::Exclusive));
    exec.wake_with(PLAN, RowLock::Shared);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 is woken twice")]
fn a_plan_is_woken_once() {
    let mut exec = planned();
    exec.wake(PLAN);
    exec.wake(PLAN);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 takes a turn for row 0, and is free")]
fn only_a_plan_that_is_under_way_takes_a_turn() {
    idle().array.exec.take_turn(PLAN, RowLock::Shared);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 is to take row 0, and has it as Shared")]
fn a_plan_takes_one_lock_at_a_time() {
    let mut rig = reading();
    with(&mut rig, |exec, placement, world| exec.acquire(PLAN, RowLock::Exclusive, placement, world));
}

#[test]
#[should_panic(expected = "plan 0 waits for row 0, and needs no lock of it")]
fn a_plan_without_a_lock_does_not_wait_for_its_row() {
    planned().wait(PLAN);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "row 3 is locked with no lock")]
fn a_row_is_locked_with_a_lock() {
    idle().array.exec.try_lock(RowNo::new(3), RowLock::None);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "row 16 is locked, and there are 16")]
fn only_a_row_of_the_array_is_locked() {
    idle().array.exec.try_lock(RowNo::new(16), RowLock::Exclusive);
}

#[test]
#[should_panic(expected = "row 0 is released as Exclusive, and 1 plans have it as Shared")]
fn a_lock_is_released_only_by_a_plan_that_has_it() {
    let mut exec = planned();
    assert!(exec.try_lock(RowNo::new(0), RowLock::Shared));
    exec.take_turn(PLAN, RowLock::Exclusive);
    exec.release(PLAN);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "request 0 is to wait for plan 1, which is free")]
fn no_request_waits_for_a_free_plan() {
    reading().array.exec.attach(PlanId::new(1), REQUEST);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "request 0 is to wait, and is over")]
fn no_request_that_is_over_waits_for_a_plan() {
    planned().attach(PLAN, REQUEST);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "request 0 is split, and is over")]
fn no_request_that_is_over_is_split() {
    with(&mut idle(), |exec, placement, world| exec.split_done(REQUEST, placement, world));
}

#[test]
#[should_panic(expected = "request 0 is acknowledged, and waits for 1 plans")]
fn a_request_is_acknowledged_after_all_that_it_waits_for() {
    with(&mut reading(), |exec, placement, world| {
        let acknowledgement = exec.acknowledgement(REQUEST, placement);
        exec.acknowledge(REQUEST, &acknowledgement, placement, world);
    });
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "request 0 is acknowledged twice")]
fn a_request_is_acknowledged_once() {
    let mut rig = reading();
    rig.run();
    with(&mut rig, |exec, placement, world| {
        let acknowledgement = exec.acknowledgement(REQUEST, placement);
        exec.acknowledge(REQUEST, &acknowledgement, placement, world);
    });
}

#[test]
#[should_panic(expected = "request 0 flushes the members, and is a Read")]
fn only_a_flush_flushes_the_members() {
    with(&mut reading(), |exec, placement, world| exec.flush_members(REQUEST, placement, world));
}

#[test]
#[should_panic(expected = "request 0 flushes the members twice")]
fn a_flush_flushes_the_members_once() {
    let mut rig = idle();
    rig.submit(RequestKind::Flush, 0, 0, 0);
    with(&mut rig, |exec, placement, world| exec.flush_members(REQUEST, placement, world));
}

#[test]
#[should_panic(expected = "request 0 is to wait, and none of 4 attachments is free")]
fn an_attachment_is_taken_only_if_one_is_free() {
    let mut exec = idle().array.exec;
    (0..3).for_each(|_| _ = exec.attachments_mut().take(REQUEST, NONE));
}

#[test]
#[should_panic(expected = "attachment 2 is freed, and is free")]
fn an_attachment_is_freed_once() {
    let mut exec = idle().array.exec;
    let node = exec.attachments_mut().take(REQUEST, NONE);
    exec.attachments_mut().release(node);
    exec.attachments_mut().release(node);
}

#[test]
#[should_panic(expected = "attachment 3 joins a list, and is free")]
fn a_free_attachment_joins_no_list() {
    idle().array.exec.attachments_mut().set_next(3, NONE);
}

#[test]
#[should_panic(expected = "plan 0 gets 12 operations, and has room for 8")]
fn a_plan_gets_no_more_operations_than_it_has_room_for() {
    let mut exec = planned();
    let place = exec.plan(PLAN).place;
    for _ in 0..3 {
        exec.push_operations(PLAN, 0b1111, OperationKind::Read, |_| Class::HostRead, place);
    }
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 names columns 0x10, and a row has 4")]
fn a_step_names_columns_of_its_row() {
    let mut exec = planned();
    let place = exec.plan(PLAN).place;
    exec.push_operations(PLAN, 1 << 4, OperationKind::Read, |_| Class::HostRead, place);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 names page 16, and members have 16")]
fn a_step_names_pages_inside_its_members() {
    let mut exec = planned();
    let place = Place { page: 16, ..exec.plan(PLAN).place };
    exec.push_operations(PLAN, 1, OperationKind::Read, |_| Class::HostRead, place);
}

#[test]
#[should_panic(expected = "plan 0 gets 9 operations, and has room for 8")]
fn a_step_of_its_own_operations_has_no_more_than_there_is_room_for() {
    planned().push_step(PLAN, [Operation::default(); 9]);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 names member 4, and there are 4")]
fn an_operation_names_a_member_that_exists() {
    planned().push_step(PLAN, [Operation { member: MemberNo::new(4), ..Operation::default() }]);
}

#[test]
#[should_panic(expected = "plan 0 gets 9 operations, and has room for 8")]
fn an_operation_is_added_only_if_there_is_room_for_it() {
    let mut exec = planned();
    exec.push_step(PLAN, []);
    (0..9).for_each(|_| exec.add_operation(PLAN, Operation::default()));
}

#[test]
#[should_panic(expected = "plan 0 gets an operation, and its last step is Some(Compute { pages: 1 })")]
fn an_operation_is_added_to_a_step_of_operations() {
    let mut exec = planned();
    exec.push_compute(PLAN, 1);
    exec.add_operation(PLAN, Operation::default());
}

#[test]
#[should_panic(expected = "plan 0 is to keep what its write of column 2 replaces, and the write has started")]
fn a_version_is_kept_before_the_write_that_replaces_it_starts() {
    let mut rig = idle();
    rig.submit(RequestKind::Write, 0, 3, 1);
    rig.array.exec.keep_replaced(PLAN, 2);
}

#[test]
#[should_panic(expected = "plan 0 adopts page 1 for column 2, and has page 0")]
fn a_buffer_is_adopted_only_where_there_is_none() {
    let mut exec = planned();
    for _ in 0..2 {
        let page = exec.memory_mut().take();
        exec.adopt_buffer(PLAN, 2, page);
    }
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 names the buffer of column 4, and a row has 4")]
fn a_buffer_is_one_of_a_column() {
    planned().adopt_buffer(PLAN, 4, NONE);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 covers column 3, and a row has 3 of data")]
fn a_write_covers_sectors_of_data() {
    planned().set_cover(PLAN, 3, 1);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "time runs forward: 4 after 5")]
fn time_runs_forward() {
    let mut exec = idle().array.exec;
    exec.advance(5);
    exec.advance(4);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "a request is submitted at 0, and arrives at 1")]
fn a_request_is_submitted_no_earlier_than_it_arrives() {
    let mut rig = idle();
    let host = HostRequest { tag: 0, arrival: 1, offset: 0, bytes: 0, kind: RequestKind::Flush };
    _ = rig.array.submit(0, host, [].into(), &mut rig.world);
}

#[test]
#[should_panic(expected = "operation 0 ends at 0, and has not started")]
fn an_operation_ends_only_after_it_was_started() {
    let mut rig = idle();
    rig.world.closed.extend(MemberNo::first(4));
    rig.submit(RequestKind::Read, 0, 1, 0);
    let id = rig.array.exec.first_operation(PLAN);
    rig.array.completed(0, id, Outcome::Done, Timing::default(), &mut rig.world);
}

#[test]
#[should_panic(expected = "operation 8 ends at 0, and is over")]
fn an_operation_that_was_never_queued_does_not_end() {
    let mut rig = idle();
    let id = rig.array.exec.first_operation(PlanId::new(1));
    rig.array.completed(0, id, Outcome::Done, Timing::default(), &mut rig.world);
}

#[test]
#[should_panic(expected = "operation 0 ends at 0, and is over")]
fn an_operation_ends_once() {
    let mut rig = reading();
    let id = rig.world.in_flight[0].id;
    rig.run();
    rig.array.completed(0, id, Outcome::Done, Timing::default(), &mut rig.world);
}

#[test]
#[should_panic(expected = "a computation of plan 0 ends, and the plan is free")]
fn a_computation_ends_only_for_a_plan_that_is_under_way() {
    let mut rig = idle();
    rig.array.computed(0, PLAN, &mut rig.world);
}

#[test]
#[should_panic(expected = "a computation of plan 0 ends in step 0, and the step has none")]
fn a_computation_ends_only_for_a_plan_that_computes() {
    let mut rig = reading();
    rig.array.computed(0, PLAN, &mut rig.world);
}

#[test]
#[should_panic(expected = "a request of the controller's own begins, and one is Splitting")]
fn the_controller_has_one_request_of_its_own_at_a_time() {
    let mut exec = idle().array.exec;
    let host = HostRequest { tag: 0, arrival: 0, offset: 0, bytes: 0, kind: RequestKind::Read };
    exec.begin_internal(host, (0, 1), [].into());
    exec.begin_internal(host, (0, 1), [].into());
}

#[test]
#[should_panic(expected = "a request of the controller's own begins at page 7, and has no pages")]
fn the_controllers_own_request_has_pages() {
    let mut exec = idle().array.exec;
    let host = HostRequest { tag: 0, arrival: 0, offset: 0, bytes: 0, kind: RequestKind::Read };
    exec.begin_internal(host, (7, 0), [].into());
}

#[test]
#[should_panic(expected = "member 2 is taken out, and is out of service")]
fn a_member_is_taken_out_once() {
    let mut exec = idle().array.exec;
    exec.take_out(MemberNo::new(2));
    exec.take_out(MemberNo::new(2));
}

#[test]
#[should_panic(expected = "member 0 is taken out, and has 1 operations")]
fn a_member_is_taken_out_while_it_has_no_operations() {
    reading().array.exec.take_out(MemberNo::new(0));
}

#[test]
#[should_panic(expected = "plan 0 belongs to hosts, and the placement takes it")]
fn a_placement_takes_only_its_own_plans() {
    idle().array.exec.take_own(PLAN, Purpose::Commit);
}

#[test]
#[should_panic(expected = "plan 0 belongs to hosts, and the placement ends it")]
fn a_placement_ends_only_its_own_plans() {
    planned().end_own(PLAN);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "plan 0 leaves row 0, and has it as Shared")]
fn a_plan_with_a_row_lock_keeps_its_row() {
    let mut exec = planned();
    exec.take_turn(PLAN, RowLock::Shared);
    exec.set_row(PLAN, RowNo::new(1));
}
