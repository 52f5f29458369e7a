//! The tables of a report: its runs, their totals and their settings.

use crate::chart::figure;
use crate::figures::{Cell, Data};
use crate::run::LoadedRun;
use crate::set::Set;
use stripewise_results::Figures;
use stripewise_results::settings::{Settings, differing};

/// The format of a total.
#[derive(Clone, Copy)]
enum As {
    Time,
    /// The length of what was simulated.
    Length,
    Number,
}

/// The totals that readers look for first: title, name and format.
const TOTALS: [(&str, &str, As); 22] = [
    ("requests", "requests", As::Number),
    ("mean", "response_mean_ns", As::Time),
    ("read", "read_mean_ns", As::Time),
    ("write", "write_mean_ns", As::Time),
    ("p50", "response_p50_ns", As::Time),
    ("p95", "response_p95_ns", As::Time),
    ("p99", "response_p99_ns", As::Time),
    ("p99.9", "response_p999_ns", As::Time),
    ("p99.99", "response_p9999_ns", As::Time),
    ("largest", "response_max_ns", As::Time),
    ("requests/s", "requests_per_second", As::Number),
    ("offered/s", "offered_requests_per_second", As::Number),
    ("MiB/s", "mib_per_second", As::Number),
    ("busiest member", "busiest_member_utilisation", As::Number),
    ("pre-reads", "pre_read_pages", As::Number),
    ("parity updates", "updates", As::Number),
    ("adjusted", "updates_adjusted", As::Number),
    ("programs a host page", "programs_per_host_page", As::Number),
    ("pages buffered at the end", "drained_pages", As::Number),
    ("erases", "erase_blocks", As::Number),
    ("cv of blocked", "blocked_cv", As::Number),
    ("simulated", "simulated_ns", As::Length),
];

/// One row a scheme and workload, of means where there are several seeds.
pub(crate) fn totals(set: &Set) -> Data {
    let mut data = Data { texts: 6, ..Data::default() };
    data.head =
        ["workload", "stripe", "scheme", "run", "seeds", "acknowledged from"].map(str::to_owned).into();
    let shown: Vec<_> =
        TOTALS.iter().filter(|(_, name, _)| set.runs.iter().any(|run| run.total(name).is_some())).collect();
    data.head.extend(shown.iter().map(|(title, ..)| (*title).to_owned()));
    for run in &set.runs {
        let mut row = vec![
            Cell::from(run.workload.clone()),
            run.stripe.clone().into(),
            run.scheme.clone().into(),
            run.digest.clone().into(),
            seeds(run).into(),
            run.acknowledges.unwrap_or("-").into(),
        ];
        row.extend(shown.iter().map(|(_, name, how)| match (run.total(name), how) {
            (None, _) => "-".into(),
            (Some(ns), As::Time) => Cell::time(ns),
            (Some(ns), As::Length) => Cell::Length(ns),
            (Some(number), As::Number) => figure(number).into(),
        }));
        data.rows.push(row);
    }
    data
}

/// `1 to 5`, or each seed where they are not consecutive.
fn seeds(run: &LoadedRun) -> String {
    let all: Vec<&str> = run.seeds().map(|(_, seed, _)| seed).collect();
    let numbers: Option<Vec<u64>> = all.iter().map(|seed| seed.parse().ok()).collect();
    let follow = |seeds: &[u64]| {
        seeds.len() > 2 && seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))
    };
    match numbers.filter(|seeds| follow(seeds)) {
        Some(seeds) => format!("{} to {}", seeds[0], seeds[seeds.len() - 1]),
        None => all.join(", "),
    }
}

/// Every total of every run of every seed, exact; a column each.
pub(crate) fn all_totals(set: &Set) -> Data {
    let runs =
        || set.runs.iter().flat_map(|run| run.seeds().map(move |(digest, seed, of)| (run, digest, seed, of)));
    let mut names: Vec<&str> = Vec::new();
    for total in runs().flat_map(|(.., totals)| totals.iter()) {
        if !names.contains(&total.name.as_str()) {
            names.push(&total.name);
        }
    }
    let exact = |totals: &Figures, name: &str| match totals.get(name) {
        Some(stripewise_results::Figure::Count(count)) => count.to_string(),
        Some(stripewise_results::Figure::Real(real)) => real.to_string(),
        None => "-".to_owned(),
    };
    let mut data = Data { texts: 1, ..Data::default() };
    let row = |name: &str, cells: Vec<String>| {
        std::iter::once(name.to_owned()).chain(cells).map(Cell::from).collect::<Vec<_>>()
    };
    data.head =
        std::iter::once("total").chain(runs().map(|(_, digest, ..)| digest)).map(str::to_owned).collect();
    data.rows.push(row("workload", runs().map(|(run, ..)| run.workload.clone()).collect()));
    data.rows.push(row("scheme", runs().map(|(run, ..)| run.scheme.clone()).collect()));
    data.rows.push(row("seed", runs().map(|(.., seed, _)| seed.to_owned()).collect()));
    for name in names {
        data.rows.push(row(name, runs().map(|(.., totals)| exact(totals, name)).collect()));
    }
    data
}

/// The settings that all runs share.
pub(crate) fn shared_settings(set: &Set) -> Data {
    let all: Vec<&Settings> = set.runs.iter().map(|run| &run.settings).collect();
    let differ = differing(&all, |_| true);
    let mut data = Data { texts: 2, ..Data::default() };
    data.head = ["setting", "value"].map(str::to_owned).into();
    for (name, value) in all.first().into_iter().flat_map(|settings| settings.iter()) {
        if !differ.contains(&name.as_str()) {
            data.rows.push(vec![name.clone().into(), value.clone().into()]);
        }
    }
    data
}

/// The properties that can decide settings, in the order in which they are tried: a column each in the table of those
/// that do.
type Kind = (&'static str, fn(&LoadedRun) -> &String);
const KINDS: [Kind; 4] = [
    ("schemes", |run| &run.scheme),
    ("stripe structures", |run| &run.structure),
    ("workloads", |run| &run.workload),
    ("runs", |run| &run.digest),
];

/// The settings in which runs differ: those that differ only between schemes, between structures, between workloads,
/// and the others run by run. Each with the property that decides it.
pub(crate) fn differing_settings(set: &Set) -> Vec<(&'static str, Data)> {
    let all: Vec<&Settings> = set.runs.iter().map(|run| &run.settings).collect();
    let mut names = differing(&all, |_| true);
    let mut tables = Vec::new();
    for (what, of) in KINDS {
        let (decided, rest) = names.into_iter().partition(|name| decides(set, of, name));
        names = rest;
        let decided: Vec<&str> = decided;
        let mut columns: Vec<&LoadedRun> = Vec::new();
        for run in &set.runs {
            if !columns.iter().any(|column| of(column) == of(run)) {
                columns.push(run);
            }
        }
        let mut data = Data { texts: columns.len() + 1, ..Data::default() };
        data.head.push("setting".to_owned());
        data.head.extend(columns.iter().map(|run| of(run).clone()));
        for name in decided {
            let value = |run: &&LoadedRun| run.settings.get(name).cloned().unwrap_or_else(|| "-".to_owned());
            let cells = std::iter::once(name.to_owned()).chain(columns.iter().map(value));
            data.rows.push(cells.map(Cell::from).collect());
        }
        if !data.rows.is_empty() {
            tables.push((what, data));
        }
    }
    tables
}

/// Whether runs with the same `of` have the same value of the setting.
fn decides(set: &Set, of: fn(&LoadedRun) -> &String, name: &str) -> bool {
    set.runs.iter().all(|run| {
        let mut alike = set.runs.iter().filter(|other| of(other) == of(run));
        alike.all(|other| other.settings.get(name) == run.settings.get(name))
    })
}
