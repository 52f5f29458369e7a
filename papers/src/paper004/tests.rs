//! What the evaluation says of measurements that are made up.

use super::measured::{Measured, Run};
use super::plan::{Cell, Part, Row, ZONES, cells};
use super::variant::Policy;
use super::workload::{Access, Requests};
use super::{findings, json, markdown};
use crate::evaluation::{Options, Results};
use crate::verdict::Verdict;

/// Studies whose runs are made up.
fn studies(rows: &[Row], run: impl Fn(&Cell, Policy) -> Run) -> Vec<Measured> {
    let rows = rows.to_vec();
    let options = Options { requests: None, quick: false, traces: None, rows, seed: 1, out: "x".into() };
    let of = |cell: Cell| Measured { runs: cell.policies.iter().map(|one| run(&cell, *one)).collect(), cell };
    cells(&options).into_iter().map(of).collect()
}

/// MC-RAIS gains what the paper prints, falls with SSDs and zones; chunks behave as the paper says.
fn as_printed(cell: &Cell, policy: Policy) -> Run {
    let base = 1e6 / f64::from(cell.ssds) / f64::from(1_000 + cell.blocks);
    let (mean, deviation) = match policy {
        Policy::McRais => (base, base),
        Policy::Chunk(4) => (base / (1.0 - 0.402), base * 0.9),
        Policy::Chunk(8) => (base / (1.0 - 0.434), base / (1.0 - 0.59)),
        Policy::Chunk(_) => (base / (1.0 - 0.498), base / (1.0 - 0.458)),
    };
    let rate = match (&cell.workload.requests, policy) {
        (Requests::Random(Access::Write, _), Policy::Chunk(chunk)) => 1e9 / f64::from(chunk),
        (Requests::Random(Access::Read, size), Policy::Chunk(chunk)) if *size == 3 * chunk => 1e10,
        (_, Policy::Chunk(chunk)) => 1e6 * f64::from(chunk),
        (_, Policy::McRais) => 0.0,
    };
    Run {
        requests: 10.0,
        mean_ns: [mean; 3],
        deviation_ns: deviation,
        bytes_per_second: rate,
        ..Run::default()
    }
}

fn verdicts(measured: &[Measured]) -> Vec<Verdict> {
    findings(Row::ALL, measured).rows.iter().map(|finding| finding.verdict).collect()
}

#[test]
fn what_is_as_printed_agrees() {
    let all = studies(Row::ALL, as_printed);
    let found = findings(Row::ALL, &all);
    assert_eq!(found.rows[0].measured[0], "40.2 % / 43.4 % / 49.8 %");
    assert_eq!(found.rows[2].measured[0], "59.0 % / 45.8 %; 4 KB-RAIS least");
    assert_eq!(
        found.rows[3].measured[0],
        "falls with SSDs; falls with zones on 3 of 3 traces; best in 12 of 12"
    );
    // That reads of three chunks are best breaks their growth at the sizes of which there is such a chunk: of ten, four.
    assert!(found.rows[4].measured[0].starts_with("reads grow for 6 of 10"), "{}", found.rows[4].measured[0]);
    let expected =
        [Verdict::Agrees, Verdict::Agrees, Verdict::Agrees, Verdict::Agrees, Verdict::SameDirection];
    assert_eq!(verdicts(&all), expected);
}

#[test]
fn where_zones_lose_all_of_it_differs() {
    let all = studies(Row::ALL, |cell, policy| {
        let mut run = as_printed(cell, policy);
        if policy == Policy::McRais {
            let worse = 10.0 * f64::from(cell.ssds * cell.blocks) * f64::from(cell.ssds * cell.blocks);
            (run.mean_ns, run.deviation_ns) = (run.mean_ns.map(|ns| ns * worse), run.deviation_ns * 10.0);
        }
        run.bytes_per_second = 1e6;
        run
    });
    assert_eq!(verdicts(&all), [Verdict::Differs; 5]);
}

#[test]
fn the_trend_of_zones_is_that_of_mc_rais_against_fixed_arrays_of_the_largest_size() {
    // MC-RAIS with the smallest zones loses to 4 KB chunks on the largest array, although it wins on its own size.
    let all = studies(&[Row::D], |cell, policy| {
        let mut run = as_printed(cell, policy);
        if policy == Policy::Chunk(4) && cell.blocks == ZONES[2].0 {
            run.mean_ns = [1e6 / 4.0 / 1_080.0; 3];
        }
        run
    });
    let found = findings(&[Row::D], &all);
    assert!(found.rows[0].measured[0].ends_with("best in 9 of 12"), "{}", found.rows[0].measured[0]);
    assert_eq!(found.rows[0].verdict, Verdict::SameDirection);
}

#[test]
fn what_was_not_measured_is_not_judged_and_no_panic() {
    assert_eq!(verdicts(&[]), [Verdict::NotMeasured; 5]);
    let zeros = studies(Row::ALL, |_, _| Run::default());
    assert_eq!(zeros.iter().filter(|one| one.cell.part == Part::Chunks).count(), 20);
    let found = findings(Row::ALL, &zeros);
    assert!(!markdown(&found, &zeros).is_empty());
}

#[test]
fn texts_and_json_tell_every_run() {
    let all = studies(Row::ALL, as_printed);
    let found = findings(Row::ALL, &all);
    let (text, value) = (markdown(&found, &all), json(&found, &all));
    for part in ["Fig. 2: random reads", "Fig. 2: random writes", "Fig. 5 and 6", "Fig. 7", "Fig. 8"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(text.contains("| 48 KiB"), "a row for each size of requests");
    let runs = value["studies"].as_array().expect("studies").iter();
    let runs: usize = runs.map(|study| study["runs"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(runs, all.iter().map(|one| one.runs.len()).sum::<usize>());
    assert_eq!(value["rows"][0]["row"], "4a");
}
