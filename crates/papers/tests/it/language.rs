//! The expressions of papers: what they give, against arithmetic in Rust and values computed by hand.

use proptest::prelude::*;
use stripewise_papers::{Columns, Error, Paper, judge};

use crate::support::{all_claims, exact, file_with_claim};

/// A paper of one scheme whose claim has this value, over a run with these columns.
fn evaluate(value: &str, shown: &str, columns: &[(&str, f64)]) -> Result<(String, String), Error> {
    let text = file_with_claim(&format!(
        r#"printed = ""
define = [{{ run = "points[0].run('one')" }}, {{ a = "run.a" }}, {{ b = "run.b" }}, {{ c = "run.c" }}]
value = '''{value}'''
shown = '''{shown}'''
verdict = "judge(0.1, a)"
rationale = """#
    ));
    let paper = Paper::read("900.toml", &text, "")?;
    let all_claims = all_claims(&paper);
    let point = &paper.points(&all_claims)?[0];
    let mut run = Columns::default();
    columns.iter().for_each(|(name, value)| run.set(name, *value));
    let all = [paper.measured(point, vec![run], &[])?];
    let found = exact(&paper, &all_claims.claims, &all, &[])?;
    Ok((found.claims[0].measured[0].clone(), found.claims[0].verdict.to_string()))
}

fn shown(value: &str, shown: &str) -> String {
    let columns = [("a", 2.0), ("b", 8.0), ("c", 0.0)];
    evaluate(value, shown, &columns).unwrap_or_else(|error| panic!("{error}")).0
}

#[test]
fn values_are_shown_as_tables_have_them() {
    for (value, template, expected) in [
        ("a / b", "{{ value | percent }}", "25.0 %"),
        ("ratio(a, b)", "{{ value | fixed(3) }}", "0.250"),
        ("ratio(a, c)", "{{ value | fixed(3) }}", "–"),
        ("less(a, b)", "{{ value | percent }}", "75.0 %"),
        ("[a / b, none]", "{{ value | percents }}", "25.0 % / –"),
        ("[none, none]", "{{ value | percents }}", "–"),
        ("b * 1000", "{{ value | time }}", "8.000 us"),
        ("[a, b] | mean", "{{ value | plain }}", "5"),
        ("[none, a, b] | low", "{{ value | plain }}", "2"),
        ("[none, a, b] | high", "{{ value | plain }}", "8"),
        ("[] | high", "{{ value | plain }}", "–"),
        ("[1, 2, 3] | each('it * b')", "{{ value | join(' ') }}", "8.0 16.0 24.0"),
        ("falls([b, a])", "{{ value }}", "True"),
        ("falls([b, a, none])", "{{ value }}", "None"),
        ("[b > a, c > a, none]", "{{ value | holding }} of {{ value | known | length }}", "1 of 2"),
    ] {
        assert_eq!(shown(value, template), expected, "{value}");
    }
}

proptest! {
    #[test]
    fn arithmetic_is_that_of_the_machine_to_the_last_bit(a in -1e9..1e9f64, b in 1e-6..1e6f64, c in -1e3..1e3f64) {
        let columns = [("a", a), ("b", b), ("c", c)];
        let found = evaluate("(a + c) * b - a / b", "{{ value | plain }}", &columns);
        prop_assert_eq!(found.map_err(|error| error.to_string()).map(|(shown, _)| shown), Ok(((a + c) * b - a / b).to_string()));
    }

    #[test]
    fn the_verdict_of_an_expression_is_that_of_the_rule(a in -1.0..1.0f64) {
        let found = evaluate("a", "", &[("a", a), ("b", 0.0), ("c", 0.0)]);
        let expected = judge(0.1, Some(a)).to_string();
        prop_assert_eq!(found.map_err(|error| error.to_string()).map(|(_, verdict)| verdict), Ok(expected));
    }

    #[test]
    fn any_text_is_a_value_or_an_error_with_file_and_line(text in "[a-c0-9 |.()\\[\\]%{}+*,<>=-]{0,24}") {
        if let Err(error) = evaluate(&text, "{{ value }}", &[("a", 1.0), ("b", 2.0), ("c", 3.0)]) {
            prop_assert!(error.to_string().starts_with("900.toml:"), "{}", error);
        }
    }
}
