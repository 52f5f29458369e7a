//! What speaks for a result: how synchronous collections are, and what other caches, sizes and waits would give.

use super::measured::{Measured, Run};
use super::plan::Part;
use super::variant::{Change, Gc, Level, Policy, SIZES, Variant, WAITS};
use super::workload::{Point, Requests};
use crate::text::time;

/// What stands where nothing was measured.
pub(super) const NOTHING: &str = "–";

/// All studies, to be asked for.
#[derive(Clone, Copy)]
pub(super) struct Studies<'a>(pub(super) &'a [Measured]);

impl<'a> Studies<'a> {
    /// The study of a workload by its name.
    pub(super) fn find(&self, part: Part, name: &str, gc: Gc, level: Level) -> Option<&'a Measured> {
        self.0.iter().find(|one| {
            let cell = &one.cell;
            cell.part == part && cell.workload.name == name && cell.gc == gc && cell.level == level
        })
    }

    /// The study of a point of the grid.
    pub(super) fn point(&self, part: Part, point: Point, level: Level) -> Option<&'a Measured> {
        let ours =
            |one: &&Measured| matches!(one.cell.workload.requests, Requests::Point(other) if other == point);
        let ours = |one: &&Measured| ours(one) && one.cell.part == part && one.cell.level == level;
        self.0.iter().find(ours)
    }

    /// The sweeps over a workload.
    pub(super) fn sweep(&self, name: &str, level: Level) -> Option<&'a Measured> {
        self.find(Part::Sweep, name, Gc::Greedy, level)
    }
}

/// A share as percent.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or(NOTHING.to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// A difference of mean responses in milliseconds, with its sign.
pub(super) fn difference(one: &Measured, ours: Policy, theirs: Policy) -> Option<f64> {
    Some((one.preset(ours)?.mean_ns[0] - one.preset(theirs)?.mean_ns[0]) / 1e6)
}

/// How much lower the mean response of a cache is than WOW's.
pub(super) fn gain(study: Option<&Measured>, ours: Policy) -> Option<f64> {
    study?.gain(Variant::of(ours), Variant::of(Policy::Wow))
}

/// Several shares as percent with slashes between them.
pub(super) fn gains(all: &[Option<f64>]) -> String {
    if all.iter().all(Option::is_none) {
        return NOTHING.to_owned();
    }
    all.iter().map(|gain| percent(*gain)).collect::<Vec<_>>().join(" / ")
}

/// Means of the caches of a study.
pub(super) fn means(study: Option<&Measured>, policies: &[Policy]) -> String {
    let one = |policy: &Policy| {
        let run = study.and_then(|study| study.preset(*policy));
        format!("{} {}", policy.name(), run.map_or(NOTHING.to_owned(), |run| time(run.mean_ns[0])))
    };
    policies.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What else is known of the comparison of WOW and SIW over a workload: WOW as the paper's Fig. 2 draws it, and SIW without its
/// synchronisation and with other waits.
pub(super) fn caches(studies: &Studies<'_>, name: &str, level: Level) -> String {
    let Some(sweep) = studies.sweep(name, level) else { return String::new() };
    let of = |policy, change| Variant { policy, change };
    let (wow, siw) = (Variant::of(Policy::Wow), Variant::of(Policy::Siw));
    let one = of(Policy::Wow, Change::OneGroup);
    let unsynchronised = of(Policy::Siw, Change::SyncWait(0));
    let waits = WAITS[1..].iter().map(|wait| {
        let gain = sweep.gain(of(Policy::Siw, Change::SyncWait(*wait)), wow);
        format!("{} ms: {}", f64::from(*wait) / 1e3, percent(gain))
    });
    let sizes = SIZES.map(|mib| {
        let [wow, siw] = [Policy::Wow, Policy::Siw].map(|policy| of(policy, Change::Size(mib)));
        let one = of(Policy::Wow, Change::OneGroupOf(mib));
        format!("{mib} MiB: {} ({})", percent(sweep.gain(siw, wow)), percent(sweep.gain(siw, one)))
    });
    format!(
        "{name}: WOW with one group at a time, as in Fig. 2, is {} slower than with 20, and SIW gains {} on it; on WOW SIW \
         gains {} without synchronisation, with other waits {}; with other sizes it gains on WOW (on WOW with one group at \
         a time) {}; ",
        percent(sweep.gain(one, wow).map(|gain| -gain)),
        percent(sweep.gain(siw, one)),
        percent(sweep.gain(unsynchronised, wow)),
        waits.collect::<Vec<_>>().join(", "),
        sizes.join(", "),
    )
}

/// What coordination of collections by the SSDs themselves gives to WOW.
pub(super) fn coordination(studies: &Studies<'_>, name: &str, level: Level) -> String {
    let Some(sweep) = studies.sweep(name, level) else { return String::new() };
    let wow = Variant::of(Policy::Wow);
    let one = |change, what: &str| {
        let variant = Variant { policy: Policy::Wow, change };
        let two = sweep.run(variant).and_then(|run| run.at_least_of_any(2));
        let two = two.map_or(NOTHING.to_owned(), |two| format!("{two:.2}"));
        sweep.run(variant).map(|_| {
            let gain = percent(sweep.gain(variant, wow));
            format!("{what} {gain}, P(n >= 2 | n >= 1) {two}")
        })
    };
    let all = [
        one(Change::GgcReactive, "reactive GGC gains"),
        one(Change::GgcProactive, "proactive"),
        one(Change::Rotating, "rotating permission"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!("on WOW, {}; ", all.join("; ")) }
}

/// How busy the SSDs are and how often they collect, under WOW.
pub(super) fn load(study: Option<&Measured>) -> String {
    let Some(run) = study.and_then(|study| study.preset(Policy::Wow)) else { return String::new() };
    let hits = |run: &Run| run.cache[1] / run.cache[0].max(1.0);
    format!(
        "under WOW dies work {} of the time, any SSD collects in {} of it, {} of the pages written were in the cache, and \
         {:.0} writes waited for room {:.0} times, row by row (under SIW {:.0}); ",
        percent(Some(run.busy)),
        percent(Some(run.at_least(1))),
        percent(Some(hits(run))),
        run.writes,
        run.room_waits,
        study.and_then(|study| study.preset(Policy::Siw)).map_or(0.0, |run| run.room_waits),
    )
}
