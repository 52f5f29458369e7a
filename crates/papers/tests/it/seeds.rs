//! Claims over several seeds: typical values, intervals, and a verdict that needs the whole interval.

use proptest::prelude::*;
use serde_json::json;
use stripewise_papers::{Columns, Findings, Measured, Paper, Verdict, judge};

use crate::support::{all_claims, file_with_claim};

/// A paper whose claim is that one scheme gains a tenth, by a column of it.
fn paper() -> Paper {
    let text = file_with_claim(
        r#"printed = "10 %"
value = "points[0].run('one').gain"
shown = "{{ value | percent }}{{ '; more than nothing' if value > -1.0 }}"
verdict = "judge(0.1, value)"
rationale = "{{ value | percent }} typically""#,
    );
    Paper::read("900.toml", &text, "").unwrap_or_else(|error| panic!("{error}"))
}

/// The claim over seeds that gained this much.
fn over(gains: &[f64]) -> Findings {
    findings(&paper(), gains)
}

fn findings(paper: &Paper, gains: &[f64]) -> Findings {
    let all_claims = all_claims(paper);
    let point = &paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}"))[0];
    let seed = |gain: &f64| -> Vec<Measured> {
        let mut run = Columns::default();
        run.set("gain", *gain);
        vec![paper.measured(point, vec![run], &[]).unwrap_or_else(|error| panic!("{error}"))]
    };
    let seeds: Vec<Vec<Measured>> = gains.iter().map(seed).collect();
    let seeds: Vec<&[Measured]> = seeds.iter().map(Vec::as_slice).collect();
    paper.findings(&all_claims.claims, &seeds, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn verdict(gains: &[f64]) -> Verdict {
    over(gains).claims[0].verdict
}

#[test]
fn a_claim_agrees_only_if_its_whole_interval_does() {
    assert_eq!(verdict(&[0.099, 0.100, 0.101]), Verdict::Agrees);
    assert_eq!(verdict(&[0.08, 0.10, 0.12]), Verdict::SameDirection, "the interval is from 4.9 to 14.8 %");
    assert_eq!(verdict(&[0.02, 0.10, 0.18]), Verdict::Differs, "the interval includes losses");
    assert_eq!(verdict(&[0.10, f64::NAN, 0.10]), Verdict::NotMeasured);
}

#[test]
fn one_seed_says_nothing_of_chance_and_has_no_verdict() {
    assert_eq!(verdict(&[0.10]), Verdict::OneSeed);
    assert_eq!(verdict(&[f64::NAN]), Verdict::NotMeasured);
    let report = over(&[0.10]).markdown();
    assert!(report.contains("no verdicts: repeat with --seeds 5"), "{report}");
}

/// A scheme that is 4 and 9 times as fast in two seeds is typically 6 times as fast.
#[test]
fn a_gain_is_that_of_the_typical_ratio() {
    let found = over(&[0.75, 8.0 / 9.0]);
    assert!(found.claims[0].measured[0].starts_with("83.3 %"), "{:?}", found.claims[0].measured);
    let kinds = |kinds: &str| {
        let keys = format!(
            "printed = \"\"\nvalue = \"[points[0].run('one').gain, 0.5]\"\nkind = {kinds}\n\
             shown = \"{{{{ value | percents }}}}\"\n\
             verdict = \"'agrees'\"\nrationale = \"\""
        );
        Paper::read("900.toml", &file_with_claim(&keys), "").expect("a paper")
    };
    let shown = |paper: &Paper| findings(paper, &[0.25, 1.0]).claims[0].measured[0].clone();
    assert!(shown(&kinds(r#"["ratio"]"#)).starts_with("50.0 % / 50.0 %"));
    assert!(shown(&kinds(r#"["difference"]"#)).starts_with("62.5 % / 50.0 %"));
    let wrong = |paper: &Paper| {
        let all_claims = all_claims(paper);
        let point = &paper.points(&all_claims).unwrap_or_else(|error| panic!("{error}"))[0];
        let mut run = Columns::default();
        run.set("gain", 0.5);
        let measured = paper.measured(point, vec![run], &[]).unwrap_or_else(|error| panic!("{error}"));
        paper.findings(&all_claims.claims, &[&[measured]], &[]).expect_err("refused").to_string()
    };
    assert!(wrong(&kinds(r#"["gian"]"#)).contains("did you mean `gain`?"));
    assert!(wrong(&kinds(r#"["gain", "ratio", "gain"]"#)).contains("3 kinds for a list of 2"));
}

#[test]
fn a_mean_is_shown_with_its_interval_unless_nothing_varied() {
    let shown = |gains: &[f64]| over(gains).claims[0].measured[0].clone();
    assert_eq!(shown(&[0.08, 0.10, 0.12]), "10.0 % [4.9 % to 14.8 %]; more than nothing");
    assert_eq!(shown(&[0.25, 0.25]), "25.0 %; more than nothing");
    assert_eq!(shown(&[0.25]), "25.0 %; more than nothing");
    assert_eq!(over(&[0.08, 0.10, 0.12]).claims[0].rationale, "10.0 % typically");
    assert!(over(&[0.08, 0.12]).markdown().contains("Typical values over 2 seeds"));
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
    assert_eq!(found.claims[0].measured[0], "10.0 % / 50.0 % [4.9 % / 50.0 % to 14.8 % / 50.0 %]");
}

#[test]
fn programs_get_the_ends_of_each_interval() {
    let paper = paper();
    let json =
        |gains: &[f64]| paper.json(&over(gains), &[], &[], &[]).unwrap_or_else(|error| panic!("{error}"));
    let claim = &json(&[0.5, 0.875])["rows"][0];
    assert_eq!(claim["intervals"]["measured"]["typical"], json!(0.75), "{claim}");
    assert_eq!(claim["intervals"]["measured"]["mean"], json!(0.75), "its former name");
    assert!(claim["intervals"]["measured"]["low"].as_f64() < Some(0.5));
    assert!(json(&[0.5])["rows"][0].get("intervals").is_none());
}

proptest! {
    #[test]
    fn alike_seeds_are_judged_by_their_value(gain in -1.0..1.0f64) {
        prop_assert_eq!(verdict(&[gain, gain]), judge(0.1, Some(gain)));
    }

    #[test]
    fn no_spread_makes_a_verdict_better(gain in -0.5..0.5f64, spread in 0.0..0.5f64) {
        let factor = spread.exp();
        let gains = [1.0 - (1.0 - gain) * factor, 1.0 - (1.0 - gain) / factor];
        prop_assert!(verdict(&gains) >= judge(0.1, Some(gain)) || spread < 1e-9);
    }
}
