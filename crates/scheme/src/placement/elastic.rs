//! The elastic section of a scheme.
//!
//! Source: paper 001, sections II-B, III and IV; paper 004, section 3 for the chunk sizes of classes.

use serde::{Deserialize, Serialize};
use stripewise_base::share::Share;
use stripewise_base::units::{Bytes, Span};

use super::{ChunkSizes, ClassBy};

/// The elastic section of a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ElasticSection {
    /// Pages of each member in a segment, the unit of array-level garbage collection: the pages of a block.
    pub segment_rows: u32,
    /// Number of chunks of a stream that leave controller memory together.
    pub buffer: BufferUnit,
    /// A chunk that has waited this long leaves with the other waiting chunks (P_wait); 0 lets it wait until there are enough.
    pub wait: Span,
    /// When a write is acknowledged.
    pub acknowledge: AcknowledgeWrites,
    /// The victim of array GC. No key of files: only a program can give another one.
    #[serde(skip_deserializing, skip_serializing_if = "is_greedy")]
    pub victim: SegmentVictim,
    /// The segment for chunks that collection moves.
    #[serde(alias = "survivors")]
    pub relocations: Relocations,
    /// If more segments than this are in use, some are collected before a host's stream opens another.
    pub collect_above: Share,
    /// The share of the room for data that hosts cannot fill.
    pub reserve: Share,
    /// Number of members that may be lost while hosts can still overwrite the whole capacity: room is reserved for stripes
    /// that are shorter by this number of chunks. At most the number of losses that parity tolerates.
    #[serde(skip_serializing_if = "is_none")]
    pub room_for_lost: u32,
    /// Whether each stream is also a stream of the members.
    pub device_streams: bool,
    /// The criteria that distinguish chunks: each class has its stream, its segments and its chunk size.
    #[serde(skip_serializing_if = "is_default")]
    pub classes: ClassBy,
    /// The chunk size of each class; empty means a page for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: ChunkSizes,
    /// The block for which the mix of reads and writes is counted (paper 004 has blocks of its largest chunk: our reading).
    #[serde(skip_serializing_if = "is_default_block")]
    pub block: Bytes,
}

/// 32 KiB, the largest chunk of paper 004.
const BLOCK: Bytes = Bytes(32 << 10);

fn is_none(members: &u32) -> bool {
    *members == 0
}

fn is_greedy(victim: &SegmentVictim) -> bool {
    *victim == SegmentVictim::Greedy
}

fn is_default(classes: &ClassBy) -> bool {
    *classes == ClassBy::default()
}

fn is_default_block(block: &Bytes) -> bool {
    *block == BLOCK
}

impl Default for ElasticSection {
    fn default() -> Self {
        Self {
            segment_rows: 64,
            buffer: BufferUnit::default(),
            wait: Span(0),
            acknowledge: AcknowledgeWrites::default(),
            victim: SegmentVictim::default(),
            relocations: Relocations::default(),
            collect_above: Share(900_000),
            reserve: Share(150_000),
            room_for_lost: 0,
            device_streams: false,
            classes: ClassBy::default(),
            chunks: ChunkSizes::new(),
            block: BLOCK,
        }
    }
}

impl ElasticSection {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Number of chunks of a stream that leave controller memory together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferUnit {
    /// The chunks of one stripe, as soon as they are there: eSAP.
    Stripe,
    /// The chunks that fill a segment: WAS.
    #[default]
    Group,
}

/// The segment that array GC collects next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentVictim {
    /// The one with the fewest valid chunks (paper 001, section IV-B).
    #[default]
    Greedy,
    /// The choice of the user's own policy.
    Custom,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcknowledgeWrites {
    /// When controller memory has it; but a write that makes a stream's chunks leave waits until they are written, and for the
    /// collection that this requires.
    #[default]
    TriggerWaits,
    /// When controller memory has it.
    Buffered,
    /// When its stripes are written.
    Durable,
}

/// The segment for chunks that collection moves; paper 001 (section IV-B) says that they are the coldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relocations {
    /// A segment of their own.
    #[default]
    Apart,
    /// The segment of the coldest stream of hosts: in eSAP, of all chunks.
    Coldest,
}
