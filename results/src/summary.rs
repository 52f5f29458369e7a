//! What a comparison prints: one row a scheme, as tables for a terminal or as JSON for programs.
//!
//! The terminal gets means over the seeds, one unit a column and three significant digits, the columns split over as many
//! tables as its width asks for; and where there are several seeds, each scheme's differences from the first, with intervals.
//! JSON gets every total of every run, exact and under its own name, and the same differences.

use crate::digest::Digest;
use crate::error::Error;
use crate::figures::{Figure, Figures};
use crate::paired::{Difference, differences};
use crate::store::FinishedRun;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle, presets};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// The measured total that tells the processor time of a run, from which its speed follows. Optional.
pub const CPU_NS: &str = "cpu_ns";
/// Host requests acknowledged.
const REQUESTS: &str = "requests";
/// Host requests that failed; shown only where there are any.
const FAILED: &str = "failed_requests";
/// The total of chunks that array-level garbage collection moved.
const MOVED: &str = "array_gc_moved_chunks";
/// The total of pages that were written behind the last request.
const DRAINED: &str = "drained_pages";

/// One run of a comparison.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The scheme's name.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// What has a write when it is acknowledged, where that is known.
    pub acknowledges: Option<&'static str>,
    /// What was run.
    pub run_digest: Digest,
    /// What came out.
    pub results_digest: Digest,
    /// Where the tables are, when they are on disk.
    pub path: Option<PathBuf>,
    /// The totals.
    pub totals: Figures,
}

impl Entry {
    /// A run on disk.
    ///
    /// # Errors
    /// When its totals cannot be read.
    pub fn of(scheme: &str, run: &FinishedRun) -> Result<Self, Error> {
        Ok(Self {
            scheme: scheme.to_owned(),
            seed: run.inputs().seed,
            acknowledges: None,
            run_digest: run.inputs().digest(),
            results_digest: run.results_digest(),
            path: Some(run.path().to_owned()),
            totals: run.totals()?,
        })
    }
}

/// Several runs side by side, in the order given. Those of one scheme are its seeds.
#[derive(Clone, Debug)]
pub struct Summary {
    entries: Vec<Entry>,
    /// The schemes, each with the places of its runs among the entries, by seed.
    schemes: Vec<(String, Vec<usize>)>,
    columns: Vec<Shown>,
    /// Of each scheme behind the first, where there are several seeds.
    differences: Vec<Shown>,
    /// The same for programs: scheme, total, the first scheme's mean, the difference.
    told: Vec<(String, &'static str, f64, Difference)>,
}

/// How a column's values are scaled for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Nanoseconds in the total.
    Time,
    /// A count, whole below 100,000.
    Count,
    /// A plain number.
    Ratio,
    /// A share of one, in percent.
    Share,
    /// Per second.
    Rate,
}

/// A column of the comparison.
struct Column {
    header: &'static str,
    /// Name of the total.
    of: &'static str,
    scale: Scale,
    /// Whether a scheme's difference from the first is shown. What the trace or the machine decides has none.
    ranked: bool,
    /// Name of a count without which there is nothing to show: a mean over no reads.
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

/// The columns, in groups that stay in one table where they can.
const GROUPS: [&[Column]; 3] = [
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
        given("write_requests", ranked("programs/ page", "programs_per_host_page", Scale::Ratio)),
        ranked("erases", "erase_blocks", Scale::Count),
        column("drained pages", "drained_pages", Scale::Count),
    ],
    &[
        column("simulated", "simulated_ns", Scale::Time),
        column("processor", CPU_NS, Scale::Time),
        column("speed", "requests_per_cpu_second", Scale::Rate),
    ],
];

/// A column with the runs' values, ready to print.
#[derive(Clone, Debug)]
struct Shown {
    group: usize,
    header: &'static str,
    unit: &'static str,
    cells: Vec<String>,
}

impl Summary {
    /// Compares runs.
    ///
    /// # Errors
    /// When one lacks a total that the comparison shows.
    pub fn new(entries: Vec<Entry>) -> Result<Self, Error> {
        let schemes = schemes(&entries);
        let mut columns = Vec::new();
        if entries.iter().any(|entry| entry.acknowledges.is_some()) {
            let of =
                |(_, runs): &(String, Vec<usize>)| entries[runs[0]].acknowledges.unwrap_or("-").to_owned();
            columns.push(Shown {
                group: 0,
                header: "ack",
                unit: "",
                cells: schemes.iter().map(of).collect(),
            });
        }
        let varies = schemes.first().is_some_and(|(_, runs)| differ(runs, &entries));
        let (mut differing, mut told) = (Vec::new(), Vec::new());
        for (group, members) in GROUPS.iter().enumerate() {
            for column in *members {
                let values: Result<Vec<_>, _> = entries.iter().map(|entry| value(entry, column)).collect();
                let values = values?;
                let means: Vec<Option<f64>> = schemes.iter().map(|(_, runs)| mean(runs, &values)).collect();
                let unknown = means.iter().all(Option::is_none) && group == GROUPS.len() - 1;
                let seldom = [FAILED, MOVED, DRAINED].contains(&column.of);
                let is_nothing = seldom && means.iter().all(|value| value.is_none_or(|value| value == 0.0));
                if unknown || is_nothing {
                    continue;
                }
                columns.push(column.show(group, &means));
                if varies && column.ranked && !seldom {
                    let found = column.differences(&schemes, &values);
                    differing.extend(column.show_differences(group, means[0], &found));
                    let named = schemes[1..].iter().zip(&found);
                    told.extend(named.filter_map(|((scheme, _), difference)| {
                        Some((scheme.clone(), column.of, means[0]?, (*difference)?))
                    }));
                }
            }
        }
        Ok(Self { entries, schemes, columns, differences: differing, told })
    }

    /// The comparison as text for a terminal of so many columns, ending in a line feed. Behind it, where there are several
    /// seeds, the differences from the first scheme.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        let names: Vec<&str> = self.schemes.iter().map(|(scheme, _)| scheme.as_str()).collect();
        tables(&self.columns, &names, width, &mut text);
        let Some(((first, runs), others)) = self.schemes.split_first() else { return text };
        if others.is_empty() {
            return text;
        }
        if self.differences.is_empty() {
            let note = match runs.len() {
                1 => "One seed: differences may be chance. With several seeds there are intervals.",
                _ => {
                    "The seeds changed nothing in these runs, so there are no intervals: one workload, one first state."
                }
            };
            wrap(note, width, &mut text);
            return text;
        }
        let shared = if others.len() > 1 {
            format!(" for all {} together (Holm)", others.len())
        } else {
            String::new()
        };
        text.push('\n');
        let title = format!(
            "Difference from {first} in % of it, mean of {} seeds and 95 % interval{shared}; * where it excludes zero:",
            runs.len()
        );
        wrap(&title, width, &mut text);
        tables(&self.differences, &names[1..], width, &mut text);
        text
    }

    /// The comparison for programs: every total of every run, in the units that their names say. A real
    /// number that is not finite is null.
    pub fn json(&self) -> Value {
        let run = |entry: &Entry| {
            let mut totals = Map::new();
            for total in entry.totals.iter() {
                let value = match total.value {
                    Figure::Count(count) => count.into(),
                    Figure::Real(real) => real.into(),
                };
                totals.insert(total.name.clone(), value);
            }
            json!({
                "scheme": entry.scheme,
                "seed": entry.seed,
                "acknowledges": entry.acknowledges,
                "run_digest": entry.run_digest.to_string(),
                "results_digest": entry.results_digest.to_string(),
                "path": entry.path.as_ref().map(|path| path.display().to_string()),
                "requests_per_cpu_second": requests_per_cpu_second(&entry.totals),
                "totals": totals,
            })
        };
        let difference = |(scheme, total, first, it): &(String, &str, f64, Difference)| {
            json!({
                "scheme": scheme,
                "total": total,
                "mean_of_first": first,
                "difference": it.mean,
                "low": it.mean - it.margin,
                "high": it.mean + it.margin,
                "significant": it.is_significant,
            })
        };
        json!({
            "runs": self.entries.iter().map(run).collect::<Vec<_>>(),
            "differences": self.told.iter().map(difference).collect::<Vec<_>>(),
        })
    }
}

/// The schemes in the order of their first runs, each with the places of its runs.
fn schemes(entries: &[Entry]) -> Vec<(String, Vec<usize>)> {
    let mut schemes: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        match schemes.iter_mut().find(|(scheme, _)| *scheme == entry.scheme) {
            Some((_, runs)) => runs.push(place),
            None => schemes.push((entry.scheme.clone(), vec![place])),
        }
    }
    schemes
}

/// Whether runs of one scheme had different results: equal ones would make every interval a point.
fn differ(runs: &[usize], entries: &[Entry]) -> bool {
    runs.iter().any(|&run| entries[run].results_digest != entries[runs[0]].results_digest)
}

/// The mean of the values of `runs`; none where one of them has none.
fn mean(runs: &[usize], values: &[Option<f64>]) -> Option<f64> {
    let sum: Option<f64> = runs.iter().map(|&run| values[run]).sum();
    sum.map(|sum| sum / runs.len() as f64)
}

/// The columns as one table under the other, none wider than `width` if a column fits.
fn tables(mut columns: &[Shown], schemes: &[&str], width: usize, text: &mut String) {
    while !columns.is_empty() {
        let (now, then) = columns.split_at(fitting(columns, schemes, width));
        columns = then;
        if !text.is_empty() && !text.ends_with(":\n") {
            text.push('\n');
        }
        text.push_str(&table(now, schemes).trim_fmt());
        text.push('\n');
    }
}

/// How many of the columns fit into a table of that width, at least one; whole groups where a group fits.
fn fitting(columns: &[Shown], schemes: &[&str], width: usize) -> usize {
    // Each column with a space before and one behind.
    let mut used = 2 + widest(schemes.iter().copied().chain(["scheme"]));
    let fits = |column: &&Shown| {
        let words = column.header.split(' ').chain([column.unit]);
        used += 2 + widest(column.cells.iter().map(String::as_str).chain(words));
        used <= width
    };
    let fitting = columns.iter().take_while(fits).count().max(1);
    if fitting == columns.len() {
        return fitting;
    }
    let starts_group = |&index: &usize| columns[index].group != columns[index - 1].group;
    (1..=fitting).rev().find(starts_group).unwrap_or(fitting)
}

fn table(columns: &[Shown], schemes: &[&str]) -> Table {
    let lines = TableStyle { row_separator: presets::NOTHING.row_separator, ..presets::UTF8_HORIZONTAL_ONLY };
    let mut table = Table::new();
    table.load_style(lines).set_content_arrangement(ContentArrangement::Disabled);
    // Titles end on one line, units stand below.
    let words = columns.iter().map(|column| column.header.split(' ').count()).max().unwrap_or(1);
    let header = |column: &Shown| {
        let above = "\n".repeat(words - column.header.split(' ').count());
        format!("{above}{}\n{}", column.header.replace(' ', "\n"), column.unit)
    };
    table.set_header(
        [format!("{}scheme", "\n".repeat(words - 1))].into_iter().chain(columns.iter().map(header)),
    );
    for (index, scheme) in schemes.iter().enumerate() {
        let cells = columns.iter().map(|column| column.cells[index].as_str());
        table.add_row([*scheme].into_iter().chain(cells));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        // The style's own space stands behind.
        column.set_padding((1, 0));
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
}

/// Adds `text` in lines of at most `width` columns, broken at spaces, each ending in a line feed.
fn wrap(text: &str, width: usize, into: &mut String) {
    let mut used = 0;
    for word in text.split(' ') {
        let wide = word.chars().count();
        if used > 0 && used + 1 + wide > width {
            into.push('\n');
            used = 0;
        }
        if used > 0 {
            into.push(' ');
            used += 1;
        }
        into.push_str(word);
        used += wide;
    }
    into.push('\n');
}

fn widest<'a>(cells: impl Iterator<Item = &'a str>) -> usize {
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// The value of a column for a run; none when there is nothing to show.
fn value(entry: &Entry, column: &Column) -> Result<Option<f64>, Error> {
    let total = |name: &'static str| {
        let missing = || Error::MissingTotal { run: entry.scheme.clone(), name };
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

fn requests_per_cpu_second(totals: &Figures) -> Option<f64> {
    let (requests, ns) = (real(totals.get(REQUESTS)?), real(totals.get(CPU_NS)?));
    (ns > 0.0).then(|| requests * 1e9 / ns)
}

/// Counts above 2^53 are rounded: far below what is shown.
fn real(figure: Figure) -> f64 {
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

    /// Unit and decimals that give the least of a column's values about three digits, and no value more than
    /// eight.
    fn fit(self, least: f64, most: f64) -> (&'static str, f64, usize) {
        let units = self.units();
        let fits = |size: f64| match self {
            Scale::Count if size == 1.0 => least < 1e3 || most < 1e5,
            _ => least < size * 1e3 && most < size * 1e8,
        };
        let (unit, size) =
            units.iter().copied().find(|(_, size)| fits(*size)).unwrap_or(units[units.len() - 1]);
        let decimals = match least / size {
            _ if unit.is_empty() && self == Scale::Count || unit == "ns" => 0,
            least if least < 1.0 && self == Scale::Ratio => 4,
            least if least < 10.0 => 2,
            least if least < 100.0 => 1,
            _ => 0,
        };
        (unit, size, decimals)
    }
}

impl Column {
    fn show(&self, group: usize, values: &[Option<f64>]) -> Shown {
        let known = || values.iter().flatten().copied();
        let least_but_zero = known().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let most = known().fold(0.0, f64::max);
        let (unit, size, decimals) = self.scale.fit(least_but_zero.min(most), most);
        let cell =
            |value: &Option<f64>| value.map_or("-".to_owned(), |value| grouped(value / size, decimals));
        Shown { group, header: self.header, unit, cells: values.iter().map(cell).collect() }
    }

    /// Of each scheme behind the first, by the values of all runs.
    fn differences(
        &self,
        schemes: &[(String, Vec<usize>)],
        values: &[Option<f64>],
    ) -> Vec<Option<Difference>> {
        let sample = |(_, runs): &(String, Vec<usize>)| runs.iter().map(|&run| values[run]).collect();
        let samples: Vec<Option<Vec<f64>>> = schemes.iter().map(sample).collect();
        let others = schemes.len() - 1;
        let Some(first) = &samples[0] else { return vec![None; others] };
        // A scheme of which a run is missing is not compared.
        let pairs =
            |sample: &&Option<Vec<f64>>| sample.as_ref().is_some_and(|sample| sample.len() == first.len());
        let complete: Vec<Vec<f64>> = samples[1..].iter().filter(pairs).flatten().cloned().collect();
        let mut found = differences(first, &complete).into_iter();
        samples[1..].iter().map(|sample| if pairs(&sample) { found.next().flatten() } else { None }).collect()
    }

    /// Differences in percent of the first scheme's mean. None where no scheme has one.
    fn show_differences(
        &self,
        group: usize,
        first: Option<f64>,
        found: &[Option<Difference>],
    ) -> Option<Shown> {
        let first = first.filter(|&first| first != 0.0)?;
        let percent = |value: f64| value / first * 100.0;
        let largest = |difference: &Difference| percent(difference.mean.abs() + difference.margin);
        let most = found
            .iter()
            .flatten()
            .map(largest)
            .fold(None, |most: Option<f64>, it| Some(most.map_or(it, |most| most.max(it))))?;
        let decimals = if most < 10.0 { 2 } else { usize::from(most < 100.0) };
        let cell = |difference: &Option<Difference>| {
            let Some(Difference { mean, margin, is_significant }) = *difference else {
                return "-".to_owned();
            };
            let star = if is_significant { "*" } else { "" };
            format!("{star}{:+.decimals$} ±{:.decimals$}", percent(mean), percent(margin))
        };
        Some(Shown { group, header: self.header, unit: "%", cells: found.iter().map(cell).collect() })
    }
}

/// A number with a comma at every third digit before the point.
fn grouped(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}
