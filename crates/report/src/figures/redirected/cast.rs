//! The names and the series of the figures of paper 002: unmodified Async_FIFO, PIQ and BRR, and BRR with other queues
//! and groups.

use crate::chart::Look;
use crate::figures::figure::Key;
use crate::run::LoadedRun;
use crate::set::Set;

/// The schemes of the comparison, in the paper's order.
pub(super) const SCHEMES: [&str; 3] = ["Async_FIFO", "PIQ", "BRR"];

/// How the runs of a panel were made, and the runs of each trace by scheme.
pub(super) struct Scene<'a> {
    pub(super) kind: &'a str,
    pub(super) traces: Vec<(&'a str, [Option<&'a LoadedRun>; 3])>,
}

/// The runs, by their role in the paper.
pub(super) struct Cast<'a> {
    runs: &'a [LoadedRun],
}

impl<'a> Cast<'a> {
    pub(super) fn of(set: &'a Set) -> Self {
        Self { runs: &set.runs }
    }

    /// The comparison of the paper for each way in which runs were made. The names of workloads give the way after a
    /// comma. Without sweeps.
    pub(super) fn scenes(&self) -> Vec<Scene<'a>> {
        let mut scenes: Vec<Scene<'a>> = Vec::new();
        for run in self.runs.iter().filter(|run| !run.scheme.contains(',') && !is_sweep(run)) {
            let (Some(place), (trace, kind)) = (scheme(run), names(run)) else { continue };
            let at = scenes.iter().position(|scene| scene.kind == kind).unwrap_or(scenes.len());
            if at == scenes.len() {
                scenes.push(Scene { kind, traces: Vec::new() });
            }
            let traces = &mut scenes[at].traces;
            let at = traces.iter().position(|known| known.0 == trace).unwrap_or(traces.len());
            if at == traces.len() {
                traces.push((trace, [None; 3]));
            }
            traces[at].1[place].get_or_insert(run);
        }
        scenes
    }

    /// Runs of BRR whose only own setting is the one that `of` returns, by trace: its value and the run, in ascending
    /// order.
    pub(super) fn sweep(
        &self,
        key: &str,
        of: fn(&LoadedRun) -> Option<u64>,
    ) -> Vec<(&'a str, Vec<(u64, &'a LoadedRun)>)> {
        let mut traces: Vec<(&'a str, Vec<(u64, &'a LoadedRun)>)> = Vec::new();
        let ours = |run: &&LoadedRun| {
            let mut own = run.scheme.split(',').skip(1);
            is_sweep(run) && scheme(run) == Some(2) && own.all(|setting| setting.starts_with(key))
        };
        for run in self.runs.iter().filter(ours) {
            let Some(value) = of(run) else { continue };
            let trace = names(run).0;
            let at = traces.iter().position(|known| known.0 == trace).unwrap_or(traces.len());
            if at == traces.len() {
                traces.push((trace, Vec::new()));
            }
            traces[at].1.push((value, run));
        }
        traces.iter_mut().for_each(|(_, runs)| runs.sort_by_key(|(value, _)| *value));
        traces
    }
}

/// The scheme of the comparison that a run has.
fn scheme(run: &LoadedRun) -> Option<usize> {
    let of = |key: &str| run.settings.get(key).map(String::as_str);
    match (of("scheme.read.policy"), of("scheme.dispatch.policy")) {
        (Some("brr"), _) => Some(2),
        (None | Some("direct"), Some("piq")) => Some(1),
        (None | Some("direct"), None | Some("async-fifo")) => Some(0),
        _ => None,
    }
}

/// The trace of a run, and how it was made.
fn names(run: &LoadedRun) -> (&str, &str) {
    run.workload.split_once(", ").unwrap_or((&run.workload, ""))
}

fn is_sweep(run: &LoadedRun) -> bool {
    names(run).1.ends_with("sweeps")
}

/// The legend of the comparison.
pub(super) fn keys() -> Vec<Key> {
    let key =
        |(place, name): (usize, &&str)| Key { look: Look(place), name: (*name).to_owned(), is_line: false };
    SCHEMES.iter().enumerate().map(key).collect()
}

/// The identifier and the title of a figure.
pub(super) fn named(number: u32, what: &str) -> (String, String) {
    (format!("paper002-figure-{number}"), format!("Figure {number} of paper 002: {what}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use stripewise_results::{Figure, Figures};

    /// A run of 64 chips with invented totals.
    pub(in super::super) fn run(
        scheme: &str,
        workload: &str,
        groups: u64,
        queue: u64,
        wait: u64,
    ) -> LoadedRun {
        let (dispatch, read) = match scheme.split(',').next() {
            Some("paper002-brr") => ("piq", "brr"),
            Some("paper002-piq") => ("piq", "direct"),
            _ => ("async-fifo", "direct"),
        };
        let settings = [
            ("scheme.name", scheme.to_owned()),
            ("scheme.geometry.level", "raid5".to_owned()),
            ("scheme.geometry.groups", groups.to_string()),
            ("scheme.dispatch.policy", dispatch.to_owned()),
            ("scheme.dispatch.queue", queue.to_string()),
            ("scheme.read.policy", read.to_owned()),
        ];
        let mut totals = Figures::new();
        for name in ["read_wait_mean_ns", "write_wait_mean_ns", "read_mean_ns"] {
            totals.add(name, Figure::Count(wait)).expect("each once");
        }
        for name in ["busy_share_before", "busy_share_after"] {
            totals.add(name, Figure::Real(wait as f64 / 1e4)).expect("each once");
        }
        for name in ["read_bus_mean_ns", "read_cell_mean_ns"] {
            totals.add(name, Figure::Count(10)).expect("each once");
        }
        LoadedRun {
            digest: format!("{scheme}-{workload}"),
            workload: workload.to_owned(),
            scheme: scheme.to_owned(),
            structure: format!("{groups} groups of {}+1", 64 / groups - 1),
            settings: settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            totals,
            members: [("member".to_owned(), (0..64).collect())].into(),
            ..LoadedRun::default()
        }
    }

    #[test]
    fn a_run_is_of_the_scheme_that_its_policies_make() {
        let of = |name: &str| scheme(&run(name, "w", 8, 64, 1));
        assert_eq!(
            [of("paper002-fifo"), of("paper002-piq"), of("paper002-brr,read.at=off")],
            [Some(0), Some(1), Some(2)]
        );
        let mut other = run("paper002-piq", "w", 8, 64, 1);
        other.settings.insert("scheme.read.policy".to_owned(), "least-finish".to_owned());
        assert_eq!(scheme(&other), None);
    }
}
