//! `stripewise reliability`: given rates, and rates from runs.

use serde_json::Value;

use crate::support::{Sandbox, golden};

fn json(text: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(text).expect("JSON");
    value.as_array().expect("a list").clone()
}

/// Source: paper 001, section V-E.
#[test]
fn the_numbers_of_paper_001_are_printed() {
    let sandbox = Sandbox::new();
    golden("reliability-paper-001.txt", &sandbox.run("reliability --paper 001").success());
    golden(
        "reliability-simulated.txt",
        &sandbox.run("reliability --paper 001 --monte-carlo 20k --seed 4").success(),
    );
}

#[test]
fn rates_may_be_given_as_people_have_them() {
    let sandbox = Sandbox::new();
    let one = |options: &str| {
        let lines = json(&sandbox.run(&format!("reliability --level raid6 --json {options}")).success());
        assert_eq!(lines.len(), 1);
        lines[0].clone()
    };
    let number = |options: &str, key: &str| one(options)[key].as_f64().expect("a number");
    assert_eq!(number("--mttf 2y", "failures_per_year"), 0.5);
    assert_eq!(number("--failure-rate 0.5/y", "failures_per_year"), 0.5);
    // 400 GB at 100 MB/s take 4000 s; a year of 365.25 days has 31,557,600 of them.
    for options in ["--capacity 400GB --rebuild-rate 100MB/s", "--rebuild-time 4000s"] {
        assert!((number(options, "repairs_per_year") - 7889.4).abs() < 1e-6, "{options}");
    }
    let ratio = number("--repair parallel", "mttdl_years") / number("", "mttdl_years");
    assert!((ratio - 2.0).abs() < 0.001, "two repairs side by side are twice as fast: {ratio}");
    assert_eq!(number("--groups 3", "mttdl_years"), number("", "mttdl_years") / 3.0);
    assert!(number("--members 12", "mttdl_years") < number("--members 6", "mttdl_years"));
    assert_eq!(one("--alpha 0.5")["times_reference"].as_f64().map(|times| times.round()), Some(8.0));
}

#[test]
fn a_simulation_says_its_interval_and_where_it_disagrees() {
    let sandbox = Sandbox::new();
    let line = "reliability --level raid5 --failure-rate 1/y --repair-rate 10/y --sampling direct -m 20k";
    let found = &json(&sandbox.run(&format!("{line} --json")).success())[0]["simulated"];
    let of = |key: &str| found[key].as_f64().expect("a number");
    assert!(of("low_99_years") < of("mean_years") && of("mean_years") < of("high_99_years"));
    assert_eq!(found["agrees"], true);
    let groups = sandbox.run(&format!("{line} --groups 6"));
    assert!(groups.stderr.contains("it is the simulation that holds"), "{}", groups.stderr);
    assert!(groups.success().trim_end().ends_with("no"));
    let few = sandbox.run("reliability --level raid6 --monte-carlo 10").failure(2);
    assert!(few.contains("ask for more"), "{few}");
}

#[test]
fn alpha_comes_from_the_erases_of_runs() {
    let sandbox = Sandbox::new();
    let compare = "compare --seeds 1 --gen uniform:write=1,size=8KiB,span=1GiB,requests=20k --json \
                   --scheme baseline --scheme raid0";
    let runs: Value = serde_json::from_str(&sandbox.run(compare).success()).expect("JSON");
    let erases = |scheme: &str| {
        let runs = runs["runs"].as_array().expect("runs");
        let run = runs.iter().find(|run| run["scheme"] == scheme).expect("the scheme was run");
        let total = |name: &str| run["totals"][name].as_f64().expect("a total");
        (total("erase_blocks"), total("least_erase_blocks"), total("most_erase_blocks"), total("erase_cv"))
    };
    let (baseline, raid0) = (erases("baseline"), erases("raid0"));
    assert!(baseline.0 > 0.0 && raid0.0 > 0.0, "both collect garbage: {baseline:?}, {raid0:?}");

    let lines = json(
        &sandbox.run("reliability stripewise-results --against baseline --level raid5 --json").success(),
    );
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["run"]["scheme"], &lines[1]["run"]["scheme"]),
        (&"baseline".into(), &"raid0".into())
    );
    let of = |line: usize, key: &str| lines[line][key].as_f64().expect("a number");
    assert_eq!((of(0, "alpha"), of(0, "times_reference")), (1.0, 1.0));
    assert!((of(1, "alpha") - raid0.0 / baseline.0).abs() < 1e-12);
    assert_eq!(lines[0]["members"], 6, "as many as the run had");
    let run = &lines[0]["run"];
    let number = |key: &str| run[key].as_f64().expect("a number");
    assert_eq!(number("least_erase_blocks"), baseline.1);
    assert_eq!(number("most_erase_blocks"), baseline.2);
    assert_eq!(number("erase_cv"), baseline.3);
    let members = run["member_erase_blocks"].as_array().expect("one for each member");
    assert_eq!(members.iter().filter_map(Value::as_f64).sum::<f64>(), baseline.0);

    // Each at its own level: RAID-0 loses data with the first failure.
    let own = json(&sandbox.run("reliability stripewise-results --against baseline --json").success());
    assert_eq!((&own[0]["level"], &own[1]["level"]), (&"raid5".into(), &"raid0".into()));
    assert!(own[1]["times_reference"].as_f64().expect("a number") < 0.001);

    let text = sandbox.run("reliability stripewise-results --against baseline").success();
    assert!(text.contains("SCHEME") && text.contains("LEAST"), "{text}");
}

#[test]
fn runs_are_compared_with_those_of_the_same_requests_only() {
    let sandbox = Sandbox::new();
    for requests in [10_000, 20_000] {
        let run = format!("-q --gen uniform:write=1,size=8KiB,span=1GiB,requests={requests} --scheme");
        sandbox.run(&format!("run {run} baseline")).success();
        sandbox.run(&format!("run {run} raid0")).success();
    }
    sandbox.run("run -q -n 200 --precondition fresh").success();
    let ended = sandbox.run("reliability stripewise-results --against baseline --level raid5 --json");
    assert!(ended.stderr.contains("nothing was erased"), "{}", ended.stderr);
    let lines = json(&ended.success());
    let workload = |line: &Value| line["run"]["workload"].as_str().expect("a name").to_owned();
    assert_eq!(lines.len(), 4);
    for pair in lines.chunks(2) {
        assert_eq!(workload(&pair[0]), workload(&pair[1]));
        assert_eq!((&pair[0]["run"]["scheme"], pair[0]["alpha"].as_f64()), (&"baseline".into(), Some(1.0)));
        let alpha = pair[1]["alpha"].as_f64().expect("a number");
        assert!(alpha < 1.0, "without parity less is written: {alpha}");
    }
    assert_ne!(workload(&lines[0]), workload(&lines[2]));
    let text = sandbox.run("reliability stripewise-results").success();
    assert!(text.contains("WORKLOAD"), "{text}");

    // Settings that differ, other than the scheme, are reported.
    let run = "-q --gen uniform:write=1,size=8KiB,span=1GiB,requests=10000 --precondition steady:60%";
    sandbox.run(&format!("run {run} --scheme always-rcw")).success();
    let ended = sandbox.run("reliability stripewise-results --against baseline");
    assert!(ended.stderr.contains("another state at the start than baseline"), "{}", ended.stderr);
}

#[test]
fn runs_that_say_nothing_of_wear_are_refused_with_the_reason() {
    let sandbox = Sandbox::with_trace();
    sandbox.run("run --trace trace.csv --precondition fresh").success();
    let nothing = sandbox.run("reliability -q stripewise-results").failure(1);
    assert!(nothing.contains("nothing was erased"), "{nothing}");
    sandbox.run("run --gen uniform:write=1,size=8KiB,span=1GiB,requests=10k").success();
    let unknown = sandbox.run("reliability -q stripewise-results --against someone").failure(2);
    assert!(unknown.contains("--against someone: the runs are of baseline"), "{unknown}");
    assert!(sandbox.run("reliability nowhere").failure(1).contains("no such directory"));
    std::fs::create_dir(sandbox.path().join("empty")).unwrap();
    assert!(sandbox.run("reliability empty").failure(1).contains("no finished run"));
}

#[test]
fn what_has_no_meaning_is_refused() {
    let sandbox = Sandbox::new();
    for (line, says) in [
        ("--paper 003", "only 001"),
        ("--level raid6 --members 2", "at least 3 members"),
        ("--alpha 0", "above 0"),
        ("--mttf 4", "has no unit"),
        ("--capacity 1TB", "--rebuild-rate"),
        ("--repair someday", "single"),
    ] {
        let error = sandbox.run(&format!("reliability {line}")).failure(2);
        assert!(error.contains(says), "{line}: {error}");
    }
}
