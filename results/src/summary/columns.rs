//! The columns of a comparison: the total of each, its unit and its digits.

use super::digits::{align, rounded, significant, significant_count};
use super::table::Shown;
use super::{CPU_NS, Entry};
use crate::error::Error;
use crate::figures::{Figure, Figures};
use crate::paired::Difference;

/// Host requests acknowledged.
const REQUESTS: &str = "requests";
/// Host requests that failed; shown only if there are any.
const FAILED: &str = "failed_requests";
/// The total of chunks that array-level garbage collection moved.
const MOVED: &str = "array_gc_moved_chunks";
/// The total of pages that were written after the last request.
const DRAINED: &str = "drained_pages";
/// Totals that are shown only if one is not zero.
pub(super) const SELDOM: [&str; 3] = [FAILED, MOVED, DRAINED];

/// The scaling of a column's values for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Nanoseconds in the total.
    Time,
    /// A count, in its own unit below 100,000.
    Count,
    /// A plain number.
    Ratio,
    /// A share of one, in percent.
    Share,
    /// Per second.
    Rate,
}

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
}

const fn column(header: &'static str, of: &'static str, scale: Scale) -> Column {
    Column { header, of, scale, ranked: false, given: None }
}

const fn ranked(header: &'static str, of: &'static str, scale: Scale) -> Column {
    Column { ranked: true, ..column(header, of, scale) }
}

const fn given(count: &'static str, column: Column) -> Column {
    Column { given: Some(count), ..column }
}

/// The columns, in groups that stay in one table where possible.
pub(super) const GROUPS: [&[Column]; 3] = [
    &[
        column("requests", REQUESTS, Scale::Count),
        ranked("failed", FAILED, Scale::Count),
        given(REQUESTS, ranked("mean", "response_mean_ns", Scale::Time)),
        given("read_requests", ranked("read", "read_mean_ns", Scale::Time)),
        given("write_requests", ranked("write", "write_mean_ns", Scale::Time)),
        given(REQUESTS, ranked("p99", "response_p99_ns", Scale::Time)),
        given(REQUESTS, ranked("p99.9", "response_p999_ns", Scale::Time)),
        given(REQUESTS, ranked("max", "response_max_ns", Scale::Time)),
    ],
    &[
        ranked("pre-reads", "pre_read_pages", Scale::Count),
        given("updates", column("adjusted", "updates_adjusted_share", Scale::Share)),
        given(REQUESTS, ranked("cv", "blocked_cv", Scale::Ratio)),
        ranked("parity writes", "parity_write_pages", Scale::Count),
        given("stripes", ranked("array GC moves", MOVED, Scale::Count)),
        ranked("flash programs", "flash_program_pages", Scale::Count),
        given("write_requests", ranked("programs/ host page", "programs_per_host_page", Scale::Ratio)),
        ranked("erases", "erase_blocks", Scale::Count),
        column("drained pages", DRAINED, Scale::Count),
    ],
    &[
        column("simulated", "simulated_ns", Scale::Time),
        column("processor", CPU_NS, Scale::Time),
        column("speed", "requests_per_cpu_second", Scale::Rate),
    ],
];

/// The value of a column for a run; none when there is no value.
pub(super) fn value(entry: &Entry, column: &Column) -> Result<Option<f64>, Error> {
    let total = |name: &'static str| {
        let missing = || Error::MissingTotal { run: entry.scheme.clone(), name: name.to_owned() };
        entry.totals.get(name).map(real).ok_or_else(missing)
    };
    if column.scale == Scale::Rate {
        return Ok(requests_per_cpu_second(&entry.totals));
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

impl Scale {
    /// Names and sizes of the units, smallest first.
    fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Scale::Time => &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)],
            Scale::Count => &[("", 1.0), ("thousand", 1e3), ("million", 1e6), ("billion", 1e9)],
            Scale::Ratio => &[("", 1.0)],
            Scale::Share => &[("%", 0.01)],
            Scale::Rate => &[("/s", 1.0), ("thousand/s", 1e3), ("million/s", 1e6)],
        }
    }

    /// The unit that gives the least of a column's values about three digits before the point, and no value more than
    /// five.
    fn unit(self, least: f64, most: f64) -> (&'static str, f64) {
        let units = self.units();
        let fits = |size: f64| match self {
            Scale::Count if size == 1.0 => most < 1e5,
            _ => least < size * 1e3 && most < size * 1e5,
        };
        units.iter().copied().find(|(_, size)| fits(*size)).unwrap_or(units[units.len() - 1])
    }
}

impl Column {
    pub(super) fn show(&self, group: usize, values: &[Option<f64>]) -> Shown {
        let known = || values.iter().flatten().copied();
        let least_but_zero = known().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let most = known().fold(0.0, f64::max);
        let (unit, size) = self.scale.unit(least_but_zero.min(most), most);
        let is_counted = size == 1.0 && matches!(self.scale, Scale::Count | Scale::Time);
        let digits = if is_counted { significant_count } else { significant };
        let cell = |value: &Option<f64>| value.map_or("-".to_owned(), |value| digits(value / size));
        let mut cells: Vec<String> = values.iter().map(cell).collect();
        align(&mut cells);
        Shown { group, header: self.header, unit, cells }
    }

    /// Shows differences in percent of the base's mean. None where there is no difference to show.
    pub(super) fn show_differences(
        &self,
        group: usize,
        found: &[Option<(f64, Difference)>],
    ) -> Option<Shown> {
        let percents = |(first, it): (f64, Difference)| {
            let percent = 100.0 / first;
            (first != 0.0).then_some((it.mean * percent, (it.margin * percent).abs(), it.is_significant))
        };
        let found: Vec<_> = found.iter().map(|it| it.and_then(percents)).collect();
        let most = found.iter().flatten().map(|(mean, margin, _)| mean.abs() + margin).reduce(f64::max)?;
        let least = if most < 10.0 { 2 } else { usize::from(most < 100.0) };
        let (mut means, mut margins) = (Vec::new(), Vec::new());
        for it in &found {
            let Some((mean, margin, is_significant)) = *it else {
                means.push("-".to_owned());
                margins.push(String::new());
                continue;
            };
            // A marked difference must visibly exclude zero.
            let is_seen = |decimals: &usize| rounded(mean.abs(), *decimals) > rounded(margin, *decimals);
            let decimals = if is_significant { (least..=MOST_DECIMALS).find(is_seen) } else { None };
            let decimals = decimals.unwrap_or(least);
            let star = if is_significant { "*" } else { "" };
            means.push(format!("{star}{mean:+.decimals$}"));
            margins.push(format!("±{margin:.decimals$}"));
        }
        align(&mut means);
        align(&mut margins);
        let width = margins.iter().map(|margin| margin.chars().count()).max().unwrap_or(0);
        let cells = means.iter().zip(&margins).map(|(mean, margin)| format!("{mean} {margin:>width$}"));
        Some(Shown { group, header: self.header, unit: "%", cells: cells.collect() })
    }
}

/// Most decimals of a difference.
const MOST_DECIMALS: usize = 9;
