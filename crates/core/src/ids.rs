//! Numbers that stand for entries of flat tables.

use std::fmt;

/// No entry: ends a list, or marks what is absent.
pub const NONE: u32 = u32::MAX;

/// A slot of the arena of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlanId(u32);

impl PlanId {
    /// No plan.
    pub const NONE: Self = Self(NONE);

    /// The slot with this number.
    #[inline]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number of the slot, for drivers and for operations, whose numbers follow from it.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Whether this is no plan.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == NONE
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
