//! The state of an array, as far as its health depends on it: one snapshot, taken from the getters of the array.

use std::ops::Range;

use stripewise_core::bugs::Bug;
use stripewise_core::ids::MemberNo;
use stripewise_core::memory::Memory;
use stripewise_format::MemberState;

use crate::{Array, Controller};

/// A member in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberStanding {
    /// Whether it serves.
    pub state: MemberState,
    /// Its parity group. `None`: it belongs to every group, because it has deltas of parity.
    pub group: Option<u32>,
}

/// The state of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayState {
    /// Its members, in order.
    pub members: Vec<MemberStanding>,
    /// The number of lost members that the parity of a group tolerates.
    pub tolerance: u32,
    /// Whether nothing is written to its members.
    pub is_read_only: bool,
    /// Whether parity is recomputed after a loss of power, and is not right everywhere.
    pub is_resyncing: bool,
    /// Whether the rebuild is halted.
    pub is_rebuild_halted: bool,
    /// Stripes or rows with data that the last rebuild could not recover.
    pub rebuild_lost: u64,
    /// Members that serve and are not known to have all of their content, one bit each.
    pub in_doubt: u64,
    /// Chunks of hosts that cannot be read, as the assembly, or the current or the last scrub found.
    pub scrub_lost: u64,
    /// Copies of metadata that a scrub found damaged and has not repaired.
    pub metadata_damaged: u64,
    /// Whether a log has no space, and no work in flight that could free some.
    pub is_full: bool,
    /// Whether members are out of space. Their driver knows.
    pub is_out_of_space: bool,
    /// The number of hot spares that wait. Their driver knows.
    pub spares: usize,
}

impl ArrayState {
    /// The members of `group`, with their numbers.
    pub(super) fn group(&self, group: u32) -> impl Iterator<Item = (MemberNo, MemberState)> + Clone {
        let members = (0..).map(MemberNo::new).zip(&self.members);
        members
            .filter(move |(_, member)| member.group.is_none_or(|its| its == group))
            .map(|(number, member)| (number, member.state))
    }

    /// All groups.
    pub(super) fn groups(&self) -> Range<u32> {
        0..self.members.iter().filter_map(|member| member.group).max().map_or(0, |last| last + 1)
    }

    /// The groups of `member`.
    pub(super) fn groups_of(&self, member: MemberNo) -> Range<u32> {
        self.members[member.index()].group.map_or(self.groups(), |group| group..group + 1)
    }

    /// Number of members of `group` that cannot be counted on: those out of service, and those being rebuilt. Members with
    /// deltas alone do not count: a group without them has all of its columns.
    pub(super) fn missing(&self, group: u32) -> u32 {
        let is_missing = |its: &&MemberStanding| its.group == Some(group) && its.state != MemberState::Active;
        self.members.iter().filter(is_missing).count() as u32
    }

    /// Whether, without `member` too, no more members of a group are missing than its parity tolerates. A member that is being
    /// rebuilt counts as missing, and one with deltas of parity is of every group.
    pub fn tolerates_loss_of(&self, member: MemberNo) -> bool {
        self.groups_of(member).all(|group| {
            let others = self.group(group).filter(|&(other, _)| other != member);
            let missing = others.filter(|(_, state)| *state != MemberState::Active).count() as u32;
            missing < self.tolerance
        })
    }

    /// Whether `member` serves, in part or in full.
    pub(super) fn serves(&self, member: MemberNo) -> bool {
        self.members[member.index()].state != MemberState::Failed
    }
}

impl<M: Memory> Array<M> {
    /// The state of the array. Whether members are out of space, and how many spares wait, is left to its driver.
    pub fn state(&self) -> ArrayState {
        let geometry = self.geometry();
        let is_apart = self.exec().has_bug(Bug::LimitForgetsDeltas);
        let is_its = |member: MemberNo| member.is_within(geometry.members) || is_apart;
        let standing = |member: MemberNo| MemberStanding {
            state: match self.is_failed(member) {
                true => MemberState::Failed,
                false if self.is_incomplete(member) => MemberState::Rebuilding,
                false => MemberState::Active,
            },
            group: is_its(member).then(|| geometry.group_of(member)),
        };
        let (scrubbed, _) = self.scrub_counts();
        ArrayState {
            members: MemberNo::first(self.members()).map(standing).collect(),
            tolerance: geometry.tolerance(),
            is_read_only: self.exec().reads_only(),
            is_resyncing: self.is_resyncing(),
            is_rebuild_halted: self.rebuild_halted().is_some(),
            rebuild_lost: self.rebuild_lost(),
            in_doubt: self.members_in_doubt(),
            scrub_lost: scrubbed.lost.max(self.lost_chunks()),
            metadata_damaged: scrubbed.metadata_damaged.saturating_sub(scrubbed.metadata_repaired),
            is_full: self.is_full(),
            is_out_of_space: false,
            spares: 0,
        }
    }
}
