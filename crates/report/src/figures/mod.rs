//! The figures of reports: those of papers 000 to 004 for the papers' evaluations, and those for any runs.

mod caches;
mod cast;
mod congestion;
mod course;
mod decisions;
mod elastic;
mod figure;
mod maps;
mod members;
mod redirected;
mod response;
mod routines;
mod spent;
mod tail;
mod values;
mod wear;
mod whole;
mod wording;
mod zones;

pub(crate) use figure::{Cell, Data, Figure, Key, Panel, in_unit, unit_of};

use crate::beside::Paper;
use crate::error::Error;
use crate::set::Set;
use wording::{Named, PAPERS};

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
    figures.extend(maps::all(set));
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
