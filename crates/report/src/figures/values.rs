//! One total of each run, by array, workload and scheme.

use crate::chart::{Bar, Bars, Group, Spread, Unit, figure, time};
use crate::run::LoadedRun;
use crate::set::Set;

use super::cast::Cast;
use super::figure::{Cell, Data, Figure, Panel};
use super::wording::{notes_on, on_whiskers};

/// The runs that others are compared with in a table of values, and the name of that column.
pub(super) type Base = (fn(&LoadedRun) -> bool, &'static str);

/// The content of a figure.
pub(super) struct Shown {
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) about: String,
    /// The total.
    pub(super) total: &'static str,
    pub(super) axis: &'static str,
    pub(super) is_time: bool,
    pub(super) log: bool,
    pub(super) keep: fn(&LoadedRun) -> bool,
    /// The base of comparison in the table of values, and its name; none compares with the first scheme.
    pub(super) base: Option<Base>,
}

pub(super) fn draw(set: &Set, cast: &Cast<'_>, shown: Shown) -> Figure {
    let Shown { id, title, about, total, axis, is_time, log, keep, base } = shown;
    let text = |value: f64| if is_time { time(value) } else { figure(value) };
    let cell = |before, value: f64| match is_time {
        true => Cell::Time(before, value),
        false => format!("{before}{}", figure(value)).into(),
    };
    let over_base = base.map_or("over first", |(_, name)| name);
    let mut data = Data::new(&["workload", "array", "scheme", "run"], &[axis, "95 % interval", over_base]);
    let mut panels = Vec::new();
    for structure in &set.structures {
        let (mut groups, mut most) = (Vec::new(), 0.0f64);
        for workload in set.workloads_of(structure) {
            let runs = cast.runs(structure, workload, keep);
            let first = runs.iter().find(|(.., run)| base.is_none_or(|(is_base, _)| is_base(run)));
            let first = first.and_then(|(.., run)| run.total(total)).filter(|value| *value > 0.0);
            let mut bars = Vec::new();
            for (label, look, run) in runs {
                let Some(value) = run.total(total) else { continue };
                let interval = run.interval(total);
                let over = first.map_or("-".to_owned(), |first| figure(value / first));
                data.row([
                    workload.into(),
                    structure.clone().into(),
                    label.into(),
                    run.digest.clone().into(),
                    cell("", value),
                    interval.map_or("-".into(), |(low, high)| cell("±", (high - low) / 2.0)),
                    over.clone().into(),
                ]);
                most = most.max(value);
                let seeds = run.of_seeds();
                let tip = format!("{workload}, {label}: {} {axis}, {over_base} {over}{seeds}", text(value));
                // A logarithmic axis has no place for zero.
                let value = Some(value).filter(|value| !log || *value > 0.0);
                bars.push(Bar {
                    look,
                    value,
                    spread: interval.map(|(low, high)| Spread::Interval(low, high)),
                    tip,
                });
            }
            if !bars.is_empty() {
                groups.push(Group { label: workload.to_owned(), bars });
            }
        }
        let drawn =
            groups.iter().flat_map(|group| &group.bars).any(|bar| bar.value.is_some_and(|value| value > 0.0));
        let body = if drawn {
            let chart = Bars {
                title: structure,
                description: &title,
                axis,
                unit: if is_time { Unit::of_time(most) } else { Unit::ONE },
                log,
                groups: &groups,
                reference: None,
            };
            Ok(chart.draw(&format!("{id}-{}", panels.len())))
        } else {
            Err("no run of this array has any".to_owned())
        };
        panels.push(Panel { title: structure.clone(), body });
    }
    let mut notes = notes_on(set.runs.iter().filter(|run| keep(run)));
    notes.extend(on_whiskers(set));
    Figure { id: id.to_owned(), title, about, legend: cast.keys(keep, false), panels, notes, data }
}
