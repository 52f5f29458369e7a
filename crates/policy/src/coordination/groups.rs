//! The groups whose members collect by a common rule.

use stripewise_core::geometry::{Geometry, Level};
use stripewise_core::ids::MemberNo;

/// Every member of an array in exactly one group.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The members, group by group.
    order: Vec<MemberNo>,
    /// For each group its first place in `order`, and the end.
    first: Vec<u32>,
    /// For each member its group.
    group_of: Vec<u16>,
}

impl Groups {
    /// The parity groups of `geometry`; members beyond it, of `count` in total, are groups of their own.
    pub(crate) fn of_parity(geometry: &Geometry, count: u32) -> Self {
        let mut groups = Self::none(count);
        for group in 0..geometry.groups {
            groups.add(geometry.group(group));
        }
        for member in MemberNo::first(count).skip(geometry.members as usize) {
            groups.add(std::iter::once(member));
        }
        groups
    }

    /// The groups whose collections affect the same requests: the parity groups, or one group of all `count` members
    /// without parity.
    pub(crate) fn of_requests(level: Level, geometry: &Geometry, count: u32) -> Self {
        if level != Level::Raid0 {
            return Self::of_parity(geometry, count);
        }
        let mut groups = Self::none(count);
        groups.add(MemberNo::first(count));
        groups
    }

    fn none(count: u32) -> Self {
        Self {
            order: Vec::with_capacity(count as usize),
            first: vec![0],
            group_of: vec![u16::MAX; count as usize],
        }
    }

    fn add(&mut self, members: impl Iterator<Item = MemberNo>) {
        let (group, first) = (self.count() as u16, self.order.len());
        self.order.extend(members);
        for &member in &self.order[first..] {
            self.group_of[member.index()] = group;
        }
        self.first.push(self.order.len() as u32);
    }

    /// The number of groups.
    pub(crate) fn count(&self) -> usize {
        self.first.len() - 1
    }

    /// The group of a member.
    pub(crate) fn of(&self, member: MemberNo) -> usize {
        self.group_of[member.index()].into()
    }

    /// The members of a group, in order.
    pub(crate) fn members(&self, group: usize) -> &[MemberNo] {
        &self.order[self.first[group] as usize..self.first[group + 1] as usize]
    }
}
