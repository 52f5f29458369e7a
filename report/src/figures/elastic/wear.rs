//! Figure 10: how evenly the elements wear.

use crate::chart::{Bar, Bars, Group, Unit, figure};
use crate::figures::{Data, Figure, Panel, notes_on};
use crate::set::Set;

use super::cast::Cast;
use super::named;

/// The workload that the paper shows.
const WORKLOAD: &str = "Online";

pub(super) fn by_element(set: &Set, cast: &Cast) -> Figure {
    let (id, title) = named(10, "blocks erased by each element");
    let mut data = Data::new(&["workload", "stripe", "scheme", "run"], &["least", "most", "most over least"]);
    let mut panels = Vec::new();
    for structure in &set.structures {
        let workloads = set.workloads_of(structure);
        let mut groups: Vec<Group> = Vec::new();
        let drawn = workloads.iter().copied().find(|name| *name == WORKLOAD).or(workloads.first().copied());
        for workload in &workloads {
            for (label, look, run) in cast.runs(set, structure, workload, |_| true) {
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
                if drawn != Some(*workload) || !cast.is_drawn(label) {
                    continue;
                }
                for (element, erases) in erases.iter().enumerate() {
                    if groups.len() <= element {
                        groups.push(Group { label: element.to_string(), bars: Vec::new() });
                    }
                    let tip = format!("element {element}, {label}: {} blocks erased", figure(*erases as f64));
                    groups[element].bars.push(Bar { look, value: Some(*erases as f64), whisker: None, tip });
                }
            }
        }
        let title = format!("{structure}, {}", drawn.unwrap_or("no workload"));
        let body = if groups.is_empty() {
            Err("No run of this structure tells it.".to_owned())
        } else {
            let chart = Bars {
                title: &title,
                description: "Blocks erased by each element, by scheme",
                axis: "blocks erased",
                unit: Unit::ONE,
                log: false,
                groups: &groups,
                reference: None,
            };
            Ok(chart.draw(&format!("{id}-{}", panels.len())))
        };
        panels.push(Panel { title, body });
    }
    Figure {
        id,
        title,
        about: "Blocks that each element erased, on the workload that the paper shows where it is among these, else on the \
                first; least and most for all in the table of values. A log that goes round the elements wears them alike. \
                Paper 001, Figure 10."
            .to_owned(),
        legend: cast.keys(set, |_| true).into_iter().filter(|key| cast.is_drawn(&key.name)).collect(),
        panels,
        notes: notes_on(set.runs.iter()),
        data,
    }
}
