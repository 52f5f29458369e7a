//! How parity rotates from stripe to stripe, and the order of data.
//!
//! Source: the names are those of Linux md and of Lee and Katz, ASPLOS 1991; with two parity chunks Q follows P, as in
//! Linux md.

use serde::{Deserialize, Serialize};

/// How the parity chunks rotate from stripe to stripe, and the order of data chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// Parity moves from the last column down; data starts after it and wraps. The default of Linux md.
    #[default]
    LeftSymmetric,
    /// Parity moves from the last column down; data fills the others in ascending order.
    LeftAsymmetric,
    /// Parity moves from the first column up; data starts after it and wraps.
    RightSymmetric,
    /// Parity moves from the first column up; data fills the others in ascending order (paper 002).
    RightAsymmetric,
    /// Parity stays on the last columns: RAID-4, or RAID-6 without rotation.
    None,
}

impl Rotation {
    /// Position of the first parity column in the `turn`-th placement of `data` data and `parity` parity chunks.
    #[inline]
    pub fn parity(self, turn: u64, data: u32, parity: u32) -> u32 {
        let columns = data + parity;
        let step = (turn % u64::from(columns)) as u32;
        match self {
            Self::LeftSymmetric | Self::LeftAsymmetric => columns - 1 - step,
            Self::RightSymmetric | Self::RightAsymmetric => step,
            Self::None => data,
        }
    }

    /// Position of `column` (data, then parity) when the first parity column is at `at`.
    #[inline]
    pub fn position(self, at: u32, column: u32, data: u32, parity: u32) -> u32 {
        let columns = data + parity;
        let wrap = |position: u32| if position >= columns { position - columns } else { position };
        if column >= data {
            return wrap(at + column - data);
        }
        match self {
            Self::LeftSymmetric | Self::RightSymmetric => wrap(wrap(at + parity) + column),
            Self::LeftAsymmetric | Self::RightAsymmetric | Self::None => {
                // Parity that wraps lies before all data.
                let before = (at + parity).saturating_sub(columns);
                column + before + if column + before >= at { parity } else { 0 }
            }
        }
    }

    /// The data column that follows the last parity column when the first one is at `at`: Linux md numbers the
    /// coefficients of Q from there.
    #[inline]
    pub(super) fn first_of_code(self, at: u32, data: u32) -> u32 {
        match self {
            Self::LeftAsymmetric | Self::RightAsymmetric if at < data => at,
            _ => 0,
        }
    }
}
