//! The course of runs over simulated time: response times, rates, garbage collection and queues. Each is drawn for the runs
//! that kept the table it needs.

use stripewise_results::Table;

use crate::chart::{Across, Line, Lines, Unit, Up, figure, time};
use crate::course::{self, Answered, Slices};
use crate::error::Error;
use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::{Cell, Data, Figure, Panel};
use super::wording::scheme_keys;

/// The figures that have data, at most four.
pub(super) fn all(set: &Set) -> Result<Vec<Figure>, Error> {
    let figures = [responses(set)?, rates(set)?, collections(set)?, queues(set)?];
    Ok(figures.into_iter().filter(|figure| !figure.panels.is_empty()).collect())
}

/// A workload on an array, the slices of its time, and its runs that kept a table.
struct Scene<'a> {
    name: String,
    slices: Slices,
    runs: Vec<(&'a str, &'a LoadedRun)>,
}

/// The scenes of a table. Slices of one scene are the same for all its runs, up to the latest `column`.
fn scenes<'a>(set: &'a Set, table: Table, column: &str) -> Result<Vec<Scene<'a>>, Error> {
    let mut scenes = Vec::new();
    for structure in &set.structures {
        for workload in set.workloads_of(structure) {
            let (mut runs, mut end) = (Vec::new(), 0);
            for (scheme, run) in set.runs_on(structure, workload) {
                let Some(finished) = &run.finished else { continue };
                if let Some(last) = course::last(finished, table, column)? {
                    end = end.max(last);
                    runs.push((scheme, run));
                }
            }
            let requests = runs.iter().filter_map(|(_, run)| run.total("requests")).fold(0.0, f64::max);
            let name = if set.structures.len() > 1 {
                format!("{workload}, {structure}")
            } else {
                workload.to_owned()
            };
            if !runs.is_empty() {
                scenes.push(Scene { name, slices: Slices::up_to(end, requests as u64), runs });
            }
        }
    }
    Ok(scenes)
}

/// One drawing over time with a line for each run.
fn panel(
    set: &Set,
    scene: &Scene<'_>,
    (id, title, upward): (&str, &str, &str),
    up: Up,
    values: &[Vec<Option<f64>>],
) -> Panel {
    let point =
        |(slice, value): (usize, &Option<f64>)| (scene.slices.middle(slice), value.unwrap_or(f64::NAN));
    let line = |((scheme, _), values): (&(&str, &LoadedRun), &Vec<Option<f64>>)| Line {
        look: Some(set.look(scheme)),
        name: String::new(),
        points: values.iter().enumerate().map(point).collect(),
        band: Vec::new(),
        tip: (*scheme).to_owned(),
    };
    // The first scheme is drawn last, so it is not hidden where all are alike.
    let lines: Vec<Line> = scene.runs.iter().zip(values).map(line).rev().collect();
    let title = format!("{}: {title}", scene.name);
    let description =
        format!("{title}, by slices of {} of simulated time", time(scene.slices.length_ns as f64));
    let across = Across::Instant("simulated time");
    let chart = Lines {
        title: &title,
        description: &description,
        across,
        upward,
        up,
        lines: &lines,
        reference: None,
    };
    let body = Ok(chart.draw(id));
    Panel { title, body }
}

/// The note on runs that are shown by their first seed.
fn of_first_seed(set: &Set) -> Option<String> {
    set.seeds().map(|_| "Over time, a scheme is shown by the run of its first seed.".to_owned())
}

const PERCENTILES: [(&str, usize); 3] =
    [("median of the slice", 0), ("99th percentile of the slice", 1), ("99.9th percentile of the slice", 2)];

fn responses(set: &Set) -> Result<Figure, Error> {
    let mut data = Data::new(
        &["workload", "scheme", "run"],
        &["slice", "slices", "largest p50", "largest p99", "largest p99.9", "requests in a slice"],
    );
    let (mut panels, mut few) = (Vec::new(), false);
    for scene in scenes(set, Table::Requests, "arrival_ns")? {
        let mut found = Vec::new();
        for (scheme, run) in &scene.runs {
            let Some(finished) = &run.finished else { continue };
            let of_run = course::responses(finished, scene.slices)?;
            let largest = |at: usize| of_run.iter().flatten().map(|slice| slice.ns[at]).max();
            let cell = |at| Cell::time_or_none(largest(at).map(|ns| ns as f64));
            let counts = of_run.iter().flatten().map(|slice| slice.requests as f64);
            let filled = of_run.iter().flatten().count();
            let mean = counts.sum::<f64>() / filled.max(1) as f64;
            few |= mean < 1_000.0;
            data.row([
                scene.name.clone().into(),
                (*scheme).into(),
                run.digest.clone().into(),
                Cell::Length(scene.slices.length_ns as f64),
                figure(filled as f64).into(),
                cell(0),
                cell(1),
                cell(2),
                figure(mean).into(),
            ]);
            found.push(of_run);
        }
        for (what, at) in PERCENTILES {
            let of = |slice: &Option<course::Percentiles>| slice.map(|slice| slice.ns[at] as f64);
            let values: Vec<Vec<Option<f64>>> =
                found.iter().map(|slices| slices.iter().map(of).collect()).collect();
            let id = format!("over-time-{}", panels.len());
            panels.push(panel(set, &scene, (&id, what, "response time"), Up::Time, &values));
        }
    }
    let mut notes: Vec<String> = of_first_seed(set).into_iter().collect();
    if few {
        notes.push(
            "A slice of fewer than a thousand requests has its largest response as the 99.9th percentile."
                .to_owned(),
        );
    }
    Ok(Figure {
        id: "over-time".to_owned(),
        title: "Response times over time".to_owned(),
        about: "Percentiles of the response times of the reads and writes that arrive in a slice of simulated time."
            .to_owned(),
        legend: scheme_keys(set, true),
        panels,
        notes,
        data,
    })
}

fn rates(set: &Set) -> Result<Figure, Error> {
    let mut data = Data::new(
        &["workload", "scheme", "run"],
        &[
            "slice",
            "requests a second, mean",
            "in the busiest slice",
            "MiB a second, mean",
            "in the busiest slice",
        ],
    );
    let mut panels = Vec::new();
    for scene in scenes(set, Table::Requests, "arrival_ns")? {
        let (mut requests, mut mib) = (Vec::new(), Vec::new());
        for (scheme, run) in &scene.runs {
            let Some(finished) = &run.finished else { continue };
            let of_run = course::answered(finished, scene.slices)?;
            let [(sum, most), (sum_mib, most_mib)] = [|it: &Answered| it.requests, |it: &Answered| it.mib]
                .map(|of| {
                    of_run
                        .iter()
                        .map(of)
                        .fold((0.0, 0.0f64), |(sum, most), rate| (sum + rate, most.max(rate)))
                });
            let slices = of_run.len() as f64;
            data.row([
                scene.name.clone().into(),
                (*scheme).into(),
                run.digest.clone().into(),
                Cell::Length(scene.slices.length_ns as f64),
                figure(sum / slices).into(),
                figure(most).into(),
                figure(sum_mib / slices).into(),
                figure(most_mib).into(),
            ]);
            requests.push(of_run.iter().map(|slice| Some(slice.requests)).collect());
            mib.push(of_run.iter().map(|slice| Some(slice.mib)).collect());
        }
        for (what, unit, values) in
            [("requests a second", "requests/s", requests), ("MiB a second", "MiB/s", mib)]
        {
            let id = format!("rates-{}", panels.len());
            panels.push(panel(set, &scene, (&id, what, unit), Up::Amount(Unit::ONE), &values));
        }
    }
    Ok(Figure {
        id: "rates".to_owned(),
        title: "Rates over time".to_owned(),
        about: "Reads and writes that are answered in a slice of simulated time. In open loop the trace decides the rate, unless \
                the array falls behind."
            .to_owned(),
        legend: scheme_keys(set, true),
        panels,
        notes: of_first_seed(set).into_iter().collect(),
        data,
    })
}

fn collections(set: &Set) -> Result<Figure, Error> {
    let mut data = Data::new(
        &["workload", "scheme", "run"],
        &["slice", "members collecting, mean", "in the busiest slice"],
    );
    let mut panels = Vec::new();
    for scene in scenes(set, Table::Gcs, "end_ns")? {
        let mut found = Vec::new();
        for (scheme, run) in &scene.runs {
            let Some(finished) = &run.finished else { continue };
            let of_run = course::collecting(finished, scene.slices)?;
            data.row([
                scene.name.clone().into(),
                (*scheme).into(),
                run.digest.clone().into(),
                Cell::Length(scene.slices.length_ns as f64),
                figure(of_run.iter().sum::<f64>() / of_run.len() as f64).into(),
                figure(of_run.iter().copied().fold(0.0, f64::max)).into(),
            ]);
            found.push(of_run.into_iter().map(Some).collect());
        }
        let id = format!("gc-over-time-{}", panels.len());
        let what = "members that collect garbage";
        panels.push(panel(set, &scene, (&id, what, "members"), Up::Amount(Unit::ONE), &found));
    }
    Ok(Figure {
        id: "gc-over-time".to_owned(),
        title: "Garbage collection over time".to_owned(),
        about: "How many members collect garbage, on average over a slice of simulated time. A member collects while any \
                of its blocks is being moved or erased."
            .to_owned(),
        legend: scheme_keys(set, true),
        panels,
        notes: of_first_seed(set).into_iter().collect(),
        data,
    })
}

fn queues(set: &Set) -> Result<Figure, Error> {
    let mut data =
        Data::new(&["workload", "scheme", "run"], &["slice", "queued on a member, mean", "largest queue"]);
    let mut panels = Vec::new();
    for scene in scenes(set, Table::Samples, "time_ns")? {
        let (mut means, mut largest) = (Vec::new(), Vec::new());
        for (scheme, run) in &scene.runs {
            let Some(finished) = &run.finished else { continue };
            let of_run = course::queues(finished, scene.slices)?;
            let sampled: Vec<_> = of_run.iter().flatten().collect();
            data.row([
                scene.name.clone().into(),
                (*scheme).into(),
                run.digest.clone().into(),
                Cell::Length(scene.slices.length_ns as f64),
                figure(sampled.iter().map(|slice| slice.mean).sum::<f64>() / sampled.len().max(1) as f64)
                    .into(),
                figure(sampled.iter().map(|slice| slice.most).max().unwrap_or(0) as f64).into(),
            ]);
            means.push(of_run.iter().map(|slice| slice.map(|slice| slice.mean)).collect());
            largest.push(of_run.iter().map(|slice| slice.map(|slice| slice.most as f64)).collect());
        }
        for (what, values) in [("queue of a member, mean", means), ("longest queue of a member", largest)] {
            let id = format!("queues-{}", panels.len());
            panels.push(panel(set, &scene, (&id, what, "operations"), Up::Amount(Unit::ONE), &values));
        }
    }
    Ok(Figure {
        id: "queues".to_owned(),
        title: "Queue depth over time".to_owned(),
        about: "Operations that are queued or in flight on a member at the sampled instants of a slice of simulated time."
            .to_owned(),
        legend: scheme_keys(set, true),
        panels,
        notes: of_first_seed(set).into_iter().collect(),
        data,
    })
}
