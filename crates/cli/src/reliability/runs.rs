//! How worn the members of runs are: their erases, from the tables of the results.

use std::path::PathBuf;

use serde_json::{Value, json};
use stripewise_base::renamed;
use stripewise_results::{FinishedRun, RunInputs, Table};
use stripewise_sim::uniformity::variation;

use super::rounded;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::runs::runs_at;

/// The erases of one run, by member, and the array that it ran on.
#[derive(Clone, Debug)]
pub(crate) struct Worn {
    scheme: String,
    digest: String,
    /// The name of the requests for people.
    pub(super) workload: String,
    /// The settings that decide wear, other than the scheme and the requests.
    setting: [(&'static str, Option<toml::Value>); 4],
    erases: Vec<u64>,
    /// Members of a parity group.
    pub(crate) members: u32,
    /// The number of those that hold a log.
    pub(super) logs: u32,
    pub(crate) groups: u32,
    /// Parity chunks of a stripe.
    pub(crate) parity: u32,
}

/// Reads the runs in `paths`, grouped by requests, with the run that `against` names first. Runs that cannot be
/// compared are left out, with a remark.
///
/// # Errors
/// No run, one that cannot be read, none with erases, an unknown reference.
pub(super) fn read(
    paths: &[PathBuf],
    against: Option<&str>,
    context: &Context<'_>,
) -> Outcome<Vec<Vec<Worn>>> {
    let mut runs = Vec::new();
    for path in paths {
        runs.append(&mut runs_at(path)?.runs);
    }
    if runs.is_empty() {
        let message = "there is no finished run there; make some, as with `stripewise compare`";
        return Err(Failure::failed(message));
    }
    let mut groups: Vec<(Requests, Vec<Worn>)> = Vec::new();
    for run in &runs {
        let worn = Worn::of(run)?;
        if worn.erases.iter().all(|&erases| erases == 0) {
            context
                .remark(&format!("{}: nothing was erased, so it says nothing of wear", run.path().display()));
            continue;
        }
        let requests = requests(run.inputs());
        match groups.iter_mut().find(|(others, _)| *others == requests) {
            Some((_, group)) => group.push(worn),
            None => groups.push((requests, vec![worn])),
        }
    }
    if groups.is_empty() {
        return Err(Failure::failed(
            "nothing was erased in any run; replay more requests, or onto fuller devices",
        ));
    }
    let mut known: Vec<String> =
        groups.iter().flat_map(|(_, group)| group.iter().map(|run| run.scheme.clone())).collect();
    known.sort();
    known.dedup();
    let mut found = Vec::new();
    for (_, mut group) in groups {
        if let Some(name) = against {
            let is = |run: &Worn| run.scheme == name || (name.len() >= 4 && run.digest.starts_with(name));
            let Some(place) = group.iter().position(is) else {
                context.remark(&format!("{}: left out, without a run of {name}", group[0].workload));
                continue;
            };
            group[..=place].rotate_right(1);
        }
        group[1..].iter().for_each(|run| print_differences(&group[0], run, context));
        found.push(group);
    }
    match against {
        Some(name) if found.is_empty() => {
            Err(Failure::usage(format!("--against {name}: the runs are of {}", known.join(", "))))
        }
        _ => Ok(found),
    }
}

/// The inputs that decide the requests of a run.
type Requests = (String, [Option<String>; 3]);

fn requests(inputs: &RunInputs) -> Requests {
    let of = |key: &str| document(inputs.replay()).get(key).map(ToString::to_string);
    (inputs.trace_digest.clone(), ["requests", "warmup_requests", "skip_bad"].map(of))
}

/// Prints the settings, other than the scheme, in which two runs differ.
fn print_differences(reference: &Worn, run: &Worn, context: &Context<'_>) {
    for ((what, ours), (_, theirs)) in run.setting.iter().zip(&reference.setting) {
        if ours != theirs {
            context.remark(&format!(
                "{} {} has another {what} than {}: alpha is not the scheme's alone",
                run.scheme,
                &run.digest[..SHOWN],
                reference.scheme
            ));
        }
    }
}

/// Digits of a digest that are shown.
const SHOWN: usize = 12;

/// The settings of a run, as a document. They were parsed once already, when the run was opened.
fn document(text: &str) -> toml::Table {
    text.parse().unwrap_or_default()
}

/// The name of a trace's file; for generated requests the generator.
fn workload(inputs: &RunInputs) -> String {
    let digest = inputs.trace_digest.split(';').next().unwrap_or_default();
    let digest = digest.trim_start_matches("profile:name=");
    inputs.workload.clone().unwrap_or_else(|| digest.chars().take(40).collect())
}

impl Worn {
    /// The names of the columns of [`Worn::cells`].
    pub(super) const COLUMNS: [&'static str; 5] = ["scheme", "erases", "least", "most", "cv"];

    pub(crate) fn of(run: &FinishedRun) -> Outcome<Self> {
        let erases = run.numbers(Table::Members, "erase_blocks")?;
        let mut configuration = document(run.inputs().configuration());
        if let Some(device) = configuration.get_mut("device").and_then(toml::Value::as_table_mut) {
            // Earlier programs recorded former names.
            renamed::modernize(device);
        }
        let scheme = configuration.get("scheme").and_then(toml::Value::as_table);
        let geometry = scheme.and_then(|scheme| scheme.get("geometry")).and_then(toml::Value::as_table);
        let of = |key: &str| geometry.and_then(|geometry| geometry.get(key));
        let parity = match of("level").and_then(toml::Value::as_str) {
            Some("raid6") => 2,
            Some("raid5") => 1,
            _ => 0,
        };
        let placement = scheme.and_then(|scheme| scheme.get("placement")).and_then(toml::Value::as_table);
        let policy = placement.and_then(|placement| placement.get("policy")).and_then(toml::Value::as_str);
        let logs = if policy == Some("parity-logging") { parity } else { 0 };
        let replay = document(run.inputs().replay());
        let setting = [
            ("device", configuration.get("device")),
            ("layout of members", configuration.get("members").or_else(|| configuration.get("elements"))),
            ("state at the start", replay.get("precondition")),
            ("used part of the array", replay.get("fold_bytes")),
        ];
        let members = erases.len() as u32;
        // Without parity every member is a group of its own: the first failure loses data either way.
        let groups = of("groups").and_then(toml::Value::as_integer).map_or(1, |groups| groups.max(1) as u32);
        let groups = if parity == 0 { 1 } else { groups.min(members) };
        let name = scheme.and_then(|scheme| scheme.get("name")).and_then(toml::Value::as_str);
        Ok(Self {
            scheme: name.unwrap_or("scheme").to_owned(),
            digest: run.inputs().digest().to_string(),
            workload: workload(run.inputs()),
            setting: setting.map(|(what, value)| (what, value.cloned())),
            // A group tolerates as many losses as it has parity chunks, the members of its log counted.
            members: members.saturating_sub(logs) / groups + logs,
            logs,
            erases,
            groups,
            parity,
        })
    }

    /// Blocks erased a member, as the mean over members.
    pub(crate) fn erases_a_member(&self) -> f64 {
        self.erases.iter().sum::<u64>() as f64 / self.erases.len() as f64
    }

    fn least_and_most(&self) -> (u64, u64) {
        let erases = || self.erases.iter().copied();
        (erases().min().unwrap_or(0), erases().max().unwrap_or(0))
    }

    pub(super) fn cells(&self) -> [Value; 5] {
        let (least, most) = self.least_and_most();
        let cv = variation(self.erases.iter().copied());
        let sum: u64 = self.erases.iter().sum();
        [self.scheme.clone().into(), sum.into(), least.into(), most.into(), rounded(cv, 3)]
    }

    pub(super) fn json(&self) -> Value {
        let (least, most) = self.least_and_most();
        json!({
            "scheme": self.scheme,
            "workload": self.workload,
            "run_digest": self.digest,
            "erase_blocks": self.erases.iter().sum::<u64>(),
            "member_erase_blocks": self.erases,
            "least_erase_blocks": least,
            "most_erase_blocks": most,
            "erase_cv": variation(self.erases.iter().copied()),
        })
    }
}
