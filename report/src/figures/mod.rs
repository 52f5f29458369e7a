//! The figures of reports: those of papers 000 to 004 for the papers' evaluations, and those for any runs.

mod caches;
mod cast;
mod congestion;
mod course;
mod decisions;
mod elastic;
mod members;
mod redirected;
mod response;
mod routines;
mod spent;
mod tail;
mod values;
mod wear;
mod whole;
mod zones;

use crate::Paper;
use crate::chart::{Drawing, Look};
use crate::error::Error;
use crate::run::LoadedRun;
use crate::set::Set;

/// One figure of a report.
pub(crate) struct Figure {
    /// Its anchor in the page.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The quantity, the measurement, and its place in the paper.
    pub(crate) about: String,
    pub(crate) legend: Vec<Key>,
    pub(crate) panels: Vec<Panel>,
    /// Notes on missing data.
    pub(crate) notes: Vec<String>,
    /// The values of its drawings.
    pub(crate) data: Data,
}

/// One entry of a legend.
pub(crate) struct Key {
    pub(crate) look: Look,
    pub(crate) name: String,
    pub(crate) is_line: bool,
}

/// One drawing of a figure.
pub(crate) struct Panel {
    pub(crate) title: String,
    /// The drawing, or why there is none: a note of a figure that has others. A figure without any drawing is left
    /// out.
    pub(crate) body: Result<Drawing, String>,
}

/// A table of texts; columns after the first `texts` are numbers.
#[derive(Default)]
pub(crate) struct Data {
    pub(crate) head: Vec<String>,
    pub(crate) texts: usize,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Data {
    fn new(texts: &[&str], numbers: &[&str]) -> Self {
        let head = texts.iter().chain(numbers).map(|&name| name.to_owned()).collect();
        Self { head, texts: texts.len(), rows: Vec::new() }
    }

    fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }
}

/// The figures of a set that have data: a paper's, or those for any runs.
///
/// # Errors
/// When a run's table cannot be read.
pub(crate) fn all(set: &Set) -> Result<Vec<Figure>, Error> {
    let mut figures = match set.paper {
        None => of_any_runs(set)?,
        Some(Paper::P000) => paper000(set),
        Some(Paper::P001) => elastic::all(set),
        Some(Paper::P002) => redirected::all(set),
        Some(Paper::P003) => caches::all(set),
        Some(Paper::P004) => zones::all(set),
    };
    figures.retain(|figure| figure.panels.iter().any(|panel| panel.body.is_ok()));
    Ok(figures)
}

/// First the figures that every run has, then those of elastic striping, redirected reads and collections.
fn of_any_runs(set: &Set) -> Result<Vec<Figure>, Error> {
    let mut figures = per_structure(set, [8, 9], response::means);
    figures.extend([whole::distributions(set), spent::parts(set)]);
    figures.extend(course::all(set)?);
    figures.push(wear::by_member(set));
    figures.extend(per_structure(set, [12, 13], members::tails));
    figures.extend([routines::shares(set), congestion::by_scheme(set), members::most_congested(set)]);
    // Response times and wear of any runs have figures of their own.
    let elsewhere = ["mean-response", "erases", "wear"];
    figures.extend(elastic::all(set).into_iter().filter(|figure| !elsewhere.contains(&figure.id.as_str())));
    figures.extend(redirected::of_any_runs(set));
    figures.push(caches::together(set));
    Ok(figures)
}

/// The figures of paper 000, in the paper's order.
fn paper000(set: &Set) -> Vec<Figure> {
    let mut figures = vec![congestion::by_trace(set), members::most_congested(set), routines::shares(set)];
    figures.push(congestion::by_scheme(set));
    figures.extend(per_structure(set, [8, 9], response::means));
    figures.extend(per_structure(set, [10, 11], tail::distributions));
    figures.extend(per_structure(set, [12, 13], members::tails));
    figures.push(decisions::cost(set));
    figures
}

/// A figure that paper 000 has for 5+1 and for 7+1, for each array of the set, those two first.
fn per_structure(set: &Set, numbers: [u32; 2], draw: fn(&Set, &str, Named) -> Figure) -> Vec<Figure> {
    let mut structures: Vec<&str> = set.structures.iter().map(String::as_str).collect();
    structures
        .sort_by_key(|structure| PAPERS.iter().position(|paper| paper == structure).unwrap_or(PAPERS.len()));
    let named = |place: usize, structure: &str| Named {
        place,
        number: match PAPERS.iter().position(|paper| *paper == structure) {
            Some(place) => format!("Figure {}", numbers[place]),
            None => format!("As Figures {} and {}", numbers[0], numbers[1]),
        },
    };
    structures.iter().enumerate().map(|(place, &of)| draw(set, of, named(place, of))).collect()
}

/// The stripe structures of paper 000.
const PAPERS: [&str; 2] = ["5+1", "7+1"];

/// A figure of one array.
struct Named {
    /// The index of the array.
    place: usize,
    /// The number of the figure in the paper.
    number: String,
}

/// The title of a figure. Only a paper's reports have the number.
fn titled(set: &Set, number: &str, what: &str) -> String {
    if set.paper.is_some() {
        return format!("{number}: {what}");
    }
    let mut letters = what.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// The description of a figure; in a paper's reports with the values that the paper printed.
fn about(set: &Set, shown: &str, printed: &str) -> String {
    if set.paper.is_some() { format!("{shown} Printed: {printed}") } else { shown.to_owned() }
}

/// The title of a panel: in the paper's reports `5+1` is panel (a) of a figure, `7+1` is (b).
fn panel_title(set: &Set, number: u32, structure: &str) -> String {
    let letter = ["a", "b"].into_iter().zip(PAPERS).find(|(_, paper)| *paper == structure);
    match letter.filter(|_| set.paper.is_some()) {
        Some((letter, _)) => format!("{number}({letter}): {structure}"),
        None => structure.to_owned(),
    }
}

/// The note on whiskers where runs have several seeds.
fn on_whiskers(set: &Set) -> Option<String> {
    let whiskers =
        "a whisker is the 95 % interval of the mean (Student); there is none where the seeds changed nothing";
    means_of_seeds(set).map(|means| format!("{}; {whiskers}.", means.trim_end_matches('.')))
}

/// The note on values where runs have several seeds.
fn means_of_seeds(set: &Set) -> Option<String> {
    set.seeds().map(|seeds| format!("Values are means of {seeds}."))
}

/// The schemes of a legend.
fn scheme_keys(set: &Set, is_line: bool) -> Vec<Key> {
    let key = |scheme: &String| Key { look: set.look(scheme), name: scheme.clone(), is_line };
    set.schemes.iter().map(key).collect()
}

/// Notes on data that the runs lack.
fn notes_on<'a>(runs: impl Iterator<Item = &'a LoadedRun> + Clone) -> Vec<String> {
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
fn place_of(set: &Set, run: &LoadedRun) -> String {
    if set.structures.len() > 1 {
        format!("{}, {}", run.workload, run.structure)
    } else {
        run.workload.clone()
    }
}
