//! The names and the series of the figures of paper 004: arrays of one chunk size, and the one with three zones.

use crate::chart::Look;
use crate::figures::figure::Key;
use crate::run::LoadedRun;
use crate::set::Set;

/// The arrays, in the order of the paper's figures.
pub(super) const ARRAYS: [&str; 4] = ["4 KB-RAIS", "8 KB-RAIS", "32 KB-RAIS", "MC-RAIS"];
/// Their presets.
const PRESETS: [&str; 4] = ["paper004-4k", "paper004-8k", "paper004-32k", "paper004-mc-rais"];

/// The runs of a workload, by array.
pub(super) struct Scene<'a> {
    pub(super) workload: &'a str,
    pub(super) runs: [Option<&'a LoadedRun>; ARRAYS.len()],
}

impl Scene<'_> {
    /// A total of an array's run, and its ratio to that of the first array.
    pub(super) fn value(&self, array: usize, total: &str) -> Option<(f64, Option<f64>)> {
        let value = |array: usize| self.runs[array].and_then(|run| run.total(total));
        let base = value(0).filter(|base| *base > 0.0);
        value(array).map(|ours| (ours, base.map(|base| ours / base)))
    }
}

/// The workloads that are not random accesses of one size, each with its runs on the unmodified arrays.
pub(super) fn scenes(set: &Set) -> Vec<Scene<'_>> {
    let mut scenes: Vec<Scene<'_>> = Vec::new();
    for run in set.runs.iter().filter(|run| !run.workload.starts_with("random ")) {
        let Some((place, has_nvram)) = place(run) else { continue };
        let at = scenes.iter().position(|scene| scene.workload == run.workload).unwrap_or(scenes.len());
        if at == scenes.len() {
            scenes.push(Scene { workload: &run.workload, runs: [None; ARRAYS.len()] });
        }
        let held = &mut scenes[at].runs[place];
        if held.is_none() || has_nvram {
            *held = Some(run);
        }
    }
    scenes
}

/// The place of a run's array, and whether it keeps parity in NVRAM as the judged arrays do.
fn place(run: &LoadedRun) -> Option<(usize, bool)> {
    let name = run.settings.get("scheme.name")?;
    let (preset, settings) = name.split_once(',').unwrap_or((name, ""));
    let place = PRESETS.iter().position(|known| *known == preset)?;
    (settings.is_empty() || settings == NVRAM).then_some((place, settings == NVRAM))
}

/// The settings of the judged arrays beside their presets, as crates/papers/data/paper004.toml has them.
const NVRAM: &str = "parity.window=64,parity.acknowledge=after-data,parity.idle=0ms";

/// The legend of the arrays.
pub(super) fn keys() -> Vec<Key> {
    let key = |(at, name): (usize, &&str)| Key { look: Look(at), name: (*name).to_owned(), is_line: false };
    ARRAYS.iter().enumerate().map(key).collect()
}

/// The identifier and the title of a figure.
pub(super) fn named(id: &str, number: &str, what: &str) -> (String, String) {
    (format!("paper004-figure-{id}"), format!("Figure {number} of paper 004: {what}"))
}
