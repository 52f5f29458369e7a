//! The default scheme, `stripewise`, beside each paper's own: on that paper's own workloads, devices and metric.
//!
//! The studies are those of the papers' evaluations, with other schemes. The default acknowledges from a persistent buffer,
//! which some of the papers' schemes have not; so a variant that acknowledges when the paper's own scheme does stands beside it.

mod measured;
mod plan;
mod text;

pub use measured::{Measured, Side, mean_gain};
pub use plan::{Cell, OURS, Row, cells};
pub use text::{AIM, json, markdown};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cell as _;
    use crate::evaluation::{Options, Results as _};

    #[test]
    fn every_study_resolves_with_the_papers_own_scheme_and_ours() {
        let options = Options {
            requests: Some(10_000),
            quick: false,
            traces: None,
            rows: Row::ALL.to_vec(),
            seed: 1,
            out: "results".into(),
        };
        let all = cells(&options).unwrap_or_else(|error| panic!("{error}"));
        for row in Row::ALL {
            assert!(all.iter().any(|cell| cell.row.paper() == row.paper()), "{}", row.name());
        }
        for cell in all {
            let spec = cell.study(&options).unwrap_or_else(|error| panic!("{cell}: {error}"));
            assert_eq!(spec.schemes.len(), if cell.row == Row::F { 2 } else { 3 }, "{cell}");
            stripewise_study::Study::new(spec, &()).unwrap_or_else(|error| panic!("{cell}: {error}"));
        }
    }
}
