//! What is wrong in a paper's file is refused with file, line and remedy.

use stripewise_papers::{Columns, Error, Paper};

use crate::support::{all_claims, exact};

const PAPER: &str = r#"paper = "900"
reading = { judged = "as printed", sentence = "all of it" }
[[scheme]]
id = "ours"
name = "Ours"
scheme = "stripewise"

[[scheme]]
id = "theirs"
name = "Theirs"
scheme = "baseline"

[spec]
label = "{{ workload }}"
schemes = "['ours', 'theirs']"
device = "ssdsim-5+1-ldpc"
origin = "paper000/{{ workload }}"
fold = "modulo"
requests = "asked"
report = "{{ label }}"

[[study]]
each = [{ workload = ["hm_0"] }]

[[metric]]
mean = "response_mean_ns"

[[column]]
title = "measured"
key = "measured"

[[claim]]
id = "9a"
what = "mean response"
printed = "10 % lower"
value = "points | gains('ours', 'theirs', 'mean') | mean"
shown = "{{ value | percent }}"
verdict = "judge(0.1, value)"
rationale = "of {{ points | length }} studies"

[[table]]
title = "Runs"
head = "scheme | mean"
body = "{% for run in points[0].runs %}{{ run.name }} | {{ run.mean | time }}\n{% endfor %}"

[json]
point = { workload = "workload" }
run = { columns = ["mean"] }
"#;

/// Evaluates a paper over runs that have one column.
fn evaluate(text: &str) -> Result<String, Error> {
    let paper = Paper::read("900.toml", text, "")?;
    let all_claims = all_claims(&paper);
    let mut all = Vec::new();
    for point in paper.points(&all_claims)? {
        paper.comparison(&point, &all_claims)?;
        let columns = |ns: f64| {
            let mut columns = Columns::default();
            columns.set("response_mean_ns", ns);
            columns
        };
        all.push(paper.measured(&point, vec![columns(900.0), columns(1000.0)], &[])?);
    }
    let found = exact(&paper, &all_claims.claims, &all, &[])?;
    paper.json(&found, &[], &all, &[])?;
    Ok(found.markdown() + &paper.sections(&all, &[])?.iter().map(ToString::to_string).collect::<String>())
}

#[test]
fn a_small_paper_is_evaluated() {
    let text = evaluate(PAPER).unwrap_or_else(|error| panic!("{error}"));
    assert!(text.contains("| 10 % lower | 10.0 %   | agrees  |"), "{text}");
    assert!(text.contains("- 9a: of 1 studies") && text.contains("| Theirs | 1000      |"), "{text}");
    assert!(text.contains("| scheme | mean (ns) |"), "{text}");
}

/// The error of the paper in which `old` is `new`.
fn error(old: &str, new: &str) -> String {
    assert!(PAPER.contains(old), "{old}");
    match evaluate(&PAPER.replacen(old, new, 1)) {
        Err(error) => error.to_string(),
        Ok(text) => panic!("{new} is accepted: {text}"),
    }
}

#[test]
fn each_mistake_is_refused_with_file_line_and_remedy() {
    for (old, new, line, message) in [
        ("\"response_mean_ns\"", "\"response_men_ns\"", 26, "unknown column `response_men_ns`; did you mean"),
        ("'theirs', 'mean')", "'theirs', 'man')", 36, "unknown column `man`; did you mean `mean`?"),
        ("run.mean |", "run.men |", 44, "unknown column `men`; did you mean `mean`?"),
        ("gains('ours'", "gains('our'", 36, "unknown scheme `our`; did you mean `ours`?"),
        ("['ours', 'theirs']", "['ours', 'other']", 15, "unknown scheme `other`"),
        ("\"baseline\"", "\"baselin\"", 11, "unknown scheme `baselin`; did you mean `baseline`?"),
        ("0.1, value", "0.1, valu", 38, "unknown name `valu`; did you mean `value`?"),
        ("judge(0.1, value)", "judge(0.1, value", 38, "unexpected end of input"),
        ("judge(0.1, value)", "'fine'", 38, "unknown verdict `fine`; known: agrees"),
        ("{{ value |", "{{ {'a': 1}.b |", 37, "a value is missing; see that each name is there"),
        (
            "| percent }}",
            "| percents_of }}",
            37,
            "filter percents_of is unknown; crates/papers/README.md lists all",
        ),
        (
            "origin = \"paper000/{{ workload }}\"",
            "origin = \"{{ worklod }}\"",
            17,
            "did you mean `workload`?",
        ),
        ("\"ssdsim-5+1-ldpc\"", "\"paper999\"", 16, "unknown device"),
        ("requests = \"asked\"", "requests = \"'many'\"", 19, "write an expression for a whole number"),
        ("shown = \"{{ value | percent }}\"\n", "", 33, "`shown` is missing; write it, or name a claim"),
        ("id = \"theirs\"", "id = \"ours\"", 9, "there is a scheme `ours` before this one"),
        ("device = \"ssdsim-5+1-ldpc\"\n", "", 13, "missing field `device`"),
        ("printed = ", "printd = ", 35, "did you mean `printed`?"),
        ("\"scheme | mean\"", "\"scheme\"", 44, "has 2 cells; write 1, as `head` has"),
        (
            "paper = \"900\"",
            "paper = \"900\"\nfigure = [{ id = \"Fig. 1\", shows = \"gains\", claims = [\"9b\"], report = true }]",
            2,
            "unknown claim `9b`",
        ),
        (
            "paper = \"900\"",
            "paper = \"900\"\nfigure = [{ id = \"Fig. 1\", shows = \"gains\" }]",
            2,
            "write where it is shown, by `report`, `tables` or `command`",
        ),
        (
            "sentence = \"all of it\"",
            "columns = []",
            2,
            "write the `sentence` that supports it, or why the text leaves",
        ),
        (
            "sentence = \"all of it\"",
            "undecided = \"\", columns = [\"measured\"]",
            2,
            "name two `columns` or more, or none",
        ),
        ("id = \"9a\"", "id = \"9a\"\nsettled = \"agrees\"", 34, "unknown verdict `agrees`"),
        ("paper = \"900\"", "paper = 900", 1, "invalid type: integer `900`, expected a string"),
    ] {
        let found = error(old, new);
        assert!(found.starts_with(&format!("900.toml:{line}:")), "{new}: line {line}: {found}");
        assert!(found.contains(message), "{new}: {found}");
    }
}
