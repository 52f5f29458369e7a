//! Every profile's trace has the profile's statistics, measured by the code that measures any trace.

use super::check::{Finding, compare, compare_places};
use super::*;
use crate::generate::Generator;

/// Requests of each trial: enough for the tolerances, few enough for a test. `STRIPEWISE_FULL_PROFILES=1` takes the
/// profiles' own numbers, up to 23 million.
const TRIAL: u64 = 60_000;

fn failing(findings: Vec<Finding>) -> Vec<String> {
    findings.iter().filter(|finding| !finding.holds()).map(ToString::to_string).collect()
}

fn measure(profile: &Profile, requests: Option<u64>, seed: u64) -> Stats {
    let mut source =
        profile.generate(requests, seed).unwrap_or_else(|error| panic!("{}: {error}", profile.source));
    Stats::collect(source.as_mut()).expect("generators do not fail")
}

#[test]
fn every_shipped_profile_yields_a_trace_that_matches_it() {
    let full = std::env::var_os("STRIPEWISE_FULL_PROFILES").is_some();
    for builtin in builtin() {
        let Some(profile) = builtin.profile else { continue };
        let requests = if full { profile.requests.0 } else { profile.requests.0.min(TRIAL) };
        let stats = measure(&profile, Some(requests), 11);
        assert_eq!(stats.requests, requests);
        let mut wrong = failing(compare(&profile, &stats).expect("the profile was generated"));
        wrong.extend(failing(compare_places(&profile, &stats)));
        assert!(wrong.is_empty(), "{}:\n{}", builtin.name, wrong.join("\n"));
    }
}

#[test]
fn every_shipped_workload_can_be_asked_for_by_name() {
    let all = builtin();
    assert_eq!(all.len(), 6 + 5 + 12 + 9 + 3);
    for builtin in all {
        assert!(!builtin.source.is_empty());
        let direct: Generator = builtin.generator.parse().unwrap_or_else(|error| panic!("{error}"));
        if builtin.profile.is_none() {
            let named: Generator = format!("profile:name={}", builtin.name).parse().expect("named");
            let (mut a, mut b) = (Vec::with_capacity(64), Vec::with_capacity(64));
            named.source(5).next_batch(&mut a).expect("generators do not fail");
            direct.source(5).next_batch(&mut b).expect("generators do not fail");
            assert_eq!(a, b, "{}", builtin.name);
        }
    }
}
