//! Redundancy: how many chunks of a stripe are parity.
//!
//! Source: the levels are due to Patterson, Gibson and Katz, SIGMOD 1988; P + Q redundancy is level 6 in Chen et al., ACM
//! Computing Surveys 1994.

use serde::{Deserialize, Serialize};

use super::{raid0, raid5, raid6};

/// Redundancy of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Striping without redundancy.
    Raid0,
    /// One rotated parity chunk per stripe.
    Raid5,
    /// Two rotated parity chunks per stripe.
    Raid6,
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Raid0 => "RAID-0",
            Self::Raid5 => "RAID-5",
            Self::Raid6 => "RAID-6",
        })
    }
}

impl Level {
    /// Parity chunks of a stripe.
    pub fn parity(self) -> u32 {
        match self {
            Self::Raid0 => 0,
            Self::Raid5 => 1,
            Self::Raid6 => 2,
        }
    }

    /// The smallest number of members of a group.
    pub(super) fn columns_min(self) -> u32 {
        match self {
            Self::Raid0 => raid0::MEMBERS_MIN,
            Self::Raid5 => raid5::MEMBERS_MIN,
            Self::Raid6 => raid6::MEMBERS_MIN,
        }
    }
}
