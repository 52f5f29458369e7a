//! The paper's results, each beside what was measured, with a verdict and the likely reason.

use super::evidence::{self, AGAINST, NOTHING, Studies, percent};
use super::measured::{Measured, Run};
use super::plan::{MEAN_UTILISATION, Part, Row};
use super::variant::{LENGTHS, QUEUES, Variant};
use crate::evaluation::{Results, Traces};
use crate::finding::{Column, Finding, Findings};
use crate::verdict::{Verdict, judge};

/// The columns of what was measured: on generated requests, sped up and in real time, and on slices of real traces, sped
/// up and in real time. The verdict is on the first, but that of 2h.
const COLUMNS: [Column; 4] = [
    Column { title: "sped up", key: "measured" },
    Column { title: "real time", key: "real_time" },
    Column { title: "slices, sped up", key: "slices" },
    Column { title: "slices, real time", key: "slices_real_time" },
];

/// Studies by purpose.
struct Groups<'a> {
    /// In the order of [`COLUMNS`].
    main: [Studies<'a>; 4],
    sweep: Studies<'a>,
    fresh: Studies<'a>,
}

/// Judges `rows` by what was `measured`.
pub fn findings(rows: &[Row], measured: &[Measured]) -> Findings {
    let of = |part, traces| Studies::of(measured, part, traces);
    let groups = Groups {
        main: [
            of(Part::SpedUp, Traces::Generated),
            of(Part::RealTime, Traces::Generated),
            of(Part::SpedUp, Traces::Slice),
            of(Part::RealTime, Traces::Slice),
        ],
        sweep: of(Part::Sweep, Traces::Generated),
        fresh: of(Part::Fresh, Traces::Generated),
    };
    Findings { columns: &COLUMNS, rows: rows.iter().map(|row| finding(*row, &groups)).collect() }
}

fn read_wait(run: &Run) -> f64 {
    run.wait_ns[0]
}

fn finding(row: Row, groups: &Groups<'_>) -> Finding {
    let sped = &groups.main[0];
    match row {
        Row::A => {
            let what = "read waiting, mean of 12, BRR against Async_FIFO (PIQ)";
            let reason = evidence::redirects(sped)
                + &evidence::waiting(sped)
                + &evidence::variants(&groups.sweep)
                + &evidence::fresh(&groups.fresh)
                + "requests come by chance, not in the bursts of the real traces, so that chips that are busy to the same \
                   share have shorter queues";
            less(row, what, ("23.8 % (14.2 %) lower", [0.238, 0.142]), &groups.main, read_wait, reason)
        }
        Row::B => one_trace(row, "HM_0", ("77.1 % (38.4 %) lower", [0.771, 0.384]), groups),
        Row::C => one_trace(row, "PROJ_3", ("8.6 % (1.5 %) lower", [0.086, 0.015]), groups),
        Row::D => {
            let what = "write waiting, mean of 12, BRR against Async_FIFO (PIQ)";
            let reason = "an update's wait is its row's, its pre-reads' and its writes'; rounds serve the reads that are there \
                          first, so that what reads gain writes wait for; "
                .to_owned()
                + &evidence::collection(sped);
            let wait = |run: &Run| run.wait_ns[1];
            less(row, what, ("3.2 % (0.6 %) lower", [0.032, 0.006]), &groups.main, wait, reason)
        }
        Row::E => utilisation(groups),
        Row::F => queues(groups),
        Row::G => lengths(groups),
        Row::H => fifo_utilisation(groups),
    }
}

fn one_trace(row: Row, trace: &str, printed: (&'static str, [f64; 2]), groups: &Groups<'_>) -> Finding {
    let what = match row {
        Row::B => "read waiting, HM_0 (the paper's best), BRR against Async_FIFO (PIQ)",
        _ => "read waiting, PROJ_3 (the paper's worst), BRR against Async_FIFO (PIQ)",
    };
    let sped = groups.main[0].on(trace);
    let ranked = groups.main[0].ranked(Variant::Brr, Variant::Piq, read_wait);
    let ends = match (ranked.first(), ranked.last()) {
        (Some(least), Some(most)) => format!(
            "here BRR gains least over PIQ on {} ({}) and most on {} ({}); ",
            least.0,
            percent(Some(least.1)),
            most.0,
            percent(Some(most.1))
        ),
        _ => String::new(),
    };
    let reason = ends + &evidence::redirects(&sped) + &evidence::waiting(&sped);
    // A slice is another trace.
    let [_, real, ..] = &groups.main;
    let none = groups.main[0].on("");
    less(row, what, printed, &[sped, real.on(trace), none.clone(), none], read_wait, reason)
}

/// A result that says how much less of a value BRR has than each of the others.
fn less(
    row: Row,
    what: &'static str,
    (printed, values): (&'static str, [f64; 2]),
    groups: &[Studies<'_>; 4],
    value: fn(&Run) -> f64,
    reason: String,
) -> Finding {
    let gains = |studies: &Studies<'_>| AGAINST.map(|(other, _)| studies.gain(Variant::Brr, other, value));
    let shown = groups.iter().map(|studies| {
        let [fifo, piq] = gains(studies);
        if fifo.is_none() { NOTHING.to_owned() } else { format!("{} ({})", percent(fifo), percent(piq)) }
    });
    let found = gains(&groups[0]);
    let verdict = worst([judge(values[0], found[0]), judge(values[1], found[1])]);
    finish(row, what, printed, shown.collect(), verdict, reason)
}

fn utilisation(groups: &Groups<'_>) -> Finding {
    let busy = |run: &Run| run.busy[0];
    let more = |studies: &Studies<'_>| {
        AGAINST.map(|(other, _)| studies.gain(Variant::Brr, other, busy).map(|less| -less))
    };
    let shown = groups.main.iter().map(|studies| {
        let [fifo, piq] = more(studies);
        let sign = |share: Option<f64>| share.map_or(NOTHING.to_owned(), |x| format!("{:+.1} %", x * 100.0));
        if fifo.is_none() { NOTHING.to_owned() } else { format!("{} ({})", sign(fifo), sign(piq)) }
    });
    let [fifo, piq] = more(&groups.main[0]);
    let verdict = worst([judge(0.073, fifo), judge(0.043, piq)]);
    let reason = "what BRR adds are its extra reads; counted before an arriving request's own operations; "
        .to_owned()
        + &evidence::redirects(&groups.main[0]);
    let what = "chip utilisation, mean of 12, BRR against Async_FIFO (PIQ)";
    finish(Row::E, what, "+7.3 % (+4.3 %)", shown.collect(), verdict, reason)
}

fn queues(groups: &Groups<'_>) -> Finding {
    let sweep = &groups.sweep;
    let gain = |from: u32| sweep.gain(Variant::queue(256), Variant::queue(from), read_wait);
    let (all, last) = (gain(1), gain(32));
    let curve = QUEUES.map(|queue| {
        let over = sweep.gain(Variant::queue(queue), Variant::queue(1), read_wait);
        over.map_or(NOTHING.to_owned(), |gain| format!("{queue}: {:.3}", 1.0 - gain))
    });
    let reason = format!(
        "over queue 1, mean of the workloads: {}; the bound holds back what a chip cannot start anyway, so it counts only \
         where queues grow to it",
        curve.join(", ")
    );
    let shown = if all.is_none() {
        NOTHING.to_owned()
    } else {
        format!("{} lower; {} lower", percent(all), percent(last))
    };
    // Nothing to gain from 32 on is what the paper finds.
    let flat = last.map_or(Verdict::NotMeasured, |gain| {
        if gain.abs() <= 0.06 { Verdict::Agrees } else { judge(0.029, Some(gain)) }
    });
    let what = "read waiting of BRR, queue 1 to 256; 32 to 256";
    let shown = alone(shown);
    finish(Row::F, what, "24.4 % lower; 2.9 % lower", shown, worst([judge(0.244, all), flat]), reason)
}

fn lengths(groups: &Groups<'_>) -> Finding {
    let [short, _, long] = LENGTHS;
    let sweep = &groups.sweep;
    let more = sweep.gain(Variant::length(long), Variant::length(short), read_wait).map(|less| -less);
    let piq = |length| if length == 8 { Variant::Piq } else { Variant::PiqLength(length) };
    let without = sweep.gain(piq(long), piq(short), read_wait).map(|less| -less);
    let redirected =
        LENGTHS.map(|length| percent(sweep.mean(Variant::length(length), Run::redirected_share)));
    let reason = format!(
        "under PIQ, which redirects nothing, the same change of groups gives {}; redirected with groups of 4, 8 and 16: {}",
        percent(without),
        redirected.join(", ")
    );
    let shown = more.map_or(NOTHING.to_owned(), |more| format!("{:+.1} %", more * 100.0));
    finish(
        Row::G,
        "read waiting of BRR, groups of 4 to 16",
        "+17.6 %",
        alone(shown),
        judge(0.176, more),
        reason,
    )
}

fn fifo_utilisation(groups: &Groups<'_>) -> Finding {
    let of = |studies: &Studies<'_>, at: usize| studies.mean(Variant::Fifo, |run| run.busy[at]);
    let shown = groups.main.iter().map(|studies| percent(of(studies, 0)));
    let after = groups.main.each_ref().map(|studies| percent(of(studies, 1)));
    let reason = format!(
        "judged in real time, because the speed-up is what makes it meet the column; with the arriving request's own operations \
         {} and {} (slices {} and {}); generated requests come by chance, a few a second, and find the chips idle; those of \
         real traces come in bursts, and one that comes within a burst finds them busy",
        after[0], after[1], after[2], after[3]
    );
    let verdict = judge(MEAN_UTILISATION, of(&groups.main[1], 0));
    finish(Row::H, "chip utilisation, Async_FIFO, mean of 12", "22.7 %", shown.collect(), verdict, reason)
}

/// What only generated requests, sped up, measure.
fn alone(shown: String) -> Vec<String> {
    let mut all = vec![NOTHING.to_owned(); COLUMNS.len()];
    all[0] = shown;
    all
}

/// The worst of some words, where something was measured.
fn worst(verdicts: [Verdict; 2]) -> Verdict {
    let measured = verdicts.into_iter().filter(|word| *word != Verdict::NotMeasured);
    measured.max().unwrap_or(Verdict::NotMeasured)
}

fn finish(
    row: Row,
    what: &'static str,
    printed: &'static str,
    measured: Vec<String>,
    verdict: Verdict,
    reason: String,
) -> Finding {
    let reason = reason.trim_end().trim_end_matches(';').to_owned();
    Finding { row: row.name(), what, printed, measured, verdict, reason }
}
