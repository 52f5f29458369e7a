//! Paper 001: what its claims say of measurements that are made up.

use stripewise_papers::{Measured, Paper, StudyPoint, Verdict};

use crate::support::{all_claims, exact, made_up, only, verdicts};

const AGREES: Verdict = Verdict::Agrees;
const SAME: Verdict = Verdict::SameDirection;
const DIFFERS: Verdict = Verdict::Differs;

fn paper() -> Paper {
    Paper::find("001").unwrap_or_else(|error| panic!("{error}"))
}

fn columns(scheme: &str, value: f64) -> Vec<(&'static str, f64)> {
    vec![
        ("requests", 1e6),
        ("array_gc_segments", if scheme == "in-place" { 0.0 } else { 10.0 }),
        ("array_gc_moved_chunks", 1e6 * value),
        ("stripe_data_chunks", 1e6),
        ("response_mean_ns", 1e6 * value),
        ("write_mean_ns", 1e6 * value),
        ("erase_blocks", 1e4 * value),
    ]
}

/// Studies whose runs are made up: `value` of the scheme.
fn studies(paper: &Paper, value: impl Fn(&str) -> f64) -> Vec<Measured> {
    made_up(paper, &all_claims(paper), |_, scheme| columns(scheme, value(scheme)))
}

#[test]
fn what_is_as_printed_agrees() {
    let paper = paper();
    let all = studies(&paper, |scheme| match scheme {
        "was2" | "was2-mixed" | "was3" | "was4" => 0.4,
        "hca" => 0.48,
        _ => 1.0,
    });
    // 60 % fewer everywhere: in reach of 1a's 70.6, beyond 1b's 43.2, within 1c, 1d and 1e. What 1e and 1f print contradicts 1b.
    let contradicts = Verdict::Contradicts;
    let words = [AGREES, SAME, AGREES, AGREES, contradicts, contradicts, AGREES, AGREES];
    assert_eq!(verdicts(&paper, &all), words);
    // Where one scheme alone keeps live chunks apart, some readings agree and others do not.
    let all = studies(&paper, |scheme| if scheme == "was2" { 0.4 } else { 1.0 });
    assert_eq!(verdicts(&paper, &all)[0], Verdict::AgreesIn { readings: 2, of: 4 });
}

#[test]
fn the_other_way_differs() {
    let paper = paper();
    let all = studies(&paper, |scheme| if scheme.starts_with("esap") { 1.0 } else { 1.5 });
    let words = verdicts(&paper, &all);
    assert_eq!(words[..4], [DIFFERS; 4]);
    // GLRU and HCA alike is no gain; three and four groups alike is what is printed.
    assert_eq!(words[6..], [DIFFERS, AGREES]);
}

#[test]
fn more_groups_that_cost_or_spare_are_distinguished() {
    let paper = paper();
    let with = |four: f64| {
        let all = studies(&paper, |scheme| match scheme {
            "was4" => four,
            "was2" | "was3" => 0.5,
            _ => 1.0,
        });
        verdicts(&paper, &all)[7]
    };
    assert_eq!([with(0.48), with(0.4), with(0.6)], [AGREES, SAME, DIFFERS]);
}

#[test]
fn gains_are_named_for_what_they_are_and_a_scheme_without_collection_is_named() {
    let paper = paper();
    let all_claims = only(&paper, &["1a"]);
    let of = |value: f64, segments: f64| {
        let all = made_up(&paper, &all_claims, |_, scheme| {
            let mut run = columns(scheme, if scheme == "was2" { value } else { 1.0 });
            run[1].1 = segments;
            run
        });
        let found = exact(&paper, &all_claims.claims, &all, &[]).unwrap_or_else(|error| panic!("{error}"));
        (found.claims[0].measured[0].clone(), found.claims[0].rationale.clone())
    };
    let texts = [0.294, 1.0, 1.083, 2.0, 20.52].map(|value| of(value, 1.0).0);
    let expected = ["70.6 % fewer", "0.0 % fewer", "8.3 % more", "2.0 times as much", "20.5 times as much"];
    assert_eq!(texts, expected);
    let idle = "NO GARBAGE COLLECTION IN A SCHEME: Financial1, RAID-5";
    assert!(of(0.5, 0.0).1.ends_with(idle) && !of(0.5, 1.0).1.contains(idle));
}

#[test]
fn a_claim_takes_the_schemes_that_it_needs() {
    let paper = paper();
    let points = paper.points(&only(&paper, &["1a"])).unwrap_or_else(|error| panic!("{error}"));
    let [point] = points.as_slice() else { panic!("{points:?}") };
    assert_eq!(point.to_string(), "Financial1, RAID-5");
    let judged = ["esap", "was2", "esap-mixed", "was2-mixed"];
    assert_eq!(point.schemes(), judged);
    let quick = stripewise_papers::EvaluationOptions { quick: true, ..only(&paper, &["1a"]) };
    let points_of_part = paper.points(&quick).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(points_of_part[0].schemes(), [&judged[..], &["esap-group", "threshold"]].concat());
    let all = paper.points(&all_claims(&paper)).unwrap_or_else(|error| panic!("{error}"));
    // Those of the paper over eight SSDs, and ours over seven; beside them the maps.
    let of_maps = |point: &&StudyPoint| point.text("part") != "main";
    assert!(all.iter().filter(of_maps).all(|point| point.schemes() == ["esap", "was2"]));
    let main = all.iter().filter(|point| !of_maps(point));
    let (ours, theirs): (Vec<_>, Vec<_>) = main.partition(|point| point.text("level") == "RAID-6 of 7");
    assert!(theirs.len() == 10 && theirs.iter().all(|point| point.schemes().len() == 7));
    assert!(ours.len() == 5 && ours.iter().all(|point| point.schemes() == ["rdp", "x-code"]), "{ours:?}");
    let spec = paper.comparison(ours[0], &all_claims(&paper)).unwrap_or_else(|error| panic!("{error}"));
    assert!(format!("{:?}", spec.members).contains("devices: 7"), "{:?}", spec.members);
}

#[test]
fn a_part_of_a_workload_has_a_part_of_the_array() {
    let paper = paper();
    let sizes = |workload: &str, requests: Option<u64>| {
        let all_claims = stripewise_papers::EvaluationOptions { requests, ..only(&paper, &["1c"]) };
        let points = paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}"));
        let point = points.iter().find(|point| point.text("workload") == workload).expect("a workload");
        let spec = paper.comparison(point, &all_claims).unwrap_or_else(|error| panic!("{point}: {error}"));
        (format!("{:?}", spec.settings), format!("{:?}", spec.workload.origin))
    };
    for (share, channels, blocks) in [(1.1, 8, 85), (0.75, 8, 58), (0.5, 4, 77), (0.1, 1, 62), (0.001, 1, 40)]
    {
        let (settings, _) = sizes("Online", Some((5_278_716.0 * share) as u64));
        let text = format!("{settings:?}");
        assert!(
            text.contains(&channels.to_string()) && text.contains(&blocks.to_string()),
            "{share}: {text}"
        );
    }
    assert_eq!(sizes("Online", None).0, "[]");
    let (_, origin) = sizes("Synthetic", Some(244_140));
    assert!(origin.contains("244140") && origin.contains("9999"), "{origin}");
}

#[test]
fn requests_are_those_of_the_profiles() {
    let paper = paper();
    let all_claims = stripewise_papers::EvaluationOptions { quick: true, ..all_claims(&paper) };
    for point in paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}")) {
        let name = format!("paper001/{}", point.text("workload"));
        let found = stripewise_runs::builtin_profile(&name).unwrap_or_else(|error| panic!("{error}"));
        if let Some(profile) = found.profile {
            assert_eq!(point.count("counted"), Some(profile.requests.0 / 10), "{name}");
        } else {
            assert!(found.generator.contains("requests=2441406,") && found.generator.contains("span=1GB"));
        }
    }
}

#[test]
fn parity_logging_is_counted_for_the_stripes_of_the_level() {
    let paper = paper();
    let points = paper.points(&all_claims(&paper)).unwrap_or_else(|error| panic!("{error}"));
    let count = |level: &str| {
        let point = points.iter().find(|point| point.text("level") == level).expect("a point");
        // 24 KiB each, one after the other: six chunks, a whole stripe of RAID-6 and none of RAID-5.
        let writes = "sequential:size=24KiB,write=1,span=1MiB,requests=7"
            .parse::<stripewise_trace::generate::Generator>();
        let found = paper.parity_logging(point, || Ok(writes.expect("a generator").source(1)));
        found.unwrap_or_else(|error| panic!("{error}")).expect("a model").1
    };
    let (raid5, raid6) = (count("RAID-5"), count("RAID-6"));
    assert_eq!((raid5.full_stripes, raid5.chunks), (0, 42));
    assert_eq!((raid6.full_stripes, raid6.parity_logging.parity_writes), (7, 14));
    assert_eq!(raid6.parity_logging.log_writes, 0);
}
