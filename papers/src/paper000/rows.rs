//! The paper's results, each beside what was measured, with a verdict and the likely reason.

use stripewise_sim::uniformity::chi2_critical;

use super::decision::Decisions;
use super::measured::{Measured, Run};
use super::plan::Row;
use crate::evaluation::{Results, Traces};
use crate::finding::{Column, Finding, Findings};
use crate::text::{mean_of, range};
use crate::verdict::{Verdict, judge};

/// The columns of what was measured: generated traces with the printed clock, which the verdict is on, and in real time;
/// slices of real traces.
const COLUMNS: [Column; 3] = [
    Column { title: "measured, printed clock", key: "measured" },
    Column { title: "real time", key: "real_time" },
    Column { title: "slices", key: "slices" },
];

/// The three groups of studies: printed clock, real time, slices.
type Groups<'a> = [Vec<&'a Measured>; 3];

/// Probability at which the paper's χ² tests reject.
const SIGNIFICANCE: f64 = 0.001;

/// Judges `rows` by what was `measured`.
pub fn findings(rows: &[Row], measured: &[Measured], decisions: &Decisions) -> Findings {
    let whole = || measured.iter().filter(|one| one.is_whole());
    let groups = [
        whole().filter(|one| one.cell.traces == Traces::Generated && one.cell.clock.printed).collect(),
        whole().filter(|one| one.cell.traces == Traces::Generated && one.cell.clock.real).collect(),
        whole().filter(|one| one.cell.traces == Traces::Slice).collect(),
    ];
    Findings { columns: &COLUMNS, rows: rows.iter().map(|row| finding(*row, &groups, decisions)).collect() }
}

fn finding(row: Row, groups: &Groups<'_>, decisions: &Decisions) -> Finding {
    let p999 = |run: &Run| run.p999_ns;
    let mean = |run: &Run| run.mean_ns[0];
    let cv = |run: &Run| run.cv[1];
    match row {
        Row::A => best(
            row,
            groups,
            "p99.9, best case, Adaptive against Baseline and BPU",
            "24.8 % lower",
            0.248,
            &["baseline", "bpu"],
            &p999,
        ),
        Row::B => average(
            row,
            groups,
            "overall I/O time, mean, against Baseline and BPU",
            "13.5 % lower",
            &[0.135],
            &["baseline", "bpu"],
            &mean,
        ),
        Row::C => adjusted(groups),
        Row::D => average(
            row,
            groups,
            "cv of blocked requests, mean, against BPU",
            "12.1 % lower",
            &[0.121],
            &["bpu"],
            &cv,
        ),
        Row::E => best(
            row,
            groups,
            "overall I/O latency, best case, against BPU",
            "29.8 % lower",
            0.298,
            &["bpu"],
            &mean,
        ),
        Row::F => tails(groups, &p999),
        Row::G => variation(groups),
        Row::H => cost(groups, decisions),
        Row::I => uniformity(groups),
    }
}

/// How much lower Adaptive's value is than that of `against`, study by study.
fn gains<'a>(group: &[&'a Measured], against: &str, value: &dyn Fn(&Run) -> f64) -> Vec<(&'a Measured, f64)> {
    let gain = |one: &&'a Measured| {
        let (ours, theirs) = (value(one.run("adaptive")?), value(one.run(against)?));
        (theirs > 0.0).then(|| (*one, 1.0 - ours / theirs))
    };
    group.iter().filter_map(gain).collect()
}

/// A gain in words.
fn words(gain: Option<f64>) -> String {
    match gain {
        None => "–".to_owned(),
        Some(gain) if gain.abs() < 0.000_5 => "equal".to_owned(),
        Some(gain) if gain > 0.0 => format!("{:.1} % lower", gain * 100.0),
        Some(gain) => format!("{:.1} % higher", -gain * 100.0),
    }
}

/// The largest gain of any study over any of `against`.
fn best(
    row: Row,
    groups: &Groups<'_>,
    what: &'static str,
    printed: &'static str,
    number: f64,
    against: &[&str],
    value: &dyn Fn(&Run) -> f64,
) -> Finding {
    let found = groups.each_ref().map(|group| {
        let all = against.iter().flat_map(|&other| {
            gains(group, other, value).into_iter().map(move |(one, gain)| (one, other, gain))
        });
        all.max_by(|one, other| one.2.total_cmp(&other.2))
    });
    let shown = found.map(|best| {
        best.map_or("–".to_owned(), |(one, other, gain)| {
            format!("{} ({}, {other})", words(Some(gain)), one.cell)
        })
    });
    let gain = found[0].map(|(_, _, gain)| gain);
    finish(row, what, printed, shown, judge(number, gain), &groups[0], String::new())
}

/// The mean gain over all studies, against each of `against`; one printed number for all of them or one for each.
fn average(
    row: Row,
    groups: &Groups<'_>,
    what: &'static str,
    printed: &'static str,
    numbers: &[f64],
    against: &[&str],
    value: &dyn Fn(&Run) -> f64,
) -> Finding {
    let found = groups.each_ref().map(|group| {
        let mean = |other: &&str| {
            let all = gains(group, other, value);
            mean_of(&all.iter().map(|(_, gain)| *gain).collect::<Vec<_>>())
        };
        against.iter().map(mean).collect::<Vec<_>>()
    });
    let shown =
        found.each_ref().map(|means| means.iter().map(|mean| words(*mean)).collect::<Vec<_>>().join(" / "));
    // The worst of the words: one number must hold against all comparators.
    let verdicts =
        found[0].iter().enumerate().map(|(index, mean)| judge(numbers[index.min(numbers.len() - 1)], *mean));
    let verdict = verdicts.max();
    let also = if row == Row::D {
        let arrival = gains(&groups[0], "bpu", &|run| run.cv[0]);
        let mean = mean_of(&arrival.iter().map(|(_, gain)| *gain).collect::<Vec<_>>());
        format!("sampled after service, as the paper says; sampled on arrival {}; ", words(mean))
    } else {
        scaled(groups, value)
    };
    finish(row, what, printed, shown, verdict.unwrap_or(Verdict::NotMeasured), &groups[0], also)
}

/// The same against BPU with weights scaled to the device.
fn scaled(groups: &Groups<'_>, value: &dyn Fn(&Run) -> f64) -> String {
    let all = gains(&groups[0], "bpu-scaled", value);
    let mean = mean_of(&all.iter().map(|(_, gain)| *gain).collect::<Vec<_>>());
    format!("against BPU with scaled weights {}; ", words(mean))
}

fn tails(groups: &Groups<'_>, p999: &dyn Fn(&Run) -> f64) -> Finding {
    let what = "p99.9, mean, against Baseline / BPU";
    average(Row::F, groups, what, "14.6 % / 12.9 % lower", &[0.146, 0.129], &["baseline", "bpu"], p999)
}

fn adjusted(groups: &Groups<'_>) -> Finding {
    let more = |group: &Vec<&Measured>| {
        let ratio = |one: &&Measured| {
            let (ours, theirs) = (one.run("adaptive")?, one.run("bpu")?);
            (theirs.adjusted > 0.0).then(|| ours.adjusted / theirs.adjusted - 1.0)
        };
        mean_of(&group.iter().filter_map(ratio).collect::<Vec<_>>())
    };
    let found = groups.each_ref().map(more);
    let shown = found.map(|more| match more {
        None => "–".to_owned(),
        Some(more) => format!("{:.1} % {}", more.abs() * 100.0, if more < 0.0 { "fewer" } else { "more" }),
    });
    let silent = groups[0].iter().filter(|one| one.run("bpu").is_some_and(|run| run.adjusted == 0.0)).count();
    let also = if silent > 0 {
        format!("in {silent} of {} studies BPU adjusted nothing, which no ratio shows; ", groups[0].len())
    } else {
        String::new()
    };
    let what = "adjusted updates, mean, Adaptive against BPU";
    finish(Row::C, what, "56.2 % more", shown, judge(0.562, found[0]), &groups[0], also)
}

/// The LUN traces over 5+1 under Baseline: what the paper's Figure 2 and appendix are of.
fn luns<'a>(group: &[&'a Measured]) -> Vec<&'a Run> {
    let is_lun = |one: &&&Measured| one.cell.data == 5 && one.cell.workload.starts_with("lun");
    group.iter().filter(is_lun).filter_map(|one| one.run("baseline")).collect()
}

const LUNS: &str = "the paper's 62 LUN traces are not to be had here: instead lun0, lun1 and lun2, generated to their \
                    statistics, and for slices every study over 5+1";

fn variation(groups: &Groups<'_>) -> Finding {
    let of = |runs: &[&Run], at: usize| range(runs.iter().map(|run| run.cv[at]));
    let show = |found: Option<(f64, f64)>| {
        found.map_or("–".to_owned(), |(low, high)| format!("{low:.3}–{high:.3}"))
    };
    let runs = [luns(&groups[0]), luns(&groups[1]), slices(groups)];
    let found = of(&runs[0], 1);
    let verdict = match found {
        None => Verdict::NotMeasured,
        Some((low, high)) if low >= 0.24 && high <= 1.18 => Verdict::Agrees,
        Some((low, high)) if high >= 0.24 && low <= 1.18 => Verdict::SameDirection,
        Some(_) => Verdict::Differs,
    };
    let arrival = show(of(&runs[0], 0));
    let also = format!(
        "{LUNS}; sampled on arrival {arrival}; agrees: all inside the printed range, same direction: some; \
         generated addresses are hot by page, spread evenly over channels, which real ones are not; "
    );
    let shown = runs.each_ref().map(|runs| show(of(runs, 1)));
    finish(Row::G, "cv of blocked requests, LUN traces, 5+1", "0.24–1.18", shown, verdict, &groups[0], also)
}

fn slices<'a>(groups: &Groups<'a>) -> Vec<&'a Run> {
    let runs = groups[2].iter().filter(|one| one.cell.data == 5);
    runs.filter_map(|one| one.run("baseline")).collect()
}

fn uniformity(groups: &Groups<'_>) -> Finding {
    // Six members.
    let critical = chi2_critical(5, SIGNIFICANCE);
    let show = |runs: &[&Run]| match range(runs.iter().map(|run| run.chi2[1])) {
        None => "–".to_owned(),
        Some((low, high)) => {
            let rejected = runs.iter().filter(|run| run.chi2[1] > critical).count();
            format!("{rejected} of {} rejected, {low:.0}–{high:.0}", runs.len())
        }
    };
    let runs = [luns(&groups[0]), luns(&groups[1]), slices(groups)];
    let verdict = match runs[0].iter().filter(|run| run.chi2[1] > critical).count() {
        _ if runs[0].is_empty() => Verdict::NotMeasured,
        0 => Verdict::Differs,
        rejected if rejected == runs[0].len() => Verdict::Agrees,
        _ => Verdict::SameDirection,
    };
    let also = format!(
        "{LUNS}; critical at P = 0.001 with 5 degrees of freedom: {critical:.2}; samples of one queue depend on each \
         other, so that the test rejects too easily; "
    );
    let shown = runs.each_ref().map(|runs| show(runs));
    let printed = "all 62 rejected, 3,986–854,484,849";
    finish(Row::I, "χ² of blocked requests, LUN traces, 5+1", printed, shown, verdict, &groups[0], also)
}

fn cost(groups: &Groups<'_>, decisions: &Decisions) -> Finding {
    let runs = |group: &Vec<&Measured>| -> Vec<(f64, f64)> {
        let adaptive = group.iter().filter_map(|one| one.run("adaptive")).filter(|run| run.updates > 0.0);
        let cost = |run: &Run| {
            let seconds = run.updates * decisions.adaptive_ns / 1e9;
            (seconds, seconds * 1e9 / (run.requests * run.mean_ns[0]).max(1.0))
        };
        adaptive.map(cost).collect()
    };
    let found = groups.each_ref().map(runs);
    let shown = found.each_ref().map(|costs| {
        let seconds = range(costs.iter().map(|cost| cost.0));
        let share = range(costs.iter().map(|cost| cost.1));
        seconds.zip(share).map_or("–".to_owned(), |((low, high), (_, share))| {
            format!(
                "{:.4}–{:.4} s, {:.0} ns/update, at most {:.4} %",
                low,
                high,
                decisions.adaptive_ns,
                share * 100.0
            )
        })
    });
    let most = range(found[0].iter().map(|cost| cost.1));
    let verdict = match most {
        None => Verdict::NotMeasured,
        Some((_, share)) if share < 0.003 => Verdict::Agrees,
        Some(_) => Verdict::Differs,
    };
    let also = format!(
        "here on {}, there on an ARM Cortex-A7 of 800 MHz, so that only the share of the I/O time is judged; a decision \
         of Baseline takes {:.0} ns here, of BPU {:.0} ns; ",
        decisions.machine, decisions.baseline_ns, decisions.bpu_ns
    );
    let printed = "1.9–16.7 s, 5.7 us/update, < 0.3 %";
    finish(Row::H, "cost of Adaptive's decisions", printed, shown, verdict, &groups[0], also)
}

/// Adds the likely reason: what the studies of `group` show of it.
fn finish(
    row: Row,
    what: &'static str,
    printed: &'static str,
    measured: [String; 3],
    verdict: Verdict,
    group: &[&Measured],
    also: String,
) -> Finding {
    let mut reason = also;
    if matches!(verdict, Verdict::SameDirection | Verdict::Differs)
        && !matches!(row, Row::G | Row::H | Row::I)
    {
        reason.push_str(&evidence(group));
    }
    let idle: Vec<String> =
        group.iter().filter(|one| one.without_gc()).map(|one| one.cell.to_string()).collect();
    if !idle.is_empty() {
        reason.push_str(&format!("NO GARBAGE COLLECTION in {}; ", idle.join("; ")));
    }
    let reason = match reason.trim_end().trim_end_matches(';') {
        "" => verdict.to_string(),
        reason => reason.to_owned(),
    };
    Finding { row: row.name(), what, printed, measured: measured.into(), verdict, reason }
}

/// What speaks for a result that is not the paper's.
fn evidence(group: &[&Measured]) -> String {
    let adaptive: Vec<(&Run, &Run)> =
        group.iter().filter_map(|one| Some((one.run("adaptive")?, one.run("baseline")?))).collect();
    let mean =
        |value: &dyn Fn(&(&Run, &Run)) -> f64| mean_of(&adaptive.iter().map(value).collect::<Vec<_>>());
    let Some(adjusted) = mean(&|(ours, _)| ours.adjusted_share()) else { return String::new() };
    let extra = mean(&|(ours, theirs)| ours.pre_reads / theirs.pre_reads.max(1.0) - 1.0).unwrap_or(0.0);
    let lagging = group.iter().filter(|one| one.lags()).count();
    let mut text = format!(
        "Adaptive adjusts {:.1} % of the updates and pre-reads {:.1} % more pages than Baseline; ",
        adjusted * 100.0,
        extra * 100.0
    );
    if lagging > 0 {
        text.push_str(&format!(
            "{lagging} of {} studies fall behind their trace: there throughput decides, and every further pre-read costs; ",
            group.len()
        ));
    }
    let cause = if adjusted < 0.01 {
        "likely: queues differ too little for a choice to matter"
    } else if extra > 0.02 {
        "likely: what the further pre-reads cost eats up what balance gains"
    } else {
        "likely: generated addresses load the channels more evenly than the paper's traces, which leaves less to gain"
    };
    text + cause + "; "
}
