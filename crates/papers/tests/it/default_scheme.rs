//! The default scheme beside the papers' own.

use std::collections::BTreeSet;

use stripewise_papers::EvaluationOptions;
use stripewise_papers::default_scheme::{Measured, PlannedClaim, cells, json, markdown};
use stripewise_results::{Figure, Figures};

#[test]
fn each_workload_of_a_paper_is_compared_once() {
    let options = EvaluationOptions {
        part: stripewise_papers::Part::All,
        requests: None,
        quick: true,
        traces: None,
        claims: PlannedClaim::ids(),
        seed: 1,
        out: "results".into(),
    };
    let cells = cells(&options).unwrap_or_else(|error| panic!("{error}"));
    let named: BTreeSet<String> = cells.iter().map(ToString::to_string).collect();
    assert_eq!(named.len(), cells.len(), "{named:?}");
    assert_eq!(cells.iter().filter(|cell| cell.row == PlannedClaim::A).count(), 6);
}

/// Paper 000's own scheme and two of ours, whose mean responses are these with each seed.
fn measured(seeds: &[[u64; 3]]) -> Measured {
    let of = |mean| Figures::from_list(&[("response_mean_ns", Figure::Count(mean))]).expect("one total");
    let runs = (0..3).map(|side| seeds.iter().map(|means| of(means[side])).collect()).collect();
    Measured { row: PlannedClaim::A, workload: "hm_0".to_owned(), runs }
}

/// A gain of 90 % with one seed used to be "met".
#[test]
fn one_seed_has_no_verdict_and_several_are_judged_by_the_whole_interval() {
    let rows = [PlannedClaim::A];
    let verdict = |seeds: &[[u64; 3]]| {
        let all = [measured(seeds)];
        let value = json(&rows, &all);
        let word = value["results"][0]["verdict"].as_str().expect("a word").to_owned();
        assert!(markdown(&rows, &all).contains(&word), "{word}");
        (word, value["results"][0]["default_interval"].clone())
    };
    let (word, interval) = verdict(&[[1000, 100, 500]]);
    assert_eq!((word.as_str(), interval.is_null()), ("one seed", true));
    let (word, interval) = verdict(&[[1000, 100, 500], [1000, 110, 500], [1000, 90, 500]]);
    assert!(word == "met" && interval[0].as_f64() > Some(0.8), "{word}: {interval}");
    let (word, interval) = verdict(&[[1000, 100, 500], [1000, 1900, 500], [1000, 900, 500]]);
    assert!(word == "undecided" && interval[0].as_f64() < Some(0.0), "{word}: {interval}");
}
