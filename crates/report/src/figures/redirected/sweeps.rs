//! Figures 13 and 14: read waiting of BRR over the length of the chips' queues and of parity groups.

use crate::chart::{Bar, Bars, Group, Look, Spread, Unit, figure};
use crate::figures::figure::{Data, Figure, Panel};
use crate::run::LoadedRun;

use super::cast::{Cast, named};

/// Figure 13.
pub(super) fn queues(cast: &Cast<'_>) -> Figure {
    let queue = |run: &LoadedRun| run.settings.get("scheme.dispatch.queue")?.parse().ok();
    let about = "Mean waiting time of reads under BRR with chips' queues of this length, over that with queues of one \
                 operation; mean of the traces, with the least and the largest of them. Printed: paper 002, Figure 13, \
                 finds 24.4 % less from 1 to 256, and 2.9 % less from 32 to 256.";
    draw(cast.sweep("dispatch.queue=", queue), (13, "read waiting by length of queues", about), "queue")
}

/// Figure 14.
pub(super) fn groups(cast: &Cast<'_>) -> Figure {
    let length = |run: &LoadedRun| {
        let groups: u64 = run.settings.get("scheme.geometry.groups")?.parse().ok()?;
        (run.column("member").len() as u64).checked_div(groups)
    };
    let about = "Mean waiting time of reads under BRR with parity groups of this number of chips, over that with groups of 4; \
                 mean of the traces, with the least and the largest of them. Printed: paper 002, Figure 14, finds 17.6 \
                 % more from 4 to 16.";
    draw(
        cast.sweep("geometry.groups=", length),
        (14, "read waiting by length of parity groups", about),
        "chips in a group",
    )
}

/// The runs of each trace by the swept value.
type Sweep<'a> = Vec<(&'a str, Vec<(u64, &'a LoadedRun)>)>;

fn draw(sweep: Sweep<'_>, (number, what, about): (u32, &str, &str), axis: &str) -> Figure {
    let (id, title) = named(number, what);
    let mut data = Data::new(&[axis], &["mean", "least", "most", "traces"]);
    let mut values: Vec<u64> = sweep.iter().flat_map(|(_, runs)| runs.iter().map(|run| run.0)).collect();
    values.sort_unstable();
    values.dedup();
    let wait = |run: &LoadedRun| run.total("read_wait_mean_ns").filter(|wait| *wait > 0.0);
    let first = values.first().copied();
    let mut bars = Vec::new();
    for value in &values {
        let over = |runs: &Vec<(u64, &LoadedRun)>| {
            let at = |which: u64| runs.iter().find(|run| run.0 == which).and_then(|run| wait(run.1));
            Some(at(*value)? / at(first?)?)
        };
        let all: Vec<f64> = sweep.iter().filter_map(|(_, runs)| over(runs)).collect();
        if all.is_empty() {
            continue;
        }
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let (least, most) = all.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
        data.row([value.to_string(), figure(mean), figure(least), figure(most), all.len().to_string()]);
        let tip = format!("{axis} {value}: {} ({} to {})", figure(mean), figure(least), figure(most));
        let bar = Bar { look: Look(2), value: Some(mean), spread: Some(Spread::Range(least, most)), tip };
        bars.push(Group { label: value.to_string(), bars: vec![bar] });
    }
    let body = if bars.len() < 2 {
        Err("No runs of BRR differ in it; `stripewise paper 002` makes some.".to_owned())
    } else {
        let chart = Bars {
            title: what,
            description: about,
            axis: "read waiting over the first",
            unit: Unit::ONE,
            log: false,
            groups: &bars,
            reference: Some(1.0),
        };
        Ok(chart.draw(&format!("{id}-0")))
    };
    let panels = vec![Panel { title: format!("by {axis}"), body }];
    Figure { id, title, about: about.to_owned(), legend: Vec::new(), panels, notes: Vec::new(), data }
}
