//! The paper's results, each beside what was measured, with a verdict and the likely reason.

use super::evidence::{self, NOTHING, Studies, difference, gain, gains, percent};
use super::measured::{Measured, Run};
use super::plan::{Part, Row};
use super::variant::{Change, Gc, Level, Policy, Variant};
use super::workload::{EVALUATED, Point};
use crate::evaluation::Results;
use crate::finding::{Column, Finding, Findings};
use crate::verdict::{Verdict, judge};

/// The columns of what was measured: SIW against WOW as the paper has it, which is judged; the hybrid against WOW; and SIW
/// against WOW where collections are three times as long.
const COLUMNS: [Column; 3] = [
    Column { title: "measured", key: "measured" },
    Column { title: "hybrid", key: "hybrid" },
    Column { title: "heavy collections", key: "heavy_collections" },
];

/// Judges `rows` by what was `measured`.
pub fn findings(rows: &[Row], measured: &[Measured]) -> Findings {
    let studies = Studies(measured);
    Findings { columns: &COLUMNS, rows: rows.iter().map(|row| finding(*row, &studies)).collect() }
}

fn finding(row: Row, studies: &Studies<'_>) -> Finding {
    match row {
        Row::A => responses(row, Level::Raid0, ("14.74 % / 42.62 % lower", [0.1474, 0.4262]), studies),
        Row::B => responses(row, Level::Raid5, ("12.72 % / 37.93 % lower", [0.1272, 0.3793]), studies),
        Row::C => overhead(studies),
        Row::D => preemptive(studies),
        Row::E => synchrony(row, Level::Raid0, ("0.40 to 0.70 (+75.00 %)", [0.40, 0.70, 0.75]), studies),
        Row::F => synchrony(row, Level::Raid5, ("0.46 to 0.74 (+60.86 %)", [0.46, 0.74, 0.6086]), studies),
        Row::G => {
            let printed = ("16.26 / 32.51 / 12.05 % lower", &[0.1626, 0.3251, 0.1205][..]);
            large(row, Level::Raid0, &EVALUATED[1..4], printed, studies)
        }
        Row::H => small(row, Level::Raid0, studies),
        Row::I => {
            large(row, Level::Raid5, &EVALUATED[2..4], ("5.79 / 14.79 % lower", &[0.0579, 0.1479]), studies)
        }
        Row::J => small(row, Level::Raid5, studies),
        Row::K => places(studies),
        Row::L => collections(studies),
    }
}

/// 3a and 3b.
fn responses(
    row: Row,
    level: Level,
    (printed, values): (&'static str, [f64; 2]),
    studies: &Studies<'_>,
) -> Finding {
    let names = ["HPC", "Exchange"];
    let main = names.map(|name| studies.find(Part::Main, name, Gc::Greedy, level));
    let of = |policy| main.map(|study| gain(study, policy));
    let found = of(Policy::Siw);
    let wide = gain(studies.find(Part::Wide, "HPC", Gc::Greedy, level), Policy::Siw);
    let large = studies.find(Part::Main, "Exchange-large", Gc::Greedy, level);
    let reason = evidence::load(main[0])
        + &format!(
            "Exchange with large requests: {} (hybrid {}); ",
            percent(gain(large, Policy::Siw)),
            percent(gain(large, Policy::Hybrid))
        )
        + &evidence::caches(studies, "HPC", level)
        + &evidence::coordination(studies, "HPC", level);
    let what = match row {
        Row::A => "mean response, HPC / Exchange, RAID-0, SIW against WOW",
        _ => "mean response, HPC / Exchange, RAID-5, SIW against WOW",
    };
    let shown = [
        gains(&found),
        gains(&of(Policy::Hybrid)),
        wide.map_or(NOTHING.to_owned(), |gain| percent(Some(gain))),
    ];
    finish(row, (what, printed), shown, worst([0, 1].map(|at| judge(values[at], found[at]))), reason)
}

/// 3c: what splitting and parity take before a write is in the cache.
fn overhead(studies: &Studies<'_>) -> Finding {
    let siw = Variant::of(Policy::Siw);
    let free = Variant { change: Change::FreeParity, ..siw };
    let found = studies.sweep("HPC", Level::Raid5).and_then(|one| one.gain(free, siw));
    let of = |name| {
        let study = studies.find(Part::Main, name, Gc::Greedy, Level::Raid5);
        let runs = study.and_then(|study| Some([study.preset(Policy::Siw)?, study.preset(Policy::Wow)?]));
        runs.map_or(NOTHING.to_owned(), |[siw, wow]| {
            let [ours, theirs] = [siw, wow].map(|run| crate::text::time(run.mean_ns[2]));
            let pages = siw.pre_reads / siw.writes.max(1.0);
            format!("{name} {ours} (WOW {theirs}), {pages:.1} pages pre-read for each")
        })
    };
    let reason = format!(
        "the share of the mean response of SIW that goes when splitting requests and combining pages take no time; what a \
         partial stripe must read beforehand stays and is most of it: mean of writes {}; {}",
        of("HPC"),
        of("Exchange")
    );
    let what = "pre-parity computation, share of the mean response, HPC, RAID-5";
    finish(Row::C, (what, "5.21 %"), alone(percent(found)), judge(0.0521, found), reason)
}

/// 3d.
fn preemptive(studies: &Studies<'_>) -> Finding {
    let study = |name, level| studies.find(Part::Main, name, Gc::Preemptive, level);
    let best = |policy| {
        let all = Level::ALL.into_iter().filter_map(|level| gain(study("Exchange", level), policy));
        all.max_by(f64::total_cmp)
    };
    let both = |name| Level::ALL.map(|level| gain(study(name, level), Policy::Siw));
    let against = |level| {
        let mean = |gc| {
            let run = studies.find(Part::Main, "Exchange", gc, level)?.preset(Policy::Wow)?;
            Some(run.mean_ns[0])
        };
        Some(1.0 - mean(Gc::Preemptive)? / mean(Gc::Greedy)?)
    };
    let reason = format!(
        "RAID-0 and RAID-5: Exchange {}, with large requests {}, HPC {}; semi-preemptive collection alone takes {} off WOW's \
         mean response on Exchange, and what it takes SIW cannot gain",
        gains(&both("Exchange")),
        gains(&both("Exchange-large")),
        gains(&both("HPC")),
        gains(&Level::ALL.map(against)),
    );
    let what =
        "mean response, Exchange, semi-preemptive collection, SIW against WOW, the best of both levels";
    let found = best(Policy::Siw);
    let shown = [percent(found), percent(best(Policy::Hybrid)), NOTHING.to_owned()];
    finish(Row::D, (what, "up to 12.70 % lower"), shown, judge(0.1270, found), reason)
}

/// 3e and 3f.
fn synchrony(
    row: Row,
    level: Level,
    (printed, values): (&'static str, [f64; 3]),
    studies: &Studies<'_>,
) -> Finding {
    let study = |part| studies.find(part, "HPC", Gc::Greedy, level);
    let of = |part, policy, value: fn(&Run) -> Option<f64>| study(part)?.preset(policy).and_then(value);
    let two: fn(&Run) -> Option<f64> = |run| run.at_least_of_any(2);
    let pair = |part, policy| Some([of(part, Policy::Wow, two)?, of(part, policy, two)?]);
    let shown = |pair: Option<[f64; 2]>| {
        pair.map_or(NOTHING.to_owned(), |[from, to]| {
            format!("{from:.2} to {to:.2} ({:+.1} %)", (to / from.max(f64::MIN_POSITIVE) - 1.0) * 100.0)
        })
    };
    let found = pair(Part::Main, Policy::Siw);
    let verdicts = match found {
        Some([from, to]) => [(values[0], from), (values[1], to), (values[2], to / from - 1.0)]
            .map(|(printed, found)| judge(printed, Some(found))),
        None => [Verdict::NotMeasured; 3],
    };
    let any = |part, policy| {
        let values = [1, 2].map(|ssds| study(part)?.preset(policy).map(|run| run.at_least(ssds)));
        let text = values.map(|share| share.map_or(NOTHING.to_owned(), |share| format!("{share:.3}")));
        format!("{} P(n >= 1) {}, P(n >= 2) {}", policy.name(), text[0], text[1])
    };
    let reason = format!(
        "given that any SSD collects in the slice of 0.1 ms; of all slices: {}; {}; with None {}; {}{}",
        any(Part::Main, Policy::Wow),
        any(Part::Main, Policy::Siw),
        of(Part::Main, Policy::None, two).map_or(NOTHING.to_owned(), |two| format!("{two:.2}")),
        evidence::coordination(studies, "HPC", level),
        unsynchronised(studies, level),
    );
    let what = match row {
        Row::E => "P(n >= 2), HPC, RAID-0, WOW to SIW",
        _ => "P(n >= 2), HPC, RAID-5, WOW to SIW",
    };
    let columns =
        [shown(found), shown(pair(Part::Main, Policy::Hybrid)), shown(pair(Part::Wide, Policy::Siw))];
    finish(row, (what, printed), columns, worst(verdicts), reason)
}

fn unsynchronised(studies: &Studies<'_>, level: Level) -> String {
    let variant = Variant { policy: Policy::Siw, change: Change::SyncWait(0) };
    let run = studies.sweep("HPC", level).and_then(|sweep| sweep.run(variant));
    let two = run.and_then(|run| run.at_least_of_any(2));
    two.map_or(String::new(), |two| format!("SIW without synchronisation {two:.2}"))
}

/// 3g and 3i.
fn large(
    row: Row,
    level: Level,
    points: &[Point],
    (printed, values): (&'static str, &[f64]),
    studies: &Studies<'_>,
) -> Finding {
    let of = |part, policy| -> Vec<Option<f64>> {
        points.iter().map(|point| gain(studies.point(part, *point, level), policy)).collect()
    };
    let found = of(Part::Grid, Policy::Siw);
    let others = EVALUATED[1..].iter().filter(|point| !points.contains(point)).map(|point| {
        format!("{point} {}", percent(gain(studies.point(Part::Grid, *point, level), Policy::Siw)))
    });
    let means = points.iter().map(|point| {
        let study = studies.point(Part::Grid, *point, level);
        format!("{point}: {}", evidence::means(study, &[Policy::Wow, Policy::Siw, Policy::Hybrid]))
    });
    let reason = format!(
        "{}{}; the other points of Fig. 5: {}",
        evidence::load(studies.point(Part::Grid, points[points.len() - 1], level)),
        means.collect::<Vec<_>>().join("; "),
        others.collect::<Vec<_>>().join(", ")
    );
    let what = match row {
        Row::G => "mean response, RAID-0, W(512 / 1024 / 4096, 20, 60), SIW against WOW",
        _ => "mean response, RAID-5, W(1024 / 4096, 20, 60), SIW against WOW",
    };
    let verdict = worst(values.iter().zip(&found).map(|(printed, found)| judge(*printed, *found)));
    let shown = [gains(&found), gains(&of(Part::Grid, Policy::Hybrid)), gains(&of(Part::Wide, Policy::Siw))];
    finish(row, (what, printed), shown, verdict, reason)
}

/// 3h and 3j: percent and milliseconds.
fn small(row: Row, level: Level, studies: &Studies<'_>) -> Finding {
    let study = studies.point(Part::Grid, EVALUATED[0], level);
    let shown = |policy| {
        let more = gain(study, policy).map(|gain| -gain);
        let ms = study.and_then(|study| difference(study, policy, Policy::Wow));
        match (more, ms) {
            (Some(more), Some(ms)) => format!("{:+.1} %, {ms:+.4} ms", more * 100.0),
            _ => NOTHING.to_owned(),
        }
    };
    let more = gain(study, Policy::Siw).map(|gain| -gain);
    let ms = study.and_then(|study| difference(study, Policy::Siw, Policy::Wow));
    let (what, printed, verdict) = match row {
        Row::H => (
            "mean response, RAID-0, W(4, 20, 60), SIW against WOW",
            "+12.05 %, +0.01 ms",
            judge(0.1205, more),
        ),
        _ => (
            "mean response, RAID-5, W(4, 20, 60), SIW against WOW",
            "sharply up in percent, +0.14 ms",
            judge(0.14, ms),
        ),
    };
    let writes = |policy| {
        let run = study.and_then(|study| study.preset(policy));
        run.map_or(NOTHING.to_owned(), |run| crate::text::time(run.mean_ns[2]))
    };
    let reason = format!(
        "{}; of writes alone WOW {}, SIW {}",
        evidence::means(study, &[Policy::Wow, Policy::Siw, Policy::Hybrid]),
        writes(Policy::Wow),
        writes(Policy::Siw)
    );
    finish(
        row,
        (what, printed),
        [shown(Policy::Siw), shown(Policy::Hybrid), NOTHING.to_owned()],
        verdict,
        reason,
    )
}

/// 3k: an order, without numbers.
fn places(studies: &Studies<'_>) -> Finding {
    const OTHERS: [Policy; 4] = [Policy::Isc, Policy::Wow, Policy::Siw, Policy::Hybrid];
    let study = |level| studies.find(Part::Main, "HPC", Gc::Greedy, level);
    let over =
        |level, policy| Some(1.0 - study(level)?.gain(Variant::of(policy), Variant::of(Policy::None))?);
    let shown = |policies: &[Policy]| {
        let all = Level::ALL.map(|level| {
            let of = |policy: &Policy| {
                let value = over(level, *policy).map_or(NOTHING.to_owned(), |over| format!("{over:.3}"));
                format!("{} {value}", policy.name())
            };
            policies.iter().map(of).collect::<Vec<_>>().join(", ")
        });
        all.join("; ")
    };
    let holds = |level| {
        let [isc, wow, siw, _] = OTHERS.map(|policy| over(level, policy));
        Some(f64::max(wow?, siw?) < f64::min(isc?, 1.0))
    };
    let verdict = match Level::ALL.map(holds) {
        [Some(true), Some(true)] => Verdict::Agrees,
        [None, None] => Verdict::NotMeasured,
        _ => Verdict::Differs,
    };
    let reason = format!(
        "mean response over that without a cache, RAID-0 and then RAID-5; {}; {}",
        evidence::means(study(Level::Raid0), &Policy::ALL),
        evidence::means(study(Level::Raid5), &Policy::ALL)
    );
    let what =
        "mean response, HPC: a cache in the controller (WOW, SIW) against one in the SSDs (ISC) and none";
    let columns = [shown(&OTHERS[..3]), shown(&OTHERS[3..]), NOTHING.to_owned()];
    finish(Row::K, (what, "the controller's is better"), columns, verdict, reason)
}

/// 3l.
fn collections(studies: &Studies<'_>) -> Finding {
    let run = |part, level| studies.find(part, "HPC", Gc::Greedy, level)?.preset(Policy::Wow);
    let mean = |level| run(Part::Main, level).and_then(|run| run.collection_ns).map(|ns| ns / 1e6);
    let pages = |part| {
        let all = Level::ALL.map(|level| run(part, level).map(|run| run.moved_pages));
        all.map(|pages| pages.map_or(NOTHING.to_owned(), |pages| format!("{pages:.1}"))).join(" and ")
    };
    let found = Level::ALL.map(mean);
    let shown = |all: [Option<f64>; 2]| {
        let text = all.map(|ms| ms.map_or(NOTHING.to_owned(), |ms| format!("{ms:.2} ms")));
        if all.iter().all(Option::is_none) { NOTHING.to_owned() } else { text.join(" / ") }
    };
    let wide = Level::ALL.map(|level| run(Part::Wide, level).map(|run| length_ms(run.moved_pages)));
    let reason = format!(
        "RAID-0 and RAID-5; {} valid pages in a victim, of 63, of 0.225 ms each, and 1.5 ms for the erase: seven make 3.075 \
         ms; where requests lie is chosen for it, as the paper prints the one and not the other; within 8 GiB it is {} pages",
        pages(Part::Main),
        pages(Part::Wide),
    );
    let what = "mean length of a collection, HPC, WOW, RAID-0 / RAID-5; a page is programmed in 0.2 ms";
    let verdict = worst(found.map(|ms| judge(3.0, ms)));
    let columns = [shown(found), NOTHING.to_owned(), shown(wide)];
    finish(Row::L, (what, "3 ms"), columns, verdict, reason)
}

/// A collection of so many valid pages, in milliseconds (section 4: 0.025, 0.2 and 1.5 ms).
fn length_ms(pages: f64) -> f64 {
    pages * 0.225 + 1.5
}

/// What only the first column has.
fn alone(shown: String) -> [String; 3] {
    [shown, NOTHING.to_owned(), NOTHING.to_owned()]
}

/// The worst of some words, where something was measured.
fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let measured = verdicts.into_iter().filter(|word| *word != Verdict::NotMeasured);
    measured.max().unwrap_or(Verdict::NotMeasured)
}

fn finish(
    row: Row,
    (what, printed): (&'static str, &'static str),
    measured: [String; 3],
    verdict: Verdict,
    reason: String,
) -> Finding {
    let reason = reason.trim_end().trim_end_matches(';').to_owned();
    Finding { row: row.name(), what, printed, measured: measured.into(), verdict, reason }
}
