//! What a comparison prints: one row a scheme, as tables for a terminal or as JSON for programs.
//!
//! The terminal gets rounded figures in units that fit, the columns split over as many tables as its width
//! asks for. JSON gets every total of every run, exact and under its own name.

use crate::digest::Digest;
use crate::error::Error;
use crate::figures::{Figure, Figures};
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

/// One run of a comparison.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The scheme's name.
    pub scheme: String,
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
            run_digest: run.inputs().digest(),
            results_digest: run.results_digest(),
            path: Some(run.path().to_owned()),
            totals: run.totals()?,
        })
    }
}

/// Several runs side by side, in the order given.
#[derive(Clone, Debug)]
pub struct Summary {
    entries: Vec<Entry>,
    columns: Vec<Shown>,
}

/// How a column's values are scaled for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Nanoseconds in the total.
    Time,
    /// A count, whole up to eight digits.
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
    /// Whether the least is the best. What the trace or the machine decides has no best.
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
        ranked("erases", "erase_blocks", Scale::Count),
        given("flash_program_pages", ranked("WA", "write_amplification", Scale::Ratio)),
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
        let mut columns = Vec::new();
        for (group, members) in GROUPS.iter().enumerate() {
            for column in *members {
                let values: Result<Vec<_>, _> = entries.iter().map(|entry| value(entry, column)).collect();
                let values = values?;
                let unknown = values.iter().all(Option::is_none) && group == GROUPS.len() - 1;
                let seldom = [FAILED, MOVED].contains(&column.of);
                let is_nothing = seldom && values.iter().all(|value| value.is_none_or(|value| value == 0.0));
                if !(unknown || is_nothing) {
                    columns.push(column.show(group, &values));
                }
            }
        }
        Ok(Self { entries, columns })
    }

    /// The comparison as text for a terminal of so many columns, ending in a line feed. The best of each
    /// column is marked with `*`.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        let mut columns = &self.columns[..];
        while !columns.is_empty() {
            let (now, then) = columns.split_at(self.fitting(columns, width));
            columns = then;
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&self.table(now).trim_fmt());
            text.push('\n');
        }
        if self.columns.iter().any(|column| column.cells.iter().any(|cell| cell.starts_with('*'))) {
            text.push_str("* best of its column\n");
        }
        text
    }

    /// How many of the columns fit into a table of that width, at least one; whole groups where a group fits.
    fn fitting(&self, columns: &[Shown], width: usize) -> usize {
        let schemes = self.entries.iter().map(|entry| entry.scheme.as_str());
        // Each column with a space before and one behind.
        let mut used = 2 + widest(schemes.chain(["scheme"]));
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

    fn table(&self, columns: &[Shown]) -> Table {
        let lines =
            TableStyle { row_separator: presets::NOTHING.row_separator, ..presets::UTF8_HORIZONTAL_ONLY };
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
        for (index, entry) in self.entries.iter().enumerate() {
            let cells = columns.iter().map(|column| column.cells[index].as_str());
            table.add_row([entry.scheme.as_str()].into_iter().chain(cells));
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            // The style's own space stands behind.
            column.set_padding((1, 0));
            column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
        }
        table
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
                "run_digest": entry.run_digest.to_string(),
                "results_digest": entry.results_digest.to_string(),
                "path": entry.path.as_ref().map(|path| path.display().to_string()),
                "requests_per_cpu_second": requests_per_cpu_second(&entry.totals),
                "totals": totals,
            })
        };
        json!({ "runs": self.entries.iter().map(run).collect::<Vec<_>>() })
    }
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
            Scale::Count => &[("", 1.0), ("million", 1e6), ("billion", 1e9)],
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
            Scale::Count => most < size * 1e8,
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
        let best = known().fold(f64::INFINITY, f64::min);
        let marks = self.ranked && known().any(|value| value > best);
        let cell = |value: &Option<f64>| {
            let Some(value) = value else { return "-".to_owned() };
            let text = grouped(value / size, decimals);
            if marks && *value == best { format!("*{text}") } else { text }
        };
        Shown { group, header: self.header, unit, cells: values.iter().map(cell).collect() }
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
