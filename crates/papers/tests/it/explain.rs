//! What a claim becomes by one change at a time.

use stripewise_papers::{Change, ChangeOf, Columns, EvaluationOptions, Explanation, Measured, Paper, Part};
use stripewise_runs::Comparison;

use crate::support::{all_claims, file_with_claim, made_up, of_all, only};

/// A paper of three columns: the first, one that changes the load, and one that changes a rule of that.
fn paper() -> Paper {
    let keys = r#"printed = "40 %"
value = "points[0].run('one')[gain]"
printed_value = "0.4"
shown = "{{ value | percent }}"
verdict = "judge(0.4, value)"
rationale = """#;
    let columns = r#"title = "measured"
key = "measured"
set = { gain = "first" }
[[column]]
title = "twice the load"
key = "load"
change = "load"
set = { gain = "second" }
[[column]]
title = "its rule"
key = "rule"
change = "rule"
from = "load"
explains = true
set = { gain = "third" }
"#;
    let text = file_with_claim(keys).replace("title = \"measured\"\nkey = \"measured\"\n", columns);
    Paper::read("900.toml", &text, "").unwrap_or_else(|error| panic!("{error}"))
}

fn explanation(paper: &Paper, seeds: &[[f64; 3]]) -> Explanation {
    let point = &paper.points(&all_claims(paper)).unwrap_or_else(|error| panic!("{error}"))[0];
    let seed = |gains: &[f64; 3]| -> Vec<Measured> {
        let mut run = Columns::default();
        ["first", "second", "third"].into_iter().zip(gains).for_each(|(name, gain)| run.set(name, *gain));
        vec![paper.measured(point, vec![run], &[]).unwrap_or_else(|error| panic!("{error}"))]
    };
    let seeds: Vec<Vec<Measured>> = seeds.iter().map(seed).collect();
    let seeds: Vec<&[Measured]> = seeds.iter().map(Vec::as_slice).collect();
    paper.explanation("9a", &seeds, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn each_change_stands_below_what_it_changes_with_its_share_of_the_gap() {
    let found = explanation(&paper(), &[[0.1, 0.25, 0.4], [0.1, 0.25, 0.4]]);
    let of: Vec<_> = found.rows.iter().map(|row| (row.title.as_str(), row.of)).collect();
    let expected = [
        ("measured", None),
        ("twice the load", Some(ChangeOf::Load)),
        ("twice the load", None),
        ("its rule", Some(ChangeOf::Rule)),
    ];
    assert_eq!(of, expected);
    let shares: Vec<f64> = found.rows.iter().flat_map(|row| &row.of_gap).flatten().copied().collect();
    assert!((shares[0] - 0.5).abs() < 1e-9 && (shares[1] - 1.0).abs() < 1e-9, "{shares:?}");
    let text = found.markdown();
    assert!(text.contains("+50 %") && text.contains("+100 %") && text.contains("do not add up"), "{text}");
    assert_eq!(found.json()["changes"][3]["from"], "twice the load");
}

#[test]
fn over_seeds_changes_have_intervals_and_their_typical_values_count() {
    let found = explanation(&paper(), &[[0.1, 0.2, 0.3], [0.1, 0.3, 0.4], [0.1, 0.25, 0.5]]);
    let Change { measured, of_gap, .. } = &found.rows[1];
    assert!(measured.contains('[') && measured.contains("to"), "{measured}");
    assert!((of_gap[0].unwrap_or(0.0) - 0.5).abs() < 0.02, "{of_gap:?}");
}

#[test]
fn what_is_measured_only_to_explain_is_no_column_of_the_claims() {
    let paper = paper();
    let found = paper.findings(&paper.claims(), &[&[], &[]], &[]);
    assert!(found.is_err() || !found.unwrap().head().contains(&"its rule"));
}

#[test]
fn a_column_that_explains_says_what_it_changes() {
    let text =
        file_with_claim("printed = \"\"\nvalue = \"1\"\nshown = \"\"\nverdict = \"\"\nrationale = \"\"");
    let text = text.replace("key = \"measured\"\n", "key = \"measured\"\nexplains = true\n");
    let error = Paper::read("900.toml", &text, "").expect_err("no change").to_string();
    assert!(error.contains("write `change`"), "{error}");
}

/// Every change of a shipped paper is measured somewhere, and every explained claim has numbers for it.
#[test]
fn every_shipped_paper_explains_its_first_claims() {
    for number in Paper::shipped() {
        let paper = Paper::find(number).unwrap_or_else(|error| panic!("{error}"));
        let explained = paper.explained();
        assert!(explained.iter().any(|id| id.ends_with('a')), "{number}: {explained:?}");
        for id in &explained {
            for quick in [false, true] {
                let options = EvaluationOptions { part: Part::Explained, quick, ..only(&paper, &[id]) };
                let points = paper.points(&options).unwrap_or_else(|error| panic!("{error}"));
                for point in points.iter().step_by(9) {
                    let spec = paper.comparison(point, &options);
                    let spec = spec.unwrap_or_else(|error| panic!("{id}, {point}: {error}"));
                    Comparison::new(spec, &()).unwrap_or_else(|error| panic!("{id}, {point}: {error}"));
                }
                let columns =
                    [("response_mean_ns", 1.0), ("read_wait_mean_ns", 1.0), ("response_deviation_ns", 1.0)];
                let all = made_up(&paper, &options, |_, _| columns.to_vec());
                let found = paper.explanation(id, &[&all, &all], &of_all());
                let found = found.unwrap_or_else(|error| panic!("{id}: {error}"));
                assert!(found.rows.len() > 1 && !found.markdown().is_empty(), "{id}");
            }
        }
    }
}
