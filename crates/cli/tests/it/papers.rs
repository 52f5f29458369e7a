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
