//! The paper's results, each beside what was measured, with a verdict and the likely reason.

use super::chunks::{Count, Experiment};
use super::evidence::{self, NOTHING, Studies, mean_gain, percent, percents};
use super::measured::{Measured, Run};
use super::plan::{Cell, Part, Row, SSDS, State, ZONES};
use super::variant::{FIXED, Policy};
use super::workload::TRACES;
use crate::evaluation::Results;
use crate::finding::{Column, Finding, Findings};
use crate::verdict::{Verdict, judge};

/// The columns of what was measured: on SSDs that begin as DiskSim's do, which is judged; on SSDs after long random writes; and
/// over slices of real traces on those.
const COLUMNS: [Column; 3] = [
    Column { title: "measured", key: "measured" },
    Column { title: "used SSDs", key: "used_ssds" },
    Column { title: "real loads", key: "real_loads" },
];

/// Judges `rows` by what was `measured`.
pub fn findings(rows: &[Row], measured: &[Measured]) -> Findings {
    let studies = Studies(measured);
    Findings { columns: &COLUMNS, rows: rows.iter().map(|row| finding(*row, &studies)).collect() }
}

fn finding(row: Row, studies: &Studies<'_>) -> Finding {
    match row {
        Row::A => responses(studies),
        Row::B => largest(studies),
        Row::C => deviations(studies),
        Row::D => trends(studies),
        Row::Chunks => chunks(studies),
    }
}

/// The three columns of some value: full SSDs, used ones, real traces.
fn columns<'a, T>(studies: &Studies<'a>, value: impl Fn(Vec<&'a Measured>) -> T) -> [T; 3] {
    [(Part::Main, State::Full), (Part::Main, State::Used), (Part::Real, State::Used)]
        .map(|(part, state)| value(studies.of(part, state).collect()))
}

fn mean(run: &Run) -> f64 {
    run.mean_ns[0]
}

fn deviation(run: &Run) -> f64 {
    run.deviation_ns
}

/// 4a.
fn responses(studies: &Studies<'_>) -> Finding {
    const PRINTED: [f64; 3] = [0.402, 0.434, 0.498];
    let found = columns(studies, |all| FIXED.map(|kib| mean_gain(all.iter().copied(), kib, mean)));
    let verdict = worst([0, 1, 2].map(|at| judge(PRINTED[at], found[0][at])));
    let reason = format!(
        "{}; used SSDs: {}; {}",
        evidence::times(studies.of(Part::Main, State::Full), mean),
        evidence::times(studies.of(Part::Main, State::Used), mean),
        evidence::work(studies.of(Part::Main, State::Used)),
    );
    let what = "mean response, mean of the three traces, MC-RAIS against 4 / 8 / 32 KB-RAIS";
    finish(Row::A, (what, "40.2 / 43.4 / 49.8 % lower"), found.map(|all| percents(&all)), verdict, reason)
}

/// 4b: the abstract's figure, which is more than any of 4a.
fn largest(studies: &Studies<'_>) -> Finding {
    let found = columns(studies, |all| {
        let gains = all.iter().flat_map(|one| FIXED.map(|kib| one.gain(kib, mean)));
        gains.flatten().max_by(f64::total_cmp)
    });
    let reason = "the largest gain over any trace and any array of one chunk size; the abstract's figure is more than all of \
                  section 4.2's means (4a), so that it can only be of one of them"
        .to_owned();
    let what = "mean response, MC-RAIS against arrays of one chunk size, the largest gain";
    // More than printed is what it says.
    let verdict = judge(0.5, found[0].map(|gain| if gain > 0.5 { 0.5 } else { gain }));
    finish(Row::B, (what, "\"more than 50 %\""), found.map(percent), verdict, reason)
}

/// 4c.
fn deviations(studies: &Studies<'_>) -> Finding {
    const PRINTED: [f64; 2] = [0.59, 0.458];
    let found = columns(studies, |all| [8, 32].map(|kib| mean_gain(all.iter().copied(), kib, deviation)));
    let least = columns(studies, |all| least_with_4_kb(&all));
    let order = match least[0] {
        Some(true) => Verdict::Agrees,
        Some(false) => Verdict::Differs,
        None => Verdict::NotMeasured,
    };
    let verdict = worst([judge(PRINTED[0], found[0][0]), judge(PRINTED[1], found[0][1]), order]);
    let word = |least: Option<bool>| match least {
        Some(true) => "; 4 KB-RAIS least",
        Some(false) => "; 4 KB-RAIS not least",
        None => "",
    };
    let shown = [0, 1, 2].map(|at| percents(&found[at]) + word(least[at]));
    let reason = format!(
        "{}; used SSDs: {}",
        evidence::times(studies.of(Part::Main, State::Full), deviation),
        evidence::times(studies.of(Part::Main, State::Used), deviation),
    );
    let what = "standard deviation of the response, mean of the three traces, MC-RAIS against 8 / 32 KB-RAIS";
    finish(Row::C, (what, "59.0 / 45.8 % lower; 4 KB-RAIS has the least"), shown, verdict, reason)
}

/// Whether the array of 4 KB chunks has the least deviation over every workload.
fn least_with_4_kb(studies: &[&Measured]) -> Option<bool> {
    let of = |one: &&Measured| {
        let ours = one.run(Policy::Chunk(4))?.deviation_ns;
        Some(one.runs.iter().all(|run| run.deviation_ns >= ours))
    };
    let all: Vec<bool> = studies.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| all.iter().all(|least| *least))
}

/// A trend of MC-RAIS, and whether it is the best array throughout.
#[derive(Default)]
struct Trend {
    means: Vec<Option<f64>>,
    best: Vec<bool>,
}

impl Trend {
    fn falls(&self) -> Option<bool> {
        let all: Option<Vec<f64>> = self.means.iter().copied().collect();
        all.filter(|all| all.len() > 1).map(|all| all.windows(2).all(|pair| pair[1] < pair[0]))
    }

    fn text(&self, names: &[String]) -> String {
        let one = |(name, mean): (&String, &Option<f64>)| {
            let mean = mean.map_or(NOTHING.to_owned(), crate::text::time);
            format!("{name} {mean}")
        };
        names.iter().zip(&self.means).map(one).collect::<Vec<_>>().join(", ")
    }
}

/// 4d.
fn trends(studies: &Studies<'_>) -> Finding {
    let both = State::ALL.map(|state| {
        let ssds = ssd_trend(studies, state);
        let zones = TRACES.map(|trace| zone_trend(studies, state, trace.name));
        (ssds, zones)
    });
    let words = both.each_ref().map(|(ssds, zones)| {
        let falls = ssds.falls();
        let zones_fall: Option<Vec<bool>> = zones.iter().map(Trend::falls).collect();
        let best: Vec<bool> =
            ssds.best.iter().chain(zones.iter().flat_map(|zone| &zone.best)).copied().collect();
        (falls, zones_fall, best)
    });
    let shown = |(falls, zones, best): &(Option<bool>, Option<Vec<bool>>, Vec<bool>)| {
        let count = |all: &[bool]| format!("{} of {}", all.iter().filter(|holds| **holds).count(), all.len());
        let (Some(falls), Some(zones)) = (falls, zones) else { return NOTHING.to_owned() };
        let falls = if *falls { "falls" } else { "does not fall" };
        format!("{falls} with SSDs; falls with zones on {} traces; best in {}", count(zones), count(best))
    };
    let verdict = match &words[0] {
        (Some(falls), Some(zones), best) => {
            let claims = [*falls, zones.iter().all(|holds| *holds), best.iter().all(|holds| *holds)];
            match claims.iter().filter(|holds| **holds).count() {
                3 => Verdict::Agrees,
                0 => Verdict::Differs,
                _ => Verdict::SameDirection,
            }
        }
        _ => Verdict::NotMeasured,
    };
    let texts = both.each_ref().map(|(ssds, zones)| {
        let sizes = ZONES.map(|(_, name)| name.to_owned());
        let zones: Vec<String> = TRACES
            .iter()
            .zip(zones)
            .map(|(trace, zone)| format!("{}: {}", trace.name, zone.text(&sizes)))
            .collect();
        format!("{}; {}", ssds.text(&[3, 4, 5].map(|ssds| format!("{ssds} SSDs"))), zones.join("; "))
    });
    let reason = format!(
        "mean response of MC-RAIS over proj_0 by number of SSDs, and over each trace by size of zones: {}. Used SSDs: {}",
        texts[0], texts[1]
    );
    let what = "mean response of MC-RAIS with 3, 4, 5 SSDs (proj_0) and zones of 60, 90, 120 GB";
    let printed = "falls with SSDs and zone size; MC-RAIS is always best";
    let shown = [shown(&words[0]), shown(&words[1]), NOTHING.to_owned()];
    finish(Row::D, (what, printed), shown, verdict, reason)
}

/// Means of MC-RAIS over proj_0 by number of SSDs.
fn ssd_trend(studies: &Studies<'_>, state: State) -> Trend {
    let of = |ssds: u32| {
        let part = if ssds == SSDS { Part::Main } else { Part::Ssds };
        let which = move |cell: &Cell| (cell.part, cell.state, cell.ssds) == (part, state, ssds);
        move |policy| studies.mean_ns(TRACES[0].name, policy, which)
    };
    let mut trend = Trend::default();
    for ssds in [3, 4, 5] {
        let mean = of(ssds);
        trend.means.push(mean(Policy::McRais));
        trend.best.extend(is_best(mean(Policy::McRais), FIXED.map(|kib| mean(Policy::Chunk(kib)))));
    }
    trend
}

/// Means of MC-RAIS over a trace by size of zones. The fixed arrays have the capacity of the largest.
fn zone_trend(studies: &Studies<'_>, state: State, name: &str) -> Trend {
    let of = |blocks: u32| {
        let part = if blocks == ZONES[0].0 { Part::Main } else { Part::Zones };
        let which = move |cell: &Cell| (cell.part, cell.state, cell.blocks) == (part, state, blocks);
        move |policy| studies.mean_ns(name, policy, which)
    };
    let fixed = FIXED.map(|kib| of(ZONES[2].0)(Policy::Chunk(kib)));
    let mut trend = Trend::default();
    for (blocks, _) in ZONES {
        let mean = of(blocks)(Policy::McRais);
        trend.means.push(mean);
        trend.best.extend(is_best(mean, fixed));
    }
    trend
}

/// Whether `ours` is below all others, where all were measured.
fn is_best(ours: Option<f64>, others: [Option<f64>; 3]) -> Option<bool> {
    let others: Vec<f64> = others.into_iter().collect::<Option<_>>()?;
    let ours = ours?;
    Some(others.iter().all(|other| ours < *other))
}

/// Fig. 2.
fn chunks(studies: &Studies<'_>) -> Finding {
    let experiment = Experiment(studies.0);
    let counts =
        [experiment.reads_grow(), experiment.three_chunks_read_best(), experiment.smallest_writes_best()];
    let of = |count: &Count| format!("{} of {}", count.holds, count.of);
    let shown = if counts.iter().all(|count| count.of == 0) {
        NOTHING.to_owned()
    } else {
        let [grow, three, small] = counts.each_ref().map(of);
        format!(
            "reads grow for {grow} request sizes; 3 x chunk best for {three} chunks; smallest chunk best for {small} writes"
        )
    };
    let reason = "throughput, 32 requests under way, differences below 1 % taken for none. Inside these SSDs the pages of a \
                  chunk lie in different packages, and a command costs nothing beside its pages, so that reads hardly depend on \
                  the chunk. Writes are fastest where they cover whole stripes, which smaller chunks make of more requests; one \
                  that is no multiple of three chunks leaves a stripe in part, whatever they are"
        .to_owned();
    let what = "throughput of random accesses: reads by chunk, reads of 3 x chunk, writes by chunk";
    let printed = "reads grow with the chunk, best at 3 x chunk; writes best at the smallest";
    let columns = [shown, NOTHING.to_owned(), NOTHING.to_owned()];
    finish(Row::Chunks, (what, printed), columns, experiment.verdict(), reason)
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
