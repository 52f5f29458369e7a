//! The names of schemes in figures, and their looks.

use crate::chart::Look;
use crate::figures::figure::Key;
use crate::run::LoadedRun;
use crate::set::Set;

/// The schemes of a set in the order of their first runs, each with its name and look.
pub(super) struct Cast<'a> {
    set: &'a Set,
    /// The names, by the index of the scheme.
    names: Vec<String>,
}

impl<'a> Cast<'a> {
    /// Every scheme under its own name.
    pub(super) fn own(set: &'a Set) -> Self {
        Self { set, names: set.schemes.clone() }
    }

    /// Schemes under a paper's names, so that schemes of several arrays may share a name; under their own names where
    /// two of one array would share one.
    pub(super) fn called(set: &'a Set, label: fn(&LoadedRun) -> String) -> Self {
        let name = |scheme: &String| set.runs.iter().find(|run| run.scheme == *scheme).map(label);
        let is_at = |array: &str, scheme: &String| {
            set.runs.iter().any(|run| run.structure == array && run.scheme == *scheme)
        };
        let is_shared = |scheme: &String| {
            let others = set.runs.iter().filter(|other| other.scheme != *scheme);
            let mut alike = others.filter(|other| Some(label(other)) == name(scheme));
            alike.any(|other| is_at(&other.structure, scheme))
        };
        let names = set
            .schemes
            .iter()
            .map(|scheme| if is_shared(scheme) { scheme.clone() } else { name(scheme).unwrap_or_default() });
        Self { set, names: names.collect() }
    }

    fn name(&self, scheme: &str) -> &str {
        let place = self.set.schemes.iter().position(|other| other == scheme);
        place.map_or("", |place| &self.names[place])
    }

    fn look(&self, name: &str) -> Look {
        let mut seen: Vec<&String> = Vec::new();
        for other in &self.names {
            if !seen.contains(&other) {
                seen.push(other);
            }
        }
        Look(seen.iter().position(|other| *other == name).unwrap_or(0))
    }

    /// The runs of a workload on an array that `keep` accepts.
    pub(super) fn runs(
        &self,
        structure: &str,
        workload: &str,
        keep: fn(&LoadedRun) -> bool,
    ) -> Vec<(&str, Look, &'a LoadedRun)> {
        let runs = self.set.runs_on(structure, workload).into_iter().filter(|(_, run)| keep(run));
        runs.map(|(scheme, run)| (self.name(scheme), self.look(self.name(scheme)), run)).collect()
    }

    /// The legend of the schemes that have a run that `keep` accepts.
    pub(super) fn keys(&self, keep: fn(&LoadedRun) -> bool, is_line: bool) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for scheme in &self.set.schemes {
            let name = self.name(scheme);
            let plays = self.set.runs.iter().any(|run| run.scheme == *scheme && keep(run));
            if plays && !keys.iter().any(|key| key.name == name) {
                keys.push(Key { look: self.look(name), name: name.to_owned(), is_line });
            }
        }
        keys
    }
}
