//! Always-RCW: read-construct-write whenever possible, however small the updated part of the row is.
//!
//! Source: paper 000, section II-B (the routine); one end of the range that adaptive policies choose from.

use super::{Reason, Routine};

#[inline]
pub(crate) fn choose() -> (Routine, Reason) {
    (Routine::Rcw, Reason::Always)
}
