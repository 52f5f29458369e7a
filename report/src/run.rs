//! What a report takes from a finished run: its tables, read once.

use stripewise_results::{Columns, Figure, Figures, FinishedRun, Table};
use stripewise_sim::tables::LatencyKind;

use crate::distribution::Distribution;
use crate::error::Error;
use stripewise_results::settings::{self, Settings};

/// A finished run, and what to call what it ran.
#[derive(Clone, Debug)]
pub struct Source {
    /// The run.
    pub run: FinishedRun,
    /// The workload's name; without one, what the run itself says, or the name of its profile or generator, or the
    /// beginning of its trace's digest.
    pub workload: Option<String>,
}

impl From<FinishedRun> for Source {
    fn from(run: FinishedRun) -> Self {
        Self { run, workload: None }
    }
}

/// One run, as figures see it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The first digits of the run digest.
    pub(crate) digest: String,
    pub(crate) workload: String,
    pub(crate) scheme: String,
    /// Data and parity chunks of a stripe, as in `5+1`.
    pub(crate) structure: String,
    pub(crate) settings: Settings,
    pub(crate) totals: Figures,
    /// The columns of the table of elements.
    pub(crate) elements: Columns,
    /// Response times of all requests.
    pub(crate) responses: Option<Distribution>,
    /// Latencies of the operations on each element, queueing included; empty when they were not kept.
    pub(crate) operations: Vec<Distribution>,
    /// Slices of time in which so many elements collected garbage, from none on; empty when they were not counted.
    pub(crate) collecting: Vec<u64>,
}

/// Digits of a digest that a report shows.
const DIGITS: usize = 12;

impl Run {
    pub(crate) fn read(source: &Source) -> Result<Self, Error> {
        let run = &source.run;
        let settings = settings::settings(run.inputs());
        let elements = run.columns(Table::Elements)?.unwrap_or_default();
        let count = elements.get("element").map_or(0, Vec::len);
        let named = source.workload.clone().or_else(|| run.inputs().workload.clone());
        let latencies = run.columns(Table::Latencies)?.unwrap_or_default();
        let kept = |kind, element| distribution(&latencies, kind, element);
        Ok(Self {
            digest: run.inputs().digest().to_string().chars().take(DIGITS).collect(),
            workload: named.unwrap_or_else(|| settings::workload_name(run.inputs())),
            scheme: settings.get("scheme.name").cloned().unwrap_or_else(|| "scheme".to_owned()),
            structure: structure(&settings, count),
            totals: run.totals()?,
            settings,
            elements,
            responses: kept(LatencyKind::Both, 0),
            operations: (0..count as u64).filter_map(|at| kept(LatencyKind::Operation, at)).collect(),
            collecting: run
                .columns(Table::GcSlices)?
                .and_then(|mut columns| columns.remove("slices"))
                .unwrap_or_default(),
        })
    }

    /// A total as a number.
    pub(crate) fn total(&self, name: &str) -> Option<f64> {
        self.totals.get(name).map(|total| match total {
            Figure::Count(count) => count as f64,
            Figure::Real(real) => real,
        })
    }

    /// Whether its stripes have parity.
    pub(crate) fn has_parity(&self) -> bool {
        self.parity_chunks() > 0
    }

    /// Parity chunks of a stripe.
    pub(crate) fn parity_chunks(&self) -> usize {
        parity(&self.settings)
    }

    /// A column of the table of elements, empty when there is none of that name.
    pub(crate) fn column(&self, name: &str) -> &[u64] {
        self.elements.get(name).map_or(&[], Vec::as_slice)
    }
}

/// A distribution of the table of latencies; none when it has no row of that kind and element.
fn distribution(latencies: &Columns, kind: LatencyKind, element: u64) -> Option<Distribution> {
    let of = |name: &str| latencies.get(name).map_or(&[][..], Vec::as_slice);
    let rows = of("kind").iter().zip(of("element")).zip(of("latency_ns").iter().zip(of("count")));
    let ours = rows.filter(|((k, e), _)| **k == kind as u64 && **e == element);
    let steps: Vec<(u64, u64)> = ours.map(|(_, (latency, count))| (*latency, *count)).collect();
    if steps.is_empty() { None } else { Distribution::of_steps(steps) }
}

/// Parity chunks of a stripe.
fn parity(settings: &Settings) -> usize {
    match settings.get("scheme.geometry.level").map(String::as_str) {
        Some("raid5") => 1,
        Some("raid6") => 2,
        _ => 0,
    }
}

/// Elements that hold deltas of parity: one for each parity chunk, beside those that stripes span.
fn logs(settings: &Settings) -> usize {
    let policy = settings.get("scheme.placement.policy").map(String::as_str);
    if policy == Some("parity-logging") { parity(settings) } else { 0 }
}

/// `5+1`: data and parity chunks of a stripe; `5+1 and 1 log` with a log.
fn structure(settings: &Settings, elements: usize) -> String {
    let of = |key: &str| settings.get(key).map(String::as_str);
    let groups = of("scheme.geometry.groups").and_then(|groups| groups.parse::<usize>().ok()).unwrap_or(1);
    let (parity, logs) = (parity(settings), logs(settings));
    if parity == 0 {
        return format!("{elements} without parity");
    }
    let members = elements.saturating_sub(logs) / groups.max(1);
    let stripe = format!("{}+{parity}", members.saturating_sub(parity));
    let stripe = if groups > 1 { format!("{groups} groups of {stripe}") } else { stripe };
    if logs > 0 { format!("{stripe} and {logs} log") } else { stripe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_tells_data_parity_groups_and_logs_apart() {
        let of = |level: &str, groups: &str, policy: &str| {
            let settings = [
                ("scheme.geometry.level", level),
                ("scheme.geometry.groups", groups),
                ("scheme.placement.policy", policy),
            ];
            structure(&settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(), 10)
        };
        assert_eq!(of("raid5", "1", "in-place"), "9+1");
        assert_eq!(of("raid6", "2", "in-place"), "2 groups of 3+2");
        assert_eq!(of("raid6", "1", "parity-logging"), "6+2 and 2 log");
        assert_eq!(of("raid6", "2", "parity-logging"), "2 groups of 2+2 and 2 log");
        assert_eq!(of("raid0", "1", "in-place"), "10 without parity");
    }
}
