//! A map beside the figures of paper 003: SIW's mean response over WOW's by the size of the cache, which the paper does not
//! print.

use stripewise_array::cache::CacheSection;
use stripewise_base::units::Bytes;

use crate::chart::{Bar, Bars, Group, Look, Unit, figure};
use crate::figures::figure::{Data, Figure, Key, Panel};
use crate::run::LoadedRun;
use crate::set::Set;

use super::cast::{WOW, is_preset, place};

/// SIW's place among the caches.
const SIW: usize = 4;

/// A workload at one size of the cache.
struct Point<'a> {
    workload: &'a str,
    size: Bytes,
    has_parity: bool,
    /// Mean responses under WOW and SIW.
    means: [Option<f64>; 2],
}

/// SIW over WOW by size; no panel where no workload has two sizes.
pub(super) fn map(set: &Set) -> Figure {
    let id = "paper003-map-sizes".to_owned();
    let title = "Beside paper 003: SIW over WOW by size of the cache".to_owned();
    let about = "Mean response time under SIW over that under WOW, for each size of the cache, from small to large. The paper \
                 prints no size; below 1, SIW is better.";
    let points = points(set);
    let mut sizes: Vec<Bytes> = points.iter().map(|point| point.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut data = Data::new(&["workload", "cache"], &["SIW over WOW"]);
    let mut panels = Vec::new();
    for (title, has_parity) in [("RAID-0", false), ("RAID-5", true)] {
        let mut names: Vec<&str> = Vec::new();
        for point in points.iter().filter(|point| point.has_parity == has_parity) {
            if !names.contains(&point.workload) {
                names.push(point.workload);
            }
        }
        let mut groups = Vec::new();
        for name in names {
            let bars = sizes.iter().enumerate().filter_map(|(look, size)| {
                let of = |point: &&Point<'_>| point.workload == name && point.size == *size;
                let [wow, siw] = points.iter().find(of)?.means;
                let over = siw? / wow.filter(|mean| *mean > 0.0)?;
                Some((look, *size, over))
            });
            let bars: Vec<(usize, Bytes, f64)> = bars.collect();
            if bars.len() < 2 {
                continue;
            }
            for (_, size, over) in &bars {
                data.row([name.to_owned(), size.to_string(), figure(*over)]);
            }
            let bar = |(look, size, over): (usize, Bytes, f64)| Bar {
                look: Look(look),
                value: Some(over),
                whisker: None,
                tip: format!("{name}, {size}: {}", figure(over)),
            };
            groups.push(Group { label: name.to_owned(), bars: bars.into_iter().map(bar).collect() });
        }
        if groups.is_empty() {
            continue;
        }
        let chart = Bars {
            title,
            description: about,
            axis: "mean response, SIW over WOW",
            unit: Unit::ONE,
            log: false,
            groups: &groups,
            reference: Some(1.0),
        };
        let body = Ok(chart.draw(&format!("{id}-{}", panels.len())));
        panels.push(Panel { title: title.to_owned(), body });
    }
    let key =
        |(look, size): (usize, &Bytes)| Key { look: Look(look), name: size.to_string(), is_line: false };
    let legend = sizes.iter().enumerate().map(key).collect();
    Figure { id, title, about: about.to_owned(), legend, panels, notes: Vec::new(), data }
}

/// Runs whose workload is that of a figure, or that and a size: `HPC-G-0; 4 MiB`. Other settings of a scheme stand apart.
fn points(set: &Set) -> Vec<Point<'_>> {
    let mut points: Vec<Point<'_>> = Vec::new();
    for run in &set.runs {
        let Some((workload, size)) = sized(run) else { continue };
        let Some(which) = place(run).and_then(|place| [WOW, SIW].iter().position(|one| *one == place)) else {
            continue;
        };
        let at = points.iter().position(|point| point.workload == workload && point.size == size);
        let at = at.unwrap_or_else(|| {
            points.push(Point { workload, size, has_parity: run.has_parity(), means: [None; 2] });
            points.len() - 1
        });
        if points[at].means[which].is_none() {
            points[at].means[which] = run.total("response_mean_ns");
        }
    }
    points
}

/// The workload of a run without the size, and the size of its cache. Settings leave the default size out.
fn sized(run: &LoadedRun) -> Option<(&str, Bytes)> {
    let given = run.settings.get("scheme.cache.size").map(|size| size.parse());
    let size = given.unwrap_or_else(|| Ok(CacheSection::default().size)).ok()?;
    let is_size = |mark: &str| {
        mark.ends_with(" MiB") && mark.split(' ').next().is_some_and(|n| n.parse::<u64>().is_ok())
    };
    match run.workload.split_once("; ") {
        None if is_preset(run) => Some((&run.workload, size)),
        Some((workload, mark)) if is_size(mark) => Some((workload, size)),
        _ => None,
    }
}
