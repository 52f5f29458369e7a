//! RAID-5: one parity chunk a stripe, rotated over the members.
//!
//! Source: Patterson, Gibson and Katz, SIGMOD 1988; paper 000, section II-A; the names of the rotations are those of
//! Linux md and of Lee and Katz, ASPLOS 1991.

use serde::{Deserialize, Serialize};

/// Two data chunks and one of parity; two members would be a mirror.
pub(super) const MEMBERS_MIN: u32 = 3;

/// How the parity chunk moves from stripe to stripe, and in which order data chunks follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// Parity moves from the last member down; data starts behind it and wraps. The default of Linux md.
    #[default]
    LeftSymmetric,
    /// Parity moves from the last member down; data fills the others in ascending order.
    LeftAsymmetric,
    /// Parity moves from the first member up; data starts behind it and wraps.
    RightSymmetric,
    /// Parity moves from the first member up; data fills the others in ascending order (paper 002).
    RightAsymmetric,
    /// Parity stays on the last member: RAID-4.
    None,
}

impl Rotation {
    /// Position of the parity member in the `turn`-th placement.
    #[inline]
    pub(super) fn parity(self, turn: u64, members: u32) -> u32 {
        let step = (turn % u64::from(members)) as u32;
        match self {
            Self::LeftSymmetric | Self::LeftAsymmetric => members - 1 - step,
            Self::RightSymmetric | Self::RightAsymmetric => step,
            Self::None => members - 1,
        }
    }

    /// Position of `member` (data `0..members - 1`, then parity) when parity is at `parity`.
    #[inline]
    pub(super) fn position(self, parity: u32, member: u32, members: u32) -> u32 {
        if member == members - 1 {
            return parity;
        }
        match self {
            Self::LeftSymmetric | Self::RightSymmetric => {
                let position = parity + 1 + member;
                if position >= members { position - members } else { position }
            }
            Self::LeftAsymmetric | Self::RightAsymmetric | Self::None => member + u32::from(member >= parity),
        }
    }
}
