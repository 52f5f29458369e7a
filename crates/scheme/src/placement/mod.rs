//! Placement policies: where a written chunk is stored. `facts.rs` answers the questions of other code about them.

mod classes;
mod dimensions;
mod elastic;
mod facts;
mod journal;
mod parity_log;
mod zones;

use serde::{Deserialize, Serialize};
use stripewise_base::units::Span;
use stripewise_core::memory::Persistence;

pub use classes::{ChunkSizes, ClassBy};
pub use classes::{depths, unit};
pub use dimensions::{Dimensions, full_stripes, places};
pub use elastic::{AcknowledgeWrites, BufferUnit, ElasticSection, Relocations, SegmentVictim};
pub use facts::{Facts, MEMBERS, RestartFrom};
pub use journal::{JOURNAL_MEMBERS, JournalPolicy, JournalSection};
pub use parity_log::{COMMITS_MAX, ROW_DELTAS_MAX, ROWS_MAX};
pub use parity_log::{Commit, ParityLoggingSection};
pub use zones::{FreePages, MixedZones, WritesAs, ZonePages, ZoneSection, ZonesSection};

/// The placement section of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Placement {
    /// The placement policy.
    pub policy: PlacementPolicy,
    /// How the first write of a page is handled.
    pub first_writes: FirstWrites,
    /// How a write that covers only part of a page is handled.
    pub partial_writes: PartialWrites,
    /// How long a gathered page waits for others before it is written in a shorter stripe.
    pub gather_wait: Span,
    /// How long chunks of a row that was never encoded wait for the others before they are encoded without them; 0 lets them
    /// wait forever.
    #[serde(skip_serializing_if = "is_encode_wait_default")]
    pub encode_wait: Span,
    /// Time of an access to controller memory.
    pub buffer_latency: Span,
    /// Whether controller memory survives a loss of power.
    pub buffer_persistence: Persistence,
}

/// Paper 002 names a threshold and prints no value; this value is our choice.
const ENCODE_WAIT: Span = Span(5_000_000);

fn is_encode_wait_default(wait: &Span) -> bool {
    *wait == ENCODE_WAIT
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            policy: PlacementPolicy::default(),
            first_writes: FirstWrites::default(),
            partial_writes: PartialWrites::default(),
            gather_wait: Span(10_000_000),
            encode_wait: ENCODE_WAIT,
            buffer_latency: Span(1_000),
            buffer_persistence: Persistence::default(),
        }
    }
}

/// Placement policies. Other code does not compare them; it asks for their [`Facts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementPolicy {
    /// A chunk is rewritten in place, and its stripe's parity is updated.
    #[default]
    InPlace,
    /// A chunk is rewritten in place; the change of its stripe's parity goes to log members, the last members of the array,
    /// one for each parity chunk of a stripe.
    ParityLogging,
    /// A written chunk goes to a new stripe at the end of a log over all members; parity is never updated.
    Elastic,
    /// A chunk is rewritten in the zone for its block's access tendency. Each zone has its own chunk size.
    McRais,
}

/// How the first write of a page is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstWrites {
    /// The page goes to the stripe of its address, as an update of zeros.
    #[default]
    InPlace,
    /// The page waits in controller memory until there are enough first writes for a stripe, which become one full stripe
    /// (public fork of paper 000's simulator).
    Gather,
    /// The page waits in controller memory until every data chunk of its row is there; then the row is encoded and written,
    /// each chunk at its address (paper 002, section III-C).
    Encode,
}

/// How a write that covers only part of a page is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartialWrites {
    /// The page is read, merged, and written whole.
    #[default]
    Merge,
    /// The write is treated as a write of the whole page, as in simulators without sub-page mapping; refused over real bytes.
    RoundUp,
}
