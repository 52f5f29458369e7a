//! Figures 4, 10, 11 and 12: one value of each run, by trace and scheme.

use crate::chart::{Bar, Bars, Group, Look, Unit, figure, time};
use crate::figures::figure::{Cell, Data, Figure, Key, Panel};
use crate::figures::values::Shown as OfAny;
use crate::run::LoadedRun;

use super::cast::{Cast, SCHEMES, Scene, keys, named};

/// The figures of waiting and utilisation for any runs.
pub(super) const OF_ANY_RUNS: [fn() -> OfAny; 3] = [
    || {
        OfAny {
        id: "read-waiting",
        title: "Waiting of reads".to_owned(),
        about: "Mean waiting time of reads: in the controller, in the members' queues and for garbage collection.".to_owned(),
        total: "read_wait_mean_ns",
        axis: "read waiting",
        is_time: true,
        log: false,
        keep: |_| true,
        base: None,
    }
    },
    || OfAny {
        id: "write-waiting",
        title: "Waiting of writes".to_owned(),
        about: "Mean waiting time of writes, their pre-reads' waiting included.".to_owned(),
        total: "write_wait_mean_ns",
        axis: "write waiting",
        is_time: true,
        log: false,
        keep: |_| true,
        base: None,
    },
    || {
        OfAny {
        id: "busy-members",
        title: "Members at work when a request arrives".to_owned(),
        about: "Share of the members that have an operation queued or in flight when a request arrives, its own not counted, \
                mean over requests."
            .to_owned(),
        total: "busy_share_before",
        axis: "share of busy members",
        is_time: false,
        log: false,
        keep: |_| true,
        base: None,
    }
    },
];

/// The content of each of three figures.
struct Shown {
    number: u32,
    title: &'static str,
    about: &'static str,
    total: &'static str,
    axis: &'static str,
    is_time: bool,
}

/// Figure 10.
pub(super) fn read_waiting(cast: &Cast<'_>) -> Figure {
    let shown = Shown {
        number: 10,
        title: "waiting of reads",
        about: "Mean waiting time of reads (T_w: in the controller, in the chips' queues and for garbage collection) over \
                that under Async_FIFO. Printed: paper 002, Figure 10, finds BRR 23.8 % below Async_FIFO and 14.2 % below \
                PIQ in the mean; 77.1 and 38.4 % on HM_0, 8.6 and 1.5 % on PROJ_3.",
        total: "read_wait_mean_ns",
        axis: "read waiting over Async_FIFO",
        is_time: true,
    };
    normalised(cast, &shown)
}

/// Figure 11.
pub(super) fn write_waiting(cast: &Cast<'_>) -> Figure {
    let shown = Shown {
        number: 11,
        title: "waiting of writes",
        about: "Mean waiting time of writes, their pre-reads' waiting included, over that under Async_FIFO. Printed: \
                paper 002, Figure 11, finds BRR 3.2 % below Async_FIFO and 0.6 % below PIQ in the mean.",
        total: "write_wait_mean_ns",
        axis: "write waiting over Async_FIFO",
        is_time: true,
    };
    normalised(cast, &shown)
}

/// Figure 12.
pub(super) fn utilisations(cast: &Cast<'_>) -> Figure {
    let shown = Shown {
        number: 12,
        title: "chip utilisation by scheme",
        about: "Share of the chips that have an operation queued or in flight when a request arrives, its own not \
                counted, mean over requests, over that under Async_FIFO. Printed: paper 002, Figure 12, finds BRR 7.3 % \
                above Async_FIFO and 4.3 % above PIQ in the mean.",
        total: "busy_share_before",
        axis: "busy chips over Async_FIFO",
        is_time: false,
    };
    normalised(cast, &shown)
}

/// Figure 4.
pub(super) fn utilisation(cast: &Cast<'_>) -> Figure {
    const BUSY: [(&str, &str, Look); 2] =
        [("before", "busy_share_before", Look(0)), ("with its own operations", "busy_share_after", Look(4))];
    let (id, title) = named(4, "chip utilisation under Async_FIFO");
    let mut data = Data::new(&["how", "trace", "run"], &BUSY.map(|(name, ..)| name));
    let mut panels = Vec::new();
    for scene in cast.scenes() {
        let mut groups = Vec::new();
        for (trace, runs) in &scene.traces {
            let Some(run) = runs[0] else { continue };
            let shares = BUSY.map(|(_, total, _)| run.total(total).unwrap_or(0.0));
            data.row([
                scene.kind.to_owned(),
                (*trace).to_owned(),
                run.digest.clone(),
                figure(shares[0]),
                figure(shares[1]),
            ]);
            let bar = |((name, _, look), share): (&(&str, &str, Look), f64)| Bar {
                look: *look,
                value: Some(share),
                spread: None,
                tip: format!("{trace}, {name}: {} %", figure(share * 100.0)),
            };
            groups
                .push(Group { label: (*trace).to_owned(), bars: BUSY.iter().zip(shares).map(bar).collect() });
        }
        panels.push(panel(&id, panels.len(), &scene, "share of busy chips", &groups, None));
    }
    let key = |(name, _, look): (&str, &str, Look)| Key { look, name: name.to_owned(), is_line: false };
    Figure {
        id,
        title,
        about: "Share of the chips that have an operation queued or in flight when a request arrives, mean over requests: \
                before its own operations are queued, and with them. Printed: paper 002, Figure 4 and Table II, finds 8.5 \
                to 35.0 %, 22.7 % in the mean; \"sped up\" sends requests as fast as makes the first of the two meet the table."
            .to_owned(),
        legend: BUSY.into_iter().map(key).collect(),
        panels,
        notes: Vec::new(),
        data,
    }
}

fn normalised(cast: &Cast<'_>, shown: &Shown) -> Figure {
    let (id, title) = named(shown.number, shown.title);
    let text = |value: f64| if shown.is_time { time(value) } else { figure(value) };
    let mut data = Data::new(&["how", "trace", "scheme", "run"], &["value", "over Async_FIFO"]);
    let mut panels = Vec::new();
    for scene in cast.scenes() {
        let mut groups = Vec::new();
        for (trace, runs) in &scene.traces {
            let value = |run: &LoadedRun| run.total(shown.total).unwrap_or(0.0);
            let base = runs[0].map(value).filter(|value| *value > 0.0);
            let mut bars = Vec::new();
            for (place, run) in runs.iter().enumerate() {
                let Some(run) = run else { continue };
                let over = base.map(|base| value(run) / base);
                let relative = over.map_or("-".to_owned(), figure);
                let (name, ours) = (SCHEMES[place], value(run));
                data.row([
                    scene.kind.into(),
                    (*trace).into(),
                    name.into(),
                    run.digest.clone().into(),
                    if shown.is_time { Cell::time(ours) } else { figure(ours).into() },
                    relative.clone().into(),
                ]);
                let value = text(ours);
                let tip = format!("{trace}, {name}: {value}, {relative} of Async_FIFO");
                bars.push(Bar { look: Look(place), value: over, spread: None, tip });
            }
            groups.push(Group { label: (*trace).to_owned(), bars });
        }
        panels.push(panel(&id, panels.len(), &scene, shown.axis, &groups, Some(1.0)));
    }
    let (about, notes) = (shown.about.to_owned(), Vec::new());
    Figure { id, title, about, legend: keys(), panels, notes, data }
}

fn panel(
    id: &str,
    place: usize,
    scene: &Scene<'_>,
    axis: &str,
    groups: &[Group],
    reference: Option<f64>,
) -> Panel {
    let title = if scene.kind.is_empty() { "as sent".to_owned() } else { scene.kind.to_owned() };
    let drawn =
        groups.iter().flat_map(|group| &group.bars).any(|bar| bar.value.is_some_and(|value| value > 0.0));
    let body = if drawn {
        let chart =
            Bars { title: &title, description: axis, axis, unit: Unit::ONE, log: false, groups, reference };
        Ok(chart.draw(&format!("{id}-{place}")))
    } else {
        Err("no run of this kind has any".to_owned())
    };
    Panel { title, body }
}
