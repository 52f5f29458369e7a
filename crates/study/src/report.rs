//! What the report of a study is drawn from: the totals of its points, and the trials of its search.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use stripewise_report::{Change, Search, StudyAxis, StudyReport, StudyRow, StudyTotal, Trial};
use stripewise_results::paired::Kind;
use stripewise_results::replicate::Of;
use stripewise_runs::Observer;

use crate::error::Error;
use crate::plan::Plan;
use crate::point::{Point, Shown};
use crate::row::hex;
use crate::status::{reason, visit};
use crate::store::StudyStore;

/// The totals of a report behind the one that decides, if none are requested.
const TOTALS: [&str; 3] = ["response_mean_ns", "response_p99_ns", "programs_per_host_page"];
/// The folder of the trials, and the digits of the study file's digest that their names begin with.
const TRIALS: &str = "tune";
const DIGITS: usize = 16;

/// What a report shows.
#[derive(Clone, Debug, Default)]
pub struct Requested {
    /// The totals; empty for the one that decides, the mean, the 99th percentile and the programs a host page.
    pub totals: Vec<String>,
    /// The axes over which figures are drawn; empty for all with several values.
    pub over: Vec<String>,
    /// Axes and the value that points have there.
    pub only: Vec<(String, String)>,
}

/// The report of a study.
///
/// # Errors
/// When the store cannot be read; [`stripewise_runs::Error::Stopped`].
pub fn report(
    plan: &Plan,
    store: &StudyStore,
    requested: &Requested,
    observer: &dyn Observer,
) -> Result<StudyReport, Error> {
    let file = plan.file();
    let mut totals = requested.totals.clone();
    if totals.is_empty() {
        totals.push(file.replicate.figure.clone());
        totals
            .extend(TOTALS.iter().filter(|total| **total != file.replicate.figure).map(|&it| it.to_owned()));
    }
    let base = if let Of::DifferencesFrom(base) = file.replicate.of { base } else { 0 };
    let mut found = StudyReport {
        name: file.name.clone(),
        plan: format!("Plan {}, program {}.", plan.digest(), plan.version()),
        schemes: file.schemes.clone(),
        base,
        over: requested.over.clone(),
        file: file.text.clone(),
        search: search(plan, store)?,
        ..StudyReport::default()
    };
    for axis in &file.axes {
        let values = axis.values.iter().map(|value| value.shown.clone()).collect();
        found.axes.push(StudyAxis { key: axis.key.clone(), values });
    }
    visit(plan, store, &totals, observer, &mut |point, values, refused| {
        found.left[1] += refused;
        found.left[0] += u64::from(point.why().is_none() && !point.schemes.is_empty());
        let has = |(key, value): &(String, String)| {
            plan.values(&point.cell).any(|(axis, shown)| axis == key && shown == value)
        };
        if point.seeds() > 0 && requested.only.iter().all(has) {
            found.rows.extend(rows(plan, point, values, &totals));
        }
        Ok(())
    })?;
    found.totals = totals;
    Ok(found)
}

/// The rows of a point, one a scheme.
fn rows(plan: &Plan, point: &Point, values: &[Vec<Vec<f64>>], totals: &[String]) -> Vec<StudyRow> {
    let base = point.base(plan);
    let mut rows: Vec<StudyRow> = Vec::new();
    for &scheme in &point.schemes {
        rows.push(StudyRow {
            at: point.cell.at.iter().map(|&at| at as usize).collect(),
            scheme,
            seeds: point.seeds(),
            end: point.why().map_or("-", reason),
            totals: Vec::new(),
        });
    }
    for (total, values) in totals.iter().zip(values) {
        let kind = Kind::of(total);
        let shown = point.rows(plan, values, kind);
        let first = shown[base].mean;
        for (at, (row, shown)) in rows.iter_mut().zip(&shown).enumerate() {
            let change = (at != base).then(|| change(shown, first, kind)).flatten();
            row.totals.push(StudyTotal { mean: shown.mean, margin: shown.margin, change });
        }
    }
    rows
}

/// The difference of a scheme from the first, whose mean is `first`. One seed has a ratio, and no interval.
fn change(shown: &Shown, first: f64, kind: Kind) -> Option<Change> {
    let Some(difference) = shown.difference else {
        let ratio = shown.mean / first;
        let is_ratio = kind == Kind::Ratio && ratio.is_finite() && ratio > 0.0;
        let text = format!("{:+.1}", (ratio - 1.0) * 100.0);
        return is_ratio.then_some(Change { text, ratio: Some(ratio), is_significant: false });
    };
    Some(Change {
        text: shown.effect(first, kind),
        ratio: difference.ratio.map(|ratio| ratio.typical),
        is_significant: difference.is_significant,
    })
}

/// The trials that the store keeps of this study file; none unless it is a search.
fn search(plan: &Plan, store: &StudyStore) -> Result<Option<Search>, Error> {
    let file = plan.file();
    if !file.is_search {
        return Ok(None);
    }
    let digest = hex(&Sha256::digest(file.text.as_bytes()));
    let mut search = Search { goals: file.goals.clone(), ..Search::default() };
    let mut trials: BTreeMap<u64, Trial> = BTreeMap::new();
    for text in store.texts(TRIALS, &digest[..DIGITS])? {
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap_or_default();
            match trial(&row).filter(|trial| trial.values.len() == search.goals.len()) {
                Some(trial) => drop(trials.insert(trial.number, trial)),
                None => search.others += 1,
            }
        }
    }
    search.trials = trials.into_values().collect();
    Ok(Some(search))
}

/// A trial that was made in full.
fn trial(row: &Value) -> Option<Trial> {
    if row["state"] != "done" {
        return None;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let settings = row["settings"].as_object()?.iter();
    Some(Trial {
        number: row["number"].as_u64()?,
        settings: settings.map(|(key, value)| (key.clone(), text(value))).collect(),
        values: row["values"].as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::StudyFile;

    const SEARCH: &str = "[base]\nworkload = \"uniform:size=8KiB,span=64MiB\"\nrequests = 100\n[compare]\n\
        scheme = [\"baseline\"]\n[tune]\ngoal = [\"min p99_ns\", \"max mib_per_second\"]\n\
        [tune.space]\n\"gc.victim\" = [\"greedy\", \"fifo\"]\n";

    fn plan(text: &str) -> Plan {
        Plan::new(StudyFile::parse(Path::new("study.toml"), text).expect("a study"), &()).expect("a plan")
    }

    #[test]
    fn a_search_has_its_goals_and_the_trials_of_this_file_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (plan, store) = (plan(SEARCH), StudyStore::new(folder.path()));
        let row = |number: u64, state: &str| {
            let settings = serde_json::json!({ "gc.victim": "fifo", "tiers": number });
            serde_json::json!({ "number": number, "settings": settings, "values": [2.0, 3.5], "requests": null, "state": state })
        };
        let digest = hex(&Sha256::digest(SEARCH.as_bytes()));
        let kept = |name: String, rows: &[Value]| {
            let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
            store.kept(TRIALS, &name, &text).expect("it is kept");
        };
        kept(format!("{}-000001.json", &digest[..16]), &[row(1, "done"), row(0, "done"), row(2, "dropped")]);
        kept("0123456789abcdef-000001.json".to_owned(), &[row(9, "done")]);
        let found =
            report(&plan, &store, &Requested::default(), &()).expect("a report").search.expect("a search");
        let goals: Vec<(&str, bool)> =
            found.goals.iter().map(|goal| (goal.total.as_str(), goal.is_most)).collect();
        assert_eq!(goals, [("response_p99_ns", false), ("mib_per_second", true)]);
        let numbers: Vec<u64> = found.trials.iter().map(|trial| trial.number).collect();
        assert_eq!((numbers, found.others), (vec![0, 1], 1));
        let settings: Vec<&str> = found.trials[1].settings.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(settings, ["fifo", "1"]);
    }

    #[test]
    fn a_goal_without_a_direction_is_refused_with_its_line() {
        let text = SEARCH.replace("min p99_ns", "p99_ns");
        let error = StudyFile::parse(Path::new("study.toml"), &text).expect_err("no direction").to_string();
        assert!(error.starts_with("study.toml:7:") && error.contains("write it as in"), "{error}");
    }
}
