//! The columns of a comparison: the total of each, its unit and its digits.

use super::digits::{align, rounded, significant, significant_count};
use super::scale::Scale;
use super::table::Shown;
use super::{CPU_NS, Entry};
use crate::effect::{self, Effect};
use crate::error::Error;
use crate::figures::{Figure, Figures};
use crate::paired::{Difference, Kind};

/// Host requests acknowledged.
const REQUESTS: &str = "requests";
/// Host requests that failed; shown only if there are any.
const FAILED: &str = "failed_requests";
/// The total of chunks that array-level garbage collection moved.
const MOVED: &str = "array_gc_moved_chunks";
/// The total of pages that were written after the last request.
const DRAINED: &str = "drained_pages";
/// The load that a trace offers, where requests come at times of their own.
const OFFERED: &str = "offered_requests_per_second";
/// How fast the simulator itself is: no total, but made of two.
const PER_CPU_SECOND: &str = "requests_per_cpu_second";
/// Persistent memory that the settings of a scheme provide, and the most of it in use.
const PERSISTENT: &str = "persistent_bytes";
const PERSISTENT_PEAK: &str = "persistent_peak_bytes";
/// Totals that are shown only if one is not zero.
pub(super) const SELDOM: [&str; 5] = [FAILED, MOVED, DRAINED, PERSISTENT, PERSISTENT_PEAK];

/// A column of the comparison.
pub(super) struct Column {
    header: &'static str,
    /// Name of the total.
    pub(super) of: &'static str,
    scale: Scale,
    /// Whether a scheme's difference from the first is shown. Values that the trace or the machine decides have none.
    pub(super) ranked: bool,
    /// Name of a count that must be above zero to show the value, for example the number of reads for their mean.
    given: Option<&'static str>,
    /// Whether earlier versions left runs without the total; their cells are empty.
    pub(super) is_recent: bool,
    /// Whether a brief text leaves it out.
    is_detail: bool,
}

const fn column(header: &'static str, of: &'static str, scale: Scale) -> Column {
    Column { header, of, scale, ranked: false, given: None, is_recent: false, is_detail: false }
}

const fn ranked(header: &'static str, of: &'static str, scale: Scale) -> Column {
    Column { ranked: true, ..column(header, of, scale) }
}

const fn given(count: &'static str, column: Column) -> Column {
    Column { given: Some(count), ..column }
}

const fn recent(column: Column) -> Column {
    Column { is_recent: true, ..column }
}

const fn detail(column: Column) -> Column {
    Column { is_detail: true, ..column }
}

/// The group of columns about the simulator itself, which are shown only if they are asked for.
pub(super) const SIMULATOR: usize = 3;

/// The columns, in groups that stay in one table where possible.
pub(super) const GROUPS: [&[Column]; 4] = [
    &[
        detail(column("requests", REQUESTS, Scale::Count)),
        ranked("failed", FAILED, Scale::Count),
        given(REQUESTS, ranked("mean", "response_mean_ns", Scale::Time)),
        given("read_requests", ranked("read", "read_mean_ns", Scale::Time)),
        given("write_requests", ranked("write", "write_mean_ns", Scale::Time)),
        recent(given(REQUESTS, ranked("p50", "response_p50_ns", Scale::Time))),
        detail(recent(given(REQUESTS, ranked("p95", "response_p95_ns", Scale::Time)))),
        given(REQUESTS, ranked("p99", "response_p99_ns", Scale::Time)),
        given(REQUESTS, ranked("p99.9", "response_p999_ns", Scale::Time)),
        detail(recent(given(REQUESTS, ranked("p99.99", "response_p9999_ns", Scale::Time)))),
        detail(given(REQUESTS, ranked("max", "response_max_ns", Scale::Time))),
    ],
    &[
        recent(given(REQUESTS, ranked("requests", "requests_per_second", Scale::Rate))),
        recent(given(REQUESTS, column("offered", OFFERED, Scale::Rate))),
        detail(recent(given("read_requests", column("read", "read_mib_per_second", Scale::MibRate)))),
        detail(recent(given("write_requests", column("written", "written_mib_per_second", Scale::MibRate)))),
        recent(ranked("busiest member", "busiest_member_utilisation", Scale::Share)),
        recent(column("persistent memory", PERSISTENT, Scale::Bytes)),
        detail(recent(column("memory peak", PERSISTENT_PEAK, Scale::Bytes))),
        detail(column("simulated", "simulated_ns", Scale::Time)),
    ],
    &[
        ranked("pre-reads", "pre_read_pages", Scale::Count),
        detail(given("updates", column("adjusted", "updates_adjusted_share", Scale::Share))),
        detail(given(REQUESTS, ranked("cv", "blocked_cv", Scale::Ratio))),
        detail(ranked("parity writes", "parity_write_pages", Scale::Count)),
        detail(given("stripes", ranked("array GC moves", MOVED, Scale::Count))),
        detail(ranked("flash programs", "flash_program_pages", Scale::Count)),
        given("write_requests", ranked("programs/ host page", "programs_per_host_page", Scale::Ratio)),
        ranked("erases", "erase_blocks", Scale::Count),
        detail(column("drained pages", DRAINED, Scale::Count)),
    ],
    &[column("processor", CPU_NS, Scale::Time), column("simulator's speed", PER_CPU_SECOND, Scale::Rate)],
];

/// The value of a column for a run; none when there is no value.
pub(super) fn value(entry: &Entry, column: &Column) -> Result<Option<f64>, Error> {
    let total = |name: &'static str| {
        let missing = || Error::MissingTotal { run: entry.scheme.clone(), name: name.to_owned() };
        entry.totals.get(name).map(real).ok_or_else(missing)
    };
    if column.of == PER_CPU_SECOND {
        return Ok(requests_per_cpu_second(&entry.totals));
    }
    if column.is_recent && entry.totals.get(column.of).is_none() {
        return Ok(None);
    }
    if column.of == CPU_NS {
        return Ok(entry.totals.get(CPU_NS).map(real));
    }
    if let Some(count) = column.given
        && total(count)? == 0.0
    {
        return Ok(None);
    }
    total(column.of).map(Some)
}

pub(super) fn requests_per_cpu_second(totals: &Figures) -> Option<f64> {
    let (requests, ns) = (real(totals.get(REQUESTS)?), real(totals.get(CPU_NS)?));
    (ns > 0.0).then(|| requests * 1e9 / ns)
}

/// Counts above 2^53 are rounded, far below the displayed precision.
pub(super) fn real(figure: Figure) -> f64 {
    match figure {
        Figure::Count(count) => count as f64,
        Figure::Real(real) => real,
    }
}

/// The unit of all times of a comparison, from its response times: other times follow, since they stand in the same table where
/// it is wide enough.
pub(super) fn unit_of_times(means: &[Vec<Vec<Option<f64>>>]) -> (&'static str, f64) {
    let responses = GROUPS[0].iter().zip(&means[0]).filter(|(column, _)| column.is_time());
    Scale::Time.unit(responses.flat_map(|(_, values)| values.iter().flatten().copied()))
}

impl Column {
    fn is_time(&self) -> bool {
        self.scale == Scale::Time
    }

    /// The unit of its values: that of `times` for a time.
    fn unit(&self, values: impl IntoIterator<Item = f64>, times: (&'static str, f64)) -> (&'static str, f64) {
        if self.is_time() { times } else { self.scale.unit(values) }
    }

    pub(super) fn show(&self, group: usize, values: &[Option<f64>], times: (&'static str, f64)) -> Shown {
        let (unit, size) = self.unit(values.iter().flatten().copied(), times);
        let is_counted = size == 1.0 && matches!(self.scale, Scale::Count | Scale::Time);
        let digits = if is_counted { significant_count } else { significant };
        let cell = |value: &Option<f64>| value.map_or("-".to_owned(), |value| digits(value / size));
        let mut cells: Vec<String> = values.iter().map(cell).collect();
        align(&mut cells);
        Shown { group, header: self.header, unit, cells, is_detail: self.is_detail }
    }

    /// Shows the effects on this column. None where there is no effect to show.
    ///
    /// Ratios are in percent, or a factor; shares in points; differences in the unit of the column. The ratio of the means
    /// follows where the interval of the typical ratio does not contain it.
    pub(super) fn show_effects(
        &self,
        group: usize,
        found: &[Option<Compared>],
        times: (&'static str, f64),
    ) -> Option<Shown> {
        let kind = Kind::of(self.of);
        let plain = self.unit(found.iter().flatten().flat_map(|it| [it.first, it.other]), times);
        let effects: Vec<Option<Effect>> =
            found.iter().map(|it| it.as_ref().map(|it| Effect::of(kind, &it.difference))).collect();
        effects.iter().flatten().next()?;
        let is_plain = effects.iter().flatten().all(|it| matches!(it, Effect::Plain(..)));
        let widest = effects.iter().flatten().filter_map(|it| match *it {
            Effect::Percent(_, low, high) => Some(low.abs().max(high.abs())),
            Effect::Points(mean, margin) => Some(mean.abs() + margin),
            _ => None,
        });
        let widest = widest.fold(0.0, f64::max);
        let decimals = if widest < 10.0 { 2 } else { usize::from(widest < 100.0) };
        let (mut centers, mut ends) = (Vec::new(), Vec::new());
        for (it, effect) in found.iter().zip(&effects) {
            let (Some(Compared { first, other, difference }), Some(effect)) = (it, effect) else {
                centers.push("-".to_owned());
                ends.push(String::new());
                continue;
            };
            let (mut center, mut end) = match *effect {
                Effect::Percent(typical, low, high) => {
                    let decimals = seen((low, high), decimals, difference);
                    (format!("{typical:+.decimals$}"), format!("[{low:+.decimals$}, {high:+.decimals$}]"))
                }
                Effect::Factor(ratio) => {
                    let text = effect::factor(ratio);
                    let (center, end) = text.split_once(' ').unwrap_or((&text, ""));
                    (center.to_owned(), end.to_owned())
                }
                Effect::Points(mean, margin) => {
                    let decimals = seen((mean - margin, mean + margin), decimals, difference);
                    (format!("{mean:+.decimals$}"), format!("±{margin:.decimals$}"))
                }
                Effect::Plain(mean, margin) => {
                    let sign = if mean < 0.0 { "-" } else { "+" };
                    let unit = if is_plain { String::new() } else { unit_behind(plain.0) };
                    let margin = format!("±{}{unit}", significant(margin / plain.1));
                    (format!("{sign}{}", significant((mean / plain.1).abs())), margin)
                }
            };
            if difference.is_constant {
                SAME.clone_into(&mut end);
            }
            if difference.ratio.is_some_and(|ratio| !difference.is_constant && !ratio.contains(other / first))
            {
                end += &format!(" (means {})", means(other / first, decimals));
            }
            if difference.is_significant {
                center.insert_str(0, effect::STAR);
            }
            centers.push(center);
            ends.push(end);
        }
        align(&mut centers);
        let width = ends.iter().map(|end| end.chars().count()).max().unwrap_or(0);
        let cells = centers.iter().zip(&ends).map(|(center, end)| format!("{center} {end:<width$}"));
        let unit = match effects.iter().flatten().next() {
            _ if is_plain => plain.0,
            Some(Effect::Points(..)) => "points",
            _ => "%",
        };
        Some(Shown { group, header: self.header, unit, cells: cells.collect(), is_detail: self.is_detail })
    }
}

/// The effect on a total of one row of a comparison, and the means that it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    /// The mean of the first scheme, over the seeds that both have.
    pub(super) first: f64,
    /// The mean of the other.
    pub(super) other: f64,
    pub(super) difference: Difference,
}

/// The decimals of an effect with the interval from `low` to `high`: at least `decimals`, and more where a marked effect would
/// not be seen to exclude zero.
fn seen((low, high): (f64, f64), decimals: usize, difference: &Difference) -> usize {
    let is_seen = |decimals: &usize| rounded(low, *decimals) > 0.0 || rounded(high, *decimals) < 0.0;
    let enough = (decimals..=MOST_DECIMALS).find(is_seen).filter(|_| difference.is_significant);
    enough.unwrap_or(decimals)
}

fn unit_behind(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}

/// The ratio of two means as percent or as a factor.
fn means(ratio: f64, decimals: usize) -> String {
    match (0.5..=2.0).contains(&ratio) {
        true => format!("{:+.decimals$}", (ratio - 1.0) * 100.0),
        false => effect::of_means(ratio),
    }
}

/// What stands instead of the interval of an effect that is the same in all seeds.
pub(super) const SAME: &str = "=";

/// Most decimals of a difference.
const MOST_DECIMALS: usize = 9;
