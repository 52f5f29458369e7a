//! The figures of papers 000 to 004, drawn for whatever runs there are.

mod caches;
mod congestion;
mod decisions;
mod elastic;
mod elements;
mod redirected;
mod response;
mod routines;
mod tail;
mod zones;

use crate::Paper;
use crate::chart::Look;
use crate::run::Run;
use crate::set::Set;

/// One figure of a report.
pub(crate) struct Figure {
    /// Its place in the page, as in `figure-2`.
    pub(crate) id: String,
    pub(crate) title: String,
    /// What is shown, how it was measured, and where the paper has it.
    pub(crate) about: String,
    pub(crate) legend: Vec<Key>,
    pub(crate) panels: Vec<Panel>,
    /// Why it says less than it could.
    pub(crate) notes: Vec<String>,
    /// The values behind it.
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
    /// The drawing, or why there is none.
    pub(crate) body: Result<String, String>,
}

/// What stands where there is nothing to draw.
fn or_none(mut panels: Vec<Panel>, why: &str) -> Vec<Panel> {
    if panels.is_empty() {
        panels.push(Panel { title: "none".to_owned(), body: Err(why.to_owned()) });
    }
    panels
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

/// Every figure: those of paper 004 where runs have its arrays, those of paper 003 where runs have its caches, those of paper
/// 002 where runs redirect reads, those of paper 001 where runs have elastic striping, then those of paper 000; or those of
/// one paper.
pub(crate) fn all(set: &Set) -> Vec<Figure> {
    let of = |paper: Paper| set.paper.is_none_or(|only| only == paper);
    let mut figures = if of(Paper::P004) { zones::all(set) } else { Vec::new() };
    if of(Paper::P003) {
        figures.extend(caches::all(set));
    }
    if of(Paper::P002) {
        figures.extend(redirected::all(set));
    }
    if of(Paper::P001) {
        figures.extend(elastic::all(set));
    }
    if of(Paper::P000) {
        figures.extend(paper000(set));
    }
    figures
}

/// The figures of paper 000, in its order.
fn paper000(set: &Set) -> Vec<Figure> {
    let mut figures = vec![congestion::by_trace(set), elements::most_congested(set), routines::shares(set)];
    figures.push(congestion::by_scheme(set));
    figures.extend(per_structure(set, [8, 9], response::means));
    figures.extend(per_structure(set, [10, 11], tail::distributions));
    figures.extend(per_structure(set, [12, 13], elements::tails));
    figures.push(decisions::cost(set));
    figures
}

/// A figure that the paper has for 5+1 and again for 7+1, for each stripe structure that there is and those two.
fn per_structure(set: &Set, numbers: [u32; 2], draw: fn(&Set, &str, Named) -> Figure) -> Vec<Figure> {
    let mut structures: Vec<&str> = PAPERS.to_vec();
    structures.extend(set.structures.iter().map(String::as_str).filter(|other| !PAPERS.contains(other)));
    let named = |structure: &str| {
        let place = PAPERS.iter().position(|paper| *paper == structure);
        match place {
            Some(place) => {
                let number = numbers[place];
                Named { id: format!("figure-{number}"), number: format!("Figure {number}") }
            }
            None => Named {
                id: format!(
                    "figure-{}-{}",
                    numbers[0],
                    set.structures.iter().position(|s| s == structure).unwrap_or(0)
                ),
                number: format!("As Figures {} and {}", numbers[0], numbers[1]),
            },
        }
    };
    structures.into_iter().map(|structure| draw(set, structure, named(structure))).collect()
}

/// The stripe structures of paper 000.
const PAPERS: [&str; 2] = ["5+1", "7+1"];

/// Which of the paper's figures it is.
struct Named {
    id: String,
    number: String,
}

/// A figure without runs of its stripe structure.
fn none_of_structure(structure: &str) -> Panel {
    let device = match structure {
        "7+1" => "; `--device ssdsim-7+1` makes some",
        "5+1" => "; `--device ssdsim-5+1` makes some",
        _ => "",
    };
    Panel {
        title: structure.to_owned(),
        body: Err(format!("No run has a stripe structure of {structure}{device}.")),
    }
}

/// The schemes of a legend.
fn scheme_keys(set: &Set, is_line: bool) -> Vec<Key> {
    let key = |scheme: &String| Key { look: set.look(scheme), name: scheme.clone(), is_line };
    set.schemes.iter().map(key).collect()
}

/// Notes on what the runs themselves did not have.
fn notes_on<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<String> {
    let mut notes = Vec::new();
    let mut list = |what: &str, of: &dyn Fn(&Run) -> bool| {
        let found: Vec<&Run> = runs.clone().filter(|run| of(run)).collect();
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

/// Names the runs that are shown beside stripes and have none.
fn without_parity<'a>(runs: impl Iterator<Item = &'a Run>) -> Option<String> {
    let mut schemes: Vec<&str> =
        runs.filter(|run| !run.has_parity()).map(|run| run.scheme.as_str()).collect();
    schemes.dedup();
    let listed = schemes.join(", ");
    (!schemes.is_empty()).then(|| format!("Without parity, over as many elements: {listed}."))
}

/// `name` where there is one structure, else with the structure.
fn place_of(set: &Set, run: &Run) -> String {
    if set.structures.len() > 1 {
        format!("{}, {}", run.workload, run.structure)
    } else {
        run.workload.clone()
    }
}
