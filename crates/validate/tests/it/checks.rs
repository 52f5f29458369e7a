//! Every check in its quick form: the simulator passes it, and the check finds each flaw that it must find.

use stripewise_validate::{Bend, Check, Effort, Lab, ResultRow, Verdict, checks};

fn lab(bend: Option<Bend>) -> Lab {
    let traces = std::env::var_os("STRIPEWISE_TRACES").map(Into::into);
    Lab { effort: Effort::Quick, seed: 1, bend, traces }
}

fn find(name: &str) -> &'static Check {
    checks().iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no check {name}"))
}

fn carry_out(check: &Check, bend: Option<Bend>) -> Vec<ResultRow> {
    (check.run)(&lab(bend)).unwrap_or_else(|error| panic!("{}: {error:#}", check.name))
}

/// Checks that the simulator passes unmodified, and fails with each flaw.
fn hold(name: &str) {
    let check = find(name);
    let rows = carry_out(check, None);
    for row in &rows {
        let (expected, result) = (row.expectation(), row.result());
        assert_ne!(row.verdict(), Verdict::Differs, "{}: expected {expected}, measured {result}", row.case);
        if row.verdict() == Verdict::Skipped {
            println!("skipped: {}: {}", row.case, row.note);
        }
    }
    if rows.iter().all(|row| row.verdict() == Verdict::Skipped) {
        return;
    }
    assert!(!check.bends.is_empty(), "{name} names no flaw that it finds");
    for &bend in check.bends {
        let found = carry_out(check, Some(bend)).iter().any(|row| row.verdict() == Verdict::Differs);
        assert!(found, "{name} does not find: {}", bend.name());
    }
}

/// One test a check, so that they run in parallel and their names appear when they fail.
macro_rules! tests {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            hold($name);
        })*

        #[test]
        fn every_check_has_its_test() {
            let mut tested = [$($name),*];
            let mut known: Vec<&str> = checks().iter().map(|check| check.name).collect();
            tested.sort_unstable();
            known.sort_unstable();
            assert_eq!(known, tested);
        }
    };
}

tests! {
    queues_wait_as_theory_says: "queue-waits",
    queues_are_counted_as_an_observer_would: "queue-instruments",
    an_idle_device_takes_what_its_parts_take: "idle-latency",
    a_channel_is_as_fast_as_its_dies_and_bus: "channel-limits",
    throughput_times_latency_is_the_depth: "closed-loop",
    latencies_are_the_sum_of_their_parts: "latency-parts",
    collection_amplifies_as_theory_says: "write-amplification",
    policies_amplify_in_the_order_that_theory_says: "write-amplification-order",
    collection_amplifies_as_in_mqsim: "write-amplification-2gib",
    the_traces_of_mqsim_respond_as_there: "mqsim-traces",
    updates_move_the_pages_that_arithmetic_says: "raid-counts",
    capacity_parity_and_degraded_reads_are_those_of_raid_5: "raid-shares",
    small_writes_cost_four_operations: "raid-small-writes",
    the_six_workloads_of_disksim_respond_as_documented: "disksim-suite",
    the_traces_of_disksim_respond_as_documented: "disksim-traces",
}
