//! The evaluation as text: Markdown for people, JSON for programs.

use std::fmt::Write as _;

use comfy_table::Table;
use serde_json::{Value, json};

use super::intervals::Intervals;
use super::measured::{Measured, Run};
use crate::finding::Findings;
use crate::text::{align, table, time};

/// Everything, as Markdown that a terminal shows well too.
pub fn markdown(findings: &Findings, measured: &[Measured], intervals: &[Intervals]) -> String {
    let mut text = findings.markdown();
    let mut add = |line: &str| writeln!(text, "{line}").expect("a string takes all");
    for (title, group) in groups(measured) {
        if !group.is_empty() {
            add(&format!("\n### {title}\n"));
            add(&runs(&group).to_string());
        }
    }
    if !intervals.is_empty() {
        add("\n### Intervals against Table IV\n");
        let mut found = table(&["trace", "20 %", "40 %", "60 %", "80 %", "100 %", "longest", "", "duration"]);
        for one in intervals {
            let mut cells = vec![one.workload.clone()];
            cells.extend(one.shares.iter().map(|share| format!("{:.1} %", share * 100.0)));
            cells.push(time(one.longest_ns as f64));
            cells.push(if one.fit() { "fits".into() } else { "does not fit".into() });
            cells.push(time(one.span_ns as f64));
            found.add_row(cells);
        }
        add(&found.to_string());
    }
    text
}

/// The studies in the order of the text: printed clock, real time, slices.
fn groups(measured: &[Measured]) -> [(&'static str, Vec<&Measured>); 3] {
    use crate::evaluation::Traces::{Generated, Slice};
    let of = |keep: &dyn Fn(&Measured) -> bool| measured.iter().filter(|one| keep(one)).collect::<Vec<_>>();
    [
        ("Runs with the printed clock", of(&|one| one.cell.traces == Generated && one.cell.clock.printed)),
        (
            "Runs in real time",
            of(&|one| one.cell.traces == Generated && one.cell.clock.real && !one.cell.clock.printed),
        ),
        ("Slices of real traces", of(&|one| one.cell.traces == Slice)),
    ]
}

fn runs(measured: &[&Measured]) -> Table {
    let mut table = table(&[
        "study",
        "scheme",
        "mean",
        "read",
        "write",
        "p99.9",
        "adjusted",
        "cv",
        "cv served",
        "χ²",
        "pre-reads",
        "programs a member page",
        "erases",
        "",
    ]);
    for one in measured {
        for run in &one.runs {
            table.add_row(cells(one, run));
        }
    }
    align(&mut table, 2);
    table
}

fn cells(one: &Measured, run: &Run) -> Vec<String> {
    let mut cells = vec![one.cell.to_string(), run.scheme.clone()];
    cells.extend(run.mean_ns.map(time));
    cells.push(time(run.p999_ns));
    cells.push(format!("{:.2} %", run.adjusted_share() * 100.0));
    cells.extend(run.cv.map(|cv| format!("{cv:.4}")));
    cells.push(format!("{:.3e}", run.chi2[0]));
    cells.push(format!("{:.0}", run.pre_reads));
    cells.push(format!("{:.3}", run.programs_per_member_page));
    cells.push(format!("{:.0}", run.erases));
    cells.push(
        match (run.erases == 0.0, one.lags()) {
            (true, _) => "no GC",
            (_, true) => "lags",
            _ => "",
        }
        .to_owned(),
    );
    cells
}

/// Everything, for programs.
pub fn json(findings: &Findings, measured: &[Measured], intervals: &[Intervals]) -> Value {
    let study = |one: &Measured| {
        let runs = one.runs.iter().map(|run| {
            json!({
                "scheme": run.scheme, "requests": run.requests, "response_mean_ns": run.mean_ns[0],
                "read_mean_ns": run.mean_ns[1], "write_mean_ns": run.mean_ns[2],
                "response_p999_ns": run.p999_ns, "blocked_cv": run.cv[0], "blocked_cv_served": run.cv[1],
                "blocked_chi2": run.chi2[0], "blocked_chi2_served": run.chi2[1], "updates": run.updates,
                "updates_adjusted": run.adjusted, "pre_read_pages": run.pre_reads,
                "erase_blocks": run.erases, "programs_per_member_page": run.programs_per_member_page,
                "simulated_ns": run.simulated_ns,
            })
        });
        json!({
            "workload": one.cell.workload, "data_chunks": one.cell.data, "speed": one.cell.clock.speed,
            "traces": format!("{:?}", one.cell.traces).to_lowercase(), "lags": one.lags(),
            "runs": runs.collect::<Vec<_>>(),
        })
    };
    let interval = |one: &Intervals| {
        json!({
            "workload": one.workload, "shares": one.shares, "longest_ns": one.longest_ns,
            "fits": one.fit(), "span_ns": one.span_ns,
        })
    };
    json!({
        "rows": findings.json(),
        "studies": measured.iter().map(study).collect::<Vec<_>>(),
        "intervals": intervals.iter().map(interval).collect::<Vec<_>>(),
    })
}
