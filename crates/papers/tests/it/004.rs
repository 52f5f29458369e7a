//! Paper 004: what its claims say of measurements that are made up.

use stripewise_papers::{Measured, Paper, StudyPoint, Verdict};

use crate::support::{all_claims, exact, made_up, only, text, verdicts};

fn paper() -> Paper {
    Paper::find("004").unwrap_or_else(|error| panic!("{error}"))
}

fn number(point: &StudyPoint, name: &str) -> f64 {
    point.count(name).map_or(0.0, |count| count as f64)
}

/// MC-RAIS gains what the paper prints, falls with SSDs and zones; chunks behave as the paper says.
fn as_printed(point: &StudyPoint, scheme: &str) -> Vec<(&'static str, f64)> {
    let base = 1e6 / number(point, "ssds") / (1_000.0 + number(point, "blocks"));
    let (mean, deviation) = match scheme.split('-').next().unwrap_or(scheme) {
        "mc" | "log" => (base, base),
        "k4" => (base / (1.0 - 0.402), base * 0.9),
        "k8" => (base / (1.0 - 0.434), base / (1.0 - 0.59)),
        _ => (base / (1.0 - 0.498), base / (1.0 - 0.458)),
    };
    let chunk: f64 = scheme.trim_start_matches('k').parse().unwrap_or(1.0);
    let rate = match point.text("access").as_str() {
        "write" => 1e9 / chunk,
        "read" if number(point, "kib") == 3.0 * chunk => 1e10,
        _ => 1e6 * chunk,
    };
    vec![
        ("requests", 10.0),
        ("response_mean_ns", mean),
        ("response_deviation_ns", deviation),
        ("simulated_ns", 1e9),
        ("read_bytes", rate),
    ]
}

fn shown(paper: &Paper, measured: &[Measured], claim: &str) -> String {
    let found = exact(paper, &[claim.to_owned()], measured, &[]).unwrap_or_else(|error| panic!("{error}"));
    found.claims[0].measured[0].clone()
}

#[test]
fn what_is_as_printed_agrees() {
    let paper = paper();
    let all = made_up(&paper, &all_claims(&paper), as_printed);
    assert_eq!(shown(&paper, &all, "4a"), "40.2 % / 43.4 % / 49.8 %");
    assert_eq!(shown(&paper, &all, "4c"), "59.0 % / 45.8 %; 4 KB-RAIS least");
    let found = exact(&paper, &["4a".to_owned()], &all, &[]).unwrap_or_else(|error| panic!("{error}"));
    let (printed, control) = ("40.2 % / 43.4 % / 49.8 %", "0.0 % / 5.4 % / 16.1 %");
    let expected = [printed, printed, printed, printed, control, printed, printed];
    assert_eq!(found.claims[0].measured, expected, "both states, what departs from print, the control");
    let trends = "falls with SSDs; falls with zones on 3 of 3 traces; best in 12 of 12";
    assert_eq!(shown(&paper, &all, "4d"), trends);
    // That reads of three chunks are best breaks their growth at the sizes of which there is such a chunk: of ten, four.
    assert!(shown(&paper, &all, "fig2").starts_with("reads grow for 18 of 30"));
    let mut expected = [Verdict::Agrees; 5];
    expected[4] = Verdict::SameDirection;
    assert_eq!(verdicts(&paper, &all), expected);
}

#[test]
fn where_zones_lose_all_of_it_differs() {
    let paper = paper();
    let all = made_up(&paper, &all_claims(&paper), |point, scheme| {
        let mut run = as_printed(point, scheme);
        if scheme.starts_with("mc") {
            let size = number(point, "ssds") * number(point, "blocks");
            run[1].1 *= 10.0 * size * size;
            run[2].1 *= 10.0;
        }
        run[4].1 = 1e6;
        run
    });
    assert_eq!(verdicts(&paper, &all), [Verdict::Differs; 5]);
}

#[test]
fn the_trend_of_zones_is_that_of_mc_rais_against_fixed_arrays_of_the_largest_size() {
    // MC-RAIS with the smallest zones loses to 4 KB chunks on the largest array, although it wins on its own size.
    let paper = paper();
    let all = made_up(&paper, &only(&paper, &["4d"]), |point, scheme| {
        let mut run = as_printed(point, scheme);
        if scheme == "k4-nvram" && point.count("blocks") == Some(128) {
            run[1].1 = 1e6 / 4.0 / 1_080.0;
        }
        run
    });
    assert!(shown(&paper, &all, "4d").ends_with("best in 9 of 12"), "{}", shown(&paper, &all, "4d"));
    let found = exact(&paper, &["4d".to_owned()], &all, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.claims[0].verdict, Verdict::SameDirection);
}

#[test]
fn tables_and_json_have_every_run() {
    let paper = paper();
    let all = made_up(&paper, &all_claims(&paper), as_printed);
    let found = exact(&paper, &paper.claims(), &all, &[]).unwrap_or_else(|error| panic!("{error}"));
    let text = text(&paper, &found, &all, &[]);
    for part in ["Fig. 2: random reads", "Fig. 2: random writes", "Fig. 5 and 6", "Fig. 7", "Fig. 8"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(text.contains("| 48 KiB"), "a row for each size of requests");
    let value = paper.json(&found, &[], &all, &[]).unwrap_or_else(|error| panic!("{error}"));
    let runs = value["studies"].as_array().expect("studies").iter();
    let runs: usize = runs.map(|study| study["runs"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(
        runs,
        paper.points(&all_claims(&paper)).expect("points").iter().map(|p| p.schemes().len()).sum::<usize>()
    );
    assert_eq!(value["rows"][0]["row"], "4a");
}

#[test]
fn warm_up_takes_what_the_profiles_write() {
    let paper = paper();
    let all_claims = only(&paper, &["4a"]);
    let points = paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}"));
    for point in points.iter().filter(|point| point.text("state") == "full") {
        let name = format!("paper004/{}", point.text("workload"));
        let profile =
            stripewise_runs::builtin_profile(&name).unwrap_or_else(|error| panic!("{error}")).profile;
        let profile = profile.expect("a profile");
        let kib = profile.sizes.write.as_ref().and_then(|law| law.mean_kib).expect("a mean size");
        // A tenth of four SSDs of 64 blocks a plane, and two pages for each that a small write writes.
        let expected = 4.0 * 4_294_967_296.0 / 10.0 / (2.0 * profile.write_ratio * kib * 1024.0);
        assert!((number(point, "warmup") / expected - 1.0).abs() < 0.001, "{name}: {expected}");
    }
}
