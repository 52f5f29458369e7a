//! What the evaluation says of measurements that are made up.

use super::measured::{Measured, Run};
use super::plan::{Cell, Part, Row, cells};
use super::variant::{Change, Gc, Level, Policy, Variant};
use super::workload::{Requests, Workload, grid};
use super::{Hybrid, findings, json, markdown};
use crate::evaluation::{Options, Results};
use crate::verdict::Verdict;

/// Studies whose runs are made up.
fn studies(run: impl Fn(&Cell, Variant) -> Run) -> Vec<Measured> {
    let rows = Row::ALL.to_vec();
    let options = Options { requests: None, quick: false, traces: None, rows, seed: 1, out: "x".into() };
    let of = |cell: Cell| Measured { runs: cell.variants.iter().map(|one| run(&cell, *one)).collect(), cell };
    cells(&options).into_iter().map(of).collect()
}

fn of(mean: f64, two: f64) -> Run {
    Run {
        requests: 10.0,
        mean_ns: [mean; 3],
        collecting: vec![0.5, 0.5 * (1.0 - two), 0.5 * two],
        collection_ns: Some(3.075e6),
        moved_pages: 7.0,
        ..Run::default()
    }
}

/// How much lower SIW's mean response is, as printed.
fn printed_gain(cell: &Cell) -> f64 {
    let raid0 = cell.level == Level::Raid0;
    let of = |at: [f64; 2]| if raid0 { at[0] } else { at[1] };
    match (&cell.workload.requests, cell.gc) {
        (_, Gc::Preemptive) => 0.127,
        (Requests::Hpc, _) => of([0.1474, 0.1272]),
        (Requests::Profile(_), _) => of([0.4262, 0.3793]),
        (Requests::Point(point), _) => match point.size_kib {
            4 => of([-0.1205, -0.14]),
            512 => 0.1626,
            1024 => of([0.3251, 0.0579]),
            _ => of([0.1205, 0.1479]),
        },
        _ => 0.1,
    }
}

fn as_printed(cell: &Cell, variant: Variant) -> Run {
    let [wow, siw] = if cell.level == Level::Raid0 { [0.40, 0.70] } else { [0.46, 0.74] };
    let slow = 1e6 * (1.0 - printed_gain(cell));
    match (variant.policy, variant.change) {
        (Policy::None, _) => of(9e6, wow),
        (Policy::Isc, _) => of(5e6, wow),
        (Policy::Siw, Change::FreeParity) => of(slow * (1.0 - 0.0521), siw),
        (Policy::Siw, _) => of(slow, siw),
        (Policy::Hybrid, _) => of(slow.min(1e6) * 1.02, siw),
        _ => of(1e6, wow),
    }
}

fn verdicts(studies: &[Measured]) -> Vec<Verdict> {
    findings(Row::ALL, studies).rows.iter().map(|row| row.verdict).collect()
}

#[test]
fn what_the_paper_prints_agrees_with_it() {
    let found = studies(as_printed);
    assert_eq!(verdicts(&found), [Verdict::Agrees; 12]);
    let table = findings(Row::ALL, &found);
    let shown: Vec<&str> = table.rows.iter().map(|row| row.measured[0].as_str()).collect();
    assert_eq!(shown[0], "14.7 % / 42.6 %");
    assert_eq!(shown[2], "5.2 %");
    assert_eq!(shown[4], "0.40 to 0.70 (+75.0 %)");
    assert_eq!(shown[6], "16.3 % / 32.5 % / 12.1 %");
    assert_eq!(shown[9], "+14.0 %, +0.1400 ms");
    assert_eq!(shown[11], "3.08 ms / 3.08 ms");
}

#[test]
fn the_other_way_differs_and_nothing_is_not_measured() {
    let found = studies(|cell, variant| match (variant.policy, variant.change) {
        (Policy::None, _) => of(1e5, 0.9),
        (Policy::Siw, Change::FreeParity) => of(3e6, 0.2),
        (Policy::Siw, _) => of(if printed_gain(cell) > 0.0 { 2e6 } else { 5e5 }, 0.2),
        _ => Run { collection_ns: Some(9e6), ..of(1e6, 0.9) },
    });
    let words = verdicts(&found);
    let differ = words.iter().filter(|word| **word == Verdict::Differs).count();
    assert_eq!(differ, 11, "{words:?}");
    assert_eq!(words[11], Verdict::SameDirection, "three times as long");
    assert!(verdicts(&[]).iter().all(|word| *word == Verdict::NotMeasured));
}

#[test]
fn the_hybrid_is_held_to_the_better_of_the_two_at_every_point() {
    let found = studies(as_printed);
    for hybrid in Hybrid::all(&found) {
        assert_eq!((hybrid.points, hybrid.within, hybrid.wow_better), (36, 36, 9), "{:?}", hybrid.level);
        assert!(hybrid.worst.as_ref().is_some_and(|(_, excess)| (excess - 0.02).abs() < 1e-9));
        assert!(hybrid.mixes.len() == 3 && hybrid.line().contains("holds"));
    }
    let slow = studies(|cell, variant| match (variant.policy, &cell.workload.requests) {
        (Policy::Hybrid, Requests::Point(point)) if point.size_kib == 512 => of(2e6, 0.5),
        _ => of(1e6, 0.5),
    });
    let hybrid = &Hybrid::all(&slow)[1];
    assert_eq!((hybrid.points, hybrid.within), (36, 27));
    assert!(hybrid.line().contains("does not hold") && hybrid.line().contains("W(512,"), "{}", hybrid.line());
}

#[test]
fn every_run_has_its_line() {
    let found = studies(as_printed);
    let text = markdown(&findings(Row::ALL, &found), &found);
    for line in ["WOW, one group at a time", "SIW, not synchronised", "WOW, GGC proactive"] {
        assert_eq!(text.matches(&format!("| {line} ")).count(), 2, "{line}");
    }
    assert_eq!(text.matches("| W(4096, 10, 80) ").count(), 2);
    assert!(text.contains("| Exchange-large-P-5"), "{text}");
    let value = json(&findings(Row::ALL, &found), &found);
    assert_eq!(value["rows"][11]["row"], "3l");
    assert_eq!(value["hybrid"][0]["within_limit"], 36);
    assert_eq!(value["studies"].as_array().map(Vec::len), Some(found.len()));
}

#[test]
fn the_grid_is_table_1_and_its_evaluated_points_have_profiles() {
    assert_eq!(grid().count(), 36);
    for point in super::EVALUATED {
        assert!(grid().any(|other| other == point), "{point}");
        let super::Point { size_kib, interval_ms, write_percent } = point;
        let name = format!("paper003/w-{size_kib}-{interval_ms}-{write_percent}");
        let found = stripewise_study::builtin_profile(&name).unwrap_or_else(|error| panic!("{error}"));
        let spec = format!("size={size_kib}KiB,interval={interval_ms}ms,write={write_percent}%");
        assert!(found.generator.contains(&spec), "{name}: {}", found.generator);
    }
    for mix in super::MIXES {
        assert!(stripewise_study::builtin_profile(&format!("paper003/{}", mix.name)).is_ok());
    }
}

#[test]
fn warm_up_writes_an_eighth_of_the_array_and_half_of_its_span() {
    for workload in [Workload::hpc(), Workload::exchange(), Workload::exchange_large()]
        .into_iter()
        .chain(super::EVALUATED.map(Workload::point))
        .chain(super::MIXES.map(Workload::mix))
    {
        let warmup = workload.warmup(1408);
        let spec = workload.spec(warmup, 1, 1408).expect("generated");
        let requests = stripewise_study::Workload::new(&spec, 1, &()).expect("known");
        let (mut source, mut batch) = (requests.open(&()).expect("generated"), Vec::with_capacity(4096));
        let (mut written, mut count) = (0u64, 0u64);
        loop {
            stripewise_trace::Source::next_batch(&mut source, &mut batch).expect("generated");
            if batch.is_empty() {
                break;
            }
            count += batch.len() as u64;
            let writes = batch.iter().filter(|one| one.kind == stripewise_trace::Kind::Write);
            written += writes.map(|one| u64::from(one.bytes)).sum::<u64>();
        }
        assert_eq!(count, warmup + 1);
        let gib = written as f64 / (1u64 << 30) as f64;
        // A mix may end in the middle of a turn, and has few of them.
        let near = if matches!(workload.requests, Requests::Mix(_)) { 0.3 } else { 0.05 };
        assert!((gib / (13.6 / 8.0 + 1.375 / 2.0) - 1.0).abs() < near, "{}: {gib} GiB", workload.name);
    }
}

#[test]
fn parts_have_the_runs_that_the_paper_and_the_issue_ask_for() {
    let found = studies(as_printed);
    let count = |part| found.iter().filter(|one| one.cell.part == part).count();
    assert_eq!([Part::Main, Part::Grid, Part::Changing, Part::Sweep].map(count), [12, 72, 6, 2]);
    let raid0 = found.iter().filter(|one| one.cell.part == Part::Sweep && one.cell.level == Level::Raid0);
    for one in raid0 {
        assert!(
            one.cell.variants.iter().all(|variant| variant.change != Change::Rotating),
            "no groups to rotate in"
        );
    }
}
