//! The output of a comparison: one row a scheme and setup, as tables for a terminal or as JSON for programs.
//!
//! The terminal gets means over the seeds with three significant digits, one unit for all times of a table, and the columns
//! split over as many tables as its width requires. With several seeds it also gets each scheme's differences from the
//! first, with intervals. JSON gets every total of every run, exact and under its own name, and the same differences.
//! Runs are joined only where they differ in nothing but their seed, and are compared seed by seed.

mod columns;
mod digits;
mod groups;
mod html;
mod scale;
mod table;

pub use digits::significant;
pub use scale::Unit;

use crate::digest::Digest;
use crate::error::Error;
use crate::figures::{Figure, Figures};
use crate::paired::{Difference, Kind, Pairs, Rate, Ratio, differences_at, margin_at};
use crate::settings::{self, Settings};
use crate::store::FinishedRun;
use crate::totals;
use columns::{Compared, GROUPS, SELDOM, SIMULATOR, real, requests_per_cpu_second, unit_of_times, value};
use groups::{Group, groups};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use table::{Shown, tables, wrap};

/// The measured total with the processor time of a run, from which its speed follows. Optional.
pub const CPU_NS: &str = "cpu_ns";

/// One run of a comparison.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The scheme's name.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// All settings. Runs of one scheme in which only the seed differs are joined.
    pub settings: Settings,
    /// The place of a write when it is acknowledged (members or a kind of memory), where that is known.
    pub acknowledges: Option<&'static str>,
    /// The digest of the inputs.
    pub run_digest: Digest,
    /// The digest of the results.
    pub results_digest: Digest,
    /// The directory of the tables, when they are on disk.
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
        Ok(Self::new(scheme, run, run.totals()?))
    }

    /// A run on disk whose totals were read already.
    pub fn new(scheme: &str, run: &FinishedRun, totals: Figures) -> Self {
        let inputs = run.inputs();
        let mut settings = settings::settings(inputs);
        let workload = inputs.workload.clone().unwrap_or_else(|| settings::workload_name(inputs));
        settings.insert(settings::WORKLOAD.to_owned(), workload);
        Self {
            scheme: scheme.to_owned(),
            seed: inputs.seed,
            settings,
            acknowledges: None,
            run_digest: inputs.digest(),
            results_digest: run.results_digest(),
            path: Some(run.path().to_owned()),
            totals,
        }
    }
}

/// What the schemes of a comparison are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The first scheme of the same setup.
    #[default]
    First,
    /// The first scheme of the same setup that acknowledges writes from the same place: a write in memory is answered sooner
    /// than one on the members, whatever else a scheme does.
    Acknowledgement,
}

/// Several runs side by side, in the order given. Runs that differ only in their seed are one row.
#[derive(Clone, Debug)]
pub struct Summary {
    entries: Vec<Entry>,
    groups: Vec<Group>,
    /// The group of each entry.
    rows: Vec<usize>,
    columns: Vec<Shown>,
    /// The differences of each group from its base, where there are several seeds.
    differences: Vec<Shown>,
    /// The same for programs: the group, the total, the effect.
    effects: Vec<(usize, &'static str, Compared)>,
    rate: Rate,
    /// Whether the text has the columns about the simulator itself.
    with_simulator: bool,
    /// Whether the text has only the columns that people look at first.
    is_brief: bool,
}

/// What stands below the means of a comparison.
enum Under<'a> {
    /// One row.
    Nothing,
    /// Why there are no intervals.
    Note(&'static str),
    /// The differences: their title, the names of their rows, and whether one is the same in all seeds.
    Effects { title: String, labels: Vec<&'a str>, has_same: bool },
}

/// What the mark of an effect that is the same in all seeds means.
const SAME_NOTE: &str = "= is the same in all seeds, which says nothing of chance.";

/// A total over the seeds of one row of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The index of the row's first run among the entries.
    pub run: usize,
    /// The name of the row: the scheme, and the settings that distinguish its setup from the others.
    pub label: String,
    /// The total's name.
    pub total: String,
    /// The number of seeds.
    pub seeds: usize,
    /// The mean over them, in the total's unit.
    pub mean: f64,
    /// Half the width of its 95 % interval (Student); none with one seed.
    pub margin: Option<f64>,
    /// The name of the row that it is compared with.
    pub first: Option<String>,
    /// The difference from that row, over the seeds that both have; none where these are fewer than two, or where the
    /// seeds change nothing.
    pub difference: Option<Difference>,
}

impl Summary {
    /// Compares runs.
    ///
    /// # Errors
    /// When one lacks a total that the comparison shows.
    pub fn new(entries: Vec<Entry>) -> Result<Self, Error> {
        Self::at(entries, Rate::FIXED, Base::First)
    }

    /// [`Self::new`] with another base, and with intervals of another error rate, as for a number of seeds that depends on
    /// their results.
    ///
    /// # Errors
    /// When one lacks a total that the comparison shows.
    pub fn at(entries: Vec<Entry>, rate: Rate, base: Base) -> Result<Self, Error> {
        let (groups, rows) = groups(&entries, base);
        let mut columns = Vec::new();
        let text = |header, of: &dyn Fn(&Group) -> String| Shown {
            group: 0,
            header,
            unit: "",
            cells: groups.iter().map(of).collect(),
            is_detail: false,
        };
        if groups.iter().any(|group| !group.runs.keys().eq(groups[0].runs.keys())) {
            columns.push(text("seeds", &Group::seeds));
        }
        if entries.iter().any(|entry| entry.acknowledges.is_some()) {
            columns.push(text("ack", &|group| group.acknowledges.unwrap_or("-").to_owned()));
        }
        let (mut differing, mut effects) = (Vec::new(), Vec::new());
        // By group and column: a value for each run, and a mean for each row.
        let of_runs =
            |column| entries.iter().map(|entry| value(entry, column)).collect::<Result<Vec<_>, _>>();
        let of_groups =
            GROUPS.iter().map(|members| members.iter().map(of_runs).collect::<Result<Vec<_>, _>>());
        let all = of_groups.collect::<Result<Vec<_>, _>>()?;
        let of_rows = |values: &Vec<_>| groups.iter().map(|group| mean(group, values)).collect();
        let means: Vec<Vec<Vec<Option<f64>>>> =
            all.iter().map(|members| members.iter().map(of_rows).collect()).collect();
        let times = unit_of_times(&means);
        for (group, ((members, all), means)) in GROUPS.iter().zip(&all).zip(&means).enumerate() {
            for ((column, values), means) in members.iter().zip(all).zip(means) {
                let unknown = means.iter().all(Option::is_none) && (column.is_recent || group == SIMULATOR);
                let seldom = SELDOM.contains(&column.of);
                let is_nothing = seldom && means.iter().all(|value| value.is_none_or(|value| value == 0.0));
                if unknown || is_nothing {
                    continue;
                }
                columns.push(column.show(group, means, times));
                if column.ranked && !seldom {
                    let found = compared(&groups, &entries, values, Kind::of(column.of), rate);
                    let of_compared: Vec<_> = found.iter().map(|(_, found)| *found).collect();
                    differing.extend(column.show_effects(group, &of_compared, times));
                    effects.extend(
                        found
                            .into_iter()
                            .filter_map(|(place, found)| found.map(|found| (place, column.of, found))),
                    );
                }
            }
        }
        Ok(Self {
            entries,
            groups,
            rows,
            columns,
            differences: differing,
            effects,
            rate,
            with_simulator: false,
            is_brief: false,
        })
    }

    /// Also shows how fast the simulator itself was.
    #[must_use]
    pub fn with_simulator(self, with_simulator: bool) -> Self {
        Self { with_simulator, ..self }
    }

    /// Shows only the columns that people look at first: response times, rates, and what flash pays for writes.
    #[must_use]
    pub fn brief(self, is_brief: bool) -> Self {
        Self { is_brief, ..self }
    }

    /// The name of the row of each run, in the order of the runs: the scheme, and the settings that distinguish its
    /// setup from the others.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|&row| self.groups[row].label.as_str())
    }

    /// The comparison as text for a terminal of this number of columns, with a final line feed. With several seeds it
    /// ends with the differences from the first scheme.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        let labels: Vec<&str> = self.groups.iter().map(|group| group.label.as_str()).collect();
        tables(&self.shown(), &labels, width, &mut text);
        match self.under() {
            Under::Nothing => {}
            Under::Note(note) => wrap(note, width, &mut text),
            Under::Effects { title, labels, has_same } => {
                text.push('\n');
                wrap(&title, width, &mut text);
                tables(&self.shown_differences(), &labels, width, &mut text);
                if has_same {
                    text.push_str(SAME_NOTE);
                    text.push('\n');
                }
            }
        }
        text
    }

    /// The columns of the means.
    fn shown(&self) -> Vec<Shown> {
        let is_shown = |column: &&Shown| self.with_simulator || column.group != SIMULATOR;
        self.columns.iter().filter(is_shown).filter(|column| self.has(column)).cloned().collect()
    }

    /// The columns of the differences.
    fn shown_differences(&self) -> Vec<Shown> {
        self.differences.iter().filter(|column| self.has(column)).cloned().collect()
    }

    fn has(&self, column: &Shown) -> bool {
        !(self.is_brief && column.is_detail)
    }

    /// What stands below the means.
    fn under(&self) -> Under<'_> {
        let compared: Vec<(&Group, &Group)> =
            self.groups.iter().filter_map(|group| Some((&self.groups[group.first?], group))).collect();
        if compared.is_empty() {
            return Under::Nothing;
        }
        let seeds = compared.iter().map(|(first, group)| group.pairs(first).count());
        let (fewest, most) = (seeds.clone().min().unwrap_or(0), seeds.max().unwrap_or(0));
        if self.differences.is_empty() {
            return Under::Note(if self.groups.iter().all(|group| group.runs.len() == 1) {
                "One seed: differences may be chance. With several seeds there are intervals."
            } else if most < 2 {
                "The rows share fewer than two seeds, so there are no intervals."
            } else {
                "The seeds changed nothing in these runs, so there are no intervals: one workload, one first state."
            });
        }
        let first = self.names_of_firsts(&compared);
        let count = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        let shared = match compared.len() {
            1 => String::new(),
            others => format!(" for all {others} together (Holm)"),
        };
        let title = format!(
            "Typical ratio to {first} (geometric mean of {count} seeds) as a change in %, ÷ or × beyond a factor of two, and its \
             95 % interval{shared}; * where that excludes 1:"
        );
        let labels = compared.iter().map(|(_, group)| group.label.as_str()).collect();
        let mut cells = self.differences.iter().flat_map(|column| &column.cells);
        let has_same = cells.any(|cell| cell.trim_end().ends_with(columns::SAME));
        Under::Effects { title, labels, has_same }
    }

    /// What the rows are compared with, in words.
    fn names_of_firsts(&self, compared: &[(&Group, &Group)]) -> String {
        let mut firsts: Vec<&Group> = Vec::new();
        for (first, _) in compared {
            if !firsts.iter().any(|known| std::ptr::eq(*known, *first)) {
                firsts.push(first);
            }
        }
        let promises: BTreeSet<_> = firsts.iter().map(|group| group.acknowledges).collect();
        let is_of_one_setup = |group: &&Group| group.setup == firsts[0].setup;
        let names = || firsts.iter().map(|group| group.label.as_str()).collect::<Vec<_>>().join(" or ");
        match firsts.len() {
            1 => names(),
            count if promises.len() == count && firsts.iter().all(is_of_one_setup) => {
                format!("the first scheme with the same ack, {}", names())
            }
            _ => "the first scheme of the same setup".to_owned(),
        }
    }

    /// The rows that no other row acknowledges like, where others have one: they are compared with nothing.
    pub fn lone(&self) -> Vec<&str> {
        let is_first = |place: usize| self.groups.iter().any(|group| group.first == Some(place));
        if !(0..self.groups.len()).any(is_first) {
            return Vec::new();
        }
        let rows = self.groups.iter().enumerate();
        let lone = rows.filter(|(place, group)| group.first.is_none() && !is_first(*place));
        lone.map(|(_, group)| group.label.as_str()).collect()
    }

    /// Totals over the seeds: for every row of the comparison, in order, those of `names` that all runs have, or all
    /// of them if no name is given. The rows share the error rate of a total's differences, as in the text.
    ///
    /// # Errors
    /// When a run lacks one of `names`.
    pub fn aggregates(&self, names: &[&str]) -> Result<Vec<Aggregate>, Error> {
        let has = |name: &str| self.entries.iter().all(|entry| entry.totals.get(name).is_some());
        let all = self.entries.first().into_iter().flat_map(|entry| entry.totals.iter());
        let all: Vec<&str> = all.map(|total| total.name.as_str()).filter(|name| has(name)).collect();
        let mut found = Vec::new();
        for name in if names.is_empty() { &all } else { names } {
            let missing =
                |entry: &Entry| Error::MissingTotal { run: entry.scheme.clone(), name: (*name).to_owned() };
            let of = |entry: &Entry| entry.totals.get(name).map(real).ok_or_else(|| missing(entry));
            let values: Vec<f64> = self.entries.iter().map(of).collect::<Result<_, _>>()?;
            let optional: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
            let mut differences = compared(&self.groups, &self.entries, &optional, Kind::of(name), self.rate)
                .into_iter()
                .peekable();
            for (place, group) in self.groups.iter().enumerate() {
                let own: Vec<f64> = group.runs.values().map(|&run| values[run]).collect();
                let difference = differences.next_if(|(of, _)| *of == place).and_then(|(_, found)| found);
                found.push((
                    place,
                    Aggregate {
                        run: group.runs.values().copied().min().unwrap_or(0),
                        label: group.label.clone(),
                        total: (*name).to_owned(),
                        seeds: own.len(),
                        mean: own.iter().sum::<f64>() / own.len() as f64,
                        margin: margin_at(&own, self.rate, 1),
                        first: group.first.map(|first| self.groups[first].label.clone()),
                        difference: difference.map(|found| found.difference),
                    },
                ));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, aggregate)| aggregate).collect())
    }

    /// The rows whose array falls behind its trace with any seed, each with the most: the window over the time of the arrivals.
    pub fn behind(&self) -> Vec<(&str, f64)> {
        let most = |group: &Group| {
            let of = |run: &usize| self.entries[*run].totals.get(totals::BEHIND).map(real);
            group.runs.values().filter_map(of).fold(0.0, f64::max)
        };
        let all = self.groups.iter().map(|group| (group.label.as_str(), most(group)));
        all.filter(|(_, most)| *most > totals::FALLS_BEHIND).collect()
    }

    /// The comparison for programs: every total of every run, in the units in their names. A real number that is not
    /// finite is null.
    pub fn json(&self) -> Value {
        let run = |(entry, &row): (&Entry, &usize)| {
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
                "setup": self.groups[row].setup.join(", "),
                "seed": entry.seed,
                "acknowledges": entry.acknowledges,
                "run_digest": entry.run_digest.to_string(),
                "results_digest": entry.results_digest.to_string(),
                "path": entry.path.as_ref().map(|path| path.display().to_string()),
                "requests_per_cpu_second": requests_per_cpu_second(&entry.totals),
                "totals": totals,
            })
        };
        let difference = |(group, total, found): &(usize, &str, Compared)| {
            let group = &self.groups[*group];
            let Compared { first, other, difference: it } = found;
            let ratio = |of: fn(&Ratio) -> f64| it.ratio.as_ref().map(of);
            json!({
                "scheme": group.scheme,
                "setup": group.setup.join(", "),
                "first": group.first.map(|first| &self.groups[first].label),
                "total": total,
                "kind": Kind::of(total).name(),
                "ratio": ratio(|it| it.typical),
                "ratio_low": ratio(|it| it.low),
                "ratio_high": ratio(|it| it.high),
                "ratio_of_means": it.ratio.map(|_| other / first),
                "mean_of_first": first,
                "difference": it.mean,
                "low": it.mean - it.margin,
                "high": it.mean + it.margin,
                "same_in_all_seeds": it.is_constant,
                "significant": it.is_significant,
            })
        };
        json!({
            "id": id(&self.entries),
            "runs": self.entries.iter().zip(&self.rows).map(run).collect::<Vec<_>>(),
            "differences": self.effects.iter().map(difference).collect::<Vec<_>>(),
        })
    }
}

/// A short id of the results of runs, whatever their order: equal ids are equal results.
pub fn id(entries: &[Entry]) -> String {
    let mut all: Vec<Digest> = entries.iter().map(|entry| entry.results_digest).collect();
    all.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    all.iter().for_each(|digest| _ = hasher.update(&digest.0));
    Digest(hasher.finalize().into()).short()
}

/// For each compared group, from the values of all runs: its index, and over the seeds that both have the effect and
/// the means. None where a value is missing, and where the seeds change nothing: equal results would
/// make every interval a point.
fn compared(
    groups: &[Group],
    entries: &[Entry],
    values: &[Option<f64>],
    kind: Kind,
    rate: Rate,
) -> Vec<(usize, Option<Compared>)> {
    let varies = |mut runs: Box<dyn Iterator<Item = usize> + '_>| {
        let first = runs.next().map(|run| entries[run].results_digest);
        runs.any(|run| Some(entries[run].results_digest) != first)
    };
    let samples = |group: &Group| -> Option<Pairs> {
        let first = &groups[group.first?];
        let has_varied = varies(Box::new(group.pairs(first).map(|(_, run)| run)))
            || varies(Box::new(group.pairs(first).map(|(run, _)| run)));
        if !has_varied {
            return None;
        }
        group.pairs(first).map(|(first, run)| Some((values[first]?, values[run]?))).collect()
    };
    let places: Vec<usize> = (0..groups.len()).filter(|&place| groups[place].first.is_some()).collect();
    let pairs: Vec<Option<Pairs>> = places.iter().map(|&place| samples(&groups[place])).collect();
    let complete: Vec<&Pairs> = pairs.iter().flatten().collect();
    let mut found = differences_at(&complete, kind, rate).into_iter();
    let of = |pairs: &Option<Pairs>| {
        let pairs = pairs.as_ref()?;
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
        let (first, other) = (mean(|pair| pair.0), mean(|pair| pair.1));
        found.next().flatten().map(|difference| Compared { first, other, difference })
    };
    places.into_iter().zip(pairs.iter().map(of).collect::<Vec<_>>()).collect()
}

/// The mean of a group's values; none where a run has no value.
fn mean(group: &Group, values: &[Option<f64>]) -> Option<f64> {
    let sum: Option<f64> = group.runs.values().map(|&run| values[run]).sum();
    sum.map(|sum| sum / group.runs.len() as f64)
}
