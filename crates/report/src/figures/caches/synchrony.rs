//! Figures 4(c) and 4(d): how many SSDs collect at the same time.

use crate::chart::{Across, Line, Lines, Look, Up, figure};
use crate::figures::cast::Cast;
use crate::figures::figure::{Cell, Data, Figure, Panel};
use crate::run::LoadedRun;
use crate::set::Set;

use super::cast::{CACHES, keys, named, scenes};

/// The caches in the drawing: none, WOW, SIW and the hybrid.
const DRAWN: [usize; 4] = [0, 2, 4, 5];
/// Most SSDs in the table.
const SSDS: usize = 9;

pub(super) fn distributions(set: &Set) -> Figure {
    let (id, title) = named("4cd", "4(c) and 4(d)", "how many SSDs collect at the same time");
    let up_to: Vec<String> = (1..SSDS).map(|ssds| format!("up to {ssds}")).collect();
    let mut numbers = vec!["any, of all slices", "2 or more"];
    numbers.extend(up_to.iter().map(String::as_str));
    let mut data = Data::new(&["workload", "cache", "run"], &numbers);
    let mut panels = Vec::new();
    let about = "Of the slices of 0.1 ms in which any SSD collects, the share in which at most this number of SSDs do: the \
                 lower a line, the more collect together. Printed: paper 003 shows it for HPC with greedy collection and prints \
                 P(n >= 2), the remainder above one SSD: 0.40 under WOW and 0.70 under SIW with RAID-0 (Figure 4(c)), 0.46 \
                 and 0.74 with RAID-5 (4(d)). It does not say whether slices without any collection count.";
    for scene in scenes(set, false) {
        let mut lines = Vec::new();
        for cache in DRAWN {
            let Some((run, points)) = scene.runs[cache].and_then(|run| Some((run, distribution(run)?)))
            else {
                continue;
            };
            let share = |ssds: usize| points.get(ssds - 1).map_or(1.0, |point| point.1);
            let any = 1.0 - run.collecting[0] as f64 / run.collecting.iter().sum::<u64>() as f64;
            let mut cells = [scene.workload, CACHES[cache], &run.digest].map(Cell::from).to_vec();
            cells.extend([any, 1.0 - share(1)].map(|share| Cell::from(figure(share))));
            cells.extend((1..SSDS).map(|ssds| Cell::from(figure(share(ssds)))));
            data.rows.push(cells);
            let two = figure(1.0 - share(1));
            let tip = format!("{}, {}: P(n >= 2) is {two}", scene.workload, CACHES[cache]);
            lines.push(Line { look: Some(Look(cache)), name: String::new(), points, band: Vec::new(), tip });
        }
        if lines.is_empty() {
            continue;
        }
        let chart = Lines {
            title: scene.workload,
            description: about,
            across: Across::Count("SSDs that collect"),
            upward: "slices with at most this number",
            up: Up::Range(0.0, 1.0),
            lines: &lines,
            reference: None,
        };
        let body = Ok(chart.draw(&format!("{id}-{}", panels.len())));
        panels.push(Panel { title: scene.workload.to_owned(), body });
    }
    Figure { id, title, about: about.to_owned(), legend: keys(&DRAWN, true), panels, notes: Vec::new(), data }
}

/// The same figure for any runs that counted slices, under their own names.
pub(in super::super) fn of_any_runs(set: &Set) -> Figure {
    let id = "collecting-together";
    let mut data = Data::new(&["workload", "array", "scheme", "run"], &["any, of all slices", "2 or more"]);
    let mut panels = Vec::new();
    let counted = |run: &LoadedRun| distribution(run).is_some();
    let names = Cast::own(set);
    let about = "Of the slices of time in which any member collects garbage, the share in which no more than this many \
                 do: the lower a line, the more collect together.";
    for structure in &set.structures {
        for workload in set.workloads_of(structure) {
            let mut lines = Vec::new();
            for (label, look, run) in names.runs(structure, workload, counted) {
                let Some(points) = distribution(run) else { continue };
                let any = 1.0 - run.collecting[0] as f64 / run.collecting.iter().sum::<u64>() as f64;
                let two = figure(1.0 - points.first().map_or(1.0, |point| point.1));
                data.row([
                    workload.to_owned(),
                    structure.clone(),
                    label.to_owned(),
                    run.digest.clone(),
                    figure(any),
                    two.clone(),
                ]);
                let tip = format!("{workload}, {label}: in {two} of them two or more collect");
                lines.push(Line { look: Some(look), name: String::new(), points, band: Vec::new(), tip });
            }
            if lines.is_empty() {
                continue;
            }
            let title = format!("{workload}, {structure}");
            let chart = Lines {
                title: &title,
                description: about,
                across: Across::Count("members that collect"),
                upward: "slices with no more than this many",
                up: Up::Range(0.0, 1.0),
                lines: &lines,
                reference: None,
            };
            let body = Ok(chart.draw(&format!("{id}-{}", panels.len())));
            panels.push(Panel { title, body });
        }
    }
    let legend = names.keys(counted, true);
    let (id, title) = (id.to_owned(), "How many members collect at the same time".to_owned());
    Figure { id, title, about: about.to_owned(), legend, panels, notes: Vec::new(), data }
}

/// The share of the slices with any collection in which up to N SSDs collect, for N from one; none where no slice has
/// any.
fn distribution(run: &LoadedRun) -> Option<Vec<(f64, f64)>> {
    let counts = run.collecting.get(1..)?;
    let all = counts.iter().sum::<u64>();
    if all == 0 {
        return None;
    }
    let mut sum = 0;
    let point = |(ssds, count): (usize, &u64)| {
        sum += count;
        ((ssds + 1) as f64, sum as f64 / all as f64)
    };
    Some(counts.iter().enumerate().map(point).collect())
}
