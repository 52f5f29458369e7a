//! Wear: the sections `[wear]` and `[age]`.

use serde::{Deserialize, Serialize};

/// How wear is spread over the blocks of a plane. With an empty section it is only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WearSpec {
    /// Which free block is written next: dynamic wear-levelling.
    pub free_block: FreeBlock,
    /// Static wear-levelling: a block that was just erased so many times more often than the least erased block with
    /// data makes that one be moved and erased next. Not given: cold data stay where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_gap: Option<u32>,
}

/// Which free block of a plane is written next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreeBlock {
    /// The one that was erased first.
    #[default]
    FirstFreed,
    /// The one that was erased least often; of equals the one that waits first in line.
    LeastWorn,
}

/// What blocks went through before the first request. Drawn for each block, after preconditioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgeSpec {
    /// Erases of a block: uniform from the first number to below the second.
    pub erases: [u32; 2],
    /// Mean of the reads since the last erase of a block with data; they are normal, and not below 0.
    pub reads_mean: u32,
    /// Standard deviation of these reads.
    pub reads_deviation: u32,
    /// Days since these data were written.
    pub retention_days: u32,
    /// Seed of the draw; equal for all runs, so that schemes are compared on the same device.
    pub seed: u64,
}

impl Default for AgeSpec {
    fn default() -> Self {
        Self { erases: [0, 1], reads_mean: 0, reads_deviation: 0, retention_days: 0, seed: 1 }
    }
}
