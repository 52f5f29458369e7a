//! Wear: the sections `[wear]` and `[age]`.

use serde::{Deserialize, Serialize};

/// How wear is spread over the blocks of a plane. With an empty section, wear is only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WearSpec {
    /// The free block that is written next: dynamic wear-levelling.
    pub free_block: FreeBlock,
    /// Static wear-levelling. When a block that was just erased has this many erases more than the least erased block
    /// with data, the latter is moved and erased next. If absent, cold data stay where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_gap: Option<u32>,
}

/// The free block of a plane that is written next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreeBlock {
    /// The block that was erased first.
    #[default]
    FirstFreed,
    /// The block with the fewest erases; of equals, the one that was freed first.
    LeastWorn,
}

/// The wear of blocks before the first request, drawn for each block after preconditioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgeSpec {
    /// Erases of a block: uniform between the first number and the second, which is excluded.
    pub erases: [u32; 2],
    /// Mean number of reads since the last erase of a block with data. The distribution is normal, and cut off at 0.
    pub reads_mean: u32,
    /// Standard deviation of these reads.
    pub reads_deviation: u32,
    /// Days since the data were written.
    pub retention_days: u32,
    /// Seed of the random draw, equal for all runs, so that schemes are compared on the same device.
    pub seed: u64,
}

impl Default for AgeSpec {
    fn default() -> Self {
        Self { erases: [0, 1], reads_mean: 0, reads_deviation: 0, retention_days: 0, seed: 1 }
    }
}
