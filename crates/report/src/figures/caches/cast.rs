//! The names and the series of the figures of paper 003: write caches by their place and their destage policy.

use crate::chart::Look;
use crate::figures::figure::Key;
use crate::run::LoadedRun;
use crate::set::Set;

/// The caches, in the order of the paper's figure 4(b), then the hybrid, which the paper only proposes.
pub(super) const CACHES: [&str; 6] = ["None", "ISC", "WOW", "STOW", "SIW", "hybrid"];
/// The caches that the paper compares throughout, and the hybrid.
pub(super) const MAIN: [usize; 3] = [WOW, 4, 5];
/// The cache that the others are compared with.
pub(super) const WOW: usize = 2;

/// The runs of a workload, by cache.
pub(super) struct Scene<'a> {
    pub(super) workload: &'a str,
    pub(super) runs: [Option<&'a LoadedRun>; CACHES.len()],
}

impl Scene<'_> {
    /// Mean response time of a cache's run, and its ratio to that of WOW.
    pub(super) fn mean(&self, cache: usize) -> Option<(f64, Option<f64>)> {
        let mean = |cache: usize| self.runs[cache].and_then(|run| run.total("response_mean_ns"));
        let base = mean(WOW).filter(|base| *base > 0.0);
        mean(cache).map(|ours| (ours, base.map(|base| ours / base)))
    }
}

/// The workloads of unmodified runs, each with its runs: those of Table 1, called W(R, I, W), or the others. A
/// semicolon in the name marks variants and runs outside the paper's comparison; these are left out.
pub(super) fn scenes(set: &Set, of_table: bool) -> Vec<Scene<'_>> {
    let mut scenes: Vec<Scene<'_>> = Vec::new();
    for run in set.runs.iter().filter(|run| is_preset(run) && !run.workload.contains(';')) {
        let Some(place) = place(run).filter(|_| run.workload.starts_with("W(") == of_table) else { continue };
        let at = scenes.iter().position(|scene| scene.workload == run.workload).unwrap_or(scenes.len());
        if at == scenes.len() {
            scenes.push(Scene { workload: &run.workload, runs: [None; CACHES.len()] });
        }
        scenes[at].runs[place].get_or_insert(run);
    }
    scenes.retain(|scene| scene.runs[1..].iter().any(Option::is_some));
    scenes
}

/// Whether a run's scheme is a preset as it is, except for the level: the paper has each cache over RAID-0 and RAID-5.
pub(super) fn is_preset(run: &LoadedRun) -> bool {
    run.scheme.split(',').skip(1).all(|setting| setting == "geometry.level=raid0")
}

/// The place of a run's cache among [`CACHES`].
pub(super) fn place(run: &LoadedRun) -> Option<usize> {
    match run.settings.get("scheme.cache.policy").map(String::as_str) {
        None | Some("none") => Some(0),
        Some("isc") => Some(1),
        Some("wow") => Some(2),
        Some("stow") => Some(3),
        Some("siw") => Some(4),
        Some("hybrid") => Some(5),
        Some(_) => None,
    }
}

/// The legend of some caches.
pub(super) fn keys(caches: &[usize], is_line: bool) -> Vec<Key> {
    caches.iter().map(|cache| Key { look: Look(*cache), name: CACHES[*cache].to_owned(), is_line }).collect()
}

/// The identifier and the title of a figure.
pub(super) fn named(id: &str, number: &str, what: &str) -> (String, String) {
    (format!("paper003-figure-{id}"), format!("Figure {number} of paper 003: {what}"))
}
