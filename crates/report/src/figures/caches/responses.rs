//! Figures 4(a), 4(b) and 5: mean response times by workload and cache.

use crate::chart::{Bar, Bars, Group, Look, Unit, figure, time};
use crate::figures::figure::{Cell, Data, Figure, Panel};
use crate::set::Set;

use super::cast::{CACHES, MAIN, Scene, WOW, keys, named, scenes};

/// Figure 4(a).
pub(super) fn compared(set: &Set) -> Figure {
    let about = "Mean response time over that under WOW. A label is [workload]-[G greedy, P semi-preemptive collection]-[0 \
                 for RAID-0, 5 for RAID-5]. Printed: paper 003, Figure 4(a), finds SIW 14.74 and 42.62 % below WOW on \
                 HPC-G-0 and Exchange-G-0, 12.72 and 37.93 % on HPC-G-5 and Exchange-G-5, and up to 12.70 % on Exchange with \
                 semi-preemptive collection.";
    let scenes = scenes(set, false);
    let panels = [("greedy collection", false), ("semi-preemptive collection", true)];
    let panels = panels.map(|(title, preempts)| {
        let ours = scenes.iter().filter(|scene| is_preemptive(scene) == preempts).collect();
        (title.to_owned(), ours)
    });
    over_wow(("4a", "4(a)", "WOW, SIW and the hybrid", about), panels.into(), &scenes)
}

/// Figure 5.
pub(super) fn grid(set: &Set) -> Figure {
    let about = "Mean response time over that under WOW at points W(R, I, W): requests of R KB, I ms apart, W % of them \
                 writes. Printed: paper 003, Figure 5, finds SIW 16.26, 32.51 and 12.05 % below WOW at W(512, 20, 60), \
                 W(1024, 20, 60) and W(4096, 20, 60) with RAID-0, 5.79 and 14.79 % at the latter two with RAID-5, and \
                 12.05 % above it (0.01 ms) at W(4, 20, 60) with RAID-0, 0.14 ms with RAID-5.";
    let scenes = scenes(set, true);
    let panels = [("RAID-0", false), ("RAID-5", true)].map(|(title, parity)| {
        let has = |scene: &&Scene<'_>| scene.runs.iter().flatten().any(|run| run.has_parity() == parity);
        (title.to_owned(), scenes.iter().filter(has).collect())
    });
    over_wow(("5", "5", "points of Table 1", about), panels.into(), &scenes)
}

fn is_preemptive(scene: &Scene<'_>) -> bool {
    let preempts = |key: &str| key != "never";
    let mut runs = scene.runs.iter().flatten();
    runs.any(|run| run.settings.get("device.gc.preemption").is_some_and(|value| preempts(value)))
}

type Panels<'a> = Vec<(String, Vec<&'a Scene<'a>>)>;

fn over_wow<'a>(
    (id, number, what, about): (&str, &str, &str, &str),
    panels: Panels<'a>,
    scenes: &'a [Scene<'a>],
) -> Figure {
    let (id, title) = named(id, number, what);
    let mut data = Data::new(&["workload", "cache", "run"], &["mean response", "over WOW"]);
    for scene in scenes {
        MAIN.iter().for_each(|cache| row(&mut data, scene, *cache));
    }
    let mut drawn = Vec::new();
    for (title, scenes) in panels.iter().filter(|(_, scenes)| !scenes.is_empty()) {
        let groups: Vec<Group> = scenes.iter().map(|scene| group(scene, &MAIN, true)).collect();
        let body = if groups.iter().flat_map(|group| &group.bars).any(|bar| bar.value.is_some()) {
            let chart = Bars {
                title,
                description: about,
                axis: "mean response over WOW",
                unit: Unit::ONE,
                log: false,
                groups: &groups,
                reference: Some(1.0),
            };
            Ok(chart.draw(&format!("{id}-{}", drawn.len())))
        } else {
            Err("No run of WOW to compare with.".to_owned())
        };
        drawn.push(Panel { title: title.clone(), body });
    }
    let panels = drawn;
    Figure { id, title, about: about.to_owned(), legend: keys(&MAIN, false), panels, notes: Vec::new(), data }
}

/// Figure 4(b).
pub(super) fn places(set: &Set) -> Figure {
    let (id, title) = named("4b", "4(b)", "where the cache is");
    let about = "Mean response time: without a cache, with one in each SSD (ISC), and with one of the same size in the \
                 controller (WOW, STOW, SIW, hybrid). Printed: paper 003, Figure 4(b), shows it for HPC and finds the \
                 controller's better; it prints no number.";
    let all: Vec<usize> = (0..CACHES.len()).collect();
    let mut data = Data::new(&["workload", "cache", "run"], &["mean response", "over WOW"]);
    let mut panels = Vec::new();
    let scenes = scenes(set, false);
    // Where the controller is the only place, there is no comparison.
    for scene in scenes.iter().filter(|scene| scene.runs[..WOW].iter().any(Option::is_some)) {
        all.iter().for_each(|cache| row(&mut data, scene, *cache));
        let means = all.iter().filter_map(|cache| scene.mean(*cache)).map(|(mean, _)| mean);
        let most = means.fold(0.0, f64::max);
        let bars =
            |cache: &usize| Group { label: CACHES[*cache].to_owned(), bars: vec![bar(scene, *cache, false)] };
        let groups: Vec<Group> = all.iter().map(bars).collect();
        let body = if most > 0.0 {
            let chart = Bars {
                title: scene.workload,
                description: about,
                axis: "mean response",
                unit: Unit::of_time(most),
                log: false,
                groups: &groups,
                reference: None,
            };
            Ok(chart.draw(&format!("{id}-{}", panels.len())))
        } else {
            Err("No request counts.".to_owned())
        };
        panels.push(Panel { title: scene.workload.to_owned(), body });
    }
    Figure { id, title, about: about.to_owned(), legend: keys(&all, false), panels, notes: Vec::new(), data }
}

fn row(data: &mut Data, scene: &Scene<'_>, cache: usize) {
    let Some((run, (mean, over))) = scene.runs[cache].zip(scene.mean(cache)) else { return };
    data.row([
        scene.workload.into(),
        CACHES[cache].into(),
        run.digest.clone().into(),
        Cell::time(mean),
        over.map_or("-".into(), |over| figure(over).into()),
    ]);
}

fn group(scene: &Scene<'_>, caches: &[usize], relative: bool) -> Group {
    let bars = caches.iter().map(|cache| bar(scene, *cache, relative)).collect();
    Group { label: scene.workload.to_owned(), bars }
}

fn bar(scene: &Scene<'_>, cache: usize, relative: bool) -> Bar {
    let mean = scene.mean(cache);
    let over = mean.and_then(|(_, over)| over);
    let tip = mean.map_or(String::new(), |(mean, over)| {
        let over = over.map_or(String::new(), |over| format!(", {} of WOW", figure(over)));
        format!("{}, {}: {}{over}", scene.workload, CACHES[cache], time(mean))
    });
    let value = if relative { over } else { mean.map(|(mean, _)| mean) };
    Bar { look: Look(cache), value, spread: None, tip }
}
