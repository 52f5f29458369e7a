//! What speaks for a result: means and deviations of every array, work for parity, garbage collection.

use super::measured::{Measured, Run};
use super::plan::{Cell, Part, State};
use super::variant::Policy;
use super::workload::TRACES;
use crate::text::{mean_of, time};

/// What stands where nothing was measured.
pub(super) const NOTHING: &str = "–";

/// All studies, to be asked for.
#[derive(Clone, Copy)]
pub(super) struct Studies<'a>(pub(super) &'a [Measured]);

impl<'a> Studies<'a> {
    /// The studies of a part, in order.
    pub(super) fn of(&self, part: Part, state: State) -> impl Iterator<Item = &'a Measured> {
        self.0.iter().filter(move |one| one.cell.part == part && one.cell.state == state)
    }

    /// The mean response of an array over a workload of Table 2, in the study that `which` says.
    pub(super) fn mean_ns(&self, name: &str, policy: Policy, which: impl Fn(&Cell) -> bool) -> Option<f64> {
        let ours = |one: &&Measured| one.cell.workload.name == name && which(&one.cell);
        Some(self.0.iter().find(ours)?.run(policy)?.mean_ns[0])
    }
}

/// How much lower a value of MC-RAIS is than with chunks of `kib`, in the mean of some studies.
pub(super) fn mean_gain<'a>(
    studies: impl Iterator<Item = &'a Measured>,
    kib: u32,
    value: fn(&Run) -> f64,
) -> Option<f64> {
    mean_of(&studies.filter_map(|one| one.gain(kib, value)).collect::<Vec<_>>())
}

/// A share as percent.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or(NOTHING.to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Several shares as percent with slashes between them.
pub(super) fn percents(all: &[Option<f64>]) -> String {
    if all.iter().all(Option::is_none) {
        return NOTHING.to_owned();
    }
    all.iter().map(|share| percent(*share)).collect::<Vec<_>>().join(" / ")
}

/// A time of every array over each workload of some studies.
pub(super) fn times<'a>(studies: impl Iterator<Item = &'a Measured>, value: fn(&Run) -> f64) -> String {
    let one = |study: &Measured| {
        let runs = study.each().map(|(policy, run)| format!("{policy} {}", time(value(run))));
        format!("{}: {}", study.cell.workload.name, runs.collect::<Vec<_>>().join(", "))
    };
    studies.map(one).collect::<Vec<_>>().join("; ")
}

/// What parity takes and what the SSDs collect, over the workload that writes most.
pub(super) fn work<'a>(mut studies: impl Iterator<Item = &'a Measured>) -> String {
    let writes_most = |one: &&Measured| one.cell.workload.name == TRACES[1].name;
    let Some(study) = studies.find(writes_most) else { return String::new() };
    let one = |(policy, run): (Policy, &Run)| {
        let [reads, writes] = run.parity_work;
        let (erases, moved) = (run.erases, run.moved_pages);
        format!(
            "{policy} {reads:.2} pages pre-read and {writes:.2} of parity written for a request, {erases:.0} blocks erased with \
             {moved:.1} valid pages each"
        )
    };
    format!("{}: {}", study.cell.workload.name, study.each().map(one).collect::<Vec<_>>().join("; "))
}
