//! Numbers that stand for entries of flat tables.

use std::fmt;

use serde::{Deserialize, Serialize};

/// No entry: ends a list, or marks what is absent.
pub const NONE: u32 = u32::MAX;

/// A type for the slots of one table.
macro_rules! slot_of {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// No slot.
            pub const NONE: Self = Self(NONE);

            /// The slot with this number.
            #[inline]
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// The number of the slot, for what is outside of the controller or follows from it.
            #[inline]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// The number of the slot, for other tables with an entry for each slot.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Whether this is no slot.
            #[inline]
            pub const fn is_none(self) -> bool {
                self.0 == NONE
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::NONE
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

slot_of! {
    /// A slot of the arena of plans.
    PlanId
}

slot_of! {
    /// A slot of the table of host requests.
    RequestId
}

slot_of! {
    /// An operation in flight. Numbers are dense and reused after completion.
    OperationId
}

impl OperationId {
    /// The operation `count` places later.
    #[inline]
    pub const fn after(self, count: u32) -> Self {
        Self(self.0 + count)
    }
}

/// The number of a row, counted over all groups and zones; in a log, the first slot of a stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RowNo(u64);

impl RowNo {
    /// No row.
    pub const NONE: Self = Self(u64::MAX);

    /// The row with this number.
    #[inline]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number, for what is outside of the controller or follows from it.
    #[inline]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Its number, for tables with an entry for each row.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The row `count` rows later.
    #[inline]
    pub const fn after(self, count: u64) -> Self {
        Self(self.0 + count)
    }
}

impl fmt::Display for RowNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a member in its array.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberNo(u16);

impl MemberNo {
    /// No member.
    pub const NONE: Self = Self(u16::MAX);

    /// The member with this number.
    #[inline]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// The member at this place of a table with an entry for each member.
    #[inline]
    pub const fn at(index: usize) -> Self {
        Self(index as u16)
    }

    /// The first `count` members in ascending order.
    #[inline]
    pub fn first(count: u32) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..count as u16).map(Self)
    }

    /// Its number, for what is outside of the controller or follows from it.
    #[inline]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Its number, for tables with an entry for each member.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The member `count` members later.
    #[inline]
    pub const fn after(self, count: u32) -> Self {
        Self(self.0 + count as u16)
    }

    /// Whether it is one of the first `count` members.
    #[inline]
    pub const fn is_within(self, count: u32) -> bool {
        (self.0 as u32) < count
    }

    /// The member alone, as a mask of the first 64 members.
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << self.0
    }

    /// Whether it is one of the members of `mask`, a mask of the first 64.
    #[inline]
    pub const fn is_in(self, mask: u64) -> bool {
        mask >> self.0 & 1 != 0
    }
}

impl std::str::FromStr for MemberNo {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| "give the number of a member, from 0 on")
    }
}

/// As a number, so that a list of members reads as one in messages.
impl fmt::Debug for MemberNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for MemberNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
