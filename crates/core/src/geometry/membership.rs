//! Which members form a parity group: neighbours, or members as far apart as possible.
//!
//! Over `n` members in `m` groups of `t`, neighbours put member `c` into group `c div t`; the longest code interval puts
//! it into group `c mod m`, so that the columns of a group lie `m` members apart. In both cases consecutive chunks go to
//! consecutive members: within one stripe for neighbours, from group to group for the longest code interval. So a burst of
//! requests to neighbouring addresses, which keeps neighbouring members busy, affects few columns of each group, and a
//! redirected read finds the others idle.
//!
//! Source: paper 002, section III-B and figure 8. The text of the paper writes group `i` as `C_i, C_{t+i}, …,
//! C_{(m-1)t+i}`, which are `t` groups of `m`; it matches the figure if `m` and `t` are exchanged.

use serde::{Deserialize, Serialize};

use super::level::Level;

/// Which members form a parity group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Membership {
    /// Neighbours: member `c` of groups of `t` is in group `c div t`.
    #[default]
    Contiguous,
    /// Members as far apart as possible: member `c` is in group `c mod m` of `m` (LCI).
    LongestCodeInterval,
}

impl std::fmt::Display for Membership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Contiguous => "contiguous",
            Self::LongestCodeInterval => "longest-code-interval",
        })
    }
}

impl Membership {
    /// Whether it is the default, which a scheme leaves out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The distance in members from one column of a group to the next, for this number of groups.
    pub fn stride(self, groups: u32) -> u32 {
        match self {
            Self::Contiguous => 1,
            Self::LongestCodeInterval => groups,
        }
    }

    /// Checks that there is a choice of membership; the error says why not.
    pub fn check(self, level: Level, groups: u32) -> Result<(), &'static str> {
        match self {
            Self::Contiguous => Ok(()),
            Self::LongestCodeInterval if level == Level::Raid0 => Err(
                "has no meaning without parity, where every member is a group of its own; leave it out with RAID-0",
            ),
            Self::LongestCodeInterval if groups == 1 => {
                Err("has no meaning where all members form one group; raise geometry.groups, or leave it out")
            }
            Self::LongestCodeInterval => Ok(()),
        }
    }
}
