//! Figures 10 and 11: the tail of the response times.

use crate::chart::{Across, Line, Lines, figure, time};
use crate::set::Set;

use super::{Data, Figure, Named, Panel, none_of_structure, notes_on, scheme_keys};

/// With fewer requests than this, fewer than ten lie above the 99th percentile.
const FEW: u64 = 1_000;

pub(super) fn distributions(set: &Set, structure: &str, named: Named) -> Figure {
    let mut data =
        Data::new(&["workload", "scheme", "run"], &["p99", "p99.9", "p99.99", "largest", "p99.9 over first"]);
    let (mut panels, mut notes) = (Vec::new(), Vec::new());
    for workload in set.workloads_of(structure) {
        let p999 = |scheme: &str| {
            set.find(structure, workload, scheme).and_then(|run| run.total("response_p999_ns"))
        };
        let base = set.base(structure, workload).and_then(|run| run.total("response_p999_ns"));
        let (mut lines, mut few) = (Vec::new(), u64::MAX);
        for (scheme, run) in set.runs_on(structure, workload) {
            let responses = run.responses.as_ref().filter(|responses| responses.count() > 0);
            let quantile = |parts| match responses.and_then(|responses| responses.quantile(parts)) {
                Some(ns) => time(ns as f64),
                None => "-".to_owned(),
            };
            let total = |name: &str| run.total(name).map_or("-".to_owned(), time);
            let over = p999(scheme).zip(base).filter(|(_, first)| *first > 0.0);
            data.row([
                workload.to_owned(),
                scheme.to_owned(),
                run.digest.clone(),
                total("response_p99_ns"),
                total("response_p999_ns"),
                quantile(99_990),
                total("response_max_ns"),
                over.map_or("-".to_owned(), |(ours, first)| figure(ours / first)),
            ]);
            if let Some(responses) = responses {
                few = few.min(responses.count());
                let tip = format!("{workload}, {scheme}: 99.9 % within {}", quantile(99_900));
                lines.push(Line { look: Some(set.look(scheme)), points: responses.tail(99.0), tip });
            }
        }
        if few < FEW {
            notes.push(format!(
                "{workload}: {few} requests, so fewer than ten lie above the 99th percentile: the stairs are single requests."
            ));
        }
        // The first scheme last, so that it is not hidden where all are alike.
        lines.reverse();
        let title = format!("{workload}, {structure}");
        let body = if lines.is_empty() {
            Err("No read or write of these runs counts, so there are no latencies.".to_owned())
        } else {
            let description =
                format!("Share of requests on {workload} within a latency, from 99 to 100 percent");
            let chart = Lines {
                title: &title,
                description: &description,
                across: Across::Time("response time"),
                upward: "requests within it (%)",
                range: (99.0, 100.0),
                lines: &lines,
                reference: Some(99.9),
            };
            Ok(chart.draw(&format!("{}-{}", named.id, panels.len())))
        };
        panels.push(Panel { title, body });
    }
    if panels.is_empty() {
        panels.push(none_of_structure(structure));
    }
    notes.extend(notes_on(set.runs.iter().filter(|run| run.structure == structure)));
    Figure {
        id: named.id,
        title: format!("{}: tail of the response times with {structure}", named.number),
        about: "How large a share of the reads and writes is answered within a time, from 99 to 100 %: the further \
                left the better. The dashed level is the 99.9th percentile; times need not begin at zero. Paper 000, \
                Figure 10 (5+1) and Figure 11 (7+1); it finds Adaptive's 99.9th percentile 14.6 % below Baseline's \
                and 12.9 % below BPU's on average."
            .to_owned(),
        legend: scheme_keys(set, true),
        panels,
        notes,
        data,
    }
}
