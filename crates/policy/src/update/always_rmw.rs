//! Always-RMW: read-modify-write whenever possible, however large the updated part of the row is.
//!
//! Source: paper 000, section II-B (the routine); one end of the range that adaptive policies choose from.

use super::{Reason, Routine};

#[inline]
pub(crate) fn choose() -> (Routine, Reason) {
    (Routine::Rmw, Reason::Always)
}
