//! Figure 6: the routines of parity updates.

use crate::chart::{Look, Part, Strip, Strips, Unit, figure};
use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::{Data, Figure, Key, Panel};
use super::wording::{about, means_of_seeds, notes_on, panel_title, titled};

/// The parts of a strip: name and look.
const PARTS: [(&str, Look); 6] = [
    ("full stripe, nothing to choose", Look(6)),
    ("RMW, as Baseline", Look(0)),
    ("RCW, as Baseline", Look(2)),
    ("Adjusted: RMW instead of RCW", Look(3)),
    ("Adjusted: RCW instead of RMW", Look(1)),
    (LOGGED, Look(4)),
];

/// The part that only runs with a log have.
const LOGGED: &str = "logged, parity left as it was";

/// Parity updates by part; none when the run lacks a total.
fn parts(run: &LoadedRun) -> Option<[f64; 6]> {
    let (rmw, rcw) = (run.total("updates_rmw")?, run.total("updates_rcw")?);
    let (full, adjusted) = (run.total("updates_full_stripe")?, run.total("updates_adjusted")?);
    // Baseline takes RMW or RCW where there is a choice, so every update that is not adjusted to RCW is adjusted to
    // RMW.
    let to_rcw = if adjusted == 0.0 { 0.0 } else { run.total("updates_adjusted_rcw")? };
    let to_rmw = adjusted - to_rcw;
    // Runs of programs without a log lack this total.
    let logged = run.total("updates_logged").unwrap_or_default();
    Some([full, rmw - to_rmw, rcw - to_rcw, to_rmw, to_rcw, logged])
}

pub(super) fn shares(set: &Set) -> Figure {
    let mut data = Data::new(
        &["workload", "array", "scheme", "run"],
        &[
            "parity updates",
            "full stripe",
            "RMW",
            "RCW",
            "adjusted to RMW",
            "adjusted to RCW",
            "logged",
            "adjusted %",
        ],
    );
    let (mut panels, mut without_routines) = (Vec::new(), Vec::new());
    for structure in &set.structures {
        let mut strips = Vec::new();
        for workload in set.workloads_of(structure) {
            let mut of_workload = Vec::new();
            for scheme in &set.schemes {
                let Some(run) = set.find(structure, workload, scheme) else { continue };
                let Some(counts) = parts(run) else {
                    without_routines.push(run.digest.clone());
                    continue;
                };
                let all: f64 = counts.iter().sum();
                if all == 0.0 {
                    continue;
                }
                let part = |(count, (name, look)): (&f64, &(&str, Look))| Part {
                    look: *look,
                    length: count / all * 100.0,
                    tip: format!(
                        "{workload}, {scheme}: {name} {} %{}",
                        figure(count / all * 100.0),
                        run.of_seeds()
                    ),
                };
                let label = set.short(scheme).to_owned();
                of_workload.push(Strip { label, parts: counts.iter().zip(&PARTS).map(part).collect() });
                let [full, rmw, rcw, to_rmw, to_rcw, logged] = counts.map(figure);
                data.row([
                    workload.to_owned(),
                    structure.clone(),
                    scheme.clone(),
                    run.digest.clone(),
                    figure(all),
                    full,
                    rmw,
                    rcw,
                    to_rmw,
                    to_rcw,
                    logged,
                    figure((counts[3] + counts[4]) / all * 100.0),
                ]);
            }
            if !of_workload.is_empty() {
                strips.push(Strip { label: workload.to_owned(), parts: Vec::new() });
                strips.append(&mut of_workload);
            }
        }
        let body = if strips.is_empty() {
            Err("no parity was updated in place".to_owned())
        } else {
            let chart = Strips {
                title: structure,
                description: "Shares of the routines of parity updates by workload and scheme",
                axis: "parity updates (%)",
                unit: Unit::ONE,
                most: 100.0,
                strips: &strips,
            };
            Ok(chart.draw(&format!("routines-{}", panels.len())))
        };
        panels.push(Panel { title: panel_title(set, 6, structure), body });
    }
    let logs = set.runs.iter().any(|run| run.total("updates_logged").is_some_and(|logged| logged > 0.0));
    let mut notes = notes_on(set.runs.iter().filter(|run| run.total("updates") == Some(0.0)));
    if set.runs.iter().all(|run| run.total("updates_adjusted").is_none_or(|adjusted| adjusted == 0.0)) {
        notes.push("No update is adjusted: each has the routine that Baseline would have taken.".to_owned());
    }
    if !without_routines.is_empty() {
        let runs = without_routines.join(", ");
        notes.push(format!(
            "Another version made these runs, which do not record the routines: {runs}. LoadedRun them again."
        ));
    }
    notes.extend(means_of_seeds(set));
    Figure {
        id: "routines".to_owned(),
        title: titled(set, "Figure 6", "routines of parity updates"),
        about: about(
            set,
            "By which routine parity was updated: read-modify-write (RMW), read-construct-write (RCW), or a full stripe \
                that needs no pre-read. Adjusted are the updates for which Baseline, which counts pre-reads alone, would \
                have taken the other routine.",
            "paper 000, Figure 6: (a) for 5+1, (b) for 7+1; it finds 56.2 % more Adjusted with Adaptive than with BPU.",
        ),
        legend: PARTS
            .into_iter()
            .filter(|&(name, _)| name != LOGGED || logs)
            .map(|(name, look)| Key { look, name: name.to_owned(), is_line: false })
            .collect(),
        panels,
        notes,
        data,
    }
}
