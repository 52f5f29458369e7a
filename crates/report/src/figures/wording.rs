//! The words of figures: their titles, descriptions and notes, and the names in their legends.

use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::Key;

/// The stripe structures of paper 000.
pub(super) const PAPERS: [&str; 2] = ["5+1", "7+1"];

/// A figure of one array.
pub(super) struct Named {
    /// The index of the array.
    pub(super) place: usize,
    /// The number of the figure in the paper.
    pub(super) number: String,
}

/// The title of a figure. Only a paper's reports have the number.
pub(super) fn titled(set: &Set, number: &str, what: &str) -> String {
    if set.paper.is_some() {
        return format!("{number}: {what}");
    }
    let mut letters = what.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// The description of a figure; in a paper's reports with the values that the paper printed.
pub(super) fn about(set: &Set, shown: &str, printed: &str) -> String {
    if set.paper.is_some() { format!("{shown} Printed: {printed}") } else { shown.to_owned() }
}

/// The title of a panel: in the paper's reports `5+1` is panel (a) of a figure, `7+1` is (b).
pub(super) fn panel_title(set: &Set, number: u32, structure: &str) -> String {
    let letter = ["a", "b"].into_iter().zip(PAPERS).find(|(_, paper)| *paper == structure);
    match letter.filter(|_| set.paper.is_some()) {
        Some((letter, _)) => format!("{number}({letter}): {structure}"),
        None => structure.to_owned(),
    }
}

/// The note on whiskers where runs have several seeds.
pub(super) fn on_whiskers(set: &Set) -> Option<String> {
    let whiskers =
        "a whisker is the 95 % interval of the mean (Student); there is none where the seeds changed nothing";
    means_of_seeds(set).map(|means| format!("{}; {whiskers}.", means.trim_end_matches('.')))
}

/// The note on values where runs have several seeds.
pub(super) fn means_of_seeds(set: &Set) -> Option<String> {
    set.seeds().map(|seeds| format!("Values are means of {seeds}."))
}

/// The schemes of a legend.
pub(super) fn scheme_keys(set: &Set, is_line: bool) -> Vec<Key> {
    let key = |scheme: &String| Key { look: set.look(scheme), name: scheme.clone(), is_line };
    set.schemes.iter().map(key).collect()
}

/// Notes on data that the runs lack.
pub(super) fn notes_on<'a>(runs: impl Iterator<Item = &'a LoadedRun> + Clone) -> Vec<String> {
    let mut notes = Vec::new();
    let mut list = |what: &str, of: &dyn Fn(&LoadedRun) -> bool| {
        let found: Vec<&LoadedRun> = runs.clone().filter(|run| of(run)).collect();
        if found.is_empty() {
            return;
        }
        let all = found.len() == runs.clone().count();
        let names =
            found.iter().map(|run| format!("{} with {} ({})", run.workload, run.scheme, run.structure));
        let names = if all { "all of these runs".to_owned() } else { names.collect::<Vec<_>>().join("; ") };
        notes.push(format!("{what}: {names}."));
    };
    list("No garbage collection happened", &|run| run.total("erase_blocks") == Some(0.0));
    list("No request counts, the warm-up is as long as the workload", &|run| {
        run.total("requests") == Some(0.0)
    });
    list("Requests failed", &|run| run.total("failed_requests").is_some_and(|failed| failed > 0.0));
    notes.extend(without_parity(runs.clone()));
    notes
}

/// Names the runs without parity that appear beside striped ones.
fn without_parity<'a>(runs: impl Iterator<Item = &'a LoadedRun>) -> Option<String> {
    let mut schemes: Vec<&str> =
        runs.filter(|run| !run.has_parity()).map(|run| run.scheme.as_str()).collect();
    schemes.dedup();
    let listed = schemes.join(", ");
    (!schemes.is_empty()).then(|| format!("Without parity, over as many members: {listed}."))
}

/// `name` where there is one structure, otherwise with the structure.
pub(super) fn place_of(set: &Set, run: &LoadedRun) -> String {
    if set.structures.len() > 1 {
        format!("{}, {}", run.workload, run.structure)
    } else {
        run.workload.clone()
    }
}
