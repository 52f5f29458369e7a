//! The paper's results, each beside what was measured, with a verdict and the likely reason.

use stripewise_reliability::closed_forms;

use super::evidence::{self, FEWER, LOWER, NOTHING, Words, gains, span};
use super::measured::{Measured, Run};
use super::plan::{MEMBERS, Row, WORKLOADS};
use super::variant::{Level, Variant};
use crate::evaluation::{Results, Traces};
use crate::finding::{Column, Finding, Findings};
use crate::text::range;
use crate::verdict::{Verdict, judge, judge_range};

/// The columns of what was measured: on generated workloads, which the verdict is on, and on slices of real traces.
const COLUMNS: [Column; 2] =
    [Column { title: "measured", key: "measured" }, Column { title: "slices", key: "slices" }];

/// The comparison of the paper.
const WAS_ESAP: (Variant, Variant) = (Variant::Was(2), Variant::Esap);

/// Failures of an SSD and repairs a year (section V-E).
const LAMBDA: f64 = 0.25;
const MU: f64 = 1e4;

/// Three and four groups are as good as two as long as they spare or cost no more than this share of eSAP's rewrites:
/// what [`judge`] allows a gain to be off.
const NEGLIGIBLE: f64 = 0.03;

/// Studies of the two kinds.
struct Groups<'a> {
    generated: Vec<&'a Measured>,
    slices: Vec<&'a Measured>,
}

impl<'a> Groups<'a> {
    /// Those at a level whose workload `keep` keeps; slices are never left out by their name.
    fn at(&self, level: Level, keep: impl Fn(&str) -> bool) -> [Vec<&'a Measured>; 2] {
        let of = |group: &[&'a Measured], all: bool| {
            let ours = |one: &&&Measured| one.cell.level == level && (all || keep(one.cell.workload));
            group.iter().filter(ours).copied().collect()
        };
        [of(&self.generated, false), of(&self.slices, true)]
    }
}

/// Judges `rows` by what was `measured`.
pub fn findings(rows: &[Row], measured: &[Measured]) -> Findings {
    let of = |traces| measured.iter().filter(move |one| one.cell.traces == traces);
    // A slice that is too short for its array to collect garbage compares nothing.
    let slices = of(Traces::Slice).filter(|one| one.in_steady_state()).collect();
    let groups = Groups { generated: of(Traces::Generated).collect(), slices };
    Findings { columns: &COLUMNS, rows: rows.iter().map(|row| finding(*row, &groups)).collect() }
}

fn finding(row: Row, groups: &Groups<'_>) -> Finding {
    let any = |_: &str| true;
    let is_first = |workload: &str| workload == WORKLOADS[0];
    match row {
        Row::A => {
            let what = "GC rewrites, Financial1, RAID-5, WAS(2) against eSAP";
            rewrites(row, what, "70.6 % fewer", (0.706, 0.706), groups.at(Level::Raid5, is_first))
        }
        Row::B => {
            let what = "GC rewrites, other four, RAID-5, WAS(2) against eSAP";
            let studies = groups.at(Level::Raid5, |workload| !is_first(workload));
            rewrites(row, what, "30.0 to 43.2 % fewer", (0.300, 0.432), studies)
        }
        Row::C => {
            let what = "GC rewrites, all, RAID-6, WAS(2) against eSAP";
            rewrites(row, what, "23.9 to 63.2 % fewer", (0.239, 0.632), groups.at(Level::Raid6, any))
        }
        Row::D => both(
            row,
            "mean response, all, WAS(2) against eSAP",
            ("RAID-5 60.9 to 79.3 %, RAID-6 56.8 to 80.9 % lower", LOWER),
            [(0.609, 0.793), (0.568, 0.809)],
            groups,
            (&|run: &Run| run.mean_ns[0], &evidence::responses),
        ),
        Row::E => both(
            row,
            "erases, all, WAS(2) against eSAP",
            ("RAID-5 22.9 to 63.2 %, RAID-6 23.0 to 61.8 % fewer", FEWER),
            [(0.229, 0.632), (0.230, 0.618)],
            groups,
            (&|run: &Run| run.erases, &evidence::erases),
        ),
        Row::F => reliability(groups),
        Row::G => hotness(groups),
        Row::H => tiers(groups),
    }
}

fn rewrites(
    row: Row,
    what: &'static str,
    printed: &'static str,
    bounds: (f64, f64),
    [generated, slices]: [Vec<&Measured>; 2],
) -> Finding {
    let value = |run: &Run| run.gc_chunks;
    let found = gains(&generated, WAS_ESAP, &value);
    let shown = [span(&found, FEWER), span(&gains(&slices, WAS_ESAP, &value), FEWER)];
    let verdict = judge_range(bounds, &numbers(&found));
    finish(row, what, printed, shown, verdict, &generated, evidence::rewrites(&generated))
}

fn numbers(gains: &[(&Measured, f64)]) -> Vec<f64> {
    gains.iter().map(|(_, gain)| *gain).collect()
}

/// What of a run is compared, and what speaks for the result.
type Compared<'a> = (&'a dyn Fn(&Run) -> f64, &'a dyn Fn(&[&Measured]) -> String);

/// A result with a range for each level.
fn both(
    row: Row,
    what: &'static str,
    (printed, words): (&'static str, Words),
    bounds: [(f64, f64); 2],
    groups: &Groups<'_>,
    (value, evidence): Compared<'_>,
) -> Finding {
    let (mut shown, mut verdicts) = ([String::new(), String::new()], Vec::new());
    for (level, bounds) in Level::ALL.into_iter().zip(bounds) {
        let studies = groups.at(level, |_| true);
        verdicts.push(judge_range(bounds, &numbers(&gains(&studies[0], WAS_ESAP, value))));
        for (text, studies) in shown.iter_mut().zip(&studies) {
            append(text, level, &span(&gains(studies, WAS_ESAP, value), words));
        }
    }
    let reason = evidence(&groups.generated);
    finish(row, what, printed, shown, worst(&verdicts), &groups.generated, reason)
}

fn append(text: &mut String, level: Level, part: &str) {
    if part == NOTHING {
        return;
    }
    let gap = if text.is_empty() { "" } else { "; " };
    text.push_str(&format!("{gap}{level} {part}"));
}

/// The worst of some words, where something was measured.
fn worst(verdicts: &[Verdict]) -> Verdict {
    let measured = verdicts.iter().filter(|word| **word != Verdict::NotMeasured);
    measured.max().copied().unwrap_or(Verdict::NotMeasured)
}

/// How many times longer the array keeps its data when its SSDs fail at `alpha` times the rate (section V-E).
pub(super) fn times(level: Level, alpha: f64) -> f64 {
    let years = match level {
        Level::Raid5 => closed_forms::raid5::<f64>,
        Level::Raid6 => closed_forms::raid6::<f64>,
    };
    years(MEMBERS, LAMBDA * alpha, MU) / years(MEMBERS, LAMBDA, MU)
}

fn reliability(groups: &Groups<'_>) -> Finding {
    // The formulas at the printed alphas, from which the paper's "2x to 20x" comes.
    let printed = |level| (times(level, 0.77), times(level, if level == Level::Raid5 { 0.37 } else { 0.38 }));
    let (mut shown, mut verdicts, mut alphas) = ([String::new(), String::new()], Vec::new(), String::new());
    for level in Level::ALL {
        let studies = groups.at(level, |_| true);
        let erases = |run: &Run| run.erases;
        for (place, (text, studies)) in shown.iter_mut().zip(&studies).enumerate() {
            let alpha: Vec<f64> =
                gains(studies, WAS_ESAP, &erases).iter().map(|(_, gain)| 1.0 - gain).collect();
            let all: Vec<f64> = alpha.iter().map(|alpha| times(level, *alpha)).collect();
            let Some((low, high)) = range(all.iter().copied()) else { continue };
            append(text, level, &format!("{low:.2} to {high:.2} times"));
            if place == 0 {
                let (least, most) = printed(level);
                // Once is no gain.
                let gains: Vec<f64> = all.iter().map(|times| times - 1.0).collect();
                verdicts.push(judge_range((least - 1.0, most - 1.0), &gains));
                let (low, high) = range(alpha.into_iter()).unwrap_or((1.0, 1.0));
                alphas.push_str(&format!("{level} alpha {low:.2} to {high:.2}, "));
            }
        }
    }
    let reason = format!(
        "{alphas}printed 0.37 to 0.77 and 0.38 to 0.77; at these the printed formulas give {:.2} to {:.2} times (RAID-5) and \
         {:.2} to {:.2} (RAID-6); n = {MEMBERS}, failures {LAMBDA} and repairs {MU} a year; MTTDL follows alpha, so that \
         it stands and falls with 1e; ",
        printed(Level::Raid5).0,
        printed(Level::Raid5).1,
        printed(Level::Raid6).0,
        printed(Level::Raid6).1,
    );
    let what = "MTTDL, WAS(2) over eSAP, by measured alpha";
    finish(Row::F, what, "2 to 20 times", shown, worst(&verdicts), &groups.generated, reason)
}

fn hotness(groups: &Groups<'_>) -> Finding {
    let value = |run: &Run| run.gc_chunks;
    let pair = (Variant::Was(2), Variant::Hca);
    let mut shown = [String::new(), String::new()];
    let mut best: Option<f64> = None;
    for level in Level::ALL {
        for (place, (text, studies)) in shown.iter_mut().zip(groups.at(level, |_| true)).enumerate() {
            let found = gains(&studies, pair, &value);
            append(text, level, &span(&found, FEWER));
            if place == 0 {
                best = numbers(&found).into_iter().chain(best).reduce(f64::max);
            }
        }
    }
    let direct = gains(&groups.generated, (Variant::Was(2), Variant::Direct), &value);
    let bytes = |variant| {
        let all = groups.generated.iter().filter_map(|one| one.run(variant)).map(|run| run.hotness_bytes);
        range(all).map_or(0.0, |(_, most)| most)
    };
    let reason = format!(
        "the best of all studies is judged; against counting every chunk GLRU has {}; memory at most {:.0} B (GLRU), {:.0} B \
         (HCA), {:.0} B (direct); ",
        span(&direct, FEWER),
        bytes(Variant::Was(2)),
        bytes(Variant::Hca),
        bytes(Variant::Direct),
    );
    let what = "GC rewrites, two groups, GLRU against HCA, best case";
    finish(Row::G, what, "16.7 % fewer", shown, judge(0.167, best), &groups.generated, reason)
}

fn tiers(groups: &Groups<'_>) -> Finding {
    // What the third and fourth group add, in shares of eSAP's rewrites, as the figure shows them.
    let further = |one: &Measured, tiers: u8| {
        let chunks = |variant| Some(one.run(variant)?.gc_chunks);
        let esap = chunks(Variant::Esap).filter(|chunks| *chunks > 0.0)?;
        Some((chunks(Variant::Was(2))? - chunks(Variant::Was(tiers))?) / esap)
    };
    let show = |group: &[&Measured]| {
        let one = |tiers: u8| {
            let all: Vec<_> =
                group.iter().filter_map(|&study| further(study, tiers).map(|gain| (study, gain))).collect();
            (!all.is_empty()).then(|| format!("{tiers} groups {}", span(&all, FEWER)))
        };
        let texts: Vec<String> = [3, 4].into_iter().filter_map(one).collect();
        if texts.is_empty() { "–".to_owned() } else { texts.join("; ") }
    };
    let all = groups.generated.iter().flat_map(|one| [3, 4].map(|tiers| further(one, tiers)));
    let verdict = match range(all.flatten()) {
        None => Verdict::NotMeasured,
        Some((low, high)) if low >= -NEGLIGIBLE && high <= NEGLIGIBLE => Verdict::Agrees,
        Some((low, _)) if low >= -NEGLIGIBLE => Verdict::SameDirection,
        Some(_) => Verdict::Differs,
    };
    let mean = |run: &Run| run.mean_ns[0];
    let four = gains(&groups.generated, (Variant::Was(4), Variant::Was(2)), &mean);
    let reason = format!(
        "negligible: within {:.0} % of eSAP's rewrites either way; mean response of four groups against two: {}; thresholds \
         of three and four groups are not printed: 2, 4 and 2, 4, 8 are choices; ",
        NEGLIGIBLE * 100.0,
        span(&four, LOWER),
    );
    let shown = [show(&groups.generated), show(&groups.slices)];
    let what = "GC rewrites, groups 2 to 3 and to 4, further gain in % of eSAP's";
    finish(Row::H, what, "negligible", shown, verdict, &groups.generated, reason)
}

/// Adds what is not in a steady state.
fn finish(
    row: Row,
    what: &'static str,
    printed: &'static str,
    measured: [String; 2],
    verdict: Verdict,
    group: &[&Measured],
    mut reason: String,
) -> Finding {
    let idle: Vec<String> =
        group.iter().filter(|one| !one.in_steady_state()).map(|one| one.cell.to_string()).collect();
    if !idle.is_empty() {
        reason.push_str(&format!("NO GARBAGE COLLECTION IN A SCHEME: {}; ", idle.join("; ")));
    }
    let esap = group.iter().filter_map(|one| one.run(Variant::Esap));
    let short = range(esap.map(|run| run.short_stripes / run.stripes.max(1.0)));
    if let Some((_, most)) = short.filter(|(_, most)| *most >= 0.001) {
        reason.push_str(&format!("P_wait cuts short up to {:.1} % of eSAP's stripes; ", most * 100.0));
    }
    let measured = measured.map(|text| if text.is_empty() { NOTHING.to_owned() } else { text });
    let reason = reason.trim_end().trim_end_matches(';').to_owned();
    Finding { row: row.name(), what, printed, measured: measured.into(), verdict, reason }
}
