//! The data that a report takes from a finished run: its tables, read once.

use stripewise_array::Scheme;
use stripewise_results::paired::{Rate, margin_at};
use stripewise_results::{Columns, Figure, Figures, FinishedRun, Table};
use stripewise_sim::tables::LatencyKind;

use crate::course::{self, TimeSpent};
use crate::distribution::Distribution;
use crate::error::Error;
use stripewise_results::settings::{self, Settings};

/// A finished run, and the name of its workload.
#[derive(Clone, Debug)]
pub struct Source {
    /// The run.
    pub run: FinishedRun,
    /// The workload's name; by default the name in the run itself, or the name of its profile or generator, or the
    /// beginning of its trace's digest.
    pub workload: Option<String>,
}

impl From<FinishedRun> for Source {
    fn from(run: FinishedRun) -> Self {
        Self { run, workload: None }
    }
}

/// One run in the form for figures; or the runs of several seeds of one scheme and workload, which figures show as
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadedRun {
    /// The first digits of the run digest; of the first seed where there are several.
    pub(crate) digest: String,
    pub(crate) workload: String,
    pub(crate) scheme: String,
    /// The array, by which figures group runs: data and parity chunks of a stripe, as in `5+1`, or the number of
    /// members.
    pub(crate) structure: String,
    /// Data and parity chunks of a stripe.
    pub(crate) stripe: String,
    /// The place of a write when it is acknowledged (members or a kind of memory), where that is known.
    pub(crate) acknowledges: Option<&'static str>,
    pub(crate) settings: Settings,
    /// The totals of the first seed.
    pub(crate) totals: Figures,
    /// The seeds after the first.
    pub(crate) others: Vec<Seed>,
    /// The columns of the table of members; means over the seeds.
    pub(crate) members: Columns,
    /// Response times of all requests of all seeds.
    pub(crate) responses: Option<Distribution>,
    /// The same of reads, and of writes.
    pub(crate) by_kind: [Option<Distribution>; 2],
    /// Latencies of the operations on each member, queueing included; empty when they were not kept.
    pub(crate) operations: Vec<Distribution>,
    /// The number of slices of time in which N members collected garbage, for N from zero; empty when they were not
    /// counted.
    pub(crate) collecting: Vec<u64>,
    /// The run on disk; of the first seed where there are several.
    pub(crate) finished: Option<FinishedRun>,
    /// Where the time of its requests went; none when the run has no row for each request. Of the first seed where
    /// there are several.
    pub(crate) spent: Option<TimeSpent>,
    /// The error rate of intervals over the seeds.
    pub(crate) rate: Rate,
}

/// The run of a further seed.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    pub(crate) digest: String,
    pub(crate) seed: String,
    pub(crate) totals: Figures,
}

/// Digits of a digest that a report shows.
const DIGITS: usize = 12;

impl LoadedRun {
    pub(crate) fn read(source: &Source, rate: Rate) -> Result<Self, Error> {
        let run = &source.run;
        let settings = settings::settings(run.inputs());
        let members = run.columns(Table::Members)?.unwrap_or_default();
        let count = members.get("member").map_or(0, Vec::len);
        let named = source.workload.clone().or_else(|| run.inputs().workload.clone());
        let latencies = run.columns(Table::Latencies)?.unwrap_or_default();
        let kept = |kind, member| distribution(&latencies, kind, member);
        Ok(Self {
            digest: run.inputs().digest().to_string().chars().take(DIGITS).collect(),
            workload: named.unwrap_or_else(|| settings::workload_name(run.inputs())),
            scheme: settings.get("scheme.name").cloned().unwrap_or_else(|| "scheme".to_owned()),
            structure: structure(&settings, count),
            stripe: structure(&settings, count),
            acknowledges: Scheme::acknowledges_in(run.inputs().configuration()),
            totals: run.totals()?,
            others: Vec::new(),
            settings,
            members,
            responses: kept(LatencyKind::Both, 0),
            by_kind: [kept(LatencyKind::Read, 0), kept(LatencyKind::Write, 0)],
            operations: (0..count as u64).filter_map(|at| kept(LatencyKind::Operation, at)).collect(),
            collecting: run
                .columns(Table::GcSlices)?
                .and_then(|mut columns| columns.remove("slices"))
                .unwrap_or_default(),
            finished: Some(run.clone()),
            spent: None,
            rate,
        })
    }

    /// Reads where the time of the requests went, if the run has a row for each.
    pub(crate) fn read_time_spent(&mut self) -> Result<(), Error> {
        let Some(run) = &self.finished else { return Ok(()) };
        // One seed's own percentile, not that of all of them together.
        let own = run.columns(Table::Latencies)?.unwrap_or_default();
        let parts = ((1.0 - course::SLOWEST) * 100_000.0) as u64;
        let slow = distribution(&own, LatencyKind::Both, 0).and_then(|responses| responses.quantile(parts));
        self.spent = course::time_spent(run, slow.unwrap_or(u64::MAX))?;
        Ok(())
    }

    /// A total as a number, the mean over the seeds; none where one of them lacks it.
    pub(crate) fn total(&self, name: &str) -> Option<f64> {
        let values = self.values(name)?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// A total of each seed; none where one of them lacks it.
    pub(crate) fn values(&self, name: &str) -> Option<Vec<f64>> {
        self.seeds().map(|(.., totals)| totals.get(name).map(number)).collect()
    }

    /// The ends of the 95 % interval of a total's mean; none with one seed, or where the seeds changed nothing.
    pub(crate) fn interval(&self, name: &str) -> Option<(f64, f64)> {
        let (mean, margin) = (self.total(name)?, margin_at(&self.values(name)?, self.rate, 1)?);
        (margin > 0.0).then_some((mean - margin, mean + margin))
    }

    /// Digest, seed and totals of each run.
    pub(crate) fn seeds(&self) -> impl Iterator<Item = (&str, &str, &Figures)> {
        let first = self.settings.get(SEED).map_or("", String::as_str);
        let first = first.split(',').next().unwrap_or(first);
        let others = self.others.iter().map(|of| (of.digest.as_str(), of.seed.as_str(), &of.totals));
        std::iter::once((self.digest.as_str(), first, &self.totals)).chain(others)
    }

    /// The note on a value of several seeds; empty with one seed.
    pub(crate) fn of_seeds(&self) -> String {
        if self.others.is_empty() {
            String::new()
        } else {
            format!(", mean of {} seeds", self.others.len() + 1)
        }
    }

    /// Whether its stripes have parity.
    pub(crate) fn has_parity(&self) -> bool {
        self.parity_chunks() > 0
    }

    /// Parity chunks of a stripe.
    pub(crate) fn parity_chunks(&self) -> usize {
        parity(&self.settings)
    }

    /// A column of the table of members, empty when there is none of that name.
    pub(crate) fn column(&self, name: &str) -> &[u64] {
        self.members.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The setting that distinguishes the runs of one scheme and workload.
const SEED: &str = "seed";

/// Joins runs that differ only in their seed. A joined run takes the place of its first seed and has its seeds in
/// ascending order. A repeated seed is the same run, and is left out.
pub(crate) fn join_seeds(runs: Vec<LoadedRun>) -> Vec<LoadedRun> {
    let alike = |a: &LoadedRun, b: &LoadedRun| {
        let names = |run: &LoadedRun| [&run.scheme, &run.workload, &run.structure].map(String::clone);
        let but_seeds = |(name, _): &(&String, &String)| !is_seed(name);
        let settings = a.settings.iter().filter(but_seeds);
        names(a) == names(b) && settings.eq(b.settings.iter().filter(but_seeds))
    };
    let mut joined: Vec<Vec<LoadedRun>> = Vec::new();
    for run in runs {
        match joined.iter_mut().find(|runs| alike(&runs[0], &run)) {
            Some(same) if same.iter().any(|other| other.settings == run.settings) => {}
            Some(seeds) => seeds.push(run),
            None => joined.push(vec![run]),
        }
    }
    joined.into_iter().map(join).collect()
}

/// Whether a setting is a seed, of the run or of its workload.
pub(crate) fn is_seed(name: &str) -> bool {
    matches!(name, SEED | "workload.seed")
}

/// Runs of different seeds as one.
fn join(mut runs: Vec<LoadedRun>) -> LoadedRun {
    let number = |run: &LoadedRun| run.settings.get(SEED).and_then(|seed| seed.parse::<u64>().ok());
    runs.sort_by_key(number);
    let count = runs.len() as u64;
    let mut runs = runs.into_iter();
    let mut joined = runs.next().expect("one at least");
    for run in runs {
        for (name, seeds) in joined.settings.iter_mut().filter(|(name, _)| is_seed(name)) {
            *seeds += &format!(", {}", run.settings.get(name).map_or("-", String::as_str));
        }
        for (name, column) in &mut joined.members {
            let theirs = run.column(name);
            column.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours = ours.saturating_add(*theirs));
        }
        joined.collecting.resize(joined.collecting.len().max(run.collecting.len()), 0);
        joined.collecting.iter_mut().zip(&run.collecting).for_each(|(ours, theirs)| *ours += theirs);
        joined.responses = match (joined.responses, &run.responses) {
            (Some(ours), Some(theirs)) => Some(ours.with(theirs)),
            _ => None,
        };
        for (ours, theirs) in joined.by_kind.iter_mut().zip(&run.by_kind) {
            *ours = ours.take().zip(theirs.as_ref()).map(|(ours, theirs)| ours.with(theirs));
        }
        joined.operations =
            joined.operations.iter().zip(&run.operations).map(|(ours, theirs)| ours.with(theirs)).collect();
        let seed = run.settings.get(SEED).cloned().unwrap_or_default();
        joined.others.push(Seed { digest: run.digest, seed, totals: run.totals });
    }
    for column in joined.members.values_mut() {
        column.iter_mut().for_each(|sum| *sum = (*sum + count / 2) / count);
    }
    joined
}

/// Converts a total to a number. Counts above 2^53 are rounded, far below the displayed precision.
fn number(total: Figure) -> f64 {
    match total {
        Figure::Count(count) => count as f64,
        Figure::Real(real) => real,
    }
}

/// A distribution of the table of latencies; none when it has no row of that kind and member.
fn distribution(latencies: &Columns, kind: LatencyKind, member: u64) -> Option<Distribution> {
    let of = |name: &str| latencies.get(name).map_or(&[][..], Vec::as_slice);
    let rows = of("kind").iter().zip(of("member")).zip(of("latency_ns").iter().zip(of("count")));
    let ours = rows.filter(|((k, e), _)| **k == kind as u64 && **e == member);
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

/// The number of members that hold deltas of parity: one for each parity chunk, in addition to those that stripes
/// span.
fn logs(settings: &Settings) -> usize {
    let policy = settings.get("scheme.placement.policy").map(String::as_str);
    if policy == Some("parity-logging") { parity(settings) } else { 0 }
}

/// `5+1`: data and parity chunks of a stripe; `5+1 and 1 log member` with parity logging.
fn structure(settings: &Settings, members: usize) -> String {
    let of = |key: &str| settings.get(key).map(String::as_str);
    let groups = of("scheme.geometry.groups").and_then(|groups| groups.parse::<usize>().ok()).unwrap_or(1);
    let (parity, logs) = (parity(settings), logs(settings));
    if parity == 0 {
        return format!("{members} without parity");
    }
    let columns = members.saturating_sub(logs) / groups.max(1);
    let stripe = format!("{}+{parity}", columns.saturating_sub(parity));
    let stripe = if groups > 1 { format!("{groups} groups of {stripe}") } else { stripe };
    match logs {
        0 => stripe,
        1 => format!("{stripe} and 1 log member"),
        more => format!("{stripe} and {more} log members"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_distinguishes_data_parity_groups_and_logs() {
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
        assert_eq!(of("raid6", "1", "parity-logging"), "6+2 and 2 log members");
        assert_eq!(of("raid6", "2", "parity-logging"), "2 groups of 2+2 and 2 log members");
        assert_eq!(of("raid0", "1", "in-place"), "10 without parity");
    }
}
