//! Paper 003: what its claims say of measurements that are made up.

use stripewise_papers::{Columns, EvaluationOptions, Measured, Paper, StudyPoint, Verdict};

use stripewise_runs::WarmUp;

use crate::support::{all_claims, exact, made_up_with, of_all, text, verdicts};

fn paper() -> Paper {
    Paper::find("003").unwrap_or_else(|error| panic!("{error}"))
}

fn of(columns: &mut Columns, mean: f64, two: f64) {
    columns.set("requests", 10.0);
    ["response_mean_ns", "read_mean_ns", "write_mean_ns"].iter().for_each(|name| columns.set(name, mean));
    columns.set_list("collecting", &[0.5, 0.5 * (1.0 - two), 0.5 * two]);
    columns.set("collection_ns", 3.075e6);
    columns.set("gc_move_pages", 7.0);
    columns.set("erase_blocks", 1.0);
}

/// How much lower SIW's mean response is, as printed.
fn printed_gain(point: &StudyPoint) -> f64 {
    let raid0 = point.text("level") == "RAID-0";
    let of = |at: [f64; 2]| if raid0 { at[0] } else { at[1] };
    match (point.text("kind").as_str(), point.count("size")) {
        _ if point.text("gc") == "preemptive" => 0.127,
        ("hpc", _) => of([0.1474, 0.1272]),
        ("profile", _) => of([0.4262, 0.3793]),
        ("point", Some(4)) => of([-0.1205, -0.14]),
        ("point", Some(512)) => 0.1626,
        ("point", Some(1024)) => of([0.3251, 0.0579]),
        ("point", _) => of([0.1205, 0.1479]),
        _ => 0.1,
    }
}

fn as_printed(point: &StudyPoint, scheme: &str, run: &mut Columns) {
    let [wow, siw] = if point.text("level") == "RAID-0" { [0.40, 0.70] } else { [0.46, 0.74] };
    let slow = 1e6 * (1.0 - printed_gain(point));
    match scheme {
        "none" => of(run, 9e6, wow),
        "isc" => of(run, 5e6, wow),
        "siw-free" => of(run, slow * (1.0 - 0.0521), siw),
        "hybrid" => of(run, slow.min(1e6) * 1.02, siw),
        _ if scheme.starts_with("siw") => of(run, slow, siw),
        _ => of(run, 1e6, wow),
    }
}

fn studies(paper: &Paper, run: impl Fn(&StudyPoint, &str, &mut Columns)) -> Vec<Measured> {
    made_up_with(paper, &all_claims(paper), run)
}

#[test]
fn what_is_as_printed_agrees() {
    let paper = paper();
    let all = studies(&paper, as_printed);
    use Verdict::{Agrees, Contradicts, Fitted, Unknown};
    let [a, c, u] = [Agrees, Contradicts, Unknown];
    assert_eq!(verdicts(&paper, &all), [a, a, c, u, a, a, a, a, a, a, a, Fitted, u]);
    let found = exact(&paper, &paper.claims(), &all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
    let shown: Vec<&str> = found.claims.iter().map(|claim| claim.measured[0].as_str()).collect();
    assert_eq!(shown[0], "14.7 %");
    assert_eq!(shown[2], "5.2 %");
    assert_eq!(shown[4], "0.40 to 0.70 (+75.0 %)");
    assert_eq!(shown[6], "16.3 % / 32.5 % / 12.1 %");
    assert_eq!(shown[9], "+14.0 %, +0.1400 ms");
    assert_eq!(shown[10], "RAID-0: yes, RAID-5: yes");
    assert_eq!(shown[11], "3.08 ms / 3.08 ms");
    assert_eq!(shown[12], "42.6 % / 37.9 %");
}

#[test]
fn the_other_way_differs() {
    let paper = paper();
    let all = studies(&paper, |point, scheme, run| match scheme {
        "none" => of(run, 1e5, 0.9),
        "siw-free" => of(run, 3e6, 0.2),
        _ if scheme.starts_with("siw") => of(run, if printed_gain(point) > 0.0 { 2e6 } else { 5e5 }, 0.2),
        _ => {
            of(run, 1e6, 0.9);
            run.set("collection_ns", 9e6);
        }
    });
    let words = verdicts(&paper, &all);
    for (at, word) in words.iter().enumerate().filter(|(at, _)| ![2, 3, 11, 12].contains(at)) {
        assert_eq!(*word, Verdict::Differs, "claim {at}");
    }
    assert_eq!(words[2], Verdict::Contradicts, "whatever is measured");
}

#[test]
fn a_claim_counts_the_strips_in_flight_with_which_it_agrees_and_the_map_has_break_evens() {
    let paper = paper();
    // Two strips gain what is printed, one and four nothing. With two, SIW gains up to 4 MiB and loses as much from 16 MiB on.
    let all = studies(&paper, |point, scheme, run| {
        let gain = match (scheme, point.count("mib"), point.text("part").as_str()) {
            ("siw-2", Some(1..=4), "sizes") => 0.1474,
            ("siw-2", Some(16..), "sizes") => -0.1474,
            ("siw-2", _, "main") => 0.1474,
            _ => 0.0,
        };
        of(run, 1e6 * (1.0 - gain), 0.5);
    });
    let found = exact(&paper, &["3a".to_owned()], &all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
    let claim = &found.claims[0];
    assert_eq!(claim.measured[..4], ["0.0 %", "14.7 %", "0.0 %", "14.7 %"], "{:?}", claim.measured);
    assert_eq!(claim.verdict, Verdict::AgreesIn { readings: 1, of: 3 });
    assert!(claim.support.contains("without a number"), "{}", claim.support);
    let maps = paper.maps(&[&all, &all], &of_all()).unwrap_or_else(|error| panic!("{error}"));
    let [map] = &maps[..] else { panic!("one map: {maps:?}") };
    assert_eq!(map.panels.len(), 4);
    for line in map.panels.iter().flat_map(|panel| &panel.lines).filter(|line| line.name.contains("two")) {
        assert!((map.break_evens(line)[0].place - 8.0).abs() < 1e-9, "{line:?}");
    }
}

#[test]
fn the_hybrid_is_compared_with_the_better_of_the_two_at_every_point() {
    let paper = paper();
    let texts = |all: &[Measured]| {
        let found = exact(&paper, &paper.claims(), all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
        let text = text(&paper, &found, all, &of_all());
        (text, paper.json(&found, &[], all, &of_all()).unwrap_or_else(|error| panic!("{error}")))
    };
    let (text, json) = texts(&studies(&paper, as_printed));
    for level in [0, 1] {
        let hybrid = &json["hybrid"][level];
        assert_eq!((&hybrid["points"], &hybrid["within_limit"]), (&36.into(), &36.into()), "{hybrid}");
        assert_eq!(hybrid["points_where_wow_is_better"], 9);
        assert_eq!(hybrid["mixes"].as_array().map(Vec::len), Some(3));
    }
    assert!(text.contains("36 of 36 points within 5 % (holds)"), "{text}");
    for line in ["WOW, 20 groups", "SIW, not synchronised", "WOW, GGC proactive"] {
        assert_eq!(text.matches(&format!("| {line} ")).count(), 2, "{line}");
    }
    assert_eq!(text.matches("| W(4096, 10, 80) ").count(), 2);
    assert_eq!(text.matches("WOW, rotating").count(), 1, "RAID-0 has no groups to rotate in");
    let (text, json) = texts(&studies(&paper, |point, scheme, run| {
        of(run, if scheme == "hybrid" && point.count("size") == Some(512) { 2e6 } else { 1e6 }, 0.5);
    }));
    assert_eq!(json["hybrid"][1]["within_limit"], 27);
    assert!(text.contains("27 of 36 points within 5 % (does not hold), at worst 100.0 % slower"), "{text}");
}

#[test]
fn the_evaluated_points_and_mixes_are_the_profiles() {
    let paper = paper();
    let all_claims = EvaluationOptions { quick: true, ..all_claims(&paper) };
    let points = paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}"));
    let grid: Vec<&StudyPoint> =
        points.iter().filter(|point| point.text("part") == "grid" && point.count("mib") == Some(8)).collect();
    assert_eq!(grid.len(), 16);
    for point in grid {
        let [size, interval, write] = ["size", "interval", "write"].map(|name| point.text(name));
        let name = format!("paper003/w-{size}-{interval}-{write}");
        let found = stripewise_runs::builtin_profile(&name).unwrap_or_else(|error| panic!("{error}"));
        let spec = format!("size={size}KiB,interval={interval}ms,write={write}%");
        assert!(found.generator.contains(&spec), "{name}: {}", found.generator);
    }
    for mix in points.iter().filter(|point| point.text("part") == "changing") {
        assert!(stripewise_runs::builtin_profile(&format!("paper003/{}", mix.text("workload"))).is_ok());
    }
}

#[test]
fn warm_up_writes_an_eighth_of_the_span_or_uses_up_the_reserve() {
    let paper = paper();
    let all_claims = EvaluationOptions { requests: Some(1), ..all_claims(&paper) };
    let points = paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}"));
    let ours = |point: &&StudyPoint| {
        let part = point.text("part");
        let large = part == "grid" && point.count("interval") == Some(20) && point.count("size") != Some(4);
        let main = ["main", "step"].contains(&part.as_str()) && point.text("gc") == "greedy";
        let is_preset = point.count("mib") == Some(8);
        point.text("level") == "RAID-5" && is_preset && (large || main || part == "changing")
    };
    for point in points.iter().filter(ours) {
        let spec = paper.comparison(point, &all_claims).unwrap_or_else(|error| panic!("{point}: {error}"));
        let WarmUp::Requests(warmup) = spec.warmup else { panic!("{point}: its warm-up is given") };
        if [300_000, 700_000].contains(&warmup) {
            continue;
        }
        let requests = stripewise_runs::Workload::new(&spec.workload, 1, &()).expect("known");
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
        let (expected, near) = match point.text("part").as_str() {
            "step" => (13.6 / 8.0 + 1.375 / 2.0, 0.05),
            // A mix may end in the middle of a turn, and has few of them.
            "changing" => (6.0 / 2.0, 0.3),
            // As few as 300 requests.
            _ => (6.0 / 8.0, 0.15),
        };
        assert!((gib / expected - 1.0).abs() < near, "{point}: {gib} GiB");
    }
}
