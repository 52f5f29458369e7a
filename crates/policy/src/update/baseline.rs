//! Baseline: the routine that pre-reads fewer pages.
//!
//! Source: paper 000, section II-B ("comparing the number of pre-read requests required by each routine"). The paper is silent
//! on ties; we take RMW by default, Linux md takes RCW.

use serde::{Deserialize, Serialize};

use super::{Choice, Reason, Routine};

/// The routine for an equal number of pre-reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// Read-modify-write.
    #[default]
    Rmw,
    /// Read-construct-write, as in Linux md.
    Rcw,
}

#[inline]
pub(crate) fn choose(choice: &Choice<'_>, tie: Tie) -> (Routine, Reason) {
    match choice.rmw.count_ones().cmp(&choice.rcw.count_ones()) {
        std::cmp::Ordering::Less => (Routine::Rmw, Reason::FewerPreReads),
        std::cmp::Ordering::Greater => (Routine::Rcw, Reason::FewerPreReads),
        std::cmp::Ordering::Equal => match tie {
            Tie::Rmw => (Routine::Rmw, Reason::Tie),
            Tie::Rcw => (Routine::Rcw, Reason::Tie),
        },
    }
}
