//! Counts of time slices by the number of collecting members, compared with the rows of collections.

use proptest::prelude::*;
use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_base::units::Span;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::{Domain, Preemption};
use stripewise_sim::{Figure, RunConfig, Totals, run};

use crate::support::{Collections, Mixed};

fn run_of(
    layout: &str,
    preemption: Preemption,
    blocking: Domain,
    warmup: u64,
    slice: Span,
) -> (Totals, Collections) {
    let mut device = DeviceSpec::preset("mqsim-gc-2gib").expect("a preset");
    let g = &mut device.geometry;
    (g.channels, g.chips, g.blocks, g.pages) =
        if layout.starts_with("ssd") { (2, 1, 24, 16) } else { (4, 1, 48, 16) };
    (device.gc.preemption, device.gc.blocking) = (preemption, blocking);
    let config = RunConfig {
        precondition: "steady:90%".parse().expect("a state"),
        pacing: "open:1".parse().expect("a pacing"),
        warmup_requests: warmup,
        gc_rows: true,
        request_rows: true,
        gc_slice: slice,
        ..RunConfig::new(
            Scheme::from_toml("test", "name = 'test'").expect("a scheme"),
            device,
            layout.parse().expect("a layout"),
        )
    };
    let span = stripewise_sim::capacity(&config).expect("a device") / 10 * 9;
    let mut source =
        Mixed { prng: Prng::new(7), count: 2_000, every_ns: 150_000, read_percent: 30, span, sent: 0 };
    let mut sink = Collections::default();
    let totals = run(&config, &mut source, &mut sink, &mut |_| true).expect("a run");
    (totals, sink)
}

/// Slices by the number of members, computed by a search through all rows for each slice.
fn searched(totals: &Totals, sink: &Collections, warmup: u64, slice_ns: u64) -> Vec<u64> {
    // Without warm-up all time counts, including the time before the first request.
    let began = if warmup == 0 { 0 } else { sink.first_arrival_ns.expect("requests were served") };
    let mut slices = vec![0; totals.members.len() + 1];
    for slice in 0..totals.simulated_ns.div_ceil(slice_ns) {
        let from = began + slice * slice_ns;
        let meets = |member: usize| {
            let ours = sink.gcs.iter().filter(|row| row.member as usize == member);
            ours.into_iter().any(|row| row.start_ns < from + slice_ns && row.end_ns > from)
        };
        slices[(0..totals.members.len()).filter(|&member| meets(member)).count()] += 1;
    }
    slices
}

fn figure(totals: &Totals, name: &str) -> f64 {
    let figures = totals.figures();
    match figures.iter().find(|figure| figure.0 == name).expect(name).1 {
        Figure::Count(count) => count as f64,
        Figure::Real(real) => real,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slices_are_those_that_the_rows_of_collections_report(
        layout in prop_oneof![Just("chip:1"), Just("channel:1"), Just("ssd:4")],
        preemption in prop_oneof![Just(Preemption::Never), Just(Preemption::Moves), Just(Preemption::Phases)],
        blocking in prop_oneof![Just(Domain::Plane), Just(Domain::Die)],
        warmup in prop_oneof![Just(0u64), Just(700)],
        slice_ns in prop_oneof![Just(100_000u64), 20_000..3_000_000u64],
    ) {
        let (totals, sink) = run_of(layout, preemption, blocking, warmup, Span(slice_ns));
        let searched = searched(&totals, &sink, warmup, slice_ns);
        let counted: Vec<u64> = sink.slices.iter().map(|row| row.slices).collect();
        prop_assert_eq!(&counted, &searched);
        prop_assert!(sink.slices.iter().zip(0..).all(|(row, at)| row.collecting == at));
        let at_least = |n: usize| searched[n..].iter().sum::<u64>() as f64;
        prop_assert!(at_least(2) > 0.0, "members collect at the same time");
        let expected = [slice_ns as f64, at_least(1) / at_least(0), at_least(2) / at_least(0), at_least(2) / at_least(1)];
        let names = ["gc_slice_ns", "gc_any_share", "gc_two_share", "gc_two_of_any_share"];
        prop_assert_eq!(names.map(|name| figure(&totals, name)), expected);
        // A collection at work is in progress.
        let more = |n: usize| {
            let rows = || sink.slices.iter().skip(n);
            (rows().map(|row| row.slices).sum::<u64>(), rows().map(|row| row.slices_at_work).sum::<u64>())
        };
        prop_assert!((1..sink.slices.len()).all(|n| more(n).0 >= more(n).1));
        prop_assert_eq!(more(0).0, more(0).1, "both count all slices");
    }
}

#[test]
fn pauses_of_preemption_are_left_out_of_collections_at_work_and_no_others_are() {
    let any = |preemption| {
        let (_, sink) = run_of("ssd:4", preemption, Domain::Die, 0, Span(10_000));
        let none = sink.slices[0];
        (none.slices, none.slices_at_work)
    };
    let never = any(Preemption::Never);
    assert_eq!(never.0, never.1);
    let moves = any(Preemption::Moves);
    assert!(moves.0 < moves.1, "{moves:?}");
}

#[test]
fn slices_of_no_length_are_not_counted() {
    let (totals, sink) = run_of("ssd:4", Preemption::Never, Domain::Die, 0, Span(0));
    assert!(sink.slices.is_empty());
    assert_eq!(["gc_slice_ns", "gc_any_share"].map(|name| figure(&totals, name)), [0.0, 0.0]);
}
