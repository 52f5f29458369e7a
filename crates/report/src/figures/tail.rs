//! Figures 10 and 11: the tail of the response times.

use crate::chart::{Across, Line, Lines, Up, figure, time};
use crate::set::Set;

use super::figure::{Cell, Data, Figure, Panel};
use super::wording::{Named, about, notes_on, scheme_keys, titled};
use crate::run::LoadedRun;

/// With fewer requests than this, fewer than ten lie above the 99th percentile.
const FEW: u64 = 1_000;

pub(super) fn distributions(set: &Set, structure: &str, named: Named) -> Figure {
    let mut data =
        Data::new(&["workload", "scheme", "run"], &["p99", "p99.9", "p99.99", "largest", "p99.9 over first"]);
    let (mut panels, mut notes) = (Vec::new(), Vec::new());
    let id = format!("tail-{}", named.place);
    for workload in set.workloads_of(structure) {
        let base = set.base(structure, workload).and_then(|run| quantile(run, 99_900));
        let (mut lines, mut few) = (Vec::new(), u64::MAX);
        for (scheme, run) in set.runs_on(structure, workload) {
            let responses = run.responses.as_ref().filter(|responses| responses.count() > 0);
            let text = |parts| quantile(run, parts).map_or("-".to_owned(), time);
            let over = quantile(run, 99_900).zip(base).filter(|(_, first)| *first > 0.0);
            let cell = |parts| Cell::time_or_none(quantile(run, parts));
            data.row([
                workload.into(),
                scheme.into(),
                run.digest.clone().into(),
                cell(99_000),
                cell(99_900),
                cell(99_990),
                cell(100_000),
                over.map_or("-".into(), |(ours, first)| figure(ours / first).into()),
            ]);
            if let Some(responses) = responses {
                few = few.min(responses.count());
                let tip = format!("{workload}, {scheme}: 99.9 % within {}{}", text(99_900), together(run));
                lines.push(Line {
                    look: Some(set.look(scheme)),
                    name: String::new(),
                    points: responses.tail(99.0),
                    band: Vec::new(),
                    tip,
                });
            }
        }
        if few < FEW {
            notes.push(format!(
                "{workload}: {few} requests, so fewer than ten lie above the 99th percentile: the stairs are single requests."
            ));
        }
        // The first scheme is drawn last, so it is not hidden where all are alike.
        lines.reverse();
        let title = format!("{workload}, {structure}");
        let body = if lines.is_empty() {
            Err("no read or write of these runs counts".to_owned())
        } else {
            let description =
                format!("Share of requests on {workload} within a latency, from 99 to 100 percent");
            let chart = Lines {
                title: &title,
                description: &description,
                across: Across::Time("response time"),
                upward: "requests within it (%)",
                up: Up::Range(99.0, 100.0),
                lines: &lines,
                reference: Some(99.9),
            };
            Ok(chart.draw(&format!("{id}-{}", panels.len())))
        };
        panels.push(Panel { title, body });
    }
    notes.extend(notes_on(set.runs.iter().filter(|run| run.structure == structure)));
    if let Some(seeds) = set.seeds() {
        notes.push(format!("Each tail covers the requests of {seeds} of a scheme together."));
    }
    Figure {
        id,
        title: titled(set, &named.number, &format!("tail of the response times with {structure}")),
        about: about(
            set,
            "How large a share of the reads and writes is answered within a time, from 99 to 100 %: the further \
                left the better. The dashed level is the 99.9th percentile; times need not begin at zero.",
            "paper 000, Figure 10 (5+1) and Figure 11 (7+1); it finds Adaptive's 99.9th percentile 14.6 % below \
             Baseline's and 12.9 % below BPU's on average.",
        ),
        legend: scheme_keys(set, true),
        panels,
        notes,
        data,
    }
}

/// The response time that is not exceeded by this share, in parts of 100,000, of a run's requests.
fn quantile(run: &LoadedRun, parts: u64) -> Option<f64> {
    let total = match parts {
        99_000 => "response_p99_ns",
        99_900 => "response_p999_ns",
        100_000 => "response_max_ns",
        _ => "",
    };
    // One run's totals are exact; for several seeds the percentiles come from all their requests together.
    let exact = run.total(total).filter(|_| run.others.is_empty());
    exact.or_else(|| run.responses.as_ref()?.quantile(parts).map(|ns| ns as f64))
}

fn together(run: &LoadedRun) -> String {
    if run.others.is_empty() { String::new() } else { format!(", {} seeds together", run.others.len() + 1) }
}
