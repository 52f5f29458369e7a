//! Figure 12: the cost of parity updates in addition to the data, for parity logging and for elastic striping.

use crate::beside::Logging;
use crate::chart::{Look, Part, Strip, Strips, Unit, figure};
use crate::figures::cast::Cast;
use crate::figures::figure::{Data, Figure, Key, Panel};
use crate::figures::wording::{about, means_of_seeds, titled};
use crate::run::LoadedRun;
use crate::set::Set;

use super::cast::is_elastic;

/// The parts of a strip: name and look.
const PARTS: [(&str, Look); 4] =
    [("pre-reads", Look(2)), ("log writes", Look(4)), ("GC rewrites", Look(1)), ("parity writes", Look(0))];

/// Chunks of each part, in the order of [`PARTS`]; none where the run lacks a total.
fn of_run(run: &LoadedRun) -> Option<[f64; 4]> {
    Some([0.0, 0.0, run.total("array_gc_moved_chunks")?, run.total("stripe_parity_chunks")?])
}

fn of_logging(logging: &Logging) -> [f64; 4] {
    [logging.pre_reads as f64, logging.log_writes as f64, 0.0, logging.parity_writes as f64]
}

/// Data chunks that hosts wrote: to stripes, and over chunks that were still in a buffer.
fn host_chunks(run: &LoadedRun) -> f64 {
    run.total("stripe_data_chunks").unwrap_or(0.0) + run.total("buffer_absorbed_chunks").unwrap_or(0.0)
}

pub(super) fn parts(set: &Set, cast: &Cast<'_>) -> Figure {
    let id = "overhead";
    let mut data = Data::new(
        &["workload", "array", "scheme"],
        &["pre-reads", "log writes", "GC rewrites", "parity writes", "sum", "for each data chunk"],
    );
    let (mut panels, mut modelled, mut sums) = (Vec::new(), false, [0.0; 4]);
    for structure in &set.structures {
        let (mut strips, mut most) = (Vec::new(), 0.0f64);
        for workload in set.workloads_of(structure) {
            let runs = cast.runs(structure, workload, is_elastic);
            let chunks = runs.first().map_or(0.0, |(.., run)| host_chunks(run));
            if chunks == 0.0 {
                continue;
            }
            let parity = runs.first().map_or(0, |(.., run)| run.parity_chunks());
            let logging = set.logging(workload, parity as u32);
            modelled |= logging.is_some();
            let first = logging.map(|logging| ("parity logging", of_logging(logging)));
            let all = first
                .into_iter()
                .chain(runs.iter().filter_map(|(label, _, run)| Some((*label, of_run(run)?))));
            strips.push(Strip { label: workload.to_owned(), parts: Vec::new() });
            for (scheme, counts) in all {
                let sum: f64 = counts.iter().sum();
                sums = [0, 1, 2, 3].map(|part| sums[part] + counts[part]);
                most = most.max(sum / chunks);
                let part = |(count, (name, look)): (&f64, &(&str, Look))| Part {
                    look: *look,
                    length: count / chunks,
                    tip: format!("{workload}, {scheme}: {} {name}", figure(*count)),
                };
                let parts = counts.iter().zip(&PARTS).map(part).collect();
                strips.push(Strip { label: scheme.to_owned(), parts });
                let [pre_reads, log, gc, parity] = counts.map(figure);
                data.row([
                    workload.to_owned(),
                    structure.clone(),
                    scheme.to_owned(),
                    pre_reads,
                    log,
                    gc,
                    parity,
                    figure(sum),
                    figure(sum / chunks),
                ]);
            }
        }
        let body = if strips.is_empty() {
            Err("no run of this array wrote by elastic striping".to_owned())
        } else {
            let chart = Strips {
                title: structure,
                description: "Chunks that parity updates cost for each data chunk, by workload and scheme",
                axis: "chunks for each data chunk that hosts wrote",
                unit: Unit::ONE,
                most,
                strips: &strips,
            };
            Ok(chart.draw(&format!("{id}-{}", panels.len())))
        };
        panels.push(Panel { title: structure.clone(), body });
    }
    let mut notes = Vec::new();
    if !modelled && set.paper.is_some() {
        notes.push(
            "Parity logging is a model over the requests, not a run: `stripewise paper 001` draws it, `stripewise overhead` \
             prints it."
                .to_owned(),
        );
    }
    notes.extend(means_of_seeds(set));
    let has_some = PARTS.into_iter().zip(sums).filter(|(_, sum)| *sum > 0.0).map(|(part, _)| part);
    let key = |(name, look): (&str, Look)| Key { look, name: name.to_owned(), is_line: false };
    Figure {
        id: id.to_owned(),
        title: titled(set, "Figure 12 of paper 001", "overhead of parity updates by elastic striping"),
        about: about(
            set,
            "Chunks read and written beside the data, for each data chunk that hosts wrote. Elastic striping rewrites chunks \
             when it collects garbage and writes the parity of every stripe.",
            "paper 001, Figure 12 and section V-F. Parity logging pre-reads old data and writes deltas to a device of its \
             own, whose log is never merged back.",
        ),
        legend: has_some.map(key).collect(),
        panels,
        notes,
        data,
    }
}
