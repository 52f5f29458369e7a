//! The evaluation as text: Markdown for people, JSON for programs.

use std::fmt::Write as _;

use comfy_table::Table;
use serde_json::{Value, json};

use super::measured::{Measured, Run};
use super::variant::{Level, Variant};
use crate::evaluation::Traces;
use crate::finding::Findings;
use crate::text::{align, table, time};

/// Everything, as Markdown that a terminal shows well too.
pub fn markdown(findings: &Findings, measured: &[Measured]) -> String {
    let mut text = findings.markdown();
    let mut add = |title: &str, table: Table| {
        if table.row_count() > 0 {
            writeln!(text, "\n### {title}\n\n{table}").expect("a string takes all");
        }
    };
    for (traces, title) in
        [(Traces::Generated, "Generated workloads"), (Traces::Slice, "Slices of real traces")]
    {
        for level in Level::ALL {
            let studies = measured.iter().filter(|one| one.cell.traces == traces && one.cell.level == level);
            add(&format!("{title}, {level}"), runs(studies));
        }
    }
    add("Overhead, as in Fig. 12: chunks for each data chunk that hosts wrote", overheads(measured));
    text
}

fn runs<'a>(studies: impl Iterator<Item = &'a Measured>) -> Table {
    let mut table = table(&[
        "workload",
        "scheme",
        "GC rewrites",
        "to eSAP",
        "GC parity",
        "freed",
        "absorbed",
        "parity",
        "short stripes",
        "mean",
        "p99.9",
        "erases",
        "to eSAP",
        "programs a member page",
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
    let count = |value: f64| format!("{value:.0}");
    let over = |value: &dyn Fn(&Run) -> f64| {
        one.gain(variant, Variant::Esap, value).map_or("–".to_owned(), |gain| format!("{:.3}", 1.0 - gain))
    };
    vec![
        one.cell.workload.to_owned(),
        variant.to_string(),
        count(run.gc_chunks),
        over(&|run| run.gc_chunks),
        count(run.gc_parity_chunks),
        count(run.gc_segments),
        count(run.absorbed_chunks),
        count(run.parity_chunks),
        count(run.short_stripes),
        time(run.mean_ns[0]),
        time(run.p999_ns),
        count(run.erases),
        over(&|run| run.erases),
        format!("{:.3}", run.programs_per_member_page),
    ]
}

/// The parts of the overhead of parity logging, of eSAP and of WAS(2).
fn overheads(measured: &[Measured]) -> Table {
    let mut table = table(&["study", "scheme", "pre-reads", "log writes", "GC rewrites", "parity", "sum"]);
    for one in measured {
        let chunks = one.overhead.chunks.max(1) as f64;
        let mut row = |scheme: &str, parts: [Option<f64>; 4]| {
            let mut cells = vec![one.cell.to_string(), scheme.to_owned()];
            let share = |part: f64| format!("{:.3}", part / chunks);
            cells.extend(parts.iter().map(|part| part.map_or("–".to_owned(), share)));
            cells.push(share(parts.iter().flatten().sum()));
            table.add_row(cells);
        };
        let cost = one.parity_logging();
        let [pre_reads, log, parity] =
            [cost.pre_reads, cost.log_writes, cost.parity_writes].map(|part| part as f64);
        row("parity logging", [Some(pre_reads), Some(log), None, Some(parity)]);
        for variant in [Variant::Esap, Variant::Was(2)] {
            if let Some([gc, parity]) = one.run(variant).map(Run::overhead) {
                row(&variant.to_string(), [None, None, Some(gc), Some(parity)]);
            }
        }
    }
    align(&mut table, 2);
    table
}

/// Everything, for programs.
pub fn json(findings: &Findings, measured: &[Measured]) -> Value {
    let run = |(variant, run): (Variant, &Run)| {
        json!({
            "scheme": variant.to_string(), "requests": run.requests, "response_mean_ns": run.mean_ns[0],
            "write_mean_ns": run.mean_ns[1], "response_p999_ns": run.p999_ns,
            "array_gc_segments": run.gc_segments, "array_gc_moved_chunks": run.gc_chunks,
            "array_gc_parity_chunks": run.gc_parity_chunks, "stripes": run.stripes,
            "short_stripes": run.short_stripes, "stripe_data_chunks": run.data_chunks,
            "stripe_parity_chunks": run.parity_chunks, "buffer_absorbed_chunks": run.absorbed_chunks,
            "erase_blocks": run.erases, "least_erase_blocks": run.erases_between[0],
            "most_erase_blocks": run.erases_between[1], "programs_per_member_page": run.programs_per_member_page,
            "hotness_bytes": run.hotness_bytes,
        })
    };
    let study = |one: &Measured| {
        let cost = one.parity_logging();
        json!({
            "workload": one.cell.workload, "level": one.cell.level.to_string(),
            "traces": format!("{:?}", one.cell.traces).to_lowercase(),
            "steady_state": one.in_steady_state(), "data_chunks": one.overhead.chunks,
            "unique_chunks": one.overhead.unique_chunks,
            "parity_logging": {
                "pre_reads": cost.pre_reads, "log_writes": cost.log_writes, "parity_writes": cost.parity_writes,
            },
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
    use crate::paper001::{Row, cells, findings};
    use crate::verdict::Verdict;

    /// Studies whose runs are made up: `value` of the number of the scheme.
    fn studies(value: impl Fn(Variant) -> f64) -> Vec<Measured> {
        let options = Options {
            requests: None,
            quick: false,
            traces: None,
            rows: Row::ALL.to_vec(),
            seed: 1,
            out: "x".into(),
        };
        let study = |cell: crate::paper001::Cell| {
            let run = |variant: &Variant| {
                let value = value(*variant);
                Run {
                    requests: 1e6,
                    gc_segments: if *variant == Variant::InPlace { 0.0 } else { 10.0 },
                    gc_chunks: 1e6 * value,
                    data_chunks: 1e6,
                    mean_ns: [1e6 * value; 2],
                    erases: 1e4 * value,
                    ..Run::default()
                }
            };
            Measured { runs: cell.variants.iter().map(run).collect(), cell, overhead: Default::default() }
        };
        cells(&options).into_iter().map(study).collect()
    }

    fn verdicts(studies: &[Measured]) -> Vec<Verdict> {
        findings(Row::ALL, studies).rows.iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn what_the_paper_prints_agrees_with_it() {
        let found = studies(|variant| match variant {
            Variant::Was(_) => 0.4,
            Variant::Hca => 0.48,
            _ => 1.0,
        });
        let words = verdicts(&found);
        // 60 % fewer everywhere: in reach of 1a's 70.6, beyond 1b's 43.2, within 1c, 1d and 1e.
        let (agrees, same) = (Verdict::Agrees, Verdict::SameDirection);
        assert_eq!(words, [agrees, same, agrees, agrees, agrees, agrees, agrees, agrees], "{words:?}");
    }

    #[test]
    fn the_other_way_differs_and_nothing_is_not_measured() {
        let found = studies(|variant| if variant == Variant::Esap { 1.0 } else { 1.5 });
        let words = verdicts(&found);
        assert!(words[..6].iter().all(|word| *word == Verdict::Differs), "{words:?}");
        assert!(verdicts(&[]).iter().all(|word| *word == Verdict::NotMeasured));
        // GLRU and HCA alike is no gain; three and four groups alike is what is printed.
        assert_eq!(words[6..], [Verdict::Differs, Verdict::Agrees]);
    }

    #[test]
    fn more_groups_that_cost_or_spare_are_told_apart() {
        let with = |four: f64| {
            verdicts(&studies(|variant| match variant {
                Variant::Was(4) => four,
                Variant::Was(_) => 0.5,
                _ => 1.0,
            }))[7]
        };
        assert_eq!(
            [with(0.48), with(0.4), with(0.6)],
            [Verdict::Agrees, Verdict::SameDirection, Verdict::Differs]
        );
    }

    #[test]
    fn a_scheme_without_collection_is_shouted_and_every_run_has_its_line() {
        let mut found = studies(|_| 1.0);
        let text = markdown(&findings(Row::ALL, &found), &found);
        assert_eq!(text.matches("WAS(2), HCA").count(), 10);
        assert!(!text.contains("NO GARBAGE"));
        found[0].runs[1].gc_segments = 0.0;
        let text = markdown(&findings(Row::ALL, &found), &found);
        assert!(text.contains("NO GARBAGE COLLECTION IN A SCHEME: Financial1, RAID-5"), "{text}");
        let value = json(&findings(Row::ALL, &found), &found);
        assert_eq!(value["rows"][0]["row"], "1a");
        assert_eq!(value["studies"].as_array().map(Vec::len), Some(10));
    }

    #[test]
    fn slices_stand_apart_and_count_only_where_every_scheme_collects() {
        let mut found = studies(|variant| if variant == Variant::Esap { 1.0 } else { 0.5 });
        found.truncate(1);
        let shown = |found: &[Measured]| findings(&[Row::A], found).rows[0].measured.clone();
        assert_eq!(shown(&found), ["50.0 % fewer", "–"]);
        found[0].cell.traces = Traces::Slice;
        assert_eq!(shown(&found), ["–", "50.0 % fewer"]);
        found[0].runs[1].gc_segments = 0.0;
        assert_eq!(shown(&found), ["–", "–"]);
    }

    #[test]
    fn mttdl_follows_alpha_as_the_paper_computes_it() {
        use super::super::rows::times;
        // At the printed alphas, from the exact chain: reliability's tests have the years.
        for (level, alpha, expected) in [
            (Level::Raid5, 0.37, 7.303),
            (Level::Raid5, 0.77, 1.686),
            (Level::Raid6, 0.5, 7.999),
            (Level::Raid6, 0.37, 19.74),
        ] {
            let found = times(level, alpha);
            assert!((found / expected - 1.0).abs() < 1e-3, "{level} {alpha}: {found}");
        }
    }
}
