//! The default scheme beside the papers' own.

use std::collections::BTreeSet;

use stripewise_papers::EvaluationOptions;
use stripewise_papers::default_scheme::{PlannedClaim, cells};

#[test]
fn each_workload_of_a_paper_is_compared_once() {
    let options = EvaluationOptions {
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
