//! Figures 8 and 9: mean response times over those of the first scheme.

use crate::chart::{Bar, Bars, Group, Unit, figure, time};
use crate::set::Set;

use super::{Data, Figure, Named, Panel, none_of_structure, notes_on, scheme_keys};

/// Kinds of requests: the panel, the total that holds the mean, and the one that counts the requests.
const KINDS: [(&str, &str, &str); 3] = [
    ("read", "read_mean_ns", "read_requests"),
    ("write", "write_mean_ns", "write_requests"),
    ("overall", "response_mean_ns", "requests"),
];

pub(super) fn means(set: &Set, structure: &str, named: Named) -> Figure {
    let first = set.base_name();
    let mut data = Data::new(&["workload", "requests", "scheme", "run"], &["mean", "over first"]);
    let mut panels = Vec::new();
    let workloads = set.workloads_of(structure);
    for (place, (kind, mean, count)) in KINDS.into_iter().enumerate() {
        if workloads.is_empty() {
            break;
        }
        let mean_of = |workload: &str, scheme: &str| {
            let run = set.find(structure, workload, scheme)?;
            run.total(count).filter(|&count| count > 0.0)?;
            run.total(mean).map(|mean| (run, mean))
        };
        let mut groups = Vec::new();
        for workload in &workloads {
            let base = set.base(structure, workload).and_then(|run| mean_of(workload, &run.scheme));
            let base = base.map(|(_, mean)| mean).filter(|&mean| mean > 0.0);
            let mut bars = Vec::new();
            for (scheme, _) in set.runs_on(structure, workload) {
                let found = mean_of(workload, scheme);
                let value = found.zip(base).map(|((_, mean), base)| mean / base);
                let texts = |mean: f64| (time(mean), value.map_or("-".to_owned(), figure));
                let (mean, over) = found.map_or(("-".to_owned(), "-".to_owned()), |(_, mean)| texts(mean));
                bars.push(Bar {
                    look: set.look(scheme),
                    value,
                    whisker: None,
                    tip: format!("{workload}, {scheme}: {kind} mean {mean}, {over} of the first scheme's"),
                });
                if let Some((run, _)) = found {
                    let workload = (*workload).to_owned();
                    data.row([workload, kind.to_owned(), scheme.to_owned(), run.digest.clone(), mean, over]);
                }
            }
            groups.push(Group { label: (*workload).to_owned(), bars });
        }
        let title = format!("{kind}, {structure}");
        let body = if groups.iter().flat_map(|group| &group.bars).all(|bar| bar.value.is_none()) {
            Err(format!("No {kind} request counts in these runs."))
        } else {
            let description =
                format!("Mean {kind} response time by workload and scheme, over that of the first scheme");
            let chart = Bars {
                title: &title,
                description: &description,
                axis: "mean response, first scheme = 1",
                unit: Unit::ONE,
                log: false,
                groups: &groups,
                reference: Some(1.0),
            };
            Ok(chart.draw(&format!("{}-{place}", named.id)))
        };
        panels.push(Panel { title, body });
    }
    if panels.is_empty() {
        panels.push(none_of_structure(structure));
    }
    let mut notes = notes_on(set.runs.iter().filter(|run| run.structure == structure));
    if set.schemes.len() == 1 && !workloads.is_empty() {
        notes.push("One scheme: each bar is 1, its value stands in the table.".to_owned());
    }
    Figure {
        id: named.id,
        title: format!("{}: response times with {structure}", named.number),
        about: format!(
            "Mean response time of reads, of writes, and of both, over that of {first}: below 1 is \
             better. Arrival to acknowledgement, as the scheme acknowledges. Paper 000, Figure 8 (5+1) and Figure 9 (7+1); \
             it finds Adaptive up to 29.8 % below BPU."
        ),
        legend: scheme_keys(set, false),
        panels,
        notes,
        data,
    }
}
