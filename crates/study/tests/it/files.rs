//! Study files: what they say, and how mistakes are reported.

use stripewise_results::replicate::Of;
use stripewise_study::{Fail, StopAfter};

use crate::{SMALL, parse};

#[test]
fn a_study_file_says_all_that_its_runs_need() {
    let text = r#"
[study]
name = "tails"
store = "out/tails"
[base]
device = "ssdsim-5+1"
elements = "channel"
requests = "2k"
gc.victim = "fifo"
[base.update]
tie = "rcw"
[compare]
scheme = ["baseline", "baseline,parity.window=4"]
[axes]
workload = ["paper000/hm_0", "zipf:size=8KiB"]
pacing = { from = "open:1", to = "open:4", factor = 2 }
[axes.geometry]
chunk = ["16KiB", "32KiB"]
[replicate]
first = 11
least = 5
most = 20
batch = 3
until = { figure = "p99_ns", relative = 0.05, paired_with = "baseline" }
[fail]
retries = 2
on_error = "continue"
stop_after = "5%"
run_limit = "1h"
memory = "2GiB"
"#;
    let file = parse(text).unwrap();
    assert_eq!((file.name.as_str(), file.store.to_str()), ("tails", Some("out/tails")));
    let axes: Vec<(&str, usize)> =
        file.axes.iter().map(|axis| (axis.key.as_str(), axis.values.len())).collect();
    assert_eq!(axes, [("workload", 2), ("pacing", 3), ("geometry.chunk", 2)]);
    assert_eq!((file.replicate.first, file.replicate.figure.as_str()), (11, "response_p99_ns"));
    assert_eq!(file.replicate.of, Of::DifferencesFrom(0));
    assert_eq!(file.replicate.rule.looks().collect::<Vec<_>>(), [5, 8, 11, 14, 17, 20]);
    let hour = std::time::Duration::from_secs(3600);
    let expected =
        Fail { retries: 2, stop_after: StopAfter::Share(0.05), run_limit: Some(hour), memory: Some(2 << 30) };
    assert_eq!(file.fail, expected);
}

/// Each mistake: a text of the small study, its replacement, the line of the complaint, and a part of the remedy.
#[test]
fn a_mistake_is_reported_with_file_line_and_remedy() {
    for (from, to, line, remedy) in [
        ("[axes]", "[axis]", 7, "did you mean `axes`?"),
        ("requests = 200", "reqests = 200", 4, "requests"),
        ("requests = 200", "requests = 0", 4, "at least 1"),
        ("requests = 200", "requests = \"many\"", 4, "`requests`"),
        ("requests = 200", "seeds = 5", 4, "[replicate]"),
        ("requests = 200", "scheme = \"bpu\"", 4, "[compare]"),
        ("requests = 200", "pacing = \"open\"", 4, "is an axis too"),
        ("requests = 200", "update.tie = \"rwc\"", 4, "did you mean `rcw`?"),
        ("requests = 200", "update.tei = \"rcw\"", 4, "did you mean `tie`?"),
        ("uniform:", "unifrom:", 3, "unifrom"),
        ("\"uniform:size=8KiB,write=0.5,span=64MiB\"", "{ trce = \"a\" }", 3, "did you mean `trace`?"),
        (
            "\"uniform:size=8KiB,write=0.5,span=64MiB\"",
            "\"paper000/hm0\"",
            3,
            "did you mean `paper000/hm_0`?",
        ),
        ("\"bpu\"", "\"bup\"", 6, "did you mean `bpu`?"),
        ("\"bpu\"", "\"baseline\"", 6, "stands here twice"),
        ("scheme = [\"baseline\", \"bpu\"]", "", 5, "a study needs schemes"),
        ("\"closed:8\"", "\"closed:0\"", 8, "positive whole number"),
        ("\"closed:8\"", "\"closed:4\"", 8, "stands here twice"),
        ("\"fifo\"", "\"fifoo\"", 9, "fifo"),
        ("\"gc.victim\"", "\"gc.victm\"", 9, "did you mean `victim`?"),
        ("\"gc.victim\"", "scheme", 9, "[compare]"),
        ("[\"greedy\", \"fifo\"]", "[]", 9, "at least one value"),
        ("seeds = 3", "seeds = 0", 11, "from 1 on"),
        ("seeds = 3", "least = 3", 11, "`least` needs `until`"),
        ("seeds = 3", "until = { figure = \"p99_ns\" }", 11, "either `relative` or `absolute`"),
        ("seeds = 3", "until = { figure = \"p98_ns\", relative = 0.1 }", 11, "unknown figure `p98_ns`"),
        ("seeds = 3", "until = { figure = \"p99\", relative = 0.1 }", 11, "did you mean `response_p99_ns`?"),
        ("seeds = 3", "until = { figure = \"p99_ns\", relative = 0.1, paired_with = \"bpo\" }", 11, "`bpu`"),
        ("seeds = 3", "least = 2\nuntil = { figure = \"p99_ns\", relative = 0.1 }", 12, "3 or more"),
        ("seeds = 3", "[fail]\nstop_after = \"five\"", 12, "as in \"5%\" or 100"),
        ("seeds = 3", "[fail]\nrun_limit = \"1 day\"", 12, "1h"),
        ("seeds = 3", "[fail]\nmemory = \"2\"", 12, "`memory`"),
        ("seeds = 3", "[fail]\nmemory = \"2MiB\"", 12, "256MiB"),
        ("seeds = 3", "[[only]]\npace = \"closed:4\"", 12, "unknown axis"),
        ("seeds = 3", "[[except]]\npacing = \"closed:5\"", 12, "value of `pacing`"),
        ("seeds = 3", "[only]\npacing = \"closed:4\"", 11, "[[only]]"),
        ("seeds = 3", "seeds = ", 11, ""),
    ] {
        let text = SMALL.replace(from, to);
        assert_ne!(text, SMALL, "`{from}` is in the study");
        let message = parse(&text).unwrap_err();
        let place = format!("study.toml:{line}:");
        assert!(
            message.starts_with(&place) && message.contains(remedy),
            "{from} -> {to}: {place}\n{message}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let missing = stripewise_study::StudyFile::read(std::path::Path::new("no/such.toml"));
    assert!(missing.unwrap_err().to_string().starts_with("no/such.toml: cannot read the study file"));
}

#[test]
fn failures_end_a_study_where_the_file_says() {
    let fail = |stop_after| Fail { stop_after, ..Fail::default() };
    assert!(!fail(StopAfter::Never).ends(1000, 1000));
    assert!(fail(StopAfter::Runs(0)).ends(1, 1) && !fail(StopAfter::Runs(0)).ends(0, 9));
    // A share of few runs says nothing.
    assert!(!fail(StopAfter::Share(0.05)).ends(2, 10));
    assert!(fail(StopAfter::Share(0.05)).ends(2, 20) && !fail(StopAfter::Share(0.05)).ends(1, 20));
}
