//! Figure 11: the mean time to data loss, when members fail in proportion to their erases.

use stripewise_reliability::closed_forms;

use crate::chart::{Bar, Bars, Group, Look, Unit, figure};
use crate::figures::cast::Cast;
use crate::figures::figure::{Data, Figure, Key, Panel};
use crate::figures::wording::{about, means_of_seeds, titled};
use crate::run::LoadedRun;
use crate::set::Set;

use super::cast::{is_elastic, is_esap};

/// Failures of a member and repairs a year, from the paper (section V-E).
const LAMBDA: f64 = 0.25;
const MU: f64 = 1e4;

/// The alphas that the paper draws. Only the paper's own reports show them, marked.
const PRINTED: [f64; 4] = [1.0, 0.77, 0.5, 0.37];

/// The look of the results for the paper's alphas.
const OF_PRINTED: Look = Look(6);

/// MTTDL in years of a parity group of `members`; none unless it has one or two parities.
fn years(parity: usize, members: u32, alpha: f64) -> Option<f64> {
    match parity {
        1 if members >= 2 => Some(closed_forms::raid5(members, LAMBDA * alpha, MU)),
        2 if members >= 3 => Some(closed_forms::raid6(members, LAMBDA * alpha, MU)),
        _ => None,
    }
}

/// Erases of a run over those of eSAP.
fn alpha(run: &LoadedRun, esap: &LoadedRun) -> Option<f64> {
    let (ours, theirs) = (run.total("erase_blocks")?, esap.total("erase_blocks")?);
    (ours > 0.0 && theirs > 0.0).then_some(ours / theirs)
}

pub(super) fn by_alpha(set: &Set, cast: &Cast<'_>) -> Figure {
    let id = "mttdl";
    let mut data =
        Data::new(&["workload", "array", "scheme", "run"], &["alpha", "MTTDL in years", "over eSAP"]);
    let mut panels = Vec::new();
    for structure in &set.structures {
        let Some(any) = set.runs.iter().find(|run| run.structure == *structure && is_elastic(run)) else {
            continue;
        };
        let (parity, members) = (any.parity_chunks(), any.column("member").len() as u32);
        let Some(base) = years(parity, members, 1.0) else { continue };
        let bar = |look, name: &str, alpha: f64| {
            let years = years(parity, members, alpha).unwrap_or(0.0);
            let tip = format!("{name}: alpha {}, {} years", figure(alpha), figure(years));
            Bar { look, value: Some(years), spread: None, tip }
        };
        let group = |alpha: f64| {
            let label = format!("printed α {alpha}");
            Group { bars: vec![bar(OF_PRINTED, &label, alpha)], label }
        };
        let mut groups: Vec<Group> = PRINTED.into_iter().map(group).collect();
        for workload in set.workloads_of(structure) {
            let runs = cast.runs(structure, workload, is_elastic);
            let Some((.., esap)) = runs.iter().find(|(.., run)| is_esap(run)) else { continue };
            let mut bars = Vec::new();
            for (label, look, run) in &runs {
                let Some(alpha) = alpha(run, esap).filter(|_| !is_esap(run)) else { continue };
                let years = years(parity, members, alpha).unwrap_or(0.0);
                data.row([
                    workload.to_owned(),
                    structure.clone(),
                    (*label).to_owned(),
                    run.digest.clone(),
                    figure(alpha),
                    figure(years),
                    figure(years / base),
                ]);
                bars.push(bar(*look, &format!("{workload}, {label}"), alpha));
            }
            if !bars.is_empty() {
                groups.push(Group { label: workload.to_owned(), bars });
            }
        }
        if groups.len() == PRINTED.len() {
            let body = Err("no run stands beside one of eSAP, so nothing was measured".to_owned());
            panels.push(Panel { title: structure.clone(), body });
            continue;
        }
        let chart = Bars {
            title: structure,
            description: "Mean time to data loss at the printed alphas, and by workload and scheme at the measured ones",
            axis: "MTTDL in years",
            unit: Unit::ONE,
            log: true,
            groups: &groups,
            reference: Some(base),
        };
        let body = Ok(chart.draw(&format!("{id}-{}", panels.len())));
        panels.push(Panel { title: structure.clone(), body });
    }
    let of_printed = "computed at an alpha that the paper printed, not measured".to_owned();
    let mut legend = vec![Key { look: OF_PRINTED, name: of_printed, is_line: false }];
    let plays = |run: &LoadedRun| is_elastic(run) && !is_esap(run);
    legend.extend(cast.keys(plays, false));
    Figure {
        id: id.to_owned(),
        title: titled(set, "Figure 11 of paper 001", "mean time to data loss"),
        about: about(
            set,
            &format!(
                "Mean time to data loss by the paper's formulas, with {LAMBDA} failures of a member and {MU} repairs a \
                 year, when the members fail alpha times as often as with eSAP: alpha is a scheme's erases over those of \
                 eSAP. First at the alphas that the paper printed, then at those of these runs; the line is eSAP."
            ),
            "paper 001, Figure 11, finds 2 to 20 times.",
        ),
        legend,
        panels,
        notes: means_of_seeds(set).into_iter().collect(),
        data,
    }
}
