//! Figures 3, 12 and 13: the tails of the members' latencies.

use crate::chart::{Across, Bar, Bars, Group, Line, Lines, Look, Spread, Unit, Up, figure, time};
use crate::run::LoadedRun;
use crate::set::Set;

use super::figure::{Cell, Data, Figure, Key, Panel};
use super::wording::{Named, about, means_of_seeds, notes_on, place_of, scheme_keys, titled};

/// The look of the most congested member.
const CONGESTED: Look = Look(1);

/// The look of the member with the largest tail, where that is another one.
const LARGEST: Look = Look(2);

/// The member with the largest tail; none of one member, and where all are alike. `tails` has that of each member, none
/// without operations.
fn largest(tails: impl Iterator<Item = Option<u64>>) -> Option<usize> {
    let tails: Vec<(u64, usize)> =
        tails.enumerate().filter_map(|(member, tail)| Some((tail?, member))).collect();
    let least = tails.iter().min()?.0;
    let (most, member) = *tails.iter().rev().max_by_key(|(tail, _)| *tail)?;
    (least < most).then_some(member)
}

/// Mean blocked requests of each member: sampled after each request is served, where the run recorded that.
fn blocked(run: &LoadedRun) -> Vec<f64> {
    let served = run.column("blocked_sum_served");
    let sums = if served.is_empty() { run.column("blocked_sum") } else { served };
    let requests = run.total("requests").unwrap_or(0.0).max(1.0);
    sums.iter().map(|&sum| sum as f64 / requests).collect()
}

/// Figure 3: the tail of the most congested member beside those of the others, for each run, or as in the paper for
/// the first scheme.
pub(super) fn most_congested(set: &Set) -> Figure {
    let first = set.base_name();
    let mut data = Data::new(
        &["workload", "array", "scheme", "member", "run"],
        &["mean blocked", "p99", "p99.9", "largest"],
    );
    let mut panels = Vec::new();
    let is_base = |run: &&LoadedRun| {
        set.base(&run.structure, &run.workload).is_some_and(|base| base.scheme == run.scheme)
    };
    let runs: Vec<&LoadedRun> = set.runs.iter().filter(|run| set.paper.is_none() || is_base(run)).collect();
    for run in &runs {
        let blocked = blocked(run);
        let most = (0..blocked.len()).max_by(|&a, &b| blocked[a].total_cmp(&blocked[b]).then(b.cmp(&a)));
        let largest = largest(run.operations.iter().map(|operations| operations.quantile(99_900)));
        let mut lines = Vec::new();
        for (member, operations) in run.operations.iter().enumerate() {
            let of = |parts| operations.quantile(parts).map_or("-".to_owned(), |ns| time(ns as f64));
            let cell = |parts| Cell::time_or_none(operations.quantile(parts).map(|ns| ns as f64));
            let mean = blocked.get(member).copied().map_or("-".to_owned(), figure);
            let tip = format!("member {member}: {mean} blocked on average, 99.9 % within {}", of(99_900));
            let (is_most, is_largest) = (Some(member) == most, Some(member) == largest);
            let look = match (is_most, is_largest) {
                (true, _) => Some(CONGESTED),
                (false, true) => Some(LARGEST),
                (false, false) => None,
            };
            let most_of = [(is_most, ", most congested"), (is_largest, ", largest tail")];
            let marks: String = most_of.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
            if operations.count() > 0 {
                let name = format!("member {member}");
                lines.push(Line { look, name, points: operations.tail(99.0), band: Vec::new(), tip });
            }
            data.row([
                run.workload.clone().into(),
                run.structure.clone().into(),
                run.scheme.clone().into(),
                format!("{member}{marks}").into(),
                run.digest.clone().into(),
                mean.into(),
                cell(99_000),
                cell(99_900),
                cell(100_000),
            ]);
        }
        lines.sort_by_key(|line| line.look.is_some());
        let place = match set.paper {
            Some(_) => place_of(set, run),
            None => format!("{}, {}", place_of(set, run), run.scheme),
        };
        let title = match most.and_then(|most| Some((most, blocked.get(most)?))) {
            Some((most, mean)) => {
                let rest = (blocked.iter().sum::<f64>() - mean) / (blocked.len().max(2) - 1) as f64;
                let tail = match largest {
                    None => String::new(),
                    Some(member) if member == most => ", and the largest tail".to_owned(),
                    Some(member) => format!("; member {member} has the largest tail"),
                };
                format!("{place}: member {most} has {} blocked against {}{tail}", figure(*mean), figure(rest))
            }
            None => place,
        };
        let body = if lines.is_empty() {
            Err("no operation on a member counts in this run".to_owned())
        } else {
            let chart = Lines {
                title: &title,
                description: "Share of the operations on each member within a latency, from 99 to 100 percent",
                across: Across::Time("latency of a member's operation"),
                upward: "operations within it (%)",
                up: Up::Range(99.0, 100.0),
                lines: &lines,
                reference: Some(99.9),
            };
            Ok(chart.draw(&format!("congested-{}", panels.len())))
        };
        panels.push(Panel { title, body });
    }
    let whose = if set.paper.is_some() { format!(", for {first}") } else { String::new() };
    let mut notes = notes_on(runs.iter().copied());
    notes.extend(operations_of_seeds(set));
    Figure {
        id: "congested".to_owned(),
        title: titled(set, "Figure 3", "tail of the most congested member beside the rest"),
        about: about(
            set,
            &format!(
                "How large a share of the operations on a member ends within a time, waiting in its queue included, \
                 from 99 to 100 %: the most congested member beside the others, each a thin line{whose}. Above each \
                 drawing: blocked requests on the most congested member against the mean of the rest, and the member \
                 with the largest tail, by its 99.9th percentile."
            ),
            "paper 000, Figure 3, shows two LUN traces with 5+1, and concludes that the worst tail is the most congested \
             channel's.",
        ),
        legend: [(CONGESTED, "most congested member"), (LARGEST, "member with the largest tail, if another")]
            .map(|(look, name)| Key { look, name: name.to_owned(), is_line: true })
            .into(),
        panels,
        notes,
        data,
    }
}

/// The note on tails where runs have several seeds.
fn operations_of_seeds(set: &Set) -> Option<String> {
    set.seeds().map(|seeds| format!("Tails are those of the operations of {seeds} together."))
}

/// The 99.9th percentile of each member's operations.
fn p999(run: &LoadedRun) -> Vec<u64> {
    let column = run.column("operation_p999_ns");
    if column.is_empty() {
        run.operations.iter().filter_map(|operations| operations.quantile(99_900)).collect()
    } else {
        column.to_vec()
    }
}

/// Mean, least and largest.
fn spread(values: &[u64]) -> Option<(f64, f64, f64)> {
    let (least, most) = (*values.iter().min()?, *values.iter().max()?);
    let mean = values.iter().map(|&value| value as f64).sum::<f64>() / values.len() as f64;
    (mean > 0.0).then_some((mean, least as f64, most as f64))
}

/// Figures 12 and 13: the members' 99.9th percentiles over the mean of those of the first scheme.
pub(super) fn tails(set: &Set, structure: &str, named: Named) -> Figure {
    let first = set.base_name();
    let mut data = Data::new(
        &["workload", "scheme", "run"],
        &["mean p99.9", "least", "largest", "mean over first", "largest - least"],
    );
    let (mut groups, mut kept) = (Vec::new(), false);
    for workload in set.workloads_of(structure) {
        let of = |scheme: &str| {
            let run = set.find(structure, workload, scheme)?;
            spread(&p999(run)).map(|spread| (run, spread))
        };
        let base = set.base(structure, workload).and_then(|run| spread(&p999(run)));
        let base = base.map(|(mean, ..)| mean);
        let mut bars = Vec::new();
        for (scheme, _) in set.runs_on(structure, workload) {
            let found = of(scheme);
            let over = |value: f64| base.map(|base| value / base);
            let mut bar = Bar { look: set.look(scheme), value: None, spread: None, tip: String::new() };
            if let Some((run, (mean, least, most))) = found {
                bar.value = over(mean);
                bar.spread = over(least).zip(over(most)).map(|(least, most)| Spread::Range(least, most));
                bar.tip = format!(
                    "{workload}, {scheme}: 99.9th percentile of the members {} on average, {} to {}{}",
                    time(mean),
                    time(least),
                    time(most),
                    run.of_seeds()
                );
                data.row([
                    workload.into(),
                    scheme.into(),
                    run.digest.clone().into(),
                    Cell::time(mean),
                    Cell::time(least),
                    Cell::time(most),
                    over(mean).map_or("-".into(), |over| figure(over).into()),
                    Cell::time(most - least),
                ]);
            }
            kept |= bar.value.is_some();
            bars.push(bar);
        }
        groups.push(Group { label: workload.to_owned(), bars });
    }
    let id = format!("member-tails-{}", named.place);
    let body = if kept {
        let chart = Bars {
            title: structure,
            description: "99.9th percentile of the members' latencies, mean with least and largest, by workload and scheme",
            axis: "99.9th percentile, first scheme = 1",
            unit: Unit::ONE,
            log: false,
            groups: &groups,
            reference: Some(1.0),
        };
        Ok(chart.draw(&format!("{id}-0")))
    } else {
        Err("no operation on a member counts in these runs".to_owned())
    };
    let mut notes = notes_on(set.runs.iter().filter(|run| run.structure == structure));
    notes.extend(means_of_seeds(set));
    Figure {
        id,
        title: titled(set, &named.number, &format!("tails of the members with {structure}")),
        about: about(
            set,
            &format!(
                "The 99.9th percentile of the latency of each member's operations, waiting in its queue included: the \
                 bar is the mean over the members, the dotted line goes from the least to the largest, all over the mean of \
                 {first}. A short line is an even array."
            ),
            "paper 000, Figure 12 (5+1) and Figure 13 (7+1).",
        ),
        legend: scheme_keys(set, false),
        panels: vec![Panel { title: structure.to_owned(), body }],
        notes,
        data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_member_with_the_largest_tail_is_named_where_there_is_one() {
        let of = |tails: &[u64]| largest(tails.iter().map(|tail| Some(*tail).filter(|tail| *tail > 0)));
        assert_eq!(of(&[30, 0, 70, 70, 20]), Some(2), "the first of those that are alike");
        assert_eq!((of(&[30, 30, 0]), of(&[0]), of(&[])), (None, None, None));
    }

    #[test]
    fn a_spread_is_mean_least_and_largest() {
        assert_eq!(spread(&[30, 10, 20]), Some((20.0, 10.0, 30.0)));
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[0, 0]), None, "no operation took time");
    }
}
