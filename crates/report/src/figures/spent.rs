//! Where the time of requests went: the parts of their mean latencies, one after the other.

use crate::chart::{Look, Part, Strip, Strips, Unit, figure, time};
use crate::course::{PARTS, SLOWEST};
use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::{Cell, Data, Figure, Key, Panel};
use super::wording::means_of_seeds;

/// The parts that every run's totals have: name, total of reads, total of writes, and look.
const COARSE: [(&str, &str, &str, Look); 3] = [
    ("waiting", "read_wait_mean_ns", "write_wait_mean_ns", Look(1)),
    ("transfers", "read_bus_mean_ns", "write_bus_mean_ns", Look(4)),
    ("flash cells", "read_cell_mean_ns", "write_cell_mean_ns", Look(0)),
];

/// The rest of a mean latency beside the parts above.
const REST: (&str, Look) = ("parity computation and controller memory", Look(2));

/// The looks of the parts that the rows of requests have, in their order.
const LOOKS: [Look; 8] = [Look(6), Look(3), Look(2), Look(1), Look(7), Look(4), Look(0), Look(5)];

/// Mean parts of one kind of requests, in nanoseconds.
type Means = Vec<f64>;

/// The kinds of requests of a run, each with its parts; none without requests of that kind.
fn kinds(run: &LoadedRun, is_fine: bool) -> [(&'static str, Option<Means>); 3] {
    if is_fine {
        let of = |parts: fn(&crate::course::TimeSpent) -> crate::course::Parts| {
            run.spent.as_ref().and_then(|spent| parts(spent).means()).map(Vec::from)
        };
        return [
            ("reads", of(|spent| spent.reads)),
            ("writes", of(|spent| spent.writes)),
            ("slowest 1 % of both", of(|spent| spent.slow)),
        ];
    }
    let of = |count: &str, mean: &str, parts: [&str; 3]| {
        run.total(count).filter(|&count| count > 0.0)?;
        let mean = run.total(mean)?;
        let mut means = parts.into_iter().map(|part| run.total(part)).collect::<Option<Means>>()?;
        means.push((mean - means.iter().sum::<f64>()).max(0.0));
        Some(means)
    };
    [
        ("reads", of("read_requests", "read_mean_ns", COARSE.map(|part| part.1))),
        ("writes", of("write_requests", "write_mean_ns", COARSE.map(|part| part.2))),
        ("", None),
    ]
}

/// The parts of mean latencies by workload: in times, and as shares.
pub(super) fn parts(set: &Set) -> Figure {
    let is_fine = set.runs.iter().all(|run| run.spent.is_some());
    let keys: Vec<(&str, Look)> = if is_fine {
        PARTS.iter().map(|(_, name)| *name).zip(LOOKS).collect()
    } else {
        COARSE.map(|(name, .., look)| (name, look)).into_iter().chain([REST]).collect()
    };
    let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
    let mut numbers = vec!["mean"];
    numbers.extend(&names);
    let mut data = Data::new(&["workload", "array", "requests", "scheme", "run"], &numbers);
    let (mut panels, mut seen) = (Vec::new(), vec![false; keys.len()]);
    for structure in &set.structures {
        for workload in set.workloads_of(structure) {
            let (mut times, mut slow, mut shares) = (Vec::new(), Vec::new(), Vec::new());
            // The slowest are on an axis of their own, on which the others would not be seen.
            let mut most = [0.0f64; 2];
            for place in 0..3 {
                let mut begun = false;
                for (scheme, run) in set.runs_on(structure, workload) {
                    let (kind, Some(means)) =
                        kinds(run, is_fine).into_iter().nth(place).unwrap_or(("", None))
                    else {
                        continue;
                    };
                    let sum: f64 = means.iter().sum();
                    if sum == 0.0 {
                        continue;
                    }
                    if !begun {
                        let heading = || Strip { label: kind.to_owned(), parts: Vec::new() };
                        (if place < 2 { &mut times } else { &mut slow }).push(heading());
                        shares.push(heading());
                        begun = true;
                    }
                    let most = &mut most[place / 2];
                    *most = most.max(sum);
                    let strip = |scale: f64| {
                        let part = |(ns, (name, look)): (&f64, &(&str, Look))| Part {
                            look: *look,
                            length: ns * scale,
                            tip: format!(
                                "{kind}, {scheme}: {name} {}, {} % of {}",
                                time(*ns),
                                figure(ns / sum * 100.0),
                                time(sum)
                            ),
                        };
                        let parts = means.iter().zip(&keys).map(part).collect();
                        Strip { label: set.short(scheme).to_owned(), parts }
                    };
                    (if place < 2 { &mut times } else { &mut slow }).push(strip(1.0));
                    shares.push(strip(100.0 / sum));
                    for (seen, ns) in seen.iter_mut().zip(&means) {
                        *seen |= *ns > 0.0;
                    }
                    let mut row =
                        [workload, structure, kind, scheme, run.digest.as_str()].map(Cell::from).to_vec();
                    row.push(Cell::time(sum));
                    row.extend(means.iter().map(|&ns| Cell::time(ns)));
                    data.rows.push(row);
                }
            }
            let place = if set.structures.len() > 1 {
                format!("{workload}, {structure}")
            } else {
                workload.to_owned()
            };
            let drawings = [
                ("times", "mean response time", Unit::of_time(most[0]), most[0], times),
                ("times of the slowest", "mean response time", Unit::of_time(most[1]), most[1], slow),
                ("shares", "share of the mean response time (%)", Unit::ONE, 100.0, shares),
            ];
            for (what, axis, unit, most, strips) in drawings {
                if strips.is_empty() {
                    continue;
                }
                let title = format!("{place}: {what}");
                let description = format!("Parts of the {axis}, by kind of request and scheme");
                let chart =
                    Strips { title: &title, description: &description, axis, unit, most, strips: &strips };
                let body = Ok(chart.draw(&format!("spent-{}", panels.len())));
                panels.push(Panel { title, body });
            }
        }
    }
    let key = |((name, look), _): ((&str, Look), bool)| Key { look, name: name.to_owned(), is_line: false };
    let about = if is_fine {
        format!(
            "Mean response time in its parts, along the path of each request that finished last, which add up exactly. The \
             slowest {:.0} % of the reads and writes are shown apart.",
            SLOWEST * 100.0
        )
    } else {
        "Mean response time in its parts, along the plan of each request that finished last. Waiting is that in the \
         controller, in the members' queues and for garbage collection. Runs with a row for each request (`--rows`) show \
         these apart."
            .to_owned()
    };
    let mut notes: Vec<String> = Vec::new();
    match is_fine {
        true if set.seeds().is_some() => notes.push("Of the run of a scheme's first seed.".to_owned()),
        _ => notes.extend(means_of_seeds(set)),
    }
    Figure {
        id: "spent".to_owned(),
        title: "Where the time went".to_owned(),
        about,
        legend: keys.iter().copied().zip(seen).filter(|(_, seen)| *seen).map(key).collect(),
        panels,
        notes,
        data,
    }
}
