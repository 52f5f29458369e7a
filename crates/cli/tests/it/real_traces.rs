//! Every real trace, through the main command. Needs STRIPEWISE_TRACES.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::Sandbox;

/// The formats of simulators and the oldest formats: their traces are compared whole.
const WHOLE: [&str; 5] = ["msr", "spc", "ssdsim", "disksim", "mqsim"];

/// The other formats: the first requests of their traces are compared.
const IN_PART: [&str; 11] = [
    "alibaba",
    "biotracer",
    "blkparse",
    "blkreplay",
    "blktrace",
    "cloudphysics",
    "fio",
    "fiu",
    "msps",
    "spc-noasu",
    "tencent",
];

/// The traces in some folders.
fn traces(folders: &[&str]) -> Vec<PathBuf> {
    let Some(root) = std::env::var_os("STRIPEWISE_TRACES") else { return Vec::new() };
    let folders = folders.iter().map(|folder| Path::new(&root).join(folder));
    let mut traces: Vec<PathBuf> = folders
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .collect();
    traces.sort();
    if traces.is_empty() {
        println!("skipped: STRIPEWISE_TRACES names no directory with traces");
    }
    traces
}

/// The formats that only a file's description names, since its lines do not show them.
fn format(trace: &Path) -> &'static str {
    if trace.ends_with("ssdsim/DTRS1K.trace.zst") { "ssdsim:us" } else { "" }
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name} in {value}"))
}

#[test]
fn every_real_trace_is_compared_with_a_plausible_table() {
    let sandbox = Sandbox::new();
    for trace in traces(&WHOLE) {
        let shown = trace.display().to_string();
        let format = format(&trace);
        let mut named = Vec::new();
        if !format.is_empty() {
            named = vec!["--format", format];
        }
        let run = |words: &[&str]| -> Value {
            let ended = sandbox.run_words(words.iter().chain(&named));
            serde_json::from_str(&ended.success()).unwrap_or_else(|error| panic!("{shown}: {error}"))
        };
        let statistics = run(&["trace", "info", &shown, "--json", "--quiet"])[0]["statistics"].take();
        let schemes =
            ["--seeds", "1", "--scheme", "baseline", "--scheme", "always-rmw", "--scheme", "always-rcw"];
        let value = run(&[&["compare", "--trace", &shown, "--json", "--quiet"][..], &schemes].concat());
        println!("{shown}: {} requests", statistics["requests"]);
        let mut pre_reads = Vec::new();
        for run in value["runs"].as_array().unwrap() {
            let (scheme, totals) = (&run["scheme"], &run["totals"]);
            let of = |name: &str| number(totals, name);
            let at = format!("{shown}, {scheme}");
            assert_eq!(totals["requests"], statistics["requests"], "{at}");
            assert_eq!(of("failed_requests"), 0.0, "{at}");
            assert_eq!(totals["read_bytes"], statistics["size_read"]["total_bytes"], "{at}");
            assert_eq!(totals["written_bytes"], statistics["size_write"]["total_bytes"], "{at}");
            // A response takes at least a page's bus time and, in the worst case, no more than the whole run.
            assert!(
                of("response_mean_ns") >= 10_000.0 && of("response_max_ns") <= of("simulated_ns"),
                "{at}"
            );
            assert!(of("response_mean_ns") <= of("response_max_ns"), "{at}");
            assert!(of("response_p99_ns") <= of("response_p999_ns"), "{at}");
            // Open arrivals: the run takes as long as the trace, or longer where the array cannot follow.
            assert!(of("simulated_ns") >= number(&statistics, "span_ns"), "{at}");
            let written = of("written_bytes");
            assert!(of("host_write_pages") * 8192.0 >= written, "{at}");
            assert!(of("flash_program_pages") >= of("host_write_pages"), "{at}");
            assert!(written == 0.0 || of("programs_per_member_page") >= 0.999, "{at}");
            pre_reads.push(of("pre_read_pages"));
        }
        let [baseline, rmw, rcw] = pre_reads[..] else { panic!("{shown}: three schemes") };
        // Each choice takes the smaller number; the merging of updates that meet on a row differs a little with their
        // timing.
        assert!(
            baseline <= rmw.min(rcw) * 1.02 + 10.0,
            "{shown}: {baseline} pre-reads, {rmw} and {rcw} by routine"
        );
    }
}

#[test]
fn every_other_real_trace_is_found_out_and_compared_or_refused_with_the_reason() {
    const FIRST: f64 = 2_000.0;
    let sandbox = Sandbox::new();
    for trace in traces(&IN_PART) {
        let shown = trace.display().to_string();
        if shown.contains("oracleGeneral") {
            let refused = sandbox.run_words(["trace", "info", &shown, "--quiet"]).failure(1);
            assert!(refused.contains("do not distinguish reads from writes"), "{refused}");
            continue;
        }
        let run = |words: &[&str]| -> Value {
            let printed = sandbox.run_words(words).success();
            serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{shown}: {error}"))
        };
        let statistics = run(&["trace", "info", &shown, "--json", "--quiet"])[0]["statistics"].take();
        let first = FIRST.to_string();
        let scheme = "paper000-adaptive";
        let value =
            run(&["compare", "--trace", &shown, "-n", &first, "--scheme", scheme, "--json", "--quiet"]);
        let totals = &value["runs"][0]["totals"];
        println!("{shown}: {} of {} requests", totals["requests"], statistics["requests"]);
        assert_eq!(number(totals, "requests"), number(&statistics, "requests").min(FIRST), "{shown}");
        assert_eq!(number(totals, "failed_requests"), 0.0, "{shown}");
        assert!(number(totals, "response_max_ns") <= number(totals, "simulated_ns"), "{shown}");
    }
}
