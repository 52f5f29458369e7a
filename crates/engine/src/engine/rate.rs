//! The rate of rebuilds and scrubs, and the time of the next grant.

use stripewise_array::Array;
use stripewise_base::Nanos;

use crate::backend::Pages;

/// The rate of rebuilds and scrubs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rate {
    /// No limit.
    #[default]
    Unlimited,
    /// Bytes a second that are read from all members together; the writes follow from them. 0 stops the work.
    BytesPerSecond(u64),
}

/// The shortest time between two grants, so that a grant serves more than one plan.
const GRANT_NS: Nanos = 10_000_000;

#[derive(Debug)]
pub(super) struct Pace {
    pub(super) rate: Rate,
    pub(super) granted_at: Nanos,
}

impl Pace {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, granted_at: 0 }
    }

    /// The time of the next grant, if work waits for it.
    pub(super) fn next_grant(&self, array: &Array<Pages>, page_bytes: u32) -> Option<Nanos> {
        let Rate::BytesPerSecond(rate @ 1..) = self.rate else { return None };
        // At least one page a grant.
        let page_ns = 1_000_000_000 * u64::from(page_bytes) / rate + 1;
        array.wants_allowance().then_some(self.granted_at + GRANT_NS.max(page_ns))
    }
}
