//! Figures 5 to 8: mean response times and their deviation by workload and array.

use crate::chart::{Bar, Bars, Group, Look, Unit, figure, time};
use crate::figures::figure::{Cell, Data, Figure, Panel};
use crate::set::Set;

use super::cast::{ARRAYS, Scene, keys, named, scenes};

/// The content of a figure.
struct Shown<'a> {
    id: &'a str,
    what: &'a str,
    about: &'a str,
    /// The total in the figure, and its name.
    total: (&'a str, &'a str),
}

/// The parts of a workload's name other than its trace. A missing part is as in Figure 5.
struct Setting<'a> {
    trace: &'a str,
    ssds: &'a str,
    zones: &'a str,
    is_used: bool,
}

impl<'a> Setting<'a> {
    fn of(workload: &'a str) -> Self {
        let mut setting = Self { trace: workload, ssds: SSDS, zones: ZONES, is_used: false };
        for (nth, part) in workload.split(", ").enumerate() {
            match part {
                _ if nth == 0 => setting.trace = part,
                "used SSDs" => setting.is_used = true,
                _ if part.ends_with(" SSDs") => setting.ssds = part,
                _ => setting.zones = part.strip_prefix("zones of ").unwrap_or(setting.zones),
            }
        }
        setting
    }

    fn is_plain(&self) -> bool {
        self.ssds == SSDS && self.zones == ZONES
    }

    /// The size of a zone.
    fn gigabytes(&self) -> Option<u32> {
        self.zones.split(' ').next()?.parse().ok()
    }

    fn used(&self) -> &'static str {
        if self.is_used { ", used" } else { "" }
    }
}

/// The values of Figure 5.
const SSDS: &str = "4 SSDs";
const ZONES: &str = "60 GB";

/// Figure 5.
pub(super) fn means(set: &Set) -> Figure {
    let about = "Mean response time over that of 4 KB-RAIS. Used SSDs have had long random writes; the others begin full. \
                 Printed: paper 004, Figure 5, finds MC-RAIS 40.2, 43.4 and 49.8 % below 4, 8 and 32 KB-RAIS in the \
                 mean of its three traces.";
    let what = "mean response of arrays of one chunk size and MC-RAIS";
    plain(set, &Shown { id: "5", what, about, total: MEAN })
}

/// Figure 6.
pub(super) fn deviations(set: &Set) -> Figure {
    let about = "Standard deviation of the response time over that of 4 KB-RAIS. Printed: paper 004, Figure 6, finds 4 \
                 KB-RAIS's the least, and MC-RAIS's 59.0 and 45.8 % below those of 8 and 32 KB-RAIS in the mean of its \
                 three traces.";
    let total = ("response_deviation_ns", "standard deviation");
    plain(set, &Shown { id: "6", what: "standard deviation of the response", about, total })
}

/// Figure 7.
pub(super) fn ssds(set: &Set) -> Figure {
    let about = "Mean response time over that of 4 KB-RAIS with as many SSDs. Printed: paper 004, Figure 7, finds that it \
                 falls with the number of SSDs and that MC-RAIS is always best.";
    let all = scenes(set);
    let varies = |trace: &str| {
        let mut settings = all.iter().map(|scene| Setting::of(scene.workload));
        settings.any(|other| other.trace == trace && other.ssds != SSDS)
    };
    let mut found = chosen(&all, |setting| setting.zones == ZONES && varies(setting.trace));
    found.sort_by_key(|(_, setting)| (setting.is_used, setting.ssds));
    let name = |setting: &Setting<'_>| format!("{}{}", setting.ssds, setting.used());
    draw(&Shown { id: "7", what: "numbers of SSDs", about, total: MEAN }, &found, name)
}

/// Figure 8.
pub(super) fn zones(set: &Set) -> Figure {
    let about = "First the mean response time over that of 4 KB-RAIS, on SSDs that hold the largest zones; then that of \
                 MC-RAIS with zones of each size, ascending, over that with the smallest. Printed: paper 004, Figure 8, \
                 finds that it falls with the size.";
    let all = scenes(set);
    let mut found = chosen(&all, |setting| setting.zones != ZONES);
    found.sort_by_key(|(_, setting)| setting.is_used);
    let name = |setting: &Setting<'_>| format!("{}{}", setting.trace, setting.used());
    let mut figure = draw(&Shown { id: "8", what: "sizes of zones", about, total: MEAN }, &found, name);
    let sizes = sizes(&all);
    if !sizes.is_empty() {
        let chart = Bars {
            title: "MC-RAIS by size of zones",
            description: about,
            axis: "mean response over that with the smallest zones",
            unit: Unit::ONE,
            log: false,
            groups: &sizes,
            reference: Some(1.0),
        };
        figure.panels.push(Panel {
            title: "MC-RAIS by size of zones".to_owned(),
            body: Ok(chart.draw(&format!("{}-1", figure.id))),
        });
    }
    figure
}

/// The ratio of MC-RAIS with each size of zones to that with the smallest, for each trace with several sizes.
fn sizes(all: &[Scene<'_>]) -> Vec<Group> {
    let mean = |scene: &Scene<'_>| scene.value(MC_RAIS, MEAN.0).map(|(value, _)| value);
    let mut found = chosen(all, |setting| setting.ssds == SSDS);
    found.sort_by_key(|(_, setting)| setting.is_used);
    let base = |of: &Setting<'_>| {
        let is_base = |setting: &Setting<'_>| {
            (setting.trace, setting.is_used) == (of.trace, of.is_used) && setting.is_plain()
        };
        found.iter().find(|(_, setting)| is_base(setting)).and_then(|(scene, _)| mean(scene))
    };
    let mut groups = Vec::new();
    for (_, first) in found.iter().filter(|(_, setting)| setting.is_plain()) {
        let is_ours =
            |setting: &Setting<'_>| (setting.trace, setting.is_used) == (first.trace, first.is_used);
        let mut ours: Vec<_> = found.iter().filter(|(_, setting)| is_ours(setting)).collect();
        ours.sort_by_key(|(_, setting)| setting.gigabytes());
        let Some(base) = base(first).filter(|base| *base > 0.0 && ours.len() > 1) else { continue };
        let bar = |(scene, _): &(&Scene<'_>, Setting<'_>)| {
            let value = mean(scene);
            let tip = value.map_or(String::new(), |value| format!("{}: {}", scene.workload, time(value)));
            Bar { look: Look(MC_RAIS), value: value.map(|value| value / base), spread: None, tip }
        };
        let label = format!("{}{}", first.trace, first.used());
        groups.push(Group { label, bars: ours.into_iter().map(bar).collect() });
    }
    groups
}

/// The total of all figures except Figure 6.
const MEAN: (&str, &str) = ("response_mean_ns", "mean response");
/// The index of MC-RAIS among the arrays.
const MC_RAIS: usize = ARRAYS.len() - 1;

/// The scenes whose settings `is_meant` accepts.
fn chosen<'a, 's>(
    all: &'a [Scene<'s>],
    is_meant: impl Fn(&Setting<'s>) -> bool,
) -> Vec<(&'a Scene<'s>, Setting<'s>)> {
    let settings = all.iter().map(|scene| (scene, Setting::of(scene.workload)));
    settings.filter(|(_, setting)| is_meant(setting)).collect()
}

/// A figure of the unmodified workloads.
fn plain(set: &Set, shown: &Shown<'_>) -> Figure {
    let all = scenes(set);
    let found = chosen(&all, Setting::is_plain);
    draw(shown, &found, |setting| {
        if setting.is_used { format!("{}, used SSDs", setting.trace) } else { setting.trace.to_owned() }
    })
}

fn draw(
    shown: &Shown<'_>,
    found: &[(&Scene<'_>, Setting<'_>)],
    name: impl Fn(&Setting<'_>) -> String,
) -> Figure {
    let (id, title) = named(shown.id, shown.id, shown.what);
    let (total, total_name) = shown.total;
    let mut data = Data::new(&["workload", "array", "run"], &[total_name, "over 4 KB-RAIS"]);
    for (scene, _) in found {
        (0..ARRAYS.len()).for_each(|array| row(&mut data, scene, array, total));
    }
    let is_comparable = |scene: &Scene<'_>| scene.value(0, total).is_some_and(|(base, _)| base > 0.0);
    let comparable = found.iter().filter(|(scene, _)| is_comparable(scene));
    let groups: Vec<Group> = comparable.map(|(scene, setting)| group(scene, name(setting), total)).collect();
    let panels = if groups.is_empty() {
        Vec::new()
    } else {
        let axis = format!("{total_name} over 4 KB-RAIS");
        let chart = Bars {
            title: shown.what,
            description: shown.about,
            axis: &axis,
            unit: Unit::ONE,
            log: false,
            groups: &groups,
            reference: Some(1.0),
        };
        vec![Panel { title: shown.what.to_owned(), body: Ok(chart.draw(&format!("{id}-0"))) }]
    };
    Figure { id, title, about: shown.about.to_owned(), legend: keys(), panels, notes: Vec::new(), data }
}

fn row(data: &mut Data, scene: &Scene<'_>, array: usize, total: &str) {
    let Some((run, (value, over))) = scene.runs[array].zip(scene.value(array, total)) else { return };
    data.row([
        scene.workload.into(),
        ARRAYS[array].into(),
        run.digest.clone().into(),
        Cell::time(value),
        over.map_or("-".into(), |over| figure(over).into()),
    ]);
}

fn group(scene: &Scene<'_>, label: String, total: &str) -> Group {
    let bar = |array: usize| {
        let value = scene.value(array, total);
        let over = value.and_then(|(_, over)| over);
        let tip = value.map_or(String::new(), |(value, over)| {
            let over = over.map_or(String::new(), |over| format!(", {} of 4 KB-RAIS", figure(over)));
            format!("{}, {}: {}{over}", scene.workload, ARRAYS[array], time(value))
        });
        Bar { look: Look(array), value: over, spread: None, tip }
    };
    Group { label, bars: (0..ARRAYS.len()).map(bar).collect() }
}
