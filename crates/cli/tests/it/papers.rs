//! Evaluations of papers: what is printed, and the files beside the runs.

use crate::support::Sandbox;

#[test]
fn an_evaluation_prints_the_claims_and_writes_tables_and_figures_that_name_the_paper() {
    let sandbox = Sandbox::new();
    let printed = sandbox.run("paper 001 --requests 100 --rows 1a --out results").success();
    assert!(printed.contains("| 1a") && printed.contains("\n- 1a: "), "{printed}");
    assert!(!printed.contains("###"), "the full tables are files: {printed}");
    let title = "Workload-Aware Elastic Striping With Hot Data Identification for SSD RAID Arrays";
    let read = |name: &str| std::fs::read_to_string(sandbox.path().join("results").join(name)).unwrap();
    for name in ["tables.html", "report.html"] {
        assert!(printed.contains(&format!("results/{name}")), "{printed}");
        let text = read(name);
        assert!(text.contains(title) && text.contains("10.1109/TCAD.2016.2604292"), "{name} names no paper");
    }
    let tables = read("tables.html");
    for part in ["<h2>Generated workloads, RAID-5</h2>", "<td>eSAP, group buffer</td>", "<td>Fig. 7</td>"] {
        assert!(tables.contains(part), "tables.html has no {part}");
    }
}

#[test]
fn a_claim_is_explained_by_one_change_at_a_time() {
    let sandbox = Sandbox::new();
    // None of these runs is a part of the report.
    let command = "paper 002 --quick --requests 100 --seeds 2 --out results --explain 2b";
    let printed = sandbox.run(command).success();
    for part in ["changes", "of the gap", "1/16", "parity buffered", "RAID-6", "Changes do not add up"] {
        assert!(printed.contains(part), "no {part}: {printed}");
    }
    assert!(!printed.contains("\nreport"), "{printed}");
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.run(&format!("{command} --json")).success()).unwrap();
    assert!(json["changes"].as_array().unwrap().iter().any(|change| change["changes"] == "rule"), "{json}");
    let refused = sandbox.run("paper 002 --explain 2f").failure(2);
    assert!(refused.contains("paper 002 can explain 2a, 2b, 2c"), "{refused}");
    let refused = sandbox.run("paper default --judged").failure(2);
    assert!(refused.contains("--judged"), "{refused}");
}

#[test]
fn only_judged_columns_are_measured_where_only_these_are_wanted() {
    let sandbox = Sandbox::new();
    let runs = |options: &str| {
        let printed = sandbox.run(&format!("paper 002 --quick --requests 100 --rows 2b {options}")).success();
        let found = printed.lines().find(|line| line.starts_with("| 2b")).expect("a row").to_owned();
        found.split('|').filter(|cell| cell.trim() == "–").count()
    };
    assert!(runs("--judged --out judged") > runs("--out all"), "oracles and collections are not measured");
}
