//! Global collection in whole runs: the members of a group collect together, every request is served, and no member
//! waits for permission.

use proptest::prelude::*;
use stripewise_array::Scheme;
use stripewise_base::prng::Prng;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::{Domain, GcSpan, GcStart, Preemption};
use stripewise_sim::{RunConfig, Totals, run};
use stripewise_trace::{Kind, Request, Source, TraceError};

use crate::support::Collections;

/// Requests of 8 KiB at random places: a burst of evenly spaced requests, then a pause.
struct Bursts {
    prng: Prng,
    count: u64,
    burst: u64,
    every_ns: u64,
    pause_ns: u64,
    read_percent: u64,
    span: u64,
    sent: u64,
}

impl Source for Bursts {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < batch.capacity() && self.sent < self.count {
            let offset = self.prng.below(self.span / 8192) * 8192;
            let kind = if self.prng.below(100) < self.read_percent { Kind::Read } else { Kind::Write };
            let time_ns = self.sent * self.every_ns + self.sent / self.burst * self.pause_ns;
            batch.push(Request { time_ns, offset, bytes: 8192, volume: 0, kind });
            self.sent += 1;
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct Setup {
    coordination: &'static str,
    layout: &'static str,
    geometry: &'static str,
    preemption: Preemption,
    /// Collections as in DiskSim: one busy span, started when an operation needs the die.
    as_disksim: bool,
    count: u64,
    every_ns: u64,
    /// Requests per burst, and the pause after it.
    burst: (u64, u64),
    read_percent: u64,
    seed: u64,
}

fn run_of(case: &Setup) -> (Totals, Collections) {
    let text = format!("name = 'test'\n{}\n{}\n", case.geometry, case.coordination);
    let mut device = DeviceSpec::preset("mqsim-gc-2gib").expect("a preset");
    let g = &mut device.geometry;
    (g.channels, g.chips, g.blocks, g.pages) =
        if case.layout.starts_with("ssd") { (2, 1, 32, 16) } else { (4, 1, 48, 16) };
    device.gc.blocking = Domain::Die;
    if case.as_disksim {
        (device.gc.span, device.gc.start) = (GcSpan::Busy, GcStart::OnDemand);
    } else {
        device.gc.preemption = case.preemption;
    }
    let config = RunConfig {
        precondition: "steady:90%".parse().expect("a state"),
        pacing: "open:1".parse().expect("a pacing"),
        gc_rows: true,
        ..RunConfig::new(
            Scheme::from_toml("test", &text).expect("a scheme"),
            device,
            case.layout.parse().expect("a layout"),
        )
    };
    let mut source = Bursts {
        prng: Prng::new(case.seed),
        count: case.count,
        burst: case.burst.0,
        every_ns: case.every_ns,
        pause_ns: case.burst.1,
        read_percent: case.read_percent,
        span: stripewise_sim::capacity(&config).expect("a device") / 10 * 9,
        sent: 0,
    };
    let mut sink = Collections::default();
    let totals = run(&config, &mut source, &mut sink, &mut |_| true).expect("a run");
    (totals, sink)
}

const REACTIVE: &str = "[coordination]\npolicy = 'global'";
const PROACTIVE: &str = "[coordination]\npolicy = 'global'\nstart = 'proactive'";
const SOFT: &str =
    "[coordination]\npolicy = 'global'\nstart = 'proactive'\ntrigger = 'soft-limit'\nblocks = 2";

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_served_and_none_waits_for_permission(
        coordination in prop_oneof![Just(REACTIVE), Just(PROACTIVE), Just(SOFT)],
        layout in prop_oneof![Just("chip:2"), Just("channel:2"), Just("ssd:8")],
        geometry in prop_oneof![Just(""), Just("[geometry]\nlevel = 'raid0'"), Just("[geometry]\ngroups = 2")],
        preempts: bool,
        as_disksim: bool,
        every_ns in prop_oneof![Just(1_000u64), Just(60_000), Just(400_000)],
        burst in prop_oneof![Just((1u64, 0u64)), Just((100, 30_000_000))],
        read_percent in prop_oneof![Just(0u64), Just(50), Just(95)],
        seed: u64,
    ) {
        let preemption = if preempts { Preemption::Moves } else { Preemption::Never };
        let case = Setup {
            coordination, layout, geometry, preemption, as_disksim, count: 3_000, every_ns, burst, read_percent, seed,
        };
        let (totals, sink) = run_of(&case);
        let served = totals.requests.reads.count + totals.requests.writes.count;
        prop_assert_eq!((served, totals.requests.failed), (3_000, 0));
        prop_assert!(sink.gcs.len() > if read_percent == 0 { 50 } else { 0 }, "{} blocks", sink.gcs.len());
        prop_assert_eq!(totals.sum(|row| row.erase_blocks), sink.gcs.len() as u64);
        prop_assert_eq!(totals.sum(|row| row.permission_wait_ns), 0);
    }
}

/// Evenly spaced writes: a member without coordination collects when its own planes are full.
const STEADY: Setup = Setup {
    coordination: "",
    layout: "ssd:8",
    geometry: "",
    preemption: Preemption::Never,
    as_disksim: false,
    count: 4_000,
    every_ns: 2_000_000,
    burst: (1, 0),
    read_percent: 40,
    seed: 1,
};

/// Share of the slices with at least two collecting members among those with at least one.
fn together(totals: &Totals) -> f64 {
    let [any, two] = [1, 2].map(|members| totals.gc_slices.at_least(members) as f64);
    assert!(any > 1_000.0, "{any} slices");
    two / any
}

#[test]
fn members_collect_at_the_same_time_more_often_and_the_array_is_free_of_collections_for_longer() {
    for (geometry, as_disksim) in [("", false), ("", true), ("[geometry]\nlevel = 'raid0'", true)] {
        let of = |coordination| run_of(&Setup { coordination, geometry, as_disksim, ..STEADY }).0;
        let [alone, global] = ["", REACTIVE].map(of);
        let (before, after) = (together(&alone), together(&global));
        assert!(after > before * 1.3, "{before} {after} {geometry} {as_disksim}");
        assert!(global.gc_slices.at_least(1) < alone.gc_slices.at_least(1));
        // Blocks are collected a little earlier, and therefore with a few more valid pages.
        let erases = [&alone, &global].map(|totals| totals.sum(|row| row.erase_blocks));
        assert!(erases[0] < erases[1] * 11 / 10 && erases[1] < erases[0] * 13 / 10, "{erases:?}");
    }
}

#[test]
fn what_is_collected_while_the_array_rests_need_not_be_collected_in_the_next_burst() {
    let bursts = Setup { burst: (40, 60_000_000), every_ns: 100_000, read_percent: 20, ..STEADY };
    let of = |coordination| run_of(&Setup { coordination, ..bursts }).0;
    let [reactive, proactive] = [REACTIVE, PROACTIVE].map(of);
    let mean = |totals: &Totals| totals.requests.reads.with(&totals.requests.writes).mean_ns();
    assert!(mean(&proactive) * 10 < mean(&reactive) * 9, "{} {}", mean(&proactive), mean(&reactive));
}

#[test]
fn blocks_in_a_window_and_the_margin_change_what_is_collected_ahead() {
    let erases = |coordination| run_of(&Setup { coordination, ..STEADY }).0.sum(|row| row.erase_blocks);
    let wide = erases("[coordination]\npolicy = 'global'\nmargin = '20%'");
    let none = erases("[coordination]\npolicy = 'global'\nmargin = '0%'");
    assert!(wide > none, "{wide} {none}");
    let many = erases("[coordination]\npolicy = 'global'\nmargin = '20%'\nblocks = 4");
    assert_ne!(many, wide);
}
