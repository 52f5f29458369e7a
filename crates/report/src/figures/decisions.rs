//! Figure 14: the cost of the decisions.

use crate::chart::{Bar, Bars, Group, Unit, figure, time};
use crate::set::Set;

use super::figure::{Cell, Data, Figure, Panel};
use super::wording::{about, means_of_seeds, scheme_keys, titled};

pub(super) fn cost(set: &Set) -> Figure {
    let mut data = Data::new(
        &["workload", "array", "scheme", "run"],
        &["parity updates", "a decision", "all decisions", "of the simulated time, %"],
    );
    let mut panels = Vec::new();
    for structure in &set.structures {
        let mut groups = Vec::new();
        for workload in set.workloads_of(structure) {
            let mut bars = Vec::new();
            for scheme in &set.schemes {
                let run = set.find(structure, workload, scheme);
                let Some(updates) = run.and_then(|run| run.total("updates")) else { continue };
                let Some(run) = run else { continue };
                let each = set.decision_ns(run);
                let all = each.map(|ns| ns * updates);
                let text = |ns: Option<f64>| ns.map_or("-".to_owned(), time);
                bars.push(Bar {
                    look: set.look(scheme),
                    value: all,
                    spread: None,
                    tip: format!("{workload}, {scheme}: {} decisions take {}", figure(updates), text(all))
                        + &run.of_seeds(),
                });
                let simulated = run.total("simulated_ns").filter(|&ns| ns > 0.0);
                let share = all.zip(simulated).map(|(all, simulated)| all / simulated * 100.0);
                data.row([
                    workload.into(),
                    structure.clone().into(),
                    scheme.clone().into(),
                    run.digest.clone().into(),
                    figure(updates).into(),
                    Cell::time_or_none(each),
                    Cell::time_or_none(all),
                    share.map_or("-".into(), |share| figure(share).into()),
                ]);
            }
            groups.push(Group { label: workload.to_owned(), bars });
        }
        let most =
            groups.iter().flat_map(|group| &group.bars).filter_map(|bar| bar.value).fold(0.0, f64::max);
        let body = if most > 0.0 {
            let chart = Bars {
                title: structure,
                description: "Time that all decisions of a run take, by workload and scheme",
                axis: "all decisions of the run",
                unit: Unit::of_time(most),
                log: false,
                groups: &groups,
                reference: None,
            };
            Ok(chart.draw(&format!("decisions-{}", panels.len())))
        } else {
            Err("no parity was updated, or the time of a decision was not measured".to_owned())
        };
        panels.push(Panel { title: structure.clone(), body });
    }
    Figure {
        id: "decisions".to_owned(),
        title: titled(set, "Figure 14", "cost of the decisions"),
        about: about(
            set,
            "The time that all decisions of a run between RMW and RCW take: their number in the run, times the time of \
                one as measured on this machine.",
            "paper 000, Figure 14, has 1.9 to 16.7 s for Adaptive on an ARM Cortex A7 of 800 MHz: 5.7 µs an update, less \
             than 0.3 % of the I/O time.",
        ),
        legend: scheme_keys(set, false),
        panels,
        notes: means_of_seeds(set).into_iter().collect(),
        data,
    }
}
