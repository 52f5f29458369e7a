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

use super::{Geometry, Level};

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
    pub(crate) fn is_default(&self) -> bool {
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

impl Geometry {
    /// Consecutive pages of the array before the next page belongs to another column of the same row: a chunk, or one
    /// chunk of every group.
    #[inline]
    pub(super) fn column_pages(&self) -> u64 {
        u64::from(self.chunk_pages) * u64::from(self.stride)
    }

    /// Pages of the array after which every row that was begun is full: a stripe, or one stripe of every group.
    #[inline]
    pub fn round_pages(&self) -> u64 {
        self.column_pages() * u64::from(self.data)
    }

    /// The first member of `group`.
    #[inline]
    pub fn base(&self, group: u32) -> u32 {
        match self.membership {
            Membership::Contiguous => group * self.columns,
            Membership::LongestCodeInterval => group,
        }
    }

    /// The group of `member`, one of the members that the geometry spans.
    #[inline]
    pub fn group_of(&self, member: u32) -> u32 {
        match self.membership {
            Membership::Contiguous => member / self.columns,
            Membership::LongestCodeInterval => member % self.groups,
        }
    }

    /// The group of `member`, and its position among the group's columns.
    #[inline]
    pub fn position_of(&self, member: u32) -> (u32, u32) {
        let group = self.group_of(member);
        (group, (member - self.base(group)) / self.stride)
    }

    /// The member of `group` at `position` among the group's columns.
    #[inline]
    pub fn member_at(&self, group: u32, position: u32) -> u16 {
        (self.base(group) + position * self.stride) as u16
    }

    /// The members, at most `copies`, that keep number `nth` of a structure that is written repeatedly, while the members
    /// of the mask `missing` are missing. All are of one group, so no P members of each group have all copies; each number
    /// has other members.
    pub fn keepers(&self, copies: u32, nth: u64, missing: u64) -> impl Iterator<Item = u16> + '_ {
        let (groups, width) = (u64::from(self.groups), u64::from(self.columns));
        let is_missing = move |member: u32| missing >> member & 1 != 0;
        let is_alive = move |&group: &u32| {
            self.group(group).filter(|&member| is_missing(member)).count() <= self.parity() as usize
        };
        let group = (0..groups).map(|more| ((nth + more) % groups) as u32).find(is_alive).unwrap_or(0);
        let first = nth / groups % width;
        (0..width)
            .map(move |more| self.member_at(group, ((first + more) % width) as u32))
            .filter(move |&member| !is_missing(member.into()))
            .take(copies as usize)
    }

    /// The members of `group`, ascending.
    #[inline]
    pub fn group(&self, group: u32) -> impl Iterator<Item = u32> + use<> {
        let first = self.base(group);
        (first..first + self.columns * self.stride).step_by(self.stride as usize)
    }
}
