//! Cautions beside the answer of a report.

use stripewise_results::totals::{BEHIND, FALLS_BEHIND};

use crate::chart::{escape, figure};
use crate::run::LoadedRun;

/// The caution where the array does not keep up with the trace.
pub(crate) fn behind(runs: &[(&str, &LoadedRun)]) -> Option<String> {
    let late = |run: &LoadedRun| run.total(BEHIND).filter(|late| *late > FALLS_BEHIND);
    let behind = runs.iter().filter_map(|(scheme, run)| {
        Some(format!(
            "{} (last answer {} times as late as the last request)",
            escape(scheme),
            figure(late(run)?)
        ))
    });
    let behind: Vec<String> = behind.collect();
    (!behind.is_empty()).then(|| {
        format!(
            "The array falls behind the trace with {}: response times then depend on how long the trace is.",
            behind.join(", ")
        )
    })
}
