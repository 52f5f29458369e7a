//! Which members the columns of a group are on, for either membership.
//!
//! Source: paper 002, section III-B and figure 8, as in `membership.rs`.

use super::{Geometry, Membership};
use crate::ids::MemberNo;

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
            Membership::Contiguous => group * self.width,
            Membership::LongestCodeInterval => group,
        }
    }

    /// The group of `member`, one of the members that the geometry spans.
    #[inline]
    pub fn group_of(&self, member: MemberNo) -> u32 {
        let member = u32::from(member.number());
        match self.membership {
            Membership::Contiguous => member / self.width,
            Membership::LongestCodeInterval => member % self.groups,
        }
    }

    /// The group of `member`, and its position among the group's columns.
    #[inline]
    pub fn position_of(&self, member: MemberNo) -> (u32, u32) {
        let group = self.group_of(member);
        (group, (u32::from(member.number()) - self.base(group)) / self.stride)
    }

    /// The member of `group` at `position` among the group's columns.
    #[inline]
    pub fn member_at(&self, group: u32, position: u32) -> MemberNo {
        MemberNo::at((self.base(group) + position * self.stride) as usize)
    }

    /// The members, at most `copies`, that keep number `nth` of a structure that is written repeatedly, while the members
    /// of the mask `missing` are missing. All are of one group, so no P members of each group have all copies; each number
    /// has other members.
    pub fn keepers(&self, copies: u32, nth: u64, missing: u64) -> impl Iterator<Item = MemberNo> + '_ {
        let (groups, width) = (u64::from(self.groups), u64::from(self.width));
        let is_alive = move |&group: &u32| {
            self.group(group).filter(|member| member.is_in(missing)).count() <= self.tolerance() as usize
        };
        let group = (0..groups).map(|more| ((nth + more) % groups) as u32).find(is_alive).unwrap_or(0);
        let first = nth / groups % width;
        (0..width)
            .map(move |more| self.member_at(group, ((first + more) % width) as u32))
            .filter(move |member| !member.is_in(missing))
            .take(copies as usize)
    }

    /// The members of `group`, ascending.
    #[inline]
    pub fn group(&self, group: u32) -> impl Iterator<Item = MemberNo> + use<> {
        let first = self.base(group);
        (first..first + self.width * self.stride)
            .step_by(self.stride as usize)
            .map(|member| MemberNo::at(member as usize))
    }
}
