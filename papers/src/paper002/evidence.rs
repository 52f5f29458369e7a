//! What speaks for a result: where waiting goes, what redirecting costs, what other rules would give.

use super::measured::{Measured, Run};
use super::plan::Part;
use super::variant::{MAIN, Variant};
use crate::evaluation::Traces;
use crate::text::mean_of;

/// The comparisons of the paper: BRR against each of the others.
pub(super) const AGAINST: [(Variant, &str); 2] = [(Variant::Fifo, "Async_FIFO"), (Variant::Piq, "PIQ")];

/// What stands where nothing was measured.
pub(super) const NOTHING: &str = "–";

/// Studies for one purpose, of one kind of requests.
#[derive(Clone)]
pub(super) struct Studies<'a>(Vec<&'a Measured>);

impl<'a> Studies<'a> {
    pub(super) fn of(measured: &'a [Measured], part: Part, traces: Traces) -> Self {
        let ours = |one: &&Measured| one.cell.part == part && crate::Cell::traces(&one.cell) == traces;
        Self(measured.iter().filter(ours).collect())
    }

    /// Those of one workload.
    pub(super) fn on(&self, workload: &str) -> Self {
        Self(self.0.iter().filter(|one| one.cell.workload.name == workload).copied().collect())
    }

    /// How much less `ours` has than `theirs`, mean over the workloads.
    pub(super) fn gain(&self, ours: Variant, theirs: Variant, value: impl Fn(&Run) -> f64) -> Option<f64> {
        let all: Vec<f64> = self.0.iter().filter_map(|one| one.gain(ours, theirs, &value)).collect();
        mean_of(&all)
    }

    /// A value of a scheme, mean over the workloads.
    pub(super) fn mean(&self, variant: Variant, value: impl Fn(&Run) -> f64) -> Option<f64> {
        let all: Vec<f64> = self.0.iter().filter_map(|one| one.run(variant)).map(value).collect();
        mean_of(&all)
    }

    /// The workloads from the least to the most gain, each with it.
    pub(super) fn ranked(
        &self,
        ours: Variant,
        theirs: Variant,
        value: impl Fn(&Run) -> f64,
    ) -> Vec<(&'static str, f64)> {
        let of = |one: &&Measured| Some((one.cell.workload.name, one.gain(ours, theirs, &value)?));
        let mut all: Vec<_> = self.0.iter().filter_map(of).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }
}

/// A share as percent with its sign.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or(NOTHING.to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// What BRR reads more, and of how much.
pub(super) fn redirects(studies: &Studies<'_>) -> String {
    let share = studies.mean(Variant::Brr, Run::redirected_share);
    let most = studies.0.iter().filter_map(|one| Some((one.run(Variant::Brr)?.redirected_share(), one)));
    let most = most.max_by(|a, b| a.0.total_cmp(&b.0));
    let most = most.map_or(String::new(), |(share, one)| {
        format!(" (most on {}, {})", one.cell.workload.name, percent(Some(share)))
    });
    let sum = |value: fn(&Run) -> f64| {
        studies.0.iter().filter_map(|one| one.run(Variant::Brr)).map(value).sum::<f64>()
    };
    let (pages, redirected) = (sum(|run| run.decode_pages), sum(|run| run.redirected));
    let extra = if redirected > 0.0 { format!("{:.2}", pages / redirected) } else { NOTHING.to_owned() };
    format!(
        "BRR redirects {} of the chunks that are read{most} and reads {extra} chunks for each; ",
        percent(share)
    )
}

/// What other rules give, over the same part of each workload.
pub(super) fn variants(sweep: &Studies<'_>) -> String {
    let wait = |run: &Run| run.wait_ns[0];
    let of = |variant| percent(sweep.gain(variant, Variant::Piq, wait));
    format!(
        "over a part of each workload read waiting is lower than PIQ's by {} with BRR, {} without its rule about the next \
         arrival (AT off), {} when it knows all arrivals (oracle), {} over groups of adjacent chips instead of LCI, {} \
         with reads from where they finish first; ",
        of(Variant::Brr),
        of(Variant::AtOff),
        of(Variant::AtOracle),
        of(Variant::Contiguous),
        of(Variant::LeastFinish),
    )
}

/// What waiting is beside the rest of a read's response time, under Async_FIFO.
pub(super) fn waiting(studies: &Studies<'_>) -> String {
    let share = studies.mean(Variant::Fifo, |run| run.wait_ns[0] / run.mean_ns[0].max(1.0));
    format!("waiting is {} of a read's response time under Async_FIFO; ", percent(share))
}

/// The same comparison on new chips.
pub(super) fn fresh(fresh: &Studies<'_>) -> String {
    let wait = |run: &Run| run.wait_ns[0];
    let [fifo, piq] = AGAINST.map(|(other, _)| percent(fresh.gain(Variant::Brr, other, wait)));
    format!("on new chips BRR is {fifo} and {piq} below Async_FIFO and PIQ; ")
}

/// Which scheme of the comparison collected garbage.
pub(super) fn collection(studies: &Studies<'_>) -> String {
    let erases = |variant: &Variant| studies.mean(*variant, |run| run.erases).unwrap_or(0.0);
    let all: Vec<String> = MAIN.iter().map(|variant| format!("{:.0}", erases(variant))).collect();
    format!("blocks erased, mean of the workloads: {}; ", all.join(", "))
}
