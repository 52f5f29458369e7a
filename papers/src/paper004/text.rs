//! The evaluation as text: Markdown for people, JSON for programs.

use std::fmt::Write as _;

use comfy_table::Table;
use serde_json::{Value, json};

use super::chunks::Experiment;
use super::measured::{Measured, Run};
use super::plan::{CHUNKS, Part, SIZES};
use super::variant::Policy;
use super::workload::Access;
use crate::finding::Findings;
use crate::text::{align, table, time};

/// The tables of runs: purpose and title.
const TABLES: [(Part, &str); 4] = [
    (Part::Main, "Fig. 5 and 6: the traces of Table 2"),
    (Part::Ssds, "Fig. 7: other numbers of SSDs"),
    (Part::Zones, "Fig. 8: other sizes of zones"),
    (Part::Real, "Real traces: slices"),
];

/// Everything, as Markdown that a terminal shows well too.
pub fn markdown(findings: &Findings, measured: &[Measured]) -> String {
    let mut text = findings.markdown();
    let mut add = |title: &str, table: Table| {
        if table.row_count() > 0 {
            writeln!(text, "\n### {title}\n\n{table}").expect("a string takes all");
        }
    };
    for access in Access::ALL {
        let title = format!("Fig. 2: {}, MiB/s by request size and chunk size", access.name());
        add(&title, rates(access, measured));
    }
    for (part, title) in TABLES {
        add(title, runs(measured.iter().filter(|one| one.cell.part == part)));
    }
    text
}

/// Throughput of random accesses: a row for each size of requests, a column for each size of chunks.
fn rates(access: Access, measured: &[Measured]) -> Table {
    let chunks = CHUNKS.map(|kib| format!("chunk {kib} KiB"));
    let mut head = vec!["request"];
    head.extend(chunks.iter().map(String::as_str));
    let mut table = table(&head);
    let experiment = Experiment(measured);
    for size in SIZES {
        let rates = CHUNKS.map(|chunk| experiment.rate(access, size, chunk));
        if rates.iter().all(Option::is_none) {
            continue;
        }
        let cell =
            |rate: Option<f64>| rate.map_or("–".to_owned(), |rate| format!("{:.0}", rate / 1_048_576.0));
        let mut cells = vec![format!("{size} KiB")];
        cells.extend(rates.map(cell));
        table.add_row(cells);
    }
    align(&mut table, 1);
    table
}

fn runs<'a>(studies: impl Iterator<Item = &'a Measured>) -> Table {
    let mut table = table(&[
        "workload",
        "array",
        "mean",
        "to 4 KB",
        "reads",
        "writes",
        "deviation",
        "p99.9",
        "pre-reads",
        "parity",
        "erases",
        "pages each",
        "programs a member page",
        "map",
    ]);
    for one in studies {
        for (policy, run) in one.each() {
            table.add_row(cells(one, policy, run));
        }
    }
    align(&mut table, 2);
    table
}

fn cells(one: &Measured, policy: Policy, run: &Run) -> Vec<String> {
    let base = one.run(Policy::Chunk(4)).map(|base| base.mean_ns[0]).filter(|base| *base > 0.0);
    let [pre_reads, parity] = run.parity_work;
    vec![
        one.cell.label(),
        policy.to_string(),
        time(run.mean_ns[0]),
        base.map_or("–".to_owned(), |base| format!("{:.3}", run.mean_ns[0] / base)),
        time(run.mean_ns[1]),
        time(run.mean_ns[2]),
        time(run.deviation_ns),
        time(run.p999_ns),
        format!("{pre_reads:.2}"),
        format!("{parity:.2}"),
        format!("{:.0}", run.erases),
        format!("{:.1}", run.moved_pages),
        format!("{:.2}", run.programs_per_member_page),
        if run.map_bytes > 0.0 {
            format!("{:.1} MiB", run.map_bytes / 1_048_576.0)
        } else {
            "–".to_owned()
        },
    ]
}

/// Everything, for programs.
pub fn json(findings: &Findings, measured: &[Measured]) -> Value {
    let run = |(policy, run): (Policy, &Run)| {
        json!({
            "scheme": policy.scheme(), "name": policy.to_string(), "requests": run.requests,
            "response_mean_ns": run.mean_ns[0], "read_mean_ns": run.mean_ns[1], "write_mean_ns": run.mean_ns[2],
            "response_deviation_ns": run.deviation_ns, "response_p999_ns": run.p999_ns,
            "bytes_per_second": run.bytes_per_second,
            "pre_reads_per_request": run.parity_work[0], "parity_writes_per_request": run.parity_work[1],
            "erase_blocks": run.erases, "gc_pages_each": run.moved_pages,
            "programs_per_member_page": run.programs_per_member_page, "map_bytes": run.map_bytes,
        })
    };
    let study = |one: &Measured| {
        json!({
            "workload": one.cell.workload.name,
            "traces": format!("{:?}", crate::Cell::traces(&one.cell)).to_lowercase(),
            "part": format!("{:?}", one.cell.part).to_lowercase(),
            "state": format!("{:?}", one.cell.state).to_lowercase(),
            "ssds": one.cell.ssds,
            "blocks": one.cell.blocks,
            "runs": one.each().map(run).collect::<Vec<_>>(),
        })
    };
    json!({
        "rows": findings.json(),
        "studies": measured.iter().map(study).collect::<Vec<_>>(),
    })
}
