//! Paper 002: what its claims say of measurements that are made up, and the search for a speed.

use stripewise_papers::{Columns, EvaluationOptions, Paper, StudyPoint, Verdict};
use stripewise_runs::{Comparison, ComparisonSpec};

use crate::support::{all_claims, exact, made_up, of_all, only, text, verdicts};

const AGREES: Verdict = Verdict::Agrees;
const SAME: Verdict = Verdict::SameDirection;

fn paper() -> Paper {
    Paper::find("002").unwrap_or_else(|error| panic!("{error}"))
}

fn of(wait: f64, write: f64, busy: f64) -> Vec<(&'static str, f64)> {
    vec![
        ("requests", 10.0),
        ("read_wait_mean_ns", wait),
        ("write_wait_mean_ns", write),
        ("busy_share_before", busy),
        ("busy_share_after", busy),
    ]
}

fn as_printed(_: &StudyPoint, scheme: &str) -> Vec<(&'static str, f64)> {
    match scheme {
        "fifo" => of(1000.0, 1000.0, 0.227),
        "piq" | "piq-4" | "piq-16" => of(888.0, 974.0, 0.2335),
        "queue-1" => of(762.0 * 1.25, 968.0, 0.2436),
        "length-4" => of(762.0 * 0.92, 968.0, 0.2436),
        "length-16" => of(762.0 * 1.08, 968.0, 0.2436),
        _ => {
            let mut run = of(762.0, 968.0, 0.2436);
            run.extend([("redirected_chunks", 3.0), ("decode_read_pages", 21.0), ("host_read_pages", 7.0)]);
            run
        }
    }
}

#[test]
fn what_is_as_printed_agrees() {
    let paper = paper();
    let all = made_up(&paper, &all_claims(&paper), as_printed);
    // Every trace is as the mean of all: far below 2b, far above 2c.
    assert_eq!(verdicts(&paper, &all), [AGREES, SAME, SAME, AGREES, AGREES, AGREES, AGREES, AGREES]);
    let found = exact(&paper, &paper.claims(), &all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.claims[0].measured[0], "23.8 % (14.2 %)");
    let cause = &found.claims[0].rationale;
    assert!(cause.contains("30.0 % of the chunks that are read"), "{cause}");
    assert!(cause.contains("reads 7.00 chunks for each"), "{cause}");
    assert_eq!(found.claims[4].measured[0], "+7.3 % (+4.3 %)");
    let text = text(&paper, &found, &all, &of_all());
    assert_eq!(text.matches("BRR, WT counts collections, AT oracle").count(), 12, "each whole trace");
    assert!(text.contains("3993316") && text.contains("0.3550 / "), "{text}");
}

#[test]
fn the_other_way_differs() {
    let paper = paper();
    let all = made_up(&paper, &all_claims(&paper), |point, scheme| match scheme {
        "fifo" | "piq" | "piq-4" | "piq-16" => of(1000.0, 1000.0, 0.2),
        "queue-1" | "length-16" => of(500.0, 1000.0, 0.1),
        _ if point.text("part") == "realtime" => of(1000.0, 1000.0, 0.0),
        _ => of(1500.0, 1500.0, 0.1),
    });
    assert_eq!(verdicts(&paper, &all)[..7], [Verdict::Differs; 7]);
}

/// What a whole trace writes with its parity, as a share of what its chips hold; `line` is that of Table II.
fn written_share(line: &[f64], chips_bytes: f64) -> f64 {
    let [requests, reads, kib] = [line[0], line[1], line[2]];
    requests * (1.0 - reads) * kib * 1024.0 * 2.0 / chips_bytes
}

fn line_of(point: &StudyPoint) -> Vec<f64> {
    let text = point.text("line");
    text.trim_matches(['[', ']']).split(", ").map(|cell| cell.parse().expect("a number")).collect()
}

/// Table I's chips keep 15 % and begin to collect at 5 %: what writes more than a tenth of them must collect (section IV-A), and
/// what writes a little must not. Both scales are the same in this.
#[test]
fn the_judged_studies_collect_where_the_size_of_the_trace_says_so() {
    let paper = paper();
    let all_claims = only(&paper, &["2d"]);
    let points = paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}"));
    let share = |point: &&StudyPoint| written_share(&line_of(point), 256.0 * (1u64 << 30) as f64);
    let whole: Vec<&StudyPoint> = points.iter().filter(|point| point.text("part") == "whole").collect();
    let must: Vec<String> =
        whole.iter().filter(|point| share(point) > 0.1).map(|point| point.text("workload")).collect();
    assert_eq!(must, ["HM_0", "PRN_0", "PRN_1", "PROJ_1", "PRXY_0", "STG_0", "USR_0"]);
    for (workload, collects) in [("HM_0", true), ("STG_0", true), ("PROJ_3", false), ("HM_1", false)] {
        let is_ours =
            |point: &&StudyPoint| point.text("workload") == workload && point.text("part") == "sixteenth";
        let point = points.iter().find(is_ours).expect("a study");
        let spec = paper.comparison(point, &all_claims).unwrap_or_else(|error| panic!("{error}"));
        let first = spec.schemes[..1].to_vec();
        let study = Comparison::new(ComparisonSpec { schemes: first, ..spec }, &()).expect("a study");
        let run = study.in_memory(0, &()).expect("a run").run;
        let erased = run.totals().get("erase_blocks");
        let has_erased = matches!(erased, Some(stripewise_sim::Figure::Count(1..)));
        assert_eq!(has_erased, collects, "{workload}: {erased:?} blocks erased");
    }
}

#[test]
fn the_profiles_are_those_of_table_2() {
    let paper = paper();
    let all_claims = all_claims(&paper);
    let searches = paper.searches(&all_claims).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(searches.len(), 12);
    for search in &searches {
        let point = &search.point(&all_claims).unwrap_or_else(|error| panic!("{error}"))[0];
        let name = format!("paper002/{}", point.text("workload"));
        let found = stripewise_runs::builtin_profile(&name).unwrap_or_else(|error| panic!("{error}"));
        let profile = found.profile.expect("a profile");
        let line: Vec<f64> = point
            .text("line")
            .trim_matches(['[', ']'])
            .split(", ")
            .map(|cell| cell.parse().expect("a number"))
            .collect();
        assert_eq!(profile.requests.0, line[0] as u64, "{name}");
        assert!((profile.write_ratio + line[1] - 1.0).abs() < 1e-9, "{name}");
    }
}

#[test]
fn results_about_one_trace_take_that_one_and_no_sweeps() {
    let paper = paper();
    let names = |claims: &[&str]| -> Vec<String> {
        let points = paper.points(&only(&paper, claims)).unwrap_or_else(|error| panic!("{error}"));
        points.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        names(&["2b"]),
        ["HM_0, whole, 1/8", "HM_0, whole, 1/16", "HM_0, whole, collections on write, 1/16"]
    );
    assert_eq!(
        names(&["2c"]),
        ["PROJ_3, whole, 1/8", "PROJ_3, whole, 1/16", "PROJ_3, whole, collections on write, 1/16"]
    );
    assert_eq!(names(&["2d"]).len(), 36);
    assert_eq!(names(&["2f"]).len(), 24);
}

#[test]
fn a_workload_is_sent_as_fast_as_makes_its_chips_as_busy_as_printed() {
    let paper = paper();
    let all_claims = EvaluationOptions { requests: Some(10_000), ..only(&paper, &["2f"]) };
    let mut searches = paper.searches(&all_claims).unwrap_or_else(|error| panic!("{error}"));
    let mut search = searches.remove(0);
    loop {
        let point = &search.point(&all_claims).unwrap_or_else(|error| panic!("{error}"))[0];
        assert_eq!((point.text("part").as_str(), point.schemes()), ("calibration", &["fifo".to_owned()][..]));
        let mut run = Columns::default();
        let known = [
            "read_wait_mean_ns",
            "write_wait_mean_ns",
            "read_mean_ns",
            "redirected_chunks",
            "host_read_pages",
        ];
        known.iter().for_each(|name| run.set(name, 0.0));
        run.set("busy_share_before", point.count("speed").expect("a speed") as f64 * 1e-6);
        let measured = paper.measured(point, vec![run], &[]).unwrap_or_else(|error| panic!("{error}"));
        if !search.take(&measured).unwrap_or_else(|error| panic!("{error}")) {
            break;
        }
    }
    let points = search.points(&all_claims).unwrap_or_else(|error| panic!("{error}"));
    let speed = points[1].count("speed").expect("a speed") as f64;
    assert!((speed * 1e-6 / 0.157_154 - 1.0).abs() < 0.01, "{speed}");
    let pacing = |at: usize| {
        let spec = paper.comparison(&points[at], &all_claims).unwrap_or_else(|error| panic!("{error}"));
        spec.pacing.map(|pacing| pacing.to_string())
    };
    assert_eq!(pacing(0).as_deref(), Some("open:1"));
    assert_eq!(pacing(1), Some(format!("open:{}/100", speed as u64)));
}
