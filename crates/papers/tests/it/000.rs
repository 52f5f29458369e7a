//! Paper 000: what its claims say of measurements that are made up.

use stripewise_papers::{EvaluationOptions, Measured, Paper, Verdict};

use crate::support::{all_claims, exact, made_up, of_all, only, verdicts};

fn paper() -> Paper {
    Paper::find("000").unwrap_or_else(|error| panic!("{error}"))
}

/// Studies in which Adaptive has `less` of what BPU and Baseline have.
fn studies(paper: &Paper, less: f64, adjusted: f64) -> Vec<Measured> {
    made_up(paper, &all_claims(paper), |_, scheme| {
        let ours = if scheme == "adaptive" { 1.0 - less } else { 1.0 };
        vec![
            ("requests", 10.0),
            ("response_mean_ns", 1e6 * ours),
            ("response_p999_ns", 1e7 * ours),
            ("blocked_cv_served", ours),
            ("blocked_chi2_served", 1e6),
            ("updates", 10.0),
            ("updates_adjusted", if scheme == "adaptive" { adjusted } else { 4.0 }),
            ("pre_read_pages", if scheme == "adaptive" { 11.0 } else { 10.0 }),
            ("erase_blocks", 10.0),
        ]
    })
}

#[test]
fn gains_near_the_printed_ones_agree_and_losses_differ() {
    use Verdict::{Agrees, Differs, Fitted};
    let paper = paper();
    let near = verdicts(&paper, &studies(&paper, 0.15, 6.0));
    // The best cases are printed with more: 24.8 and 29.8 %.
    let same = Verdict::SameDirection;
    // Storms are fitted to the cv, and χ² follows it.
    assert_eq!(near, [same, Agrees, Agrees, Agrees, same, Agrees, Fitted, Agrees, Fitted]);
    assert_eq!(verdicts(&paper, &studies(&paper, -0.15, 3.0))[..6], [Differs; 6]);
}

#[test]
fn storms_are_those_of_the_profiles_and_only_where_they_were_fitted() {
    let paper = paper();
    let points = paper.points(&all_claims(&paper)).unwrap_or_else(|error| panic!("{error}"));
    let mut stormy = Vec::new();
    for point in points.iter().filter(|point| point.text("part") == "storm") {
        let (workload, profile) = (point.text("workload"), point.text("profile"));
        let found = stripewise_runs::builtin_profile(&format!("paper000/{profile}"));
        let found = found.unwrap_or_else(|error| panic!("{error}")).profile.expect("a profile");
        assert_eq!(found.storm.is_some(), profile != workload, "{profile}");
        if let Some(storm) = found.storm {
            assert_eq!((storm.pages.0, storm.every.0), (1, 1_000_000), "one value for all");
            stormy.push(workload);
        }
    }
    stormy.dedup();
    stormy.sort();
    stormy.dedup();
    assert_eq!(stormy, ["Ali_1", "lun0", "lun1", "lun2"]);
}

#[test]
fn a_result_that_differs_has_a_likely_cause() {
    let paper = paper();
    let of = |all: &[Measured]| {
        let found =
            exact(&paper, &["0a".to_owned()], all, &of_all()).unwrap_or_else(|error| panic!("{error}"));
        (found.claims[0].measured[0].clone(), found.claims[0].rationale.clone())
    };
    let (shown, cause) = of(&studies(&paper, -0.15, 3.0));
    assert!(shown.starts_with("15.0 % higher; "), "{shown}");
    let expected = "Adaptive adjusts 30.0 % of the updates and pre-reads 10.0 % more pages than Baseline; likely: what the \
                    further pre-reads cost eats up what balance gains";
    assert_eq!(cause, expected);
    assert_eq!(
        of(&studies(&paper, 0.25, 6.0)).1,
        "agrees",
        "the word alone where nothing has to be explained"
    );
}

#[test]
fn the_results_on_lun_traces_need_these_alone() {
    let paper = paper();
    let names = |claims: &[&str]| -> Vec<String> {
        let points = paper.points(&only(&paper, claims)).unwrap_or_else(|error| panic!("{error}"));
        points.iter().map(ToString::to_string).collect()
    };
    let of_luns = names(&["0i"]);
    assert!(of_luns.len() == 12 && of_luns.iter().all(|name| name.starts_with("lun")), "{of_luns:?}");
    assert_eq!(of_luns[1..3], ["lun0 ×1, 5+1, updates overlap", "lun0 ×1, 5+1, storms, updates overlap"]);
    assert_eq!(names(&["0a"]).len(), 90);
    let quick = EvaluationOptions { quick: true, ..all_claims(&paper) };
    let point = &paper.points(&quick).unwrap_or_else(|error| panic!("{error}"))[0];
    let spec = paper.comparison(point, &quick).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(spec.workload.requests, Some(50_000));
}
