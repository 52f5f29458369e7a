//! Rotating permission in whole runs: at most one member of a parity group collects at a time, whatever the load, and
//! every request is served.

use proptest::prelude::*;
use stripewise_array::Scheme;
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::{Domain, Preemption};
use stripewise_sim::tables::GcRow;
use stripewise_sim::{RunConfig, Totals, run};

use crate::support::{Collections, Mixed};

/// The configuration and the load of a run.
#[derive(Clone, Debug)]
struct Setup {
    /// Sections of the scheme for coordination and for redirected reads.
    coordination: String,
    layout: &'static str,
    groups: u32,
    geometry: &'static str,
    preemption: Preemption,
    every_ns: u64,
    read_percent: u64,
    seed: u64,
}

const LAYOUTS: [(&str, u32); 4] = [("chip:2", 8), ("channel:2", 8), ("ssd:8", 8), ("chip:4", 16)];

fn device(layout: &str) -> DeviceSpec {
    let mut device = DeviceSpec::preset("mqsim-gc-2gib").expect("a preset");
    let g = &mut device.geometry;
    (g.channels, g.chips, g.blocks, g.pages) =
        if layout.starts_with("ssd") { (2, 1, 24, 16) } else { (4, 1, 48, 16) };
    device.gc.blocking = Domain::Die;
    device
}

fn run_of(case: &Setup) -> (Totals, Vec<GcRow>) {
    let groups = case.groups;
    let text =
        format!("name = 'test'\n[geometry]\ngroups = {groups}\n{}\n{}\n", case.geometry, case.coordination);
    let mut device = device(case.layout);
    device.gc.preemption = case.preemption;
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
    let span = stripewise_sim::capacity(&config).expect("a device") / 10 * 9;
    let prng = stripewise_base::prng::Prng::new(case.seed);
    let (every_ns, read_percent) = (case.every_ns, case.read_percent);
    let mut source = Mixed { prng, count: 3_000, every_ns, read_percent, span, sent: 0 };
    let mut collections = Collections::default();
    let totals = run(&config, &mut source, &mut collections, &mut |_| true).expect("a run");
    (totals, collections.gcs)
}

/// The largest number of members of a group that collect at the same time.
fn most_at_a_time(rows: &[GcRow], group: impl Fn(u32) -> u32) -> usize {
    let at_once = |row: &GcRow| {
        let same = rows.iter().filter(|other| {
            group(other.member) == group(row.member)
                && other.start_ns <= row.start_ns
                && row.start_ns < other.end_ns
        });
        let mut members: Vec<u32> = same.map(|other| other.member).collect();
        members.sort_unstable();
        members.dedup();
        members.len()
    };
    rows.iter().map(at_once).max().unwrap_or(0)
}

const TOKEN: &str = "[coordination]\npolicy = 'rotating'";
const WINDOW: &str = "[coordination]\npolicy = 'rotating'\nturn = 'window'\nwindow = '3ms'\nahead = 0";

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_two_members_of_a_group_ever_collect_at_once_and_every_request_is_served(
        coordination in prop_oneof![Just(TOKEN), Just(WINDOW)],
        layout in 0..LAYOUTS.len(),
        two_groups: bool,
        apart: bool,
        preempts: bool,
        every_ns in prop_oneof![Just(1_000u64), Just(60_000), Just(400_000)],
        read_percent in prop_oneof![Just(0u64), Just(50), Just(95)],
        seed: u64,
    ) {
        let (layout, members) = LAYOUTS[layout];
        let groups = 1 + u32::from(two_groups);
        let apart = apart && two_groups;
        let case = Setup {
            coordination: coordination.to_owned(),
            layout,
            groups,
            geometry: if apart { "membership = 'longest-code-interval'" } else { "" },
            preemption: if preempts { Preemption::Moves } else { Preemption::Never },
            every_ns,
            read_percent,
            seed,
        };
        let (totals, rows) = run_of(&case);
        let columns = members / groups;
        let group = |member: u32| if apart { member % groups } else { member / columns };
        prop_assert!(most_at_a_time(&rows, group) <= 1);
        prop_assert!(rows.len() > if read_percent == 0 { 50 } else { 0 }, "{} blocks", rows.len());
        let served = totals.requests.reads.count + totals.requests.writes.count;
        prop_assert_eq!((served, totals.requests.failed), (3_000, 0));
    }
}

#[test]
fn without_permission_members_collect_at_once_and_with_it_writes_pay() {
    let case = Setup {
        coordination: String::new(),
        layout: "chip:2",
        groups: 1,
        geometry: "",
        preemption: Preemption::Never,
        every_ns: 60_000,
        read_percent: 20,
        seed: 1,
    };
    let (free, rows) = run_of(&case);
    assert!(most_at_a_time(&rows, |_| 0) > 2);
    assert_eq!(free.sum(|row| row.permission_waits), 0);
    // Members acknowledge here, so coordination of buffered writes is none.
    let (buffered, _) =
        run_of(&Setup { coordination: format!("{TOKEN}\nwhen = 'buffered'"), ..case.clone() });
    assert_eq!(buffered.requests.writes.mean_ns(), free.requests.writes.mean_ns());
    let (turns, rows) = run_of(&Setup { coordination: TOKEN.to_owned(), ..case });
    assert_eq!(most_at_a_time(&rows, |_| 0), 1);
    // Eight members need eight times the collection that one member may do: writes wait for permission.
    assert!(turns.sum(|row| row.permission_waits) > 0 && turns.sum(|row| row.permission_wait_ns) > 0);
    assert!(turns.requests.writes.mean_ns() > free.requests.writes.mean_ns());
}

#[test]
fn reads_that_decode_around_collections_lose_their_tail_where_members_take_turns() {
    let gc_avoiding = "[read]\npolicy = 'gc-avoiding'\n";
    let tail = |coordination: &str, read: &str| {
        let case = Setup {
            coordination: format!("{read}{coordination}"),
            layout: "chip:2",
            groups: 1,
            geometry: "",
            preemption: Preemption::Never,
            every_ns: 1_500_000,
            read_percent: 70,
            seed: 1,
        };
        let (totals, rows) = run_of(&case);
        assert!(rows.len() > 50, "{} blocks", rows.len());
        totals.requests.reads.percentile_ns(9_900)
    };
    let [direct, avoiding] = ["", gc_avoiding].map(|read| tail("", read));
    let [alone, both] = ["", gc_avoiding].map(|read| tail(TOKEN, read));
    // Two collecting members are two losses, more than one parity chunk tolerates.
    assert!(both * 2 < avoiding && avoiding < direct, "{both} {avoiding} {direct}");
    assert!(both * 2 < alone, "{both} {alone}");
}
