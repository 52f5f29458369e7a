//! The criteria that distinguish the classes of chunks of a log, and the sizes that follow from them.
//!
//! Source: paper 001, section III (streams by hotness) and paper 004, section 3 (zones by the mix of reads and writes, each
//! with a chunk size).

use serde::{Deserialize, Serialize};
use stripewise_base::units::Bytes;
use stripewise_core::geometry::Geometry;
use stripewise_policy::mix::Tendency;

use super::{BufferUnit, ElasticSection};

/// The criteria that distinguish classes of chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassBy {
    /// The tier of hotness: WAS.
    #[default]
    Hotness,
    /// The tier of hotness, and whether the block is read-intensive, mixed or write-intensive. Without a hotness policy, the
    /// mix alone.
    HotnessAndMix,
}

impl ClassBy {
    /// Number of block tendencies that are distinguished.
    pub fn tendencies(self) -> u32 {
        match self {
            Self::Hotness => 1,
            Self::HotnessAndMix => Tendency::Writes as u32 + 1,
        }
    }
}

/// Chunk sizes, a page each if a scheme names none: one for each tendency (read-intensive, mixed, write-intensive), or, where
/// the mix is not used, one for each tier from the coldest on.
pub type ChunkSizes = Vec<Bytes>;

/// For each stream the pages of a chunk.
pub fn depths(section: &ElasticSection, tiers: u32, page_bytes: u32) -> Vec<u32> {
    let tendencies = section.classes.tendencies();
    let depth = |tendency: u32, tier: u32| {
        let class = if tendencies > 1 { tendency } else { tier };
        let chunk = section.chunks.get(class as usize).map_or(u64::from(page_bytes), |chunk| chunk.0);
        (chunk / u64::from(page_bytes)) as u32
    };
    let hosts = (0..tendencies).flat_map(|tendency| (0..tiers).map(move |tier| depth(tendency, tier)));
    hosts.chain((0..tendencies).map(|tendency| depth(tendency, 0))).collect()
}

/// Number of pages of a stream that leave memory together, with chunks of `depth` pages.
pub fn unit(section: &ElasticSection, buffer: BufferUnit, depth: u32, geometry: &Geometry) -> u64 {
    let stripes = match buffer {
        BufferUnit::Stripe => depth,
        BufferUnit::Group => section.segment_rows / geometry.depth,
    };
    u64::from(stripes) * u64::from(geometry.data)
}
