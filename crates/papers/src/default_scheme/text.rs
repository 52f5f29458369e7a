//! The contests as text: Markdown for people, JSON for programs. What it says is made of what was measured.

use serde_json::{Value, json};

use super::measured::{Measured, Side, mean_gain};
use super::plan::PlannedClaim;
use crate::gain::Gain;
use crate::text::{align, table};
use crate::times;

/// The aim: so much less of the metric than the paper's own scheme.
pub const AIM: f64 = 0.1;

/// Totals that say why, with their names in words.
const FACTS: [(&str, &str); 5] = [
    ("read_mean_ns", "reads"),
    ("write_mean_ns", "writes"),
    ("response_p999_ns", "p99.9"),
    ("erase_blocks", "erases"),
    ("array_gc_moved_chunks", "moved chunks"),
];

/// Everything, as Markdown that a terminal shows well too.
pub fn markdown(rows: &[PlannedClaim], measured: &[Measured]) -> String {
    let head = ["", "paper", "own scheme", "metric", "default", "acknowledging alike", "aim of 10 %"];
    let mut summary = table(&head);
    let mut reasons = String::new();
    for &row in rows {
        let gain = |side| mean_gain(measured, row, side, row.metric());
        let verdict = verdict(gain(Side::Default));
        let cells = [
            row.name().to_owned(),
            row.paper().to_owned(),
            row.own().0.to_owned(),
            row.what().to_owned(),
            less(gain(Side::Default)),
            less(gain(Side::Alike)),
            verdict.to_owned(),
        ];
        summary.add_row(cells);
        reasons += &format!("- {}: {}\n", row.name(), reason(measured, row));
    }
    let mut head = ["", "workload", "metric", "own", "default", "gain", "alike", "gain"].map(str::to_owned);
    let mut cells = Vec::new();
    for one in measured {
        for &row in rows.iter().filter(|row| row.paper() == one.row.paper()) {
            let value = |side| figure(row, one.value(side, row.metric()));
            cells.push(vec![
                row.name().to_owned(),
                one.workload.clone(),
                row.metric().to_owned(),
                value(Side::Own),
                value(Side::Default),
                less(one.gain(Side::Default, row.metric())),
                value(Side::Alike),
                less(one.gain(Side::Alike, row.metric())),
            ]);
        }
    }
    times::show(&mut head, &mut cells);
    let mut runs = table(&head.each_ref().map(String::as_str));
    cells.iter().for_each(|row| _ = runs.add_row(row));
    align(&mut runs, 3);
    format!("{summary}\n\n{reasons}\n### Each workload\n\n{runs}\n")
}

/// The same for programs.
pub fn json(rows: &[PlannedClaim], measured: &[Measured]) -> Value {
    let workload = |one: &Measured, row: PlannedClaim| {
        json!({
            "workload": one.workload,
            "own": one.value(Side::Own, row.metric()),
            "default": one.value(Side::Default, row.metric()),
            "alike": one.value(Side::Alike, row.metric()),
        })
    };
    let row = |&row: &PlannedClaim| {
        let gain = |side| mean_gain(measured, row, side, row.metric());
        let of_paper = measured.iter().filter(|one| one.row.paper() == row.paper());
        json!({
            "row": row.name(),
            "paper": row.paper(),
            "own": row.own().1,
            "metric": row.metric(),
            "seeds": of_paper.clone().map(|one| one.runs[0].len()).max(),
            "default_gain": gain(Side::Default).map(|gain| gain.typical),
            "default_interval": gain(Side::Default).and_then(|gain| gain.interval),
            "alike_gain": gain(Side::Alike).map(|gain| gain.typical),
            "alike_interval": gain(Side::Alike).and_then(|gain| gain.interval),
            "verdict": verdict(gain(Side::Default)),
            "reason": reason(measured, row),
            "workloads": of_paper.map(|one| workload(one, row)).collect::<Vec<_>>(),
        })
    };
    json!({ "results": rows.iter().map(row).collect::<Vec<_>>() })
}

/// Whether the aim is met, in words. As elsewhere, one seed has no verdict, and the whole interval decides.
fn verdict(gain: Option<Gain>) -> &'static str {
    let Some(gain) = gain else { return "not measured" };
    match gain.interval {
        None => "one seed",
        Some((low, _)) if low >= AIM => "met",
        Some((low, _)) if low > 0.0 => "better, by less",
        Some((_, high)) if high <= 0.0 => "worse",
        Some(_) => "undecided",
    }
}

/// How the totals that may be the reason differ, of the default and of the one that acknowledges alike, and where the aim is
/// missed.
fn reason(measured: &[Measured], row: PlannedClaim) -> String {
    let fact = |(name, words): &(&str, &str)| {
        let gain = |side| mean_gain(measured, row, side, name);
        gain(Side::Default).map(|gain_default| {
            format!("{words} {} (alike {})", less(Some(gain_default)), less(gain(Side::Alike)))
        })
    };
    let mut text = format!("{} acknowledges {}; ", row.own().0, row.acknowledges());
    text += &FACTS.iter().filter_map(fact).collect::<Vec<_>>().join(", ");
    let of_paper = || measured.iter().filter(|one| one.row.paper() == row.paper());
    let missed = of_paper().filter_map(|one| {
        let gain = one.gain(Side::Default, row.metric())?;
        (gain.typical < AIM).then(|| format!("{} ({})", one.workload, less(Some(gain))))
    });
    let missed: Vec<String> = missed.collect();
    if !missed.is_empty() {
        text += &format!("; the aim is missed on {}", missed.join(", "));
    }
    let mib =
        of_paper().map(|one| one.value(Side::Default, "map_bytes")).fold(0.0, f64::max) / f64::from(1 << 20);
    if mib > 0.0 {
        text += &format!("; maps of at most {mib:.0} MiB");
    }
    text
}

/// A gain in words, with the ends of its interval: negative ones are more.
fn less(gain: Option<Gain>) -> String {
    let Some(Gain { typical, interval }) = gain else { return "–".to_owned() };
    let text = match typical >= 0.0 {
        true => format!("{:.1} % less", typical * 100.0),
        false => format!("{:.1} % more", -typical * 100.0),
    };
    let of = |end: f64| if typical >= 0.0 { end * 100.0 } else { -end * 100.0 };
    match interval {
        None => text,
        Some((low, high)) if typical >= 0.0 => format!("{text} [{:.1}, {:.1}]", of(low), of(high)),
        Some((low, high)) => format!("{text} [{:.1}, {:.1}]", of(high), of(low)),
    }
}

/// A value of a row's metric, as a cell.
fn figure(row: PlannedClaim, value: f64) -> String {
    if row.metric().ends_with("_ns") { times::pending(value) } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(typical: f64, interval: Option<(f64, f64)>) -> Option<Gain> {
        Some(Gain { typical, interval })
    }

    #[test]
    fn the_aim_is_a_tenth_less_with_the_whole_interval() {
        let of = |low: f64, high: f64| verdict(gain((low + high) / 2.0, Some((low, high))));
        assert_eq!(verdict(None), "not measured");
        assert_eq!(
            [of(0.1, 0.3), of(0.09, 0.3), of(-0.1, 0.3), of(-0.9, -0.1)],
            ["met", "better, by less", "undecided", "worse"]
        );
    }

    #[test]
    fn one_seed_has_no_verdict_however_large_the_gain_is() {
        assert_eq!(verdict(Gain::of(&[0.9])), "one seed");
        let five = Gain::of(&[0.9, 0.91, 0.9, 0.89, 0.9]);
        assert_eq!(verdict(five), "met");
        assert_eq!(verdict(Gain::of(&[0.9, -0.9, 0.5])), "undecided");
        // The geometric mean of the ratios 0.25 and 1 is 0.5.
        assert!((Gain::of(&[0.75, 0.0]).unwrap().typical - 0.5).abs() < 1e-12);
    }

    #[test]
    fn gains_are_printed_with_their_intervals() {
        assert_eq!(
            [gain(0.123, None), gain(-0.5, None), None].map(less),
            ["12.3 % less", "50.0 % more", "–"]
        );
        assert_eq!(less(gain(0.123, Some((0.1, 0.15)))), "12.3 % less [10.0, 15.0]");
        assert_eq!(less(gain(-0.5, Some((-0.6, -0.4)))), "50.0 % more [40.0, 60.0]");
    }
}
