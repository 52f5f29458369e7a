//! Figure 6: the parts of a read's response time under Async_FIFO.

use crate::chart::{Look, Part, Strip, Strips, Unit, figure, time};
use crate::figures::figure::{Cell, Data, Figure, Key, Panel};

use super::cast::{Cast, named};

/// The parts of a strip: name, total and look.
const PARTS: [(&str, &str, Look); 3] = [
    ("waiting (T_w)", "read_wait_mean_ns", Look(1)),
    ("transfers (T_b)", "read_bus_mean_ns", Look(4)),
    ("cells (T_c)", "read_cell_mean_ns", Look(0)),
];

pub(super) fn responses(cast: &Cast<'_>) -> Figure {
    let (id, title) = named(6, "parts of the response time of reads under Async_FIFO");
    let mut data = Data::new(
        &["how", "trace", "run"],
        &["mean response", PARTS[0].0, PARTS[1].0, PARTS[2].0, "share of waiting"],
    );
    let mut panels = Vec::new();
    for scene in cast.scenes() {
        let mut strips = Vec::new();
        for (trace, runs) in &scene.traces {
            let Some(run) = runs[0] else { continue };
            let parts = PARTS.map(|(_, total, _)| run.total(total).unwrap_or(0.0));
            let all = parts.iter().sum::<f64>();
            if all == 0.0 {
                continue;
            }
            data.row([
                scene.kind.into(),
                (*trace).into(),
                run.digest.clone().into(),
                Cell::time(run.total("read_mean_ns").unwrap_or(0.0)),
                Cell::time(parts[0]),
                Cell::time(parts[1]),
                Cell::time(parts[2]),
                figure(parts[0] / all).into(),
            ]);
            let part = |(ns, (name, _, look)): (&f64, &(&str, &str, Look))| Part {
                look: *look,
                length: ns / all,
                tip: format!("{trace}: {} {name}", time(*ns)),
            };
            strips.push(Strip {
                label: (*trace).to_owned(),
                parts: parts.iter().zip(&PARTS).map(part).collect(),
            });
        }
        let title = if scene.kind.is_empty() { "as sent".to_owned() } else { scene.kind.to_owned() };
        let body = if strips.is_empty() {
            Err("No run of Async_FIFO read anything.".to_owned())
        } else {
            let chart = Strips {
                title: &title,
                description: "Shares of the mean response time of reads, by trace",
                axis: "share of the mean response time of reads",
                unit: Unit::ONE,
                most: 1.0,
                strips: &strips,
            };
            Ok(chart.draw(&format!("{id}-{}", panels.len())))
        };
        panels.push(Panel { title, body });
    }
    let key = |(name, _, look): (&str, &str, Look)| Key { look, name: name.to_owned(), is_line: false };
    Figure {
        id,
        title,
        about: "Mean response time of reads in its parts, each over their sum: waiting, transfers and cell time of the \
                operation that finished last. Printed: paper 002, Figure 6, calls waiting \"almost the bottleneck\"."
            .to_owned(),
        legend: PARTS.into_iter().map(key).collect(),
        panels,
        notes: Vec::new(),
        data,
    }
}
