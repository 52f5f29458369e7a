//! Figures 5 to 8: mean response times and their deviation by workload and array.

use crate::chart::{Bar, Bars, Group, Look, Unit, figure, time};
use crate::figures::{Data, Figure, Panel};
use crate::set::Set;

use super::cast::{ARRAYS, Scene, keys, scenes};
use super::named;
use crate::figures::or_none;

/// What a figure shows of which workloads.
struct Shown<'a> {
    id: &'a str,
    what: &'a str,
    about: &'a str,
    /// The total that is shown, and its name.
    total: (&'a str, &'a str),
    /// Which workloads.
    of: fn(&str) -> bool,
}

/// Workloads as they are: neither other SSDs nor other zones.
fn is_plain(workload: &str) -> bool {
    !is_of_ssds(workload) && !is_of_zones(workload)
}

fn is_of_ssds(workload: &str) -> bool {
    workload.contains(", 3 SSDs") || workload.contains(", 5 SSDs")
}

fn is_of_zones(workload: &str) -> bool {
    workload.contains(", zones of ")
}

/// Figure 5.
pub(super) fn means(set: &Set) -> Figure {
    let about = "Mean response time over that of 4 KB-RAIS. Used SSDs have had long random writes; the others begin full. Paper \
                 004, Figure 5, finds MC-RAIS 40.2, 43.4 and 49.8 % below 4, 8 and 32 KB-RAIS in the mean of its three traces.";
    let what = "mean response of arrays of one chunk size and MC-RAIS";
    let total = ("response_mean_ns", "mean response");
    draw(set, &Shown { id: "5", what, about, total, of: is_plain })
}

/// Figure 6.
pub(super) fn deviations(set: &Set) -> Figure {
    let about = "Standard deviation of the response time over that of 4 KB-RAIS. Paper 004, Figure 6, finds 4 KB-RAIS's the \
                 least, and MC-RAIS's 59.0 and 45.8 % below those of 8 and 32 KB-RAIS in the mean of its three traces.";
    let what = "standard deviation of the response";
    let total = ("response_deviation_ns", "standard deviation");
    draw(set, &Shown { id: "6", what, about, total, of: is_plain })
}

/// Figure 7.
pub(super) fn ssds(set: &Set) -> Figure {
    let about = "Mean response time over that of 4 KB-RAIS with three and five SSDs; with four it is in Figure 5. Paper 004, \
                 Figure 7, finds that it falls with the number of SSDs and that MC-RAIS is always best.";
    let total = ("response_mean_ns", "mean response");
    draw(set, &Shown { id: "7", what: "other numbers of SSDs", about, total, of: is_of_ssds })
}

/// Figure 8.
pub(super) fn zones(set: &Set) -> Figure {
    let about = "Mean response time of MC-RAIS with larger zones, and over that of 4 KB-RAIS where the array has its capacity. \
                 Paper 004, Figure 8, finds that it falls with the size of zones.";
    let total = ("response_mean_ns", "mean response");
    draw(set, &Shown { id: "8", what: "sizes of zones", about, total, of: is_of_zones })
}

fn draw(set: &Set, shown: &Shown<'_>) -> Figure {
    let (id, title) = named(shown.id, shown.id, shown.what);
    let (total, name) = shown.total;
    let mut data = Data::new(&["workload", "array", "run"], &[name, "over 4 KB-RAIS"]);
    let all = scenes(set);
    let all: Vec<&Scene<'_>> = all.iter().filter(|scene| (shown.of)(scene.workload)).collect();
    for scene in &all {
        (0..ARRAYS.len()).for_each(|array| row(&mut data, scene, array, total));
    }
    let comparable = |scene: &&&Scene<'_>| scene.value(0, total).is_some_and(|(base, _)| base > 0.0);
    let groups: Vec<Group> = all.iter().filter(comparable).map(|scene| group(scene, total)).collect();
    let panels = if groups.is_empty() {
        Vec::new()
    } else {
        let axis = format!("{name} over 4 KB-RAIS");
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
    let panels = or_none(panels, "No run of 4 KB-RAIS to compare with; `stripewise paper 004` makes some.");
    Figure { id, title, about: shown.about.to_owned(), legend: keys(), panels, notes: Vec::new(), data }
}

fn row(data: &mut Data, scene: &Scene<'_>, array: usize, total: &str) {
    let Some((run, (value, over))) = scene.runs[array].zip(scene.value(array, total)) else { return };
    data.row([
        scene.workload.to_owned(),
        ARRAYS[array].to_owned(),
        run.digest.clone(),
        time(value),
        over.map_or("-".to_owned(), figure),
    ]);
}

fn group(scene: &Scene<'_>, total: &str) -> Group {
    let bar = |array: usize| {
        let value = scene.value(array, total);
        let over = value.and_then(|(_, over)| over);
        let tip = value.map_or(String::new(), |(value, over)| {
            let over = over.map_or(String::new(), |over| format!(", {} of 4 KB-RAIS", figure(over)));
            format!("{}, {}: {}{over}", scene.workload, ARRAYS[array], time(value))
        });
        Bar { look: Look(array), value: over, whisker: None, tip }
    };
    Group { label: scene.workload.to_owned(), bars: (0..ARRAYS.len()).map(bar).collect() }
}
