//! The evaluation as text: Markdown for people, JSON for programs.

use std::fmt::Write as _;

use comfy_table::Table;
use serde_json::{Value, json};

use super::measured::{Measured, Run};
use super::plan::Part;
use super::variant::Variant;
use crate::evaluation::Traces;
use crate::finding::Findings;
use crate::text::{align, table, time};

/// The tables of runs: purpose, kind of requests, title.
const TABLES: [(Part, Traces, &str); 6] = [
    (Part::SpedUp, Traces::Generated, "Sped up to the utilisation of Table II"),
    (Part::RealTime, Traces::Generated, "In real time"),
    (Part::SpedUp, Traces::Slice, "Slices of real traces, sped up to a utilisation of 22.7 %"),
    (Part::RealTime, Traces::Slice, "Slices of real traces, in real time"),
    (Part::Sweep, Traces::Generated, "Sweeps and variants over a part of each workload, sped up"),
    (Part::Fresh, Traces::Generated, "New chips, over the same part"),
];

/// Everything, as Markdown that a terminal shows well too.
pub fn markdown(findings: &Findings, measured: &[Measured]) -> String {
    let mut text = findings.markdown();
    let mut add = |title: &str, table: Table| {
        if table.row_count() > 0 {
            writeln!(text, "\n### {title}\n\n{table}").expect("a string takes all");
        }
    };
    add("Table II: printed / generated", statistics(measured));
    for (part, traces, title) in TABLES {
        let ours = |one: &&Measured| one.cell.part == part && crate::Cell::traces(&one.cell) == traces;
        add(title, runs(measured.iter().filter(ours)));
    }
    text
}

/// What Table II says beside what was replayed.
fn statistics(measured: &[Measured]) -> Table {
    let head = ["trace", "requests", "read ratio", "mean KiB", "busy chips", "speed-up", "in real time"];
    let mut table = table(&head);
    let busy = |one: &Measured| one.run(Variant::Fifo).map_or(0.0, |run| run.busy[0]);
    for one in measured.iter().filter(|one| one.cell.part == Part::SpedUp) {
        let (Some(line), Some(run)) = (one.cell.workload.printed, one.runs.first()) else { continue };
        let real = measured.iter().find(|other| {
            other.cell.part == Part::RealTime && other.cell.workload.printed == one.cell.workload.printed
        });
        let requests = run.requests.max(1.0);
        table.add_row([
            line.name.to_owned(),
            format!("{} / {requests:.0}", line.requests),
            format!("{:.4} / {:.4}", line.read_ratio, run.reads / requests),
            format!("{:.3} / {:.3}", line.mean_kib, run.bytes / requests / 1024.0),
            format!("{:.4} / {:.4}", line.utilisation, busy(one)),
            one.cell.speed.to_string(),
            real.map_or("–".to_owned(), |real| format!("{:.5}", busy(real))),
        ]);
    }
    align(&mut table, 1);
    table
}

fn runs<'a>(studies: impl Iterator<Item = &'a Measured>) -> Table {
    let mut table = table(&[
        "workload",
        "scheme",
        "speed-up",
        "read wait",
        "to FIFO",
        "to PIQ",
        "read mean",
        "read p99.9",
        "write wait",
        "write mean",
        "busy before",
        "after",
        "redirected",
        "reads each",
    ]);
    for one in studies {
        for (variant, run) in one.each() {
            let over = |other: Variant| {
                one.gain(variant, other, &|run: &Run| run.wait_ns[0])
                    .map_or("–".to_owned(), |gain| format!("{:.3}", 1.0 - gain))
            };
            let each = if run.redirected > 0.0 {
                format!("{:.2}", run.decode_pages / run.redirected)
            } else {
                "–".to_owned()
            };
            table.add_row([
                one.cell.workload.name.to_owned(),
                variant.to_string(),
                one.cell.speed.to_string(),
                time(run.wait_ns[0]),
                over(Variant::Fifo),
                over(Variant::Piq),
                time(run.mean_ns[0]),
                time(run.read_p999_ns),
                time(run.wait_ns[1]),
                time(run.mean_ns[1]),
                format!("{:.4}", run.busy[0]),
                format!("{:.4}", run.busy[1]),
                format!("{:.2} %", run.redirected_share() * 100.0),
                each,
            ]);
        }
    }
    align(&mut table, 2);
    table
}

/// Everything, for programs.
pub fn json(findings: &Findings, measured: &[Measured]) -> Value {
    let run = |(variant, run): (Variant, &Run)| {
        json!({
            "scheme": variant.to_string(), "requests": run.requests, "read_requests": run.reads,
            "read_mean_ns": run.mean_ns[0], "write_mean_ns": run.mean_ns[1],
            "read_wait_mean_ns": run.wait_ns[0], "write_wait_mean_ns": run.wait_ns[1],
            "read_bus_mean_ns": run.read_bus_ns, "read_cell_mean_ns": run.read_cell_ns,
            "read_p999_ns": run.read_p999_ns, "busy_share_before": run.busy[0], "busy_share_after": run.busy[1],
            "redirected_chunks": run.redirected, "decode_read_pages": run.decode_pages, "erase_blocks": run.erases,
        })
    };
    let study = |one: &Measured| {
        json!({
            "workload": one.cell.workload.name,
            "traces": format!("{:?}", crate::Cell::traces(&one.cell)).to_lowercase(),
            "part": format!("{:?}", one.cell.part).to_lowercase(),
            "speed_up": one.cell.speed.to_string(),
            "runs": one.each().map(run).collect::<Vec<_>>(),
        })
    };
    json!({
        "rows": findings.json(),
        "studies": measured.iter().map(study).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{Options, Results};
    use crate::paper002::{Row, Speed, cells, findings, workloads};
    use crate::verdict::Verdict;

    /// Studies whose runs are made up.
    fn studies(run: impl Fn(Variant, Part) -> Run) -> Vec<Measured> {
        let options = Options {
            requests: None,
            quick: false,
            traces: None,
            rows: Row::ALL.to_vec(),
            seed: 1,
            out: "x".into(),
        };
        let all = workloads(&options);
        let all = all.iter().flat_map(|workload| cells(workload, Speed::REAL_TIME, &options));
        all.map(|cell| Measured {
            runs: cell.variants.iter().map(|variant| run(*variant, cell.part)).collect(),
            cell,
        })
        .collect()
    }

    fn of(wait: f64, write: f64, busy: f64) -> Run {
        Run { requests: 10.0, wait_ns: [wait, write], busy: [busy; 2], ..Run::default() }
    }

    fn as_printed(variant: Variant, part: Part) -> Run {
        match variant {
            Variant::Fifo if part == Part::RealTime => of(1000.0, 1000.0, 0.227),
            Variant::Fifo => of(1000.0, 1000.0, 0.2),
            Variant::Piq | Variant::PiqLength(_) => of(888.0, 974.0, 0.2057),
            Variant::Queue(queue) => of(762.0 * [1.0, 1.25][usize::from(queue == 1)], 968.0, 0.2146),
            Variant::Length(length) => of(762.0 * if length == 4 { 0.92 } else { 1.08 }, 968.0, 0.2146),
            _ => {
                Run { redirected: 3.0, decode_pages: 21.0, host_read_pages: 7.0, ..of(762.0, 968.0, 0.2146) }
            }
        }
    }

    fn verdicts(studies: &[Measured]) -> Vec<Verdict> {
        findings(Row::ALL, studies).rows.iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn what_the_paper_prints_agrees_with_it() {
        let found = studies(as_printed);
        let (agrees, same) = (Verdict::Agrees, Verdict::SameDirection);
        // Every trace is as the mean of all: far below 2b, far above 2c.
        assert_eq!(verdicts(&found), [agrees, same, same, agrees, agrees, agrees, agrees, agrees]);
        let table = findings(Row::ALL, &found);
        assert_eq!(table.rows[0].measured[0], "23.8 % (14.2 %)");
        assert!(
            table.rows[0].reason.contains("30.0 % of the chunks that are read"),
            "{}",
            table.rows[0].reason
        );
        assert!(table.rows[0].reason.contains("reads 7.00 chunks for each"), "{}", table.rows[0].reason);
        assert_eq!(table.rows[4].measured[0], "+7.3 % (+4.3 %)");
    }

    #[test]
    fn the_other_way_differs_and_nothing_is_not_measured() {
        let found = studies(|variant, part| match variant {
            Variant::Fifo | Variant::Piq | Variant::PiqLength(_) => of(1000.0, 1000.0, 0.2),
            Variant::Queue(1) => of(500.0, 1000.0, 0.1),
            Variant::Length(16) => of(500.0, 1000.0, 0.1),
            _ if part == Part::RealTime => of(1000.0, 1000.0, 0.0),
            _ => of(1500.0, 1500.0, 0.1),
        });
        let words = verdicts(&found);
        assert!(words[..7].iter().all(|word| *word == Verdict::Differs), "{words:?}");
        assert!(verdicts(&[]).iter().all(|word| *word == Verdict::NotMeasured));
    }

    #[test]
    fn every_run_has_its_line_and_every_trace_its_statistics() {
        let found = studies(as_printed);
        let text = markdown(&findings(Row::ALL, &found), &found);
        assert_eq!(text.matches("BRR, AT oracle").count(), 12);
        assert_eq!(text.matches("| Async_FIFO").count(), 4 * 12);
        assert!(text.contains("3993316 / 10"), "{text}");
        let value = json(&findings(Row::ALL, &found), &found);
        assert_eq!(value["rows"][7]["row"], "2h");
        assert_eq!(value["studies"].as_array().map(Vec::len), Some(48));
    }
}
