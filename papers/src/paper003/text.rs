//! The evaluation as text: Markdown for people, JSON for programs.

use std::fmt::Write as _;

use comfy_table::Table;
use serde_json::{Value, json};

use super::hybrid::{Hybrid, LIMIT};
use super::measured::{Measured, Run};
use super::plan::Part;
use super::variant::{Level, Policy, Variant};
use crate::finding::Findings;
use crate::text::{align, table, time};

/// The tables of runs: purpose and title.
const TABLES: [(Part, &str); 5] = [
    (Part::Main, "Fig. 4: HPC and Exchange"),
    (Part::Wide, "Heavy collections: requests within 8 GiB"),
    (Part::Changing, "Mixes that change over time"),
    (Part::Sweep, "Sweeps and variants"),
    (Part::Real, "Real traces: slices"),
];

/// Everything, as Markdown that a terminal shows well too.
pub fn markdown(findings: &Findings, measured: &[Measured]) -> String {
    let mut text = findings.markdown();
    if measured.iter().any(|one| matches!(one.cell.part, Part::Grid | Part::Changing)) {
        let lines = Hybrid::all(measured).iter().map(Hybrid::line).collect::<String>();
        let limit = LIMIT * 100.0;
        write!(
            text,
            "\n### The hybrid: no more than {limit:.0} % slower than the better of WOW and SIW\n\n{lines}"
        )
        .expect("a string takes all");
    }
    let mut add = |title: &str, table: Table| {
        if table.row_count() > 0 {
            writeln!(text, "\n### {title}\n\n{table}").expect("a string takes all");
        }
    };
    for level in Level::ALL {
        add(&format!("Fig. 5: the grid W(R, I, W), {level}"), grid(level, measured));
    }
    add(
        "Fig. 4(c) and 4(d): SSDs that collect in a slice of 0.1 ms, of the slices in which any does",
        slices(measured),
    );
    for (part, title) in TABLES {
        add(title, runs(measured.iter().filter(|one| one.cell.part == part)));
    }
    text
}

/// The points of Table 1.
fn grid(level: Level, measured: &[Measured]) -> Table {
    let mut table = table(&[
        "point",
        "WOW",
        "SIW",
        "hybrid",
        "SIW over WOW",
        "hybrid over WOW",
        "over the better",
        "collecting",
        "programs a member page",
    ]);
    for one in measured.iter().filter(|one| one.cell.part == Part::Grid && one.cell.level == level) {
        let run = |policy| one.preset(policy);
        let [Some(wow), Some(siw), Some(hybrid)] = [Policy::Wow, Policy::Siw, Policy::Hybrid].map(run) else {
            continue;
        };
        let over = |run: &Run| format!("{:.3}", run.mean_ns[0] / wow.mean_ns[0].max(1.0));
        table.add_row([
            one.cell.workload.name.clone(),
            time(wow.mean_ns[0]),
            time(siw.mean_ns[0]),
            time(hybrid.mean_ns[0]),
            over(siw),
            over(hybrid),
            one.hybrid_excess().map_or("–".to_owned(), |excess| format!("{:+.1} %", excess * 100.0)),
            format!("{:.3}", wow.at_least(1)),
            format!("{:.2}", wow.programs_per_member_page),
        ]);
    }
    align(&mut table, 1);
    table
}

/// The distribution of the number of SSDs that collect together, as the paper's figures have it.
fn slices(measured: &[Measured]) -> Table {
    let mut table = table(&["", "cache", "any", "2 or more", "3", "4", "5", "6", "7", "8"]);
    for one in measured.iter().filter(|one| one.cell.part == Part::Main && one.cell.workload.name == "HPC") {
        for (variant, run) in one.each() {
            let mut cells = vec![one.cell.label(), variant.to_string(), format!("{:.4}", run.at_least(1))];
            let share =
                |ssds| run.at_least_of_any(ssds).map_or("–".to_owned(), |share| format!("{share:.3}"));
            cells.extend((2..9).map(share));
            table.add_row(cells);
        }
    }
    align(&mut table, 2);
    table
}

fn runs<'a>(studies: impl Iterator<Item = &'a Measured>) -> Table {
    let mut table = table(&[
        "workload",
        "cache",
        "mean",
        "to WOW",
        "reads",
        "writes",
        "deviation",
        "p99.9",
        "P(n >= 1)",
        "P(n >= 2)",
        "given one",
        "collections",
        "pages each",
        "programs a member page",
        "hits",
        "waits for room",
        "incomplete",
    ]);
    for one in studies {
        for (variant, run) in one.each() {
            table.add_row(cells(one, variant, run));
        }
    }
    align(&mut table, 2);
    table
}

fn cells(one: &Measured, variant: Variant, run: &Run) -> Vec<String> {
    let over = one.gain(variant, Variant::of(Policy::Wow));
    let two = run.at_least_of_any(2);
    vec![
        one.cell.label(),
        variant.to_string(),
        time(run.mean_ns[0]),
        over.map_or("–".to_owned(), |gain| format!("{:.3}", 1.0 - gain)),
        time(run.mean_ns[1]),
        time(run.mean_ns[2]),
        time(run.deviation_ns),
        time(run.p999_ns),
        format!("{:.4}", run.at_least(1)),
        format!("{:.4}", run.at_least(2)),
        two.map_or("–".to_owned(), |two| format!("{two:.3}")),
        format!("{:.0}", run.erases),
        format!("{:.1}", run.moved_pages),
        format!("{:.2}", run.programs_per_member_page),
        format!("{:.1} %", run.cache[1] / run.cache[0].max(1.0) * 100.0),
        format!("{:.0}", run.room_waits),
        if run.releases[0] > 0.0 {
            format!("{:.0} %", run.releases[1] / run.releases[0] * 100.0)
        } else {
            "–".to_owned()
        },
    ]
}

/// Everything, for programs.
pub fn json(findings: &Findings, measured: &[Measured]) -> Value {
    let run = |(variant, run): (Variant, &Run)| {
        json!({
            "scheme": variant.scheme(), "name": variant.to_string(),
            "requests": run.requests, "write_requests": run.writes,
            "response_mean_ns": run.mean_ns[0], "read_mean_ns": run.mean_ns[1], "write_mean_ns": run.mean_ns[2],
            "response_deviation_ns": run.deviation_ns, "response_p999_ns": run.p999_ns,
            "gc_any_share": run.at_least(1), "gc_two_share": run.at_least(2),
            "gc_two_of_any_share": run.at_least_of_any(2), "collecting_shares": run.collecting,
            "erase_blocks": run.erases, "gc_pages_each": run.moved_pages, "gc_mean_ns": run.collection_ns,
            "programs_per_member_page": run.programs_per_member_page, "die_utilisation": run.busy,
            "cache_write_chunks": run.cache[0], "cache_absorbed_chunks": run.cache[1], "cache_hit_chunks": run.cache[2],
            "destages": run.destages,
            "cache_room_waits": run.room_waits, "strip_releases": run.releases[0], "incomplete_releases": run.releases[1],
            "pre_read_pages": run.pre_reads,
        })
    };
    let study = |one: &Measured| {
        json!({
            "workload": one.cell.workload.name,
            "traces": format!("{:?}", crate::Cell::traces(&one.cell)).to_lowercase(),
            "part": format!("{:?}", one.cell.part).to_lowercase(),
            "level": one.cell.level.to_string(),
            "gc": format!("{:?}", one.cell.gc).to_lowercase(),
            "runs": one.each().map(run).collect::<Vec<_>>(),
        })
    };
    json!({
        "rows": findings.json(),
        "hybrid": Hybrid::all(measured).iter().map(Hybrid::json).collect::<Vec<_>>(),
        "studies": measured.iter().map(study).collect::<Vec<_>>(),
    })
}
