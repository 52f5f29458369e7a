//! How many seeds a point gets, and what a failed run means.

use std::time::Duration;

use stripewise_base::suggest;
use stripewise_base::units::{Bytes, Span};
use stripewise_results::paired::Kind;
use stripewise_results::replicate::{Narrow, Of, Rule};
use stripewise_results::totals::TOTALS;

use crate::error::Error;
use crate::text::{Item, Section};

/// Why seeds cannot end by the interval of a figure that has none.
pub const BARE: &str =
    "the largest of many values has no interval over a few seeds; take a percentile, as in p999_ns";

/// The figure that tables show if the file names none.
const FIGURE: &str = "response_mean_ns";
/// The seeds of a point.
#[derive(Clone, Debug)]
pub struct Replicate {
    /// The first seed.
    pub first: u64,
    /// When the seeds end.
    pub rule: Rule,
    /// The figure whose intervals decide.
    pub figure: String,
    /// What the intervals are of.
    pub of: Of,
}

impl Default for Replicate {
    fn default() -> Self {
        let rule = Rule::fixed(Self::SEEDS, Self::CONFIDENCE).expect("five seeds at 95 % are a rule");
        Self { first: 1, rule, figure: FIGURE.to_owned(), of: Of::Means }
    }
}

impl Replicate {
    /// Seeds of a point, and between two looks at its intervals, if the file does not say.
    pub const SEEDS: u32 = 5;
    /// The most seeds of a point whose intervals stay wide, if the file does not say.
    pub const MOST: u32 = 60;
    /// The confidence of intervals if the file does not say.
    pub const CONFIDENCE: f64 = 0.95;

    pub(crate) fn read(section: &Section<'_>, schemes: &[String]) -> Result<Self, Error> {
        section.only(&["first", "seeds", "least", "most", "batch", "until"])?;
        let mut replicate = Self::default();
        if let Some(first) = section.get("first") {
            replicate.first = first.parsed()?;
        }
        let Some(until) = section.get("until") else {
            if let Some(item) = ["least", "most", "batch"].iter().find_map(|key| section.get(key)) {
                let remedy = "say `until` when the seeds end, or give their number: seeds = 5";
                return Err(item.refuse_key(format!("`{}` needs `until`: {remedy}", item.key)));
            }
            if let Some(seeds) = section.get("seeds") {
                replicate.rule =
                    Rule::fixed(seeds.count(1)?, Self::CONFIDENCE).map_err(|error| seeds.refuse(error))?;
            }
            return Ok(replicate);
        };
        if let Some(seeds) = section.get("seeds") {
            return Err(seeds.refuse_key("with `until`, give `least` and `most` in place of `seeds`"));
        }
        let table = until.section()?;
        table.only(&["figure", "relative", "absolute", "confidence", "paired_with"])?;
        let figure = table.get("figure").ok_or_else(|| until.refuse("`until` needs a `figure`"))?;
        replicate.figure = figure_of(&figure.string()?).map_err(|message| figure.refuse(message))?;
        if Kind::of(&replicate.figure) == Kind::Bare && table.get("paired_with").is_some() {
            return Err(figure.refuse(BARE));
        }
        let narrow = match (table.get("relative"), table.get("absolute")) {
            (Some(width), None) => Narrow::Relative(width.real()?),
            (None, Some(width)) => Narrow::Absolute(width.real()?),
            _ => {
                return Err(
                    until.refuse("`until` needs either `relative` or `absolute`, as in relative = 0.05")
                );
            }
        };
        replicate.of = match table.get("paired_with") {
            Some(item) => Of::DifferencesFrom(place(item, schemes)?),
            None => Of::Means,
        };
        let count = |key: &str, default| section.get(key).map_or(Ok(default), |item| item.count(1));
        let (least, batch) = (count("least", Self::SEEDS)?, count("batch", Self::SEEDS)?);
        let most = count("most", Self::MOST)?;
        let confidence = table.get("confidence").map_or(Ok(Self::CONFIDENCE), Item::real)?;
        let rule = Rule::until(narrow, confidence, least, batch, most);
        replicate.rule = rule.map_err(|message| until.refuse(message))?;
        Ok(replicate)
    }

    /// How values of the figure are compared.
    pub fn kind(&self) -> Kind {
        Kind::of(&self.figure)
    }

    /// Everything that decides the seeds, for the digest of a plan.
    pub(crate) fn canonical(&self) -> String {
        format!("{} {:?} {} {:?}", self.first, self.rule, self.figure, self.of)
    }
}

/// The total of that name.
///
/// # Errors
/// The nearest name, if there is none.
pub fn figure_of(name: &str) -> Result<String, String> {
    let known: Vec<&str> = TOTALS.iter().map(|(total, _)| *total).collect();
    let full = [name.to_owned(), format!("response_{name}")];
    // Most figures are times, whose unit is easily left out.
    let in_ns = full.iter().map(|full| format!("{full}_ns")).find(|full| known.contains(&full.as_str()));
    let near = in_ns.as_deref().or_else(|| suggest::nearest(name, known.iter().copied()));
    let found = full.iter().find(|full| known.contains(&full.as_str())).cloned();
    found.ok_or_else(|| match near {
        Some(near) => format!("unknown figure `{name}`; did you mean `{near}`?"),
        None => format!("unknown figure `{name}`; a figure is a total of a run, as in response_p99_ns"),
    })
}

fn place(item: &Item<'_>, schemes: &[String]) -> Result<usize, Error> {
    let name = item.string()?;
    let known: Vec<&str> = schemes.iter().map(String::as_str).collect();
    let found = schemes.iter().position(|scheme| *scheme == name);
    found.ok_or_else(|| item.refuse(suggest::unknown("scheme of [compare]", &name, &known)))
}

/// When failed runs end a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopAfter {
    /// Never.
    Never,
    /// After this share of the runs that were tried, in parts of one.
    Share(f64),
    /// After this number of runs.
    Runs(u64),
}

/// What a failed run means.
#[derive(Clone, Debug, PartialEq)]
pub struct Fail {
    /// How often a failed run is tried again.
    pub retries: u32,
    /// When the study stops.
    pub stop_after: StopAfter,
    /// The longest time of a run.
    pub run_limit: Option<Duration>,
    /// The most memory of a worker process of the command, in bytes of address space.
    pub memory: Option<u64>,
}

impl Default for Fail {
    fn default() -> Self {
        Self { retries: 2, stop_after: StopAfter::Never, run_limit: None, memory: None }
    }
}

/// The least memory of a worker: its program, stacks and heap without a run.
const MEMORY_LEAST: u64 = 256 << 20;
/// A time of runs and files, whose units reach to hours; those of devices end at seconds.
///
/// # Errors
/// What was expected.
pub fn long_time(text: &str) -> Result<Duration, String> {
    let seconds = [("h", 3600), ("min", 60)].into_iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(unit)?.trim().parse::<u64>().ok()?;
        number.checked_mul(seconds).map(Duration::from_secs)
    });
    let span = || text.parse::<Span>().map(|span| Duration::from_nanos(span.0));
    seconds.map_or_else(span, Ok).map_err(|error| format!("{error}, 10min or 1h"))
}

/// Runs that must have been tried before a share of them counts.
const SHARE_OF: u64 = 20;

impl Fail {
    pub(crate) fn read(section: &Section<'_>) -> Result<Self, Error> {
        section.only(&["retries", "on_error", "stop_after", "run_limit", "memory"])?;
        let mut fail = Self::default();
        if let Some(item) = section.get("retries") {
            fail.retries = item.count(0)?;
        }
        match section.get("on_error").map(|item| Ok::<_, Error>((item, item.string()?))).transpose()? {
            None => {}
            Some((_, text)) if text == "continue" => {}
            Some((_, text)) if text == "stop" => fail.stop_after = StopAfter::Runs(0),
            Some((item, _)) => return Err(item.refuse("`on_error` is \"continue\" or \"stop\"")),
        }
        if let Some(item) = section.get("stop_after") {
            let text = item.plain()?;
            let expected =
                || item.refuse("`stop_after`: expected a share or a number of runs, as in \"5%\" or 100");
            fail.stop_after = match text.strip_suffix('%') {
                Some(share) => {
                    let share =
                        share.trim().parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
                    StopAfter::Share(share.ok_or_else(expected)? / 100.0)
                }
                None => StopAfter::Runs(text.parse().map_err(|_| expected())?),
            };
        }
        if let Some(item) = section.get("run_limit") {
            let limit = long_time(&item.string()?);
            fail.run_limit = Some(limit.map_err(|error| item.refuse(format!("`run_limit`: {error}")))?);
        }
        if let Some(item) = section.get("memory") {
            let Bytes(memory) = item.parsed()?;
            if memory < MEMORY_LEAST {
                return Err(item.refuse(format!("`memory`: a worker alone takes {}", Bytes(MEMORY_LEAST))));
            }
            fail.memory = Some(memory);
        }
        Ok(fail)
    }

    /// Whether `failed` runs of `tried` ones end the study.
    pub fn ends(&self, failed: u64, tried: u64) -> bool {
        match self.stop_after {
            StopAfter::Never => false,
            StopAfter::Runs(runs) => failed > runs,
            StopAfter::Share(share) => tried >= SHARE_OF && failed as f64 > share * tried as f64,
        }
    }
}
