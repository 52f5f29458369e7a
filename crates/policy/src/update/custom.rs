//! Custom: the driver of the controller chooses (see `Driver::choose`); Baseline if it does not.
//!
//! Source: the hook for user-defined policies; its fallback is that of paper 000, section II-B.

use super::{Choice, Reason, Routine, Tie, baseline};

#[inline]
pub(crate) fn choose(choice: &Choice<'_>, chosen: Option<Routine>) -> (Routine, Reason) {
    match chosen {
        Some(Routine::Rmw) => (Routine::Rmw, Reason::Custom),
        Some(Routine::Rcw) => (Routine::Rcw, Reason::Custom),
        _ => baseline::choose(choice, Tie::Rmw),
    }
}
