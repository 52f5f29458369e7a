//! Runs side by side: which workloads, stripe structures and schemes there are, and which run is where.

use crate::chart::Look;
use crate::run::Run;
use crate::{Beside, Logging, Paper};
use stripewise_results::settings::{apart, is_of_scheme};

/// Runs, and their workloads, structures and schemes in the order of their first appearance.
pub(crate) struct Set {
    pub(crate) runs: Vec<Run>,
    pub(crate) workloads: Vec<String>,
    pub(crate) structures: Vec<String>,
    pub(crate) schemes: Vec<String>,
    /// Whose figures alone are drawn.
    pub(crate) paper: Option<Paper>,
    beside: Beside,
}

impl Set {
    pub(crate) fn new(mut runs: Vec<Run>, beside: Beside) -> Self {
        join_without_parity(&mut runs);
        name_apart(&mut runs);
        let distinct = |of: fn(&Run) -> &String| {
            let mut found: Vec<String> = Vec::new();
            for run in &runs {
                if !found.contains(of(run)) {
                    found.push(of(run).clone());
                }
            }
            found
        };
        let workloads = distinct(|run| &run.workload);
        let mut structures = distinct(|run| &run.structure);
        structures.sort();
        let schemes = distinct(|run| &run.scheme);
        let place = |list: &[String], name: &String| list.iter().position(|other| other == name);
        runs.sort_by_key(|run| {
            let scheme = place(&schemes, &run.scheme);
            (place(&structures, &run.structure), place(&workloads, &run.workload), scheme)
        });
        Self { workloads, structures, schemes, runs, paper: beside.paper, beside }
    }

    /// The run of a scheme on a workload.
    pub(crate) fn find(&self, structure: &str, workload: &str, scheme: &str) -> Option<&Run> {
        self.runs
            .iter()
            .find(|run| run.structure == structure && run.workload == workload && run.scheme == scheme)
    }

    /// Workloads that have a run of that structure.
    pub(crate) fn workloads_of(&self, structure: &str) -> Vec<&str> {
        let has = |workload: &&String| {
            self.runs.iter().any(|run| run.structure == structure && run.workload == **workload)
        };
        self.workloads.iter().filter(has).map(String::as_str).collect()
    }

    /// The look of a scheme, the same in every figure.
    pub(crate) fn look(&self, scheme: &str) -> Look {
        Look(self.schemes.iter().position(|other| other == scheme).unwrap_or(0))
    }

    /// What one decision of a run takes, where it was measured.
    pub(crate) fn decision_ns(&self, run: &Run) -> Option<f64> {
        let policy = run.settings.get("scheme.update.policy")?;
        self.beside.decision_ns.iter().find(|(name, _)| name == policy).map(|(_, ns)| *ns)
    }

    /// Whether it was measured what a decision takes.
    pub(crate) fn decisions_timed(&self) -> bool {
        !self.beside.decision_ns.is_empty()
    }

    /// What parity logging would cost on a workload, where a model counted it.
    pub(crate) fn logging(&self, workload: &str, parity: u32) -> Option<&Logging> {
        self.beside.logging.iter().find(|one| one.workload == workload && one.parity == parity)
    }

    /// What the other runs of a workload are compared with: the run of its first scheme.
    pub(crate) fn base(&self, structure: &str, workload: &str) -> Option<&Run> {
        self.schemes.iter().find_map(|scheme| self.find(structure, workload, scheme))
    }

    /// What others are compared with, in words.
    pub(crate) fn base_name(&self) -> String {
        let of = |run: &Run| self.base(&run.structure, &run.workload).map(|base| base.scheme.clone());
        let mut bases: Vec<String> = self.runs.iter().filter_map(of).collect();
        bases.sort();
        bases.dedup();
        match bases.as_slice() {
            [one] => format!("the first scheme, {one}"),
            _ => format!("the first scheme of each workload ({})", bases.join(" or ")),
        }
    }

    /// Schemes that have a run of that structure on that workload, with it.
    pub(crate) fn runs_on<'a>(&'a self, structure: &str, workload: &str) -> Vec<(&'a str, &'a Run)> {
        let of = |scheme: &'a String| Some((scheme.as_str(), self.find(structure, workload, scheme)?));
        self.schemes.iter().filter_map(of).collect()
    }

    /// A scheme's name for a narrow place: without what all schemes' names begin with.
    pub(crate) fn short<'a>(&self, scheme: &'a str) -> &'a str {
        let first = self.schemes.first().map_or("", String::as_str);
        let Some((prefix, _)) = first.split_once('-') else { return scheme };
        let strip =
            |name: &'a str| name.strip_prefix(prefix)?.strip_prefix('-').filter(|rest| !rest.is_empty());
        let all = self.schemes.iter().all(|name| {
            name.strip_prefix(prefix)
                .and_then(|rest| rest.strip_prefix('-'))
                .is_some_and(|rest| !rest.is_empty())
        });
        if all && self.schemes.len() > 1 { strip(scheme).unwrap_or(scheme) } else { scheme }
    }
}

/// Shows runs without parity beside those of stripes over as many elements: they are what parity is compared with.
fn join_without_parity(runs: &mut [Run]) {
    for at in 0..runs.len() {
        let elements = runs[at].column("element").len();
        let is_bare = !runs[at].has_parity();
        let beside = |run: &&Run| is_bare && run.has_parity() && run.column("element").len() == elements;
        if let Some(other) = runs.iter().find(beside) {
            runs[at].structure = other.structure.clone();
        }
    }
}

/// Gives different names to schemes and workloads that are not the same and are called so.
fn name_apart(runs: &mut [Run]) {
    let of_scheme = |name: &str| is_of_scheme(name) && name != "scheme.name" && name != "scheme.description";
    let schemes = suffixes(runs, |run| run.scheme.clone(), of_scheme);
    let beside = |name: &str| !is_of_scheme(name) && name != "device.name";
    let workloads = suffixes(runs, |run| format!("{}\n{}", run.structure, run.workload), beside);
    for ((run, scheme), workload) in runs.iter_mut().zip(schemes).zip(workloads) {
        run.scheme += &scheme;
        run.workload += &workload;
    }
}

/// For each run what tells it from others of the same `key`: the settings that differ, with their values.
fn suffixes(runs: &[Run], key: impl Fn(&Run) -> String, counts: impl Fn(&str) -> bool) -> Vec<String> {
    let keys: Vec<String> = runs.iter().map(key).collect();
    let all: Vec<_> = keys.iter().map(String::as_str).zip(runs.iter().map(|run| &run.settings)).collect();
    let suffix = |words: Vec<String>| match words[..] {
        [] => String::new(),
        _ => format!(" ({})", words.join(", ")),
    };
    apart(&all, counts).into_iter().map(suffix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_results::Figures;

    fn run(workload: &str, scheme: &str, settings: &[(&str, &str)]) -> Run {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Run {
            digest: String::new(),
            workload: workload.to_owned(),
            scheme: scheme.to_owned(),
            structure: "5+1".to_owned(),
            settings: settings.collect(),
            totals: Figures::new(),
            elements: Default::default(),
            responses: None,
            operations: Vec::new(),
            collecting: Vec::new(),
        }
    }

    #[test]
    fn what_is_called_the_same_and_is_not_is_told_apart_by_its_settings() {
        let set = Set::new(
            vec![
                run("lun0", "bpu", &[("scheme.parity.window", "0"), ("pacing", "open:1")]),
                run("lun0", "bpu", &[("scheme.parity.window", "8"), ("pacing", "open:1")]),
                run("lun1", "raid0", &[("pacing", "open:1")]),
                run("lun1", "raid0", &[("pacing", "open:9")]),
            ],
            Beside::default(),
        );
        assert_eq!(set.schemes, ["bpu (parity.window=0)", "bpu (parity.window=8)", "raid0"]);
        assert_eq!(set.workloads, ["lun0", "lun1 (open:1)", "lun1 (open:9)"]);
        assert!(set.find("5+1", "lun1 (open:9)", "raid0").is_some());
        let of = |pace, version| run("w", "bpu", &[("pacing", pace), ("version", version)]);
        let set = |runs| Set::new(runs, Beside::default()).workloads;
        assert_eq!(set(vec![of("open:1", "1+aaa"), of("open:9", "1+bbb")]), ["w (open:1)", "w (open:9)"]);
        let three = set(vec![of("open:1", "1+aaa"), of("open:9", "1+bbb"), of("open:1", "1+bbb")]);
        assert_eq!(three, ["w (open:1, version aaa)", "w (open:9, version bbb)", "w (open:1, version bbb)"]);
    }

    #[test]
    fn runs_without_parity_stand_beside_stripes_of_as_many_elements() {
        let of = |scheme: &str, level: &str, elements: u64| {
            let mut run = run("w", scheme, &[("scheme.geometry.level", level)]);
            run.structure = format!("{level} of {elements}");
            run.elements.insert("element".to_owned(), (0..elements).collect());
            run
        };
        let runs = vec![of("raid0", "raid0", 6), of("baseline", "raid5", 6), of("eight", "raid0", 8)];
        let set = Set::new(runs, Beside::default());
        assert_eq!(set.structures, ["raid0 of 8", "raid5 of 6"]);
        let names = |structure: &str| set.runs_on(structure, "w").iter().map(|on| on.0).collect::<Vec<_>>();
        assert_eq!((names("raid5 of 6"), names("raid0 of 8")), (vec!["raid0", "baseline"], vec!["eight"]));
        assert_eq!(set.base("raid5 of 6", "w").map(|run| run.scheme.as_str()), Some("raid0"));
        assert_eq!(set.base_name(), "the first scheme of each workload (eight or raid0)");
    }

    #[test]
    fn a_prefix_that_all_schemes_share_is_left_out_where_room_is_scarce() {
        let set =
            |names: [&str; 2]| Set::new(names.map(|name| run("w", name, &[])).to_vec(), Beside::default());
        assert_eq!(
            set(["paper000-baseline", "paper000-bpu-scaled"]).short("paper000-bpu-scaled"),
            "bpu-scaled"
        );
        assert_eq!(set(["always-rmw", "baseline"]).short("always-rmw"), "always-rmw");
    }
}
