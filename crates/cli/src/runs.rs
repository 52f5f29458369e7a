//! `stripewise runs`: lists the runs of a directory of results. Finds runs by the beginning of their digests.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use clap::Args as ClapArgs;
use serde_json::Value;
use stripewise_results::settings::{self, Settings};
use stripewise_results::summary::{Unit, significant};
use stripewise_results::{Figure, Figures, FinishedRun, Store};
use stripewise_study::is_bucket;

use crate::context::Context;
use crate::examples::{Example, section};
use crate::failure::{Failure, Outcome};
use crate::place::Place;
use crate::table::Table;

/// The directory of results that commands use if none is given.
pub(crate) const STORE: &str = "stripewise-results";

const EXAMPLES: &[Example] = &[
    ("stripewise runs", "the runs in stripewise-results, the newest first"),
    ("stripewise runs stripewise-results --scheme bpu", "some of them"),
    ("stripewise runs --json", "every setting of every run, as JSON"),
];

/// List the runs of a directory of results
///
/// Each row has the first digits of a run's digest, as many as distinguish it here. Commands that take a run take these digits:
/// `stripewise report 55997526`. A run is named by its scheme and its workload; if several runs have the same names, the last
/// column has the settings in which they differ. The newest runs come first.
#[derive(Debug, ClapArgs)]
#[command(after_help = section(EXAMPLES))]
pub(crate) struct Args {
    /// The results: a directory, or a URL as in s3://BUCKET/PREFIX
    #[arg(value_name = "STORE", default_value = STORE)]
    store: PathBuf,

    /// List only runs with this in the scheme's name
    #[arg(long, value_name = "TEXT", help_heading = "Filters")]
    scheme: Option<String>,

    /// List only runs with this in the workload's name
    #[arg(long, value_name = "TEXT", help_heading = "Filters")]
    workload: Option<String>,

    /// Print JSON: whole digests, directories, and all settings
    #[arg(long, help_heading = "Results")]
    json: bool,
}

/// A run with its names.
struct Listed {
    run: FinishedRun,
    digest: String,
    finished: DateTime<Utc>,
    scheme: String,
    workload: String,
    settings: Settings,
}

impl Listed {
    fn of(run: FinishedRun) -> Outcome<Self> {
        let settings = settings::settings(run.inputs());
        let name = run.inputs().workload.clone();
        Ok(Self {
            digest: run.inputs().digest().to_string(),
            finished: run.finished_at()?.into(),
            scheme: settings.get("scheme.name").cloned().unwrap_or_else(|| "-".to_owned()),
            workload: name.unwrap_or_else(|| settings::workload_name(run.inputs())),
            settings,
            run,
        })
    }
}

pub(crate) fn run(args: Args, context: &mut Context<'_>) -> Outcome {
    let place = Place::open(&args.store)?;
    if let Place::Directory(directory) = &place {
        must_be_there(directory)?;
    }
    let runs = place.runs()?;
    let digits = digits(runs.iter().map(|run| run.inputs().digest().to_string()));
    let mut listed = runs.into_iter().map(Listed::of).collect::<Outcome<Vec<_>>>()?;
    let has = |name: &str, text: &Option<String>| text.as_ref().is_none_or(|text| name.contains(text));
    listed.retain(|run| has(&run.scheme, &args.scheme) && has(&run.workload, &args.workload));
    listed.sort_by(|a, b| {
        let key = |run: &Listed| (Reverse(run.finished), run.scheme.clone(), run.run.inputs().seed);
        key(a).cmp(&key(b))
    });
    if listed.is_empty() && !args.json {
        return Err(Failure::failed(format!(
            "{}: there is no such run; make some, as with `stripewise compare`",
            args.store.display()
        )));
    }
    let apart = differences(&listed);
    if args.json {
        let all = listed.iter().zip(&apart).map(|(run, apart)| object(run, apart, &place));
        return context.json(&all.collect::<Outcome<Vec<_>>>()?);
    }
    let is_apart = apart.iter().any(|apart| !apart.is_empty());
    let totals = listed.iter().map(|run| Ok(run.run.totals()?)).collect::<Outcome<Vec<_>>>()?;
    let means: Vec<Option<f64>> = totals.iter().map(mean).collect();
    let unit = Unit::of(means.iter().flatten().map(|mean| (MEAN, *mean)));
    let mean_in = format!("mean_{}", unit.name);
    let mut heads = vec!["run", "finished", "scheme", "workload", "seed", "requests", &mean_in];
    if is_apart {
        heads.push("differs_in");
    }
    let mut table = Table::new(&heads);
    for (((run, apart), mean), totals) in listed.iter().zip(&apart).zip(means).zip(&totals) {
        let total = |name: &str| totals.get(name);
        let requests = match total("requests") {
            Some(Figure::Count(count)) => count.into(),
            _ => "-".into(),
        };
        let mean = mean.map_or("-".to_owned(), |mean| significant(mean / unit.size)).into();
        let mut row: Vec<Value> = vec![
            run.digest[..digits].into(),
            run.finished.format("%Y-%m-%d %H:%M").to_string().into(),
            run.scheme.clone().into(),
            run.workload.clone().into(),
            run.run.inputs().seed.into(),
            requests,
            mean,
        ];
        if is_apart {
            row.push(apart.join(", ").into());
        }
        table.row(row);
    }
    table.print(context, false)
}

const MEAN: &str = "response_mean_ns";

/// The mean response time of a run, in nanoseconds.
fn mean(totals: &Figures) -> Option<f64> {
    Some(match totals.get(MEAN)? {
        Figure::Count(ns) => ns as f64,
        Figure::Real(ns) => ns,
    })
}

/// The digits that distinguish all digests: eight at least.
fn digits(digests: impl Iterator<Item = String>) -> usize {
    let mut sorted: Vec<String> = digests.collect();
    sorted.sort();
    let shared = |pair: &[String]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    sorted.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(8)
}

/// For each run the settings that distinguish it from others of the same scheme and workload; seeds have a column.
fn differences(listed: &[Listed]) -> Vec<Vec<String>> {
    let names: Vec<String> = listed.iter().map(|run| format!("{}\n{}", run.scheme, run.workload)).collect();
    let all: Vec<(&str, &Settings)> =
        names.iter().map(String::as_str).zip(listed.iter().map(|run| &run.settings)).collect();
    settings::apart(&all, |name| !settings::is_seed(name))
}

fn object(run: &Listed, apart: &[String], place: &Place) -> Outcome<Value> {
    let mut totals = serde_json::Map::new();
    for total in run.run.totals()?.iter() {
        let value = match total.value {
            Figure::Count(count) => count.into(),
            Figure::Real(real) => real.into(),
        };
        totals.insert(total.name.clone(), value);
    }
    let tables: Vec<&str> = run.run.digests().iter().map(|digest| digest.table.name()).collect();
    Ok(serde_json::json!({
        "run_digest": run.digest,
        "results_digest": run.run.results_digest().to_string(),
        "path": place.shown(run.run.path()).display().to_string(),
        "finished": run.finished.to_rfc3339_opts(SecondsFormat::Secs, true),
        "scheme": run.scheme,
        "workload": run.workload,
        "seed": run.run.inputs().seed,
        "differs_in": apart,
        "tables": tables,
        "settings": run.settings,
        "totals": totals,
    }))
}

/// The run in a directory, or all runs of a directory of results. What is no directory is the beginning of a digest: of a
/// run in stripewise-results, or with a directory before it (`DIR/55997526`) of a run in that.
pub(crate) fn runs_at(path: &Path) -> Outcome<Found> {
    if is_bucket(path) {
        return of_bucket(path);
    }
    let here = |runs| Ok(Found { runs, place: None });
    if path.join("run.toml").is_file() {
        return here(vec![FinishedRun::at(path)?]);
    }
    if path.is_dir() {
        return here(in_order(Store::new(path).runs()?));
    }
    match named(path) {
        Some((store, prefix)) => here(vec![Store::new(store).find_prefix(prefix)?]),
        None => must_be_there(path).and_then(|()| here(Vec::new())),
    }
}

/// Runs that were asked for.
pub(crate) struct Found {
    pub(crate) runs: Vec<FinishedRun>,
    /// The bucket that has them.
    pub(crate) place: Option<Place>,
}

/// All runs of a bucket, or those with a digest of such a beginning.
fn of_bucket(url: &Path) -> Outcome<Found> {
    let place = Place::open(url)?;
    let runs = in_order(place.runs()?);
    if let (true, Some(prefix), Some(parent)) = (runs.is_empty(), digits_of(url), url.parent()) {
        let place = Place::open(parent)?;
        let mut runs = place.runs()?;
        runs.retain(|run| run.inputs().digest().to_string().starts_with(prefix));
        return Ok(Found { runs, place: Some(place) });
    }
    Ok(Found { runs, place: Some(place) })
}

fn in_order(mut runs: Vec<FinishedRun>) -> Vec<FinishedRun> {
    runs.sort_by_cached_key(|run| stripewise_report::papers_order(run.inputs()));
    runs
}

/// The store and the digits that a path of no directory names; none when it names no run.
fn named(path: &Path) -> Option<(&Path, &str)> {
    let prefix = digits_of(path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let store = parent.unwrap_or(Path::new(STORE));
    store.is_dir().then_some((store, prefix))
}

/// The last part of a path, if it may be the beginning of a digest.
fn digits_of(path: &Path) -> Option<&str> {
    let digits = path.file_name()?.to_str()?;
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digits.len() <= 64 && digits.bytes().all(is_digit)).then_some(digits)
}

/// The directory in which the report of `path` is written: the store, also where `path` names a single run of it.
pub(crate) fn store_of(path: &Path) -> &Path {
    if path.join("run.toml").is_file() {
        return path.parent().unwrap_or(Path::new("."));
    }
    match named(path) {
        Some((store, _)) if !path.is_dir() => store,
        _ => path,
    }
}

fn must_be_there(path: &Path) -> Outcome {
    if path.is_dir() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "{}: there is no such directory, and no run of that digest; give a directory of results, as `stripewise compare` leaves \
         it, or the first digits of a digest, as `stripewise runs` lists them",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_shown_and_more_where_they_are_needed() {
        let of = |digests: &[&str]| digits(digests.iter().map(|&digest| digest.to_owned()));
        assert_eq!(of(&[]), 8);
        assert_eq!(of(&["0123456789", "a123456789"]), 8);
        assert_eq!(of(&["01234567f9", "a123456789", "01234567e9"]), 9);
    }
}
