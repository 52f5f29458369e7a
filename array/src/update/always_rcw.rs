//! Always-RCW: read-construct-write whenever it is possible, however little of the row is updated.
//!
//! Source: paper 000, section II-B (the routine); one end of the range that adaptive policies choose from.

use super::{Reason, Routine};

#[inline]
pub(super) fn choose() -> (Routine, Reason) {
    (Routine::Rcw, Reason::Always)
}
