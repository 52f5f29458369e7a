//! Figures 8 and 9: mean response times over those of the first scheme.

use crate::chart::{Bar, Bars, Group, Spread, Unit, figure, time};
use crate::set::Set;

use super::figure::{Cell, Data, Figure, Panel};
use super::wording::{Named, about, notes_on, scheme_keys, titled};

/// Kinds of requests: the panel, the total with the mean, and the total with the number of requests.
const KINDS: [(&str, &str, &str); 3] = [
    ("read", "read_mean_ns", "read_requests"),
    ("write", "write_mean_ns", "write_requests"),
    ("overall", "response_mean_ns", "requests"),
];

pub(super) fn means(set: &Set, structure: &str, named: Named) -> Figure {
    let first = set.base_name();
    let mut data =
        Data::new(&["workload", "requests", "scheme", "run"], &["mean", "over first", "95 % interval"]);
    let id = format!("response-{}", named.place);
    let mut panels = Vec::new();
    let workloads = set.workloads_of(structure);
    for (place, (kind, mean, count)) in KINDS.into_iter().enumerate() {
        let mean_of = |workload: &str, scheme: &str| {
            let run = set.find(structure, workload, scheme)?;
            run.total(count).filter(|&count| count > 0.0)?;
            run.total(mean).map(|mean| (run, mean))
        };
        let mut groups = Vec::new();
        for workload in &workloads {
            let base = set.base(structure, workload).and_then(|run| mean_of(workload, &run.scheme));
            let base = base.map(|(_, mean)| mean).filter(|&mean| mean > 0.0);
            let ratios = set.ratios_to_base(structure, workload, mean);
            let mut bars = Vec::new();
            for (scheme, _) in set.runs_on(structure, workload) {
                let found = mean_of(workload, scheme);
                let typical = ratios.get(scheme).copied();
                let value = match typical {
                    Some((typical, _)) => Some(typical),
                    None => found.zip(base).map(|((_, mean), base)| mean / base),
                };
                let over = value.map_or("-".to_owned(), figure);
                let whisker = typical.map(|(_, interval)| interval);
                let (mean, over) =
                    found.map_or(("-".to_owned(), "-".to_owned()), |(_, mean)| (time(mean), over));
                bars.push(Bar {
                    look: set.look(scheme),
                    value,
                    spread: whisker.map(|(low, high)| Spread::Interval(low, high)),
                    tip: format!(
                        "{workload}, {scheme}: {kind} mean {mean}, {over} of the first scheme's{}",
                        found.map_or(String::new(), |(run, _)| run.of_seeds())
                    ),
                });
                if let Some((run, mean)) = found {
                    data.row([
                        (*workload).into(),
                        kind.into(),
                        scheme.into(),
                        run.digest.clone().into(),
                        Cell::time(mean),
                        over.into(),
                        whisker.map_or("-".into(), |(low, high)| {
                            format!("{} to {}", figure(low), figure(high)).into()
                        }),
                    ]);
                }
            }
            groups.push(Group { label: (*workload).to_owned(), bars });
        }
        let title = format!("{kind}, {structure}");
        let body = if groups.iter().flat_map(|group| &group.bars).all(|bar| bar.value.is_none()) {
            Err(format!("no {kind} request counts in these runs"))
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
            Ok(chart.draw(&format!("{id}-{place}")))
        };
        panels.push(Panel { title, body });
    }
    let mut notes = notes_on(set.runs.iter().filter(|run| run.structure == structure));
    if set.schemes.len() == 1 {
        notes.push("One scheme: each bar is 1, its value stands in the table.".to_owned());
    }
    if let Some(seeds) = set.seeds() {
        notes.push(format!(
            "A bar is the typical ratio to the first scheme over {seeds} (geometric mean, seed by seed), a whisker its 95 % \
             interval (Student on the logarithms; Holm over the schemes): where it excludes 1, the schemes differ. The table \
             has the means."
        ));
    }
    Figure {
        id,
        title: titled(set, &named.number, &format!("response times with {structure}")),
        about: about(
            set,
            &format!(
                "Mean response time of reads, of writes, and of both, over that of {first}: below 1 is better. Arrival to \
                 acknowledgement; the table of totals says what each scheme acknowledges from."
            ),
            "paper 000, Figure 8 (5+1) and Figure 9 (7+1); it finds Adaptive up to 29.8 % below BPU.",
        ),
        legend: scheme_keys(set, false),
        panels,
        notes,
        data,
    }
}
