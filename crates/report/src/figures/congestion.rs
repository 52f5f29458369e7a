//! Figures 2 and 7: how unevenly blocked requests are distributed over the members.

use crate::chart::{Bar, Bars, Group, Look, Spread, Unit, figure};
use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::{Data, Figure, Key, Panel};
use super::wording::{about, means_of_seeds, notes_on, on_whiskers, panel_title, scheme_keys, titled};

/// The coefficient of variation of the blocked requests, sampled when requests arrive and after each is served.
fn cvs(run: &LoadedRun) -> [Option<f64>; 2] {
    let of = |total: &str, column: &str| run.total(total).or_else(|| cv(run.column(column)));
    [of(CV, "blocked_sum"), of("blocked_cv_served", "blocked_sum_served")]
}

/// Standard deviation of the population over the mean (paper 000, section II-C).
fn cv(sums: &[u64]) -> Option<f64> {
    let count = sums.len() as f64;
    let mean = sums.iter().map(|&sum| sum as f64).sum::<f64>() / count;
    let squares: f64 = sums.iter().map(|&sum| (sum as f64 - mean) * (sum as f64 - mean)).sum();
    (mean > 0.0).then(|| libm::sqrt(squares / count) / mean)
}

/// The total for the first of the two sampling times.
const CV: &str = "blocked_cv";

const ARRIVALS: &str = "sampled when requests arrive";
const SERVED: &str = "sampled after each request is served";

/// Figure 2: the first scheme's cv on each workload, least first as the paper orders its traces.
pub(super) fn by_trace(set: &Set) -> Figure {
    let first = set.base_name();
    let mut data = Data::new(
        &["workload", "array", "scheme", "run"],
        &["cv at arrivals", "cv after service", "chi-square at arrivals", "chi-square after service"],
    );
    let (mut panels, mut notes, mut has_served) = (Vec::new(), Vec::new(), false);
    for structure in &set.structures {
        let mut runs: Vec<&LoadedRun> =
            set.workloads_of(structure).iter().filter_map(|workload| set.base(structure, workload)).collect();
        // The order uses the sampling time that every version of the program records.
        runs.sort_by(|a, b| cvs(a)[0].unwrap_or(0.0).total_cmp(&cvs(b)[0].unwrap_or(0.0)));
        let mut groups = Vec::new();
        for run in &runs {
            let cvs = cvs(run);
            has_served |= cvs[1].is_some();
            let bar = |(look, how): (usize, &str)| Bar {
                look: Look(look),
                value: cvs[look],
                spread: None,
                tip: format!(
                    "{}, {how}: cv {}{}",
                    run.workload,
                    cvs[look].map_or("-".to_owned(), figure),
                    run.of_seeds()
                ),
            };
            let bars = [(1, SERVED), (0, ARRIVALS)].into_iter().filter(|(look, _)| cvs[*look].is_some());
            groups.push(Group { label: run.workload.clone(), bars: bars.map(bar).collect() });
            let number = |value: Option<f64>| value.map_or("-".to_owned(), figure);
            data.row([
                run.workload.clone(),
                run.structure.clone(),
                run.scheme.clone(),
                run.digest.clone(),
                number(cvs[0]),
                number(cvs[1]),
                number(run.total("blocked_chi2")),
                number(run.total("blocked_chi2_served")),
            ]);
        }
        if groups.len() == 1 {
            notes.push(format!("{structure}: one workload, so one value and no distribution."));
        }
        notes.extend(notes_on(runs.iter().copied()));
        let title = structure.clone();
        let body = if groups.iter().all(|group| group.bars.is_empty()) {
            Err("no request waited at any member".to_owned())
        } else {
            let description =
                format!("Coefficient of variation of blocked requests for {} workloads", groups.len());
            let chart = Bars {
                title: &title,
                description: &description,
                axis: "cv of blocked requests",
                unit: Unit::ONE,
                log: false,
                groups: &groups,
                reference: None,
            };
            Ok(chart.draw(&format!("imbalance-{}", panels.len())))
        };
        panels.push(Panel { title, body });
    }
    let mut legend = vec![Key { look: Look(0), name: ARRIVALS.to_owned(), is_line: false }];
    if has_served {
        legend.insert(0, Key { look: Look(1), name: SERVED.to_owned(), is_line: false });
    }
    notes.extend(means_of_seeds(set));
    Figure {
        id: "imbalance".to_owned(),
        title: titled(set, "Figure 2", "imbalance of the members by workload"),
        about: about(
            set,
            &format!(
                "The coefficient of variation (standard deviation over mean, of the population) of the blocked requests \
                 of the members, for {first}: 0 is even, and the more the less even."
            ),
            "paper 000, Figure 2 and section II-C, shows it for 62 LUN traces with 5+1, from 0.24 to 1.18. The paper's text \
             samples after each request is served; its public program samples when requests arrive.",
        ),
        legend,
        panels,
        notes,
        data,
    }
}

/// Figure 7: the cv of every scheme.
pub(super) fn by_scheme(set: &Set) -> Figure {
    let mut data = Data::new(
        &["workload", "array", "scheme", "run"],
        &["cv at arrivals", "cv after service", "over first"],
    );
    let mut panels = Vec::new();
    for structure in &set.structures {
        let mut groups = Vec::new();
        for workload in set.workloads_of(structure) {
            let mut bars = Vec::new();
            let first = set.base(structure, workload).and_then(|run| cvs(run)[0]);
            for (scheme, run) in set.runs_on(structure, workload) {
                let cvs = cvs(run);
                bars.push(Bar {
                    look: set.look(scheme),
                    value: cvs[0],
                    spread: run.interval(CV).map(|(low, high)| Spread::Interval(low, high)),
                    tip: format!(
                        "{workload}, {scheme}: cv {}{}",
                        cvs[0].map_or("-".to_owned(), figure),
                        run.of_seeds()
                    ),
                });
                let number = |value: Option<f64>| value.map_or("-".to_owned(), figure);
                let over = cvs[0].zip(first).filter(|(_, first)| *first > 0.0).map(|(cv, first)| cv / first);
                data.row([
                    workload.to_owned(),
                    structure.clone(),
                    scheme.to_owned(),
                    run.digest.clone(),
                    number(cvs[0]),
                    number(cvs[1]),
                    number(over),
                ]);
            }
            groups.push(Group { label: workload.to_owned(), bars });
        }
        let body = if groups.iter().flat_map(|group| &group.bars).all(|bar| bar.value.is_none()) {
            Err("no request waited at any member".to_owned())
        } else {
            let chart = Bars {
                title: structure,
                description: "Coefficient of variation of blocked requests by workload and scheme",
                axis: "cv of blocked requests",
                unit: Unit::ONE,
                log: false,
                groups: &groups,
                reference: None,
            };
            Ok(chart.draw(&format!("imbalance-by-scheme-{}", panels.len())))
        };
        panels.push(Panel { title: panel_title(set, 7, structure), body });
    }
    let mut notes = notes_on(set.runs.iter());
    if set.schemes.len() == 1 {
        notes.push("One scheme: there is nothing to compare it with.".to_owned());
    }
    notes.extend(on_whiskers(set));
    Figure {
        id: "imbalance-by-scheme".to_owned(),
        title: titled(set, "Figure 7", "imbalance of the members by scheme"),
        about: about(
            set,
            "The coefficient of variation (cv: standard deviation over mean, of the population) of the blocked requests \
             of the members, sampled when requests arrive: the less the more even is the load.",
            "paper 000, Figure 7: (a) for 5+1, (b) for 7+1; it finds Adaptive's 12.1 % lower than BPU's on average.",
        ),
        legend: scheme_keys(set, false),
        panels,
        notes,
        data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cv_of_five_ones_and_a_seven_is_1_118() {
        assert!((cv(&[1, 1, 1, 1, 1, 7]).unwrap_or(0.0) - 1.118_034).abs() < 1e-6);
        assert_eq!(cv(&[0, 0]), None);
        assert_eq!(cv(&[]), None);
    }
}
