//! A set of runs: its workloads, stripe structures and schemes, and the index of its runs.

use crate::beside::{Beside, Claims, Logging, Paper, RatioMap};
use crate::chart::Look;
use crate::run::{LoadedRun, is_seed, join_seeds};
use std::collections::BTreeMap;
use stripewise_results::paired::{Difference, Kind, Pairs, Rate, Ratio, differences_at};
use stripewise_results::settings::{apart, is_of_scheme};

/// Runs, and their workloads, structures and schemes in the order of their first appearance. Seeds of one scheme and
/// workload are one run.
pub(crate) struct Set {
    pub(crate) runs: Vec<LoadedRun>,
    pub(crate) workloads: Vec<String>,
    pub(crate) structures: Vec<String>,
    pub(crate) schemes: Vec<String>,
    /// The paper whose figures alone are drawn.
    pub(crate) paper: Option<Paper>,
    beside: Beside,
}

/// A difference from the first scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// The typical ratio to the first scheme, less one; of a total that may be zero, the difference over the first scheme's
    /// mean. None with one seed.
    pub(crate) typical: Option<f64>,
    /// The ends of its 95 % interval; none with one seed, or where it is the same in all seeds.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) sure: Sure,
}

impl Change {
    fn of(found: Option<Difference>, first: f64) -> Self {
        let Some(found) = found else { return Self { typical: None, interval: None, sure: Sure::OneSeed } };
        let (typical, low, high) = match found.ratio {
            Some(Ratio { typical, low, high }) => (typical - 1.0, low - 1.0, high - 1.0),
            None => {
                (found.mean / first, (found.mean - found.margin) / first, (found.mean + found.margin) / first)
            }
        };
        let sure = match found {
            Difference { is_constant: true, .. } => Sure::SameInAll,
            Difference { is_significant: true, .. } => Sure::Significant,
            _ => Sure::Not,
        };
        Self { typical: Some(typical), interval: (sure != Sure::SameInAll).then_some((low, high)), sure }
    }
}

/// How sure a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// Its interval excludes zero.
    Significant,
    /// Its interval includes zero.
    Not,
    /// Every seed has the same difference.
    SameInAll,
    /// There is one seed.
    OneSeed,
}

impl Set {
    pub(crate) fn new(runs: Vec<LoadedRun>, beside: Beside) -> Self {
        let mut runs = join_seeds(runs);
        join_without_parity(&mut runs);
        if beside.paper.is_none() {
            join_as_wide(&mut runs);
        }
        name_apart(&mut runs);
        let distinct = |of: fn(&LoadedRun) -> &String| {
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
    pub(crate) fn find(&self, structure: &str, workload: &str, scheme: &str) -> Option<&LoadedRun> {
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

    /// The time of one decision of a run, where it was measured.
    pub(crate) fn decision_ns(&self, run: &LoadedRun) -> Option<f64> {
        let policy = run.settings.get("scheme.update.policy")?;
        self.beside.decision_ns.iter().find(|(name, _)| name == policy).map(|(_, ns)| *ns)
    }

    /// The work that the head names, and its address.
    pub(crate) fn work(&self) -> Option<(&str, Option<&str>)> {
        self.beside.work.as_ref().map(|(text, address)| (text.as_str(), address.as_deref()))
    }

    /// The claims of an evaluation.
    pub(crate) fn claims(&self) -> Option<&Claims> {
        self.beside.claims.as_ref()
    }

    /// The maps of an evaluation.
    pub(crate) fn maps(&self) -> &[RatioMap] {
        &self.beside.maps
    }

    /// The cost of parity logging on a workload, where a model counted it.
    pub(crate) fn logging(&self, workload: &str, parity: u32) -> Option<&Logging> {
        self.beside.logging.iter().find(|one| one.workload == workload && one.parity == parity)
    }

    /// The run that others of a workload are compared with: that of its first scheme.
    pub(crate) fn base(&self, structure: &str, workload: &str) -> Option<&LoadedRun> {
        self.schemes.iter().find_map(|scheme| self.find(structure, workload, scheme))
    }

    /// The typical ratios of a total to that of the first scheme, by the seeds that both have, with the ends of their 95 %
    /// intervals. None for the first scheme, which is 1; and none with one seed, or where the seeds changed nothing.
    pub(crate) fn ratios_to_base(
        &self,
        structure: &str,
        workload: &str,
        total: &str,
    ) -> BTreeMap<&str, (f64, (f64, f64))> {
        let ratio = |change: Change| {
            let (low, high) = change.interval?;
            Some((1.0 + change.typical?, (1.0 + low, 1.0 + high)))
        };
        let changes = self.changes(structure, workload, total).into_iter();
        changes.filter_map(|(scheme, change)| Some((scheme, ratio(change)?))).collect()
    }

    /// The changes of a total from the first scheme on a workload: [`changes`] of its runs.
    fn changes(&self, structure: &str, workload: &str, total: &str) -> BTreeMap<&str, Change> {
        changes(&[self.runs_on(structure, workload)], total)
    }

    /// `5 seeds`: the number of seeds of each run; none where there is one.
    pub(crate) fn seeds(&self) -> Option<String> {
        let counts = || self.runs.iter().map(|run| run.others.len() + 1);
        let (least, most) = (counts().min()?, counts().max()?);
        let text = if least == most { format!("{most} seeds") } else { format!("{least} to {most} seeds") };
        (most > 1).then_some(text)
    }

    /// The name of the scheme that others are compared with.
    pub(crate) fn base_name(&self) -> String {
        let of = |run: &LoadedRun| self.base(&run.structure, &run.workload).map(|base| base.scheme.clone());
        let mut bases: Vec<String> = self.runs.iter().filter_map(of).collect();
        bases.sort();
        bases.dedup();
        match bases.as_slice() {
            [one] => format!("the first scheme, {one}"),
            _ => format!("the first scheme of each workload ({})", bases.join(" or ")),
        }
    }

    /// Schemes that have a run of that structure on that workload, with it.
    pub(crate) fn runs_on<'a>(&'a self, structure: &str, workload: &str) -> Vec<(&'a str, &'a LoadedRun)> {
        let of = |scheme: &'a String| Some((scheme.as_str(), self.find(structure, workload, scheme)?));
        self.schemes.iter().filter_map(of).collect()
    }

    /// A scheme's name for a narrow place: without the common prefix of all schemes' names.
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

/// The changes of a total from the first run of each group, by the seeds that both have; the intervals hold for all groups
/// together. None of the first runs themselves, and none where seeds are not paired or the first has zero.
pub(crate) fn changes<'a>(
    groups: &[Vec<(&'a str, &'a LoadedRun)>],
    total: &str,
) -> BTreeMap<&'a str, Change> {
    let seeds = |run: &LoadedRun| run.seeds().map(|(_, seed, _)| seed.to_owned()).collect::<Vec<_>>();
    let (mut found, mut samples, mut rate) = (Vec::new(), Vec::new(), Rate::FIXED);
    for group in groups {
        let Some(((_, base), others)) = group.split_first() else { continue };
        let first = base.values(total).zip(base.total(total).filter(|mean| *mean > 0.0));
        let Some((first, mean)) = first else { continue };
        rate = base.rate;
        for (scheme, run) in others.iter().filter(|(_, run)| seeds(run) == seeds(base)) {
            let Some(values) = run.values(total) else { continue };
            found.push((*scheme, mean));
            samples.push(first.iter().copied().zip(values).collect::<Pairs>());
        }
    }
    let samples: Vec<&Pairs> = samples.iter().collect();
    let differences = differences_at(&samples, Kind::of(total), rate);
    found.into_iter().zip(differences).map(|((scheme, mean), of)| (scheme, Change::of(of, mean))).collect()
}

/// Shows runs without parity beside striped ones over the same number of members, as the base of comparison for
/// parity.
fn join_without_parity(runs: &mut [LoadedRun]) {
    for at in 0..runs.len() {
        let members = runs[at].column("member").len();
        let is_bare = !runs[at].has_parity();
        let beside = |run: &&LoadedRun| is_bare && run.has_parity() && run.column("member").len() == members;
        if let Some(other) = runs.iter().find(beside) {
            runs[at].structure = other.structure.clone();
        }
    }
}

/// Shows runs over the same number of members side by side, whatever the stripes of their schemes.
fn join_as_wide(runs: &mut [LoadedRun]) {
    let members = |run: &LoadedRun| run.column("member").len();
    let first = |run: &LoadedRun| {
        runs.iter().find(|other| members(other) == members(run)).map(|other| &other.structure)
    };
    let is_mixed = |run: &LoadedRun| {
        let alike = |other: &&LoadedRun| members(other) == members(run);
        runs.iter().filter(alike).any(|other| Some(&other.structure) != first(run))
    };
    let mixed: Vec<bool> = runs.iter().map(is_mixed).collect();
    for (run, _) in runs.iter_mut().zip(mixed).filter(|(_, is_mixed)| *is_mixed) {
        run.structure = format!("{} members", members(run));
    }
}

/// Gives different names to different schemes and workloads that have the same name.
fn name_apart(runs: &mut [LoadedRun]) {
    let of_scheme = |name: &str| is_of_scheme(name) && name != "scheme.name" && name != "scheme.description";
    let schemes = suffixes(runs, |run| run.scheme.clone(), of_scheme);
    let beside = |name: &str| !is_of_scheme(name) && name != "device.name" && !is_seed(name);
    let workloads = suffixes(runs, |run| format!("{}\n{}", run.structure, run.workload), beside);
    for ((run, scheme), workload) in runs.iter_mut().zip(schemes).zip(workloads) {
        run.scheme += &scheme;
        run.workload += &workload;
    }
}

/// For each run the suffix that distinguishes it from others of the same `key`: the settings that differ, with their
/// values.
fn suffixes(
    runs: &[LoadedRun],
    key: impl Fn(&LoadedRun) -> String,
    counts: impl Fn(&str) -> bool,
) -> Vec<String> {
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

    fn run(workload: &str, scheme: &str, settings: &[(&str, &str)]) -> LoadedRun {
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        LoadedRun {
            digest: String::new(),
            workload: workload.to_owned(),
            scheme: scheme.to_owned(),
            structure: "5+1".to_owned(),
            settings: settings.collect(),
            totals: Figures::new(),
            members: Default::default(),
            ..LoadedRun::default()
        }
    }

    #[test]
    fn what_is_called_the_same_and_is_not_is_distinguished_by_its_settings() {
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

    /// A mean of 1, 2, 3, 4 and 5 ms: 3 ms, with Student's interval computed by hand, 2.776 times sqrt(2.5 / 5) ms.
    #[test]
    fn seeds_of_a_scheme_and_workload_are_one_run_with_an_interval() {
        let of = |scheme: &str, seed: u64, ms: u64| {
            let (text, name) = (seed.to_string(), "response_mean_ns");
            let mut run = run("hm_0", scheme, &[("seed", &text), ("workload.seed", &text)]);
            run.totals.add(name, stripewise_results::Figure::Count(ms * 1_000_000)).unwrap();
            run.members.insert("erase_blocks".to_owned(), vec![seed, 10 * seed]);
            run
        };
        let mut runs: Vec<LoadedRun> = (1..=5).rev().map(|seed| of("baseline", seed, seed)).collect();
        runs.extend((1..=5).map(|seed| of("bpu", seed, 2 * seed + seed % 2)));
        runs.push(of("bpu", 3, 7));
        let set = Set::new(runs, Beside::default());
        assert_eq!(
            (set.runs.len(), set.seeds().as_deref()),
            (2, Some("5 seeds")),
            "a seed that is there twice counts once"
        );
        assert_eq!((set.workloads.as_slice(), set.schemes.len()), (["hm_0".to_owned()].as_slice(), 2));
        let (base, total) = (&set.runs[0], "response_mean_ns");
        assert_eq!(base.values(total), Some([1e6, 2e6, 3e6, 4e6, 5e6].to_vec()), "by rising seeds");
        assert_eq!((base.total(total), base.of_seeds().as_str()), (Some(3e6), ", mean of 5 seeds"));
        let (low, high) = base.interval(total).unwrap();
        assert!(
            (low - (3e6 - 1.9632e6)).abs() < 1e3 && (high - (3e6 + 1.9632e6)).abs() < 1e3,
            "{low} {high}"
        );
        assert_eq!(base.column("erase_blocks"), [3, 30]);
        // Ratios 3, 2, 7/3, 2, 11/5: seeds are paired. Their geometric mean is 2.28.
        let over = set.ratios_to_base("5+1", "hm_0", total);
        let (typical, (low, high)) = over["bpu"];
        assert!(
            (typical - 2.279).abs() < 1e-3 && low > 1.85 && high < 2.81 && over.len() == 1,
            "{low} {high}"
        );
    }

    #[test]
    fn runs_without_parity_stand_beside_stripes_of_as_many_members() {
        let of = |scheme: &str, level: &str, members: u64| {
            let mut run = run("w", scheme, &[("scheme.geometry.level", level)]);
            run.structure = format!("{level} of {members}");
            run.members.insert("member".to_owned(), (0..members).collect());
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
