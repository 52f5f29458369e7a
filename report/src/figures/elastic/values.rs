//! Figures 7, 8, 9 and 13: one value of each run, by workload and scheme.

use crate::chart::{Bar, Bars, Group, Unit, figure, time};
use crate::figures::{Data, Figure, Panel, notes_on};
use crate::run::Run;
use crate::set::Set;

use super::cast::{Cast, is_elastic, is_esap, policy, tiers};
use super::named;

/// What a figure shows.
struct Shown {
    number: u32,
    title: &'static str,
    about: &'static str,
    /// The total.
    total: &'static str,
    axis: &'static str,
    is_time: bool,
    log: bool,
    keep: fn(&Run) -> bool,
    /// What the others are compared with in the table of values, and what that is called.
    base: (fn(&Run) -> bool, &'static str),
}

/// Figure 7.
pub(super) fn rewrites(set: &Set, cast: &Cast) -> Figure {
    let shown = Shown {
        number: 7,
        title: "data chunks that array-level garbage collection rewrites",
        about: "Valid data chunks that array-level GC wrote anew, in sum over the run: what the paper calls the RAID-level GC \
                cost. Parity of the rewritten stripes is not in it. WAS(n) writes n groups of hotness apart; \"group buffer\" is \
                eSAP with a buffer as large as a group of WAS, and so what buffering gives without hotness. Paper 001, Figure \
                7, finds 30.0 to 70.6 % fewer with WAS(2) in RAID-5, 23.9 to 63.2 % in RAID-6.",
        total: "array_gc_moved_chunks",
        axis: "chunks rewritten by GC",
        is_time: false,
        log: false,
        keep: is_elastic,
        base: (is_esap, "over eSAP"),
    };
    draw(set, cast, &shown)
}

/// Figure 8.
pub(super) fn responses(set: &Set, cast: &Cast) -> Figure {
    let shown = Shown {
        number: 8,
        title: "mean response times",
        about: "Mean response time of all requests, arrival to acknowledgement, on a logarithmic axis. A write is acknowledged \
                when it is in the buffer, unless it is the one that triggers a flush, which waits for the flush and for the GC \
                that it needs; \"durable\" acknowledges when the write is on the elements. Paper 001, Figure 8, finds WAS(2) \
                60.9 to 79.3 % below eSAP in RAID-5, 56.8 to 80.9 % in RAID-6.",
        total: "response_mean_ns",
        axis: "mean response",
        is_time: true,
        log: true,
        keep: |_| true,
        base: (is_esap, "over eSAP"),
    };
    draw(set, cast, &shown)
}

/// Figure 9.
pub(super) fn erases(set: &Set, cast: &Cast) -> Figure {
    let shown = Shown {
        number: 9,
        title: "blocks erased",
        about: "Blocks that all SSDs together erased. Paper 001, Figure 9, finds 22.9 to 63.2 % fewer with WAS(2) than with eSAP \
                in RAID-5, 23.0 to 61.8 % in RAID-6.",
        total: "erase_blocks",
        axis: "blocks erased",
        is_time: false,
        log: false,
        keep: |_| true,
        base: (is_esap, "over eSAP"),
    };
    draw(set, cast, &shown)
}

/// Figure 13.
pub(super) fn identification(set: &Set, cast: &Cast) -> Figure {
    let shown = Shown {
        number: 13,
        title: "hot data by GLRU, HCA and direct counting",
        about: "Data chunks that GC rewrites when two groups are told apart by GLRU (a table of fixed size), by HCA (10 bytes a \
                chunk) or by a counter for every chunk. Paper 001, Figure 13, finds GLRU up to 16.7 % below HCA.",
        total: "array_gc_moved_chunks",
        axis: "chunks rewritten by GC",
        is_time: false,
        log: false,
        keep: |run| is_elastic(run) && policy(run) != "none" && tiers(run) == 2,
        base: (|run| policy(run) == "hca", "over HCA"),
    };
    draw(set, cast, &shown)
}

fn draw(set: &Set, cast: &Cast, shown: &Shown) -> Figure {
    let (id, title) = named(shown.number, shown.title);
    let text = |value: f64| if shown.is_time { time(value) } else { figure(value) };
    let mut data = Data::new(&["workload", "stripe", "scheme", "run"], &[shown.axis, shown.base.1]);
    let (mut panels, mut undrawn) = (Vec::new(), Vec::new());
    for structure in &set.structures {
        let (mut groups, mut most) = (Vec::new(), 0.0f64);
        for workload in set.workloads_of(structure) {
            let runs = cast.runs(set, structure, workload, shown.keep);
            let base = runs.iter().find(|(.., run)| (shown.base.0)(run));
            let base = base.and_then(|(.., run)| run.total(shown.total)).filter(|value| *value > 0.0);
            let mut bars = Vec::new();
            for (label, look, run) in runs {
                let Some(value) = run.total(shown.total) else { continue };
                let over = base.map_or("-".to_owned(), |base| figure(value / base));
                data.row([
                    workload.to_owned(),
                    structure.clone(),
                    label.to_owned(),
                    run.digest.clone(),
                    text(value),
                    over.clone(),
                ]);
                if !is_alone(shown, cast, label) {
                    undrawn.push(label.to_owned());
                    continue;
                }
                most = most.max(value);
                let tip =
                    format!("{workload}, {label}: {} {}, {} {over}", text(value), shown.axis, shown.base.1);
                // On a logarithmic axis zero has no place.
                bars.push(Bar {
                    look,
                    value: Some(value).filter(|value| !shown.log || *value > 0.0),
                    whisker: None,
                    tip,
                });
            }
            if !bars.is_empty() {
                groups.push(Group { label: workload.to_owned(), bars });
            }
        }
        let body = if groups.is_empty() {
            Err("No run of this structure has it.".to_owned())
        } else {
            let chart = Bars {
                title: structure,
                description: shown.title,
                axis: shown.axis,
                unit: if shown.is_time { Unit::of_time(most) } else { Unit::ONE },
                log: shown.log,
                groups: &groups,
                reference: None,
            };
            Ok(chart.draw(&format!("{id}-{}", panels.len())))
        };
        panels.push(Panel { title: structure.clone(), body });
    }
    let mut notes = notes_on(set.runs.iter().filter(|run| (shown.keep)(run)));
    undrawn.sort();
    undrawn.dedup();
    if !undrawn.is_empty() {
        notes.push(format!("In the table of values only: {}.", undrawn.join(", ")));
    }
    let legend =
        cast.keys(set, shown.keep).into_iter().filter(|key| is_alone(shown, cast, &key.name)).collect();
    Figure { id, title, about: shown.about.to_owned(), legend, panels, notes, data }
}

/// Whether a scheme can be told from the others of the figure by its look.
fn is_alone(shown: &Shown, cast: &Cast, label: &str) -> bool {
    shown.number == 13 || cast.is_drawn(label)
}
