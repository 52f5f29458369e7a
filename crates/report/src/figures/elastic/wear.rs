//! Figure 10: how evenly the members wear.

use crate::chart::{Bar, Bars, Group, Unit, figure};
use crate::figures::cast::Cast;
use crate::figures::figure::{Data, Figure, Panel};
use crate::figures::wording::{about, means_of_seeds, notes_on, titled};
use crate::set::Set;

/// The workload in the paper's figure.
const WORKLOAD: &str = "Online";

pub(super) fn by_member(set: &Set, cast: &Cast<'_>) -> Figure {
    let id = "wear";
    let mut data = Data::new(&["workload", "array", "scheme", "run"], &["least", "most", "most over least"]);
    let mut panels = Vec::new();
    for structure in &set.structures {
        let workloads = set.workloads_of(structure);
        // The paper's reports draw only this workload, where the runs include it.
        let only = workloads.iter().find(|name| set.paper.is_some() && **name == WORKLOAD);
        for workload in &workloads {
            let mut groups: Vec<Group> = Vec::new();
            for (label, look, run) in cast.runs(structure, workload, |_| true) {
                let erases = run.column("erase_blocks");
                let (Some(least), Some(most)) = (erases.iter().min(), erases.iter().max()) else { continue };
                let ratio = if *least > 0 { figure(*most as f64 / *least as f64) } else { "-".to_owned() };
                data.row([
                    (*workload).to_owned(),
                    structure.clone(),
                    label.to_owned(),
                    run.digest.clone(),
                    figure(*least as f64),
                    figure(*most as f64),
                    ratio,
                ]);
                for (column, erases) in erases.iter().enumerate() {
                    if groups.len() <= column {
                        groups.push(Group { label: column.to_string(), bars: Vec::new() });
                    }
                    let (erased, seeds) = (figure(*erases as f64), run.of_seeds());
                    let tip = format!("member {column}, {label}: {erased} blocks erased{seeds}");
                    groups[column].bars.push(Bar { look, value: Some(*erases as f64), spread: None, tip });
                }
            }
            if only.is_some_and(|only| only != workload) {
                continue;
            }
            let title = format!("{structure}, {workload}");
            let erased = groups.iter().flat_map(|group| &group.bars).any(|bar| bar.value > Some(0.0));
            let body = if erased {
                let chart = Bars {
                    title: &title,
                    description: "Blocks erased by each member, by scheme",
                    axis: "blocks erased",
                    unit: Unit::ONE,
                    log: false,
                    groups: &groups,
                    reference: None,
                };
                Ok(chart.draw(&format!("{id}-{}", panels.len())))
            } else {
                Err("no block was erased".to_owned())
            };
            panels.push(Panel { title, body });
        }
    }
    let mut notes = notes_on(set.runs.iter());
    notes.extend(means_of_seeds(set));
    Figure {
        id: id.to_owned(),
        title: titled(set, "Figure 10 of paper 001", "blocks erased by each member"),
        about: about(
            set,
            "Blocks that each member erased; least and most in the table of values. A log that goes round the members wears \
             them alike.",
            "paper 001, Figure 10, on the workload Online, which is drawn alone where it is among these.",
        ),
        legend: cast.keys(|_| true, false),
        panels,
        notes,
        data,
    }
}
