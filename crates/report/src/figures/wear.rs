//! Wear and programs of each member.

use crate::chart::{Bar, Bars, Group, Unit, figure};
use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::{Data, Figure, Panel};
use super::wording::{means_of_seeds, notes_on, scheme_keys};

/// The columns of the table of members that are drawn: name and what it counts.
const COLUMNS: [(&str, &str); 2] =
    [("erase_blocks", "blocks erased"), ("flash_program_pages", "pages programmed")];

pub(super) fn by_member(set: &Set) -> Figure {
    let mut data = Data::new(
        &["workload", "array", "counts", "scheme", "run"],
        &["all members", "mean", "least", "most", "most over mean"],
    );
    let mut panels = Vec::new();
    for structure in &set.structures {
        for workload in set.workloads_of(structure) {
            for (column, what) in COLUMNS {
                let runs: Vec<(&str, &LoadedRun)> = set
                    .runs_on(structure, workload)
                    .into_iter()
                    .filter(|(_, run)| run.column(column).iter().any(|&count| count > 0))
                    .collect();
                let members = runs.iter().map(|(_, run)| run.column(column).len()).max().unwrap_or(0);
                for (scheme, run) in &runs {
                    let counts = run.column(column);
                    let sum: f64 = counts.iter().map(|&count| count as f64).sum();
                    let mean = sum / counts.len() as f64;
                    let end = |end: Option<&u64>| end.map_or(0.0, |&count| count as f64);
                    let most = end(counts.iter().max());
                    data.row([
                        workload.to_owned(),
                        structure.clone(),
                        what.to_owned(),
                        (*scheme).to_owned(),
                        run.digest.clone(),
                        figure(sum),
                        figure(mean),
                        figure(end(counts.iter().min())),
                        figure(most),
                        figure(most / mean),
                    ]);
                }
                let bar = |member: usize, (scheme, run): &(&str, &LoadedRun)| {
                    let count = run.column(column).get(member).map(|&count| count as f64);
                    let tip =
                        format!("member {member}, {scheme}: {} {what}", count.map_or("-".to_owned(), figure));
                    Bar { look: set.look(scheme), value: count, spread: None, tip: tip + &run.of_seeds() }
                };
                let group = |member: usize| Group {
                    label: format!("member {member}"),
                    bars: runs.iter().map(|run| bar(member, run)).collect(),
                };
                let groups: Vec<Group> = (0..members).map(group).collect();
                if groups.is_empty() {
                    continue;
                }
                let title = match set.structures.len() {
                    1 => format!("{workload}: {what}"),
                    _ => format!("{workload}, {structure}: {what}"),
                };
                let description = format!("{what} of each member, by scheme");
                let chart = Bars {
                    title: &title,
                    description: &description,
                    axis: what,
                    unit: Unit::ONE,
                    log: false,
                    groups: &groups,
                    reference: None,
                };
                let body = Ok(chart.draw(&format!("wear-{}", panels.len())));
                panels.push(Panel { title, body });
            }
        }
    }
    let mut notes = notes_on(set.runs.iter());
    notes.extend(means_of_seeds(set));
    Figure {
        id: "wear".to_owned(),
        title: "Wear and programs of the members".to_owned(),
        about: "Blocks that each member erased and pages that it programmed, its own garbage collection included. Even \
                members wear out together; fewer programs for the same requests is a longer life."
            .to_owned(),
        legend: scheme_keys(set, false),
        panels,
        notes,
        data,
    }
}
