//! The whole distribution of response times, with an axis on which every further nine has the same room.

use crate::chart::{Across, Line, Lines, Up, figure, time};
use crate::distribution::Distribution;
use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::{Cell, Data, Figure, Panel};
use super::wording::{notes_on, scheme_keys};

/// The most workloads for which reads and writes are drawn apart.
const WORKLOADS_APART: usize = 2;

/// Percentiles of the table, in parts of 100,000.
const PERCENTILES: [(&str, u64); 5] =
    [("p50", 50_000), ("p90", 90_000), ("p99", 99_000), ("p99.9", 99_900), ("p99.99", 99_990)];

/// A kind of requests: its name, and its distribution in a run.
type Kind = (&'static str, fn(&LoadedRun) -> Option<&Distribution>);

const KINDS: [Kind; 3] = [
    ("reads and writes", |run| run.responses.as_ref()),
    ("reads", |run| run.by_kind[0].as_ref()),
    ("writes", |run| run.by_kind[1].as_ref()),
];

pub(super) fn distributions(set: &Set) -> Figure {
    let mut numbers = PERCENTILES.map(|(name, _)| name).to_vec();
    numbers.extend(["largest", "p99.9 over first"]);
    let mut data = Data::new(&["workload", "array", "requests", "scheme", "run"], &numbers);
    let mut panels = Vec::new();
    let kinds = if set.workloads.len() <= WORKLOADS_APART { &KINDS[..] } else { &KINDS[..1] };
    for structure in &set.structures {
        for workload in set.workloads_of(structure) {
            for (kind, of) in kinds {
                let runs: Vec<_> = set
                    .runs_on(structure, workload)
                    .into_iter()
                    .filter_map(|(scheme, run)| Some((scheme, run, of(run).filter(|of| of.count() > 0)?)))
                    .collect();
                let Some(nines) = runs.iter().map(|(.., responses)| responses.nines()).max() else {
                    continue;
                };
                let base = runs.first().and_then(|(.., responses)| responses.quantile(99_900));
                let mut lines = Vec::new();
                for (scheme, run, responses) in &runs {
                    let text = |parts| responses.quantile(parts).map_or("-".to_owned(), |ns| time(ns as f64));
                    let over = responses.quantile(99_900).zip(base).filter(|(_, base)| *base > 0);
                    let mut row =
                        [workload, structure, kind, *scheme, run.digest.as_str()].map(Cell::from).to_vec();
                    let cell = |parts| Cell::time_or_none(responses.quantile(parts).map(|ns| ns as f64));
                    row.extend(PERCENTILES.map(|(_, parts)| cell(parts)));
                    row.push(cell(100_000));
                    row.push(
                        over.map_or("-".into(), |(ours, first)| figure(ours as f64 / first as f64).into()),
                    );
                    data.rows.push(row);
                    lines.push(Line {
                        look: Some(set.look(scheme)),
                        name: String::new(),
                        points: responses.whole(nines),
                        band: Vec::new(),
                        tip: format!("{workload}, {scheme}: 99.9 % of the {kind} within {}", text(99_900)),
                    });
                }
                // The first scheme is drawn last, so it is not hidden where all are alike.
                lines.reverse();
                let title = match set.structures.len() {
                    1 => format!("{workload}: {kind}"),
                    _ => format!("{workload}, {structure}: {kind}"),
                };
                let description =
                    format!("Share of the {kind} on {workload} that are answered within a time");
                let chart = Lines {
                    title: &title,
                    description: &description,
                    across: Across::LogTime("response time"),
                    upward: "answered within it (%)",
                    up: Up::Tail(nines),
                    lines: &lines,
                    reference: None,
                };
                let body = Ok(chart.draw(&format!("distribution-{}", panels.len())));
                panels.push(Panel { title, body });
            }
        }
    }
    let mut notes = notes_on(set.runs.iter());
    if let Some(seeds) = set.seeds() {
        notes.push(format!("A distribution covers the requests of {seeds} of a scheme together."));
    }
    Figure {
        id: "distribution".to_owned(),
        title: "Distribution of the response times".to_owned(),
        about: "How large a share of the requests is answered within a time: the further left a line, the better. Every \
                further nine has the same height, so the tail is as large as the rest."
            .to_owned(),
        legend: scheme_keys(set, true),
        panels,
        notes,
        data,
    }
}
