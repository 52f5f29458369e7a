//! Claims over several seeds: means, intervals, and a verdict that needs the whole interval.

use proptest::prelude::*;
use serde_json::json;
use stripewise_papers::{Columns, Findings, Measured, Paper, Verdict, judge};

use crate::support::{asked, file_with_claim};

/// A paper whose claim is that one scheme gains a tenth, by a column of it.
fn paper() -> Paper {
    let text = file_with_claim(
        r#"printed = "10 %"
value = "points[0].run('one').gain"
shown = "{{ value | percent }}{{ '; more than nothing' if value > -1.0 }}"
verdict = "judge(0.1, value)"
rationale = "{{ value | percent }} in the mean""#,
    );
    Paper::read("900.toml", &text, "").unwrap_or_else(|error| panic!("{error}"))
}

/// The claim over seeds that gained this much.
fn over(gains: &[f64]) -> Findings {
    findings(&paper(), gains)
}

fn findings(paper: &Paper, gains: &[f64]) -> Findings {
    let asked = asked(paper);
    let point = &paper.points(&asked).unwrap_or_else(|error| panic!("{error}"))[0];
    let seed = |gain: &f64| -> Vec<Measured> {
        let mut run = Columns::default();
        run.set("gain", *gain);
        vec![paper.measured(point, vec![run], &[]).unwrap_or_else(|error| panic!("{error}"))]
    };
    let seeds: Vec<Vec<Measured>> = gains.iter().map(seed).collect();
    let seeds: Vec<&[Measured]> = seeds.iter().map(Vec::as_slice).collect();
    paper.findings_of_seeds(&asked.claims, &seeds, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn verdict(gains: &[f64]) -> Verdict {
    over(gains).claims[0].verdict
}

#[test]
fn a_claim_agrees_only_if_its_whole_interval_does() {
    assert_eq!(verdict(&[0.099, 0.100, 0.101]), Verdict::Agrees);
    assert_eq!(verdict(&[0.08, 0.10, 0.12]), Verdict::SameDirection, "the interval is from 5 to 15 %");
    assert_eq!(verdict(&[0.02, 0.10, 0.18]), Verdict::Differs, "the interval includes losses");
    assert_eq!(verdict(&[0.10, f64::NAN, 0.10]), Verdict::NotMeasured);
}

#[test]
fn a_mean_is_shown_with_its_interval_unless_nothing_varied() {
    let shown = |gains: &[f64]| over(gains).claims[0].measured[0].clone();
    assert_eq!(shown(&[0.08, 0.10, 0.12]), "10.0 % [5.0 % to 15.0 %]; more than nothing");
    assert_eq!(shown(&[0.25, 0.25]), "25.0 %; more than nothing");
    assert_eq!(shown(&[0.25]), "25.0 %; more than nothing");
    assert_eq!(over(&[0.08, 0.10, 0.12]).claims[0].rationale, "10.0 % in the mean");
    assert!(over(&[0.08, 0.12]).markdown().contains("Means over 2 seeds"));
    assert!(!over(&[0.08]).markdown().contains("seeds"));
}

#[test]
fn lists_that_were_joined_have_an_interval_for_each_number() {
    let text = file_with_claim(
        r#"printed = "10 %"
value = "points | each('it.run(\"one\").gain') + [0.5]"
shown = "{{ value | percents }}"
verdict = "judge(0.1, value[0])"
rationale = """#,
    );
    let found = findings(&Paper::read("900.toml", &text, "").expect("a paper"), &[0.08, 0.10, 0.12]);
    assert_eq!(found.claims[0].measured[0], "10.0 % / 50.0 % [5.0 % / 50.0 % to 15.0 % / 50.0 %]");
}

#[test]
fn programs_get_the_ends_of_each_interval() {
    let paper = paper();
    let json =
        |gains: &[f64]| paper.json(&over(gains), &[], &[], &[]).unwrap_or_else(|error| panic!("{error}"));
    let claim = &json(&[0.5, 1.5])["rows"][0];
    assert_eq!(claim["intervals"]["measured"]["mean"], json!(1.0), "{claim}");
    assert!(claim["intervals"]["measured"]["low"].as_f64() < Some(0.5));
    assert!(json(&[0.5])["rows"][0].get("intervals").is_none());
}

proptest! {
    #[test]
    fn one_seed_is_judged_by_its_value_and_alike_seeds_by_theirs(gain in -1.0..1.0f64) {
        let expected = judge(0.1, Some(gain));
        prop_assert_eq!(verdict(&[gain]), expected);
        prop_assert_eq!(verdict(&[gain, gain]), expected);
    }

    #[test]
    fn no_spread_makes_a_verdict_better(gain in -0.5..0.5f64, spread in 0.0..0.5f64) {
        prop_assert!(verdict(&[gain - spread, gain + spread]) >= judge(0.1, Some(gain)));
    }
}
