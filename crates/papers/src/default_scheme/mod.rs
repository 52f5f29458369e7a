//! The default scheme, `stripewise`, beside each paper's own: on that paper's own workloads, devices and metric.
//!
//! The studies are those of the papers' evaluations, with other schemes. The default acknowledges from a persistent buffer,
//! which some of the papers' schemes have not; so a variant that acknowledges when the paper's own scheme does stands beside it.

mod measured;
mod plan;
mod text;

pub use measured::{Measured, Side, mean_gain};
pub use plan::{Cell, OURS, PlannedClaim, cells};
pub use text::{AIM, json, markdown};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EvaluationOptions, Part};

    #[test]
    fn every_study_resolves_with_the_papers_own_scheme_and_ours() {
        let (requests, claims, out) = (Some(10_000), PlannedClaim::ids(), "results".into());
        let options =
            EvaluationOptions { requests, quick: false, traces: None, claims, part: Part::All, seed: 1, out };
        let all = cells(&options).unwrap_or_else(|error| panic!("{error}"));
        for row in PlannedClaim::ALL {
            assert!(all.iter().any(|cell| cell.row.paper() == row.paper()), "{}", row.name());
        }
        for cell in all {
            assert_eq!(cell.spec.schemes.len(), if cell.row == PlannedClaim::F { 2 } else { 3 }, "{cell}");
            stripewise_runs::Comparison::new(cell.spec.clone(), &())
                .unwrap_or_else(|error| panic!("{cell}: {error}"));
        }
    }
}
