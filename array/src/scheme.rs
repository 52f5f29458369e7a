//! A scheme: one policy on every axis, as a TOML file.

mod acknowledges;
mod elastic;
mod in_place;
mod metadata;
mod resolve;
mod settings;
mod zones;

use serde::{Deserialize, Serialize};
use stripewise_base::suggest::read_toml;
use stripewise_base::units::{Bytes, Span};
use stripewise_code::{CodeError, Kind};

use crate::cache::CacheSection;
use crate::coordination::CoordinationSection;
use crate::dispatch::Dispatch;
use crate::geometry::{GeometryError, Level, Membership, Rotation};
use crate::hotness::HotnessSection;
use crate::journal::JournalSection;
use crate::mix::MixSection;
use crate::placement::elastic::{ClassBy, ElasticSection};
use crate::placement::mc_rais::ZonesSection;
use crate::placement::{LogSection, Placement, PlacementPolicy};
use crate::read::ReadSection;
use crate::update::Update;

/// A named choice of one policy on every axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// The scheme's name, as results print it.
    pub name: String,
    /// One sentence on what it is and where it comes from.
    #[serde(default)]
    pub description: String,
    /// Where chunks lie.
    #[serde(default)]
    pub geometry: GeometrySection,
    /// By which code parity is made of data.
    #[serde(default, skip_serializing_if = "CodeSection::is_default")]
    pub code: CodeSection,
    /// By which routine parity is updated.
    #[serde(default = "default_update")]
    pub update: Update,
    /// From where chunks are read.
    #[serde(default, skip_serializing_if = "ReadSection::is_default")]
    pub read: ReadSection,
    /// Where written chunks go.
    #[serde(default)]
    pub placement: Placement,
    /// What is kept in memory before it goes to the members.
    #[serde(default, skip_serializing_if = "CacheSection::is_default")]
    pub cache: CacheSection,
    /// The log of the placement `parity-logging`.
    #[serde(default, skip_serializing_if = "LogSection::is_default")]
    pub log: LogSection,
    /// How hot chunks are told from cold ones, which the placement `elastic` writes apart.
    #[serde(default, skip_serializing_if = "HotnessSection::is_default")]
    pub hotness: HotnessSection,
    /// How read-intensive blocks are told from write-intensive ones, by placements that keep them apart.
    #[serde(default, skip_serializing_if = "MixSection::is_default")]
    pub mix: MixSection,
    /// The zones of the placement `mc-rais`.
    #[serde(default, skip_serializing_if = "ZonesSection::is_default")]
    pub zones: ZonesSection,
    /// The streams and segments of the placement `elastic`.
    #[serde(default, skip_serializing_if = "ElasticSection::is_default")]
    pub elastic: ElasticSection,
    /// In which order a member's queue is served.
    #[serde(default)]
    pub dispatch: Dispatch,
    /// Which members collect garbage when.
    #[serde(default, skip_serializing_if = "CoordinationSection::is_default")]
    pub coordination: CoordinationSection,
    /// Bounds of the controller's queues.
    #[serde(default)]
    pub queues: Queues,
    /// The parity computation.
    #[serde(default)]
    pub parity: Parity,
    /// Whether what is on the members can be opened again, whatever they and power do: see `docs/format.md`.
    #[serde(default)]
    pub metadata: Metadata,
    /// What is written ahead of an update in place, with metadata.
    #[serde(default, skip_serializing_if = "JournalSection::is_default")]
    pub journal: JournalSection,
}

fn default_update() -> Update {
    Update::Baseline { tie: crate::update::Tie::default() }
}

/// The geometry section of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GeometrySection {
    /// Redundancy.
    pub level: Level,
    /// Chunk size; absent means one page of the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Parity groups that the members form.
    pub groups: u32,
    /// Which members form a group.
    #[serde(skip_serializing_if = "Membership::is_default")]
    pub membership: Membership,
    /// How parity moves from stripe to stripe.
    pub rotation: Rotation,
    /// Stripes of a group after which parity moves on.
    pub rotate_every: u32,
}

impl Default for GeometrySection {
    fn default() -> Self {
        Self {
            level: Level::Raid5,
            chunk: None,
            groups: 1,
            membership: Membership::default(),
            rotation: Rotation::default(),
            rotate_every: 1,
        }
    }
}

/// The code section of a scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CodeSection {
    /// Which code; absent means XOR for RAID-5, P+Q Reed-Solomon for RAID-6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The prime of RDP and EVENODD, one more than the parts of a page that they compute with; absent means 17, or 257 where
    /// the stripe is too wide for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prime: Option<u32>,
}

impl CodeSection {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Bounds of the controller's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Queues {
    /// Host requests in the controller; one more is answered Busy.
    pub requests: u32,
    /// Plans, waiting and running; each updates or reads one row.
    pub plans: u32,
}

impl Default for Queues {
    fn default() -> Self {
        Self { requests: 1024, plans: 1024 }
    }
}

/// How parity is computed, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parity {
    /// Time to compute one page of parity; absent means none.
    pub xor: Span,
    /// Time to combine one page into parity, on an engine that does one after the other; absent means none. Beside `xor`,
    /// which any number of rows take at once.
    #[serde(skip_serializing_if = "is_no_time")]
    pub combine: Span,
    /// Written chunks whose parity may be late; 0 updates parity with each write.
    pub window: WindowSize,
    /// After so long without a host request under way, late parity is updated; 0 leaves it late.
    pub idle: Span,
    /// When a write is acknowledged.
    pub acknowledge: Acknowledge,
}

impl Default for Parity {
    fn default() -> Self {
        Self {
            xor: Span::default(),
            combine: Span::default(),
            window: WindowSize::default(),
            idle: Span(10_000_000),
            acknowledge: Acknowledge::default(),
        }
    }
}

fn is_no_time(time: &Span) -> bool {
    time.0 == 0
}

/// Slots of the parity window: a number, or `"members"` for as many as the array has members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of chunks, or \"elements\"")]
pub enum WindowSize {
    /// So many.
    Chunks(u32),
    /// One for each member.
    Members(EachMember),
}

/// The word for one slot a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EachMember {
    /// `"members"`.
    #[serde(rename = "elements")]
    Members,
}

impl Default for WindowSize {
    fn default() -> Self {
        Self::Chunks(0)
    }
}

impl std::fmt::Display for WindowSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Chunks(chunks) => chunks.fmt(f),
            Self::Members(_) => f.write_str("\"elements\""),
        }
    }
}

impl WindowSize {
    /// Slots in an array of `members` members.
    pub fn slots(self, members: u32) -> u32 {
        match self {
            Self::Chunks(chunks) => chunks,
            Self::Members(_) => members,
        }
    }
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When its data is written and the parity updates that it caused are done.
    #[default]
    AfterParity,
    /// When its data is written; parity follows.
    AfterData,
}

/// Whether a run pays for journal, checksums and checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metadata {
    /// No metadata is written: the papers' runs.
    #[default]
    Off,
    /// The format of `docs/format.md`: the array can be opened again, whatever the members and power do.
    On,
}

/// What the members of an array can do and how large they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// How many there are.
    pub count: u32,
    /// Their page, the unit of an operation.
    pub page_bytes: u32,
    /// Pages that each offers.
    pub pages: u32,
    /// Whether they keep acknowledged writes in volatile memory until a flush.
    pub volatile_cache: bool,
    /// Whether they can be told that pages are unused, and read zeros from them afterwards.
    pub discard: bool,
    /// How many replaced versions each can keep until they are released; 0 where it cannot keep any.
    pub old_versions: u32,
    /// Whether they collect garbage only when they are permitted to.
    pub gc_control: bool,
    /// Whether they tell when they collect garbage and when an operation could start.
    pub gc_state: bool,
    /// Write streams that they tell apart; 1 where all writes go to the same erase blocks.
    pub streams: u32,
}

impl Members {
    /// Files and devices that tell nothing of themselves: they have a volatile cache and take discards.
    pub const fn opaque(count: u32, page_bytes: u32, pages: u32) -> Self {
        Self {
            count,
            page_bytes,
            pages,
            volatile_cache: true,
            discard: true,
            old_versions: 0,
            gc_control: false,
            gc_state: false,
            streams: 1,
        }
    }
}

/// Sections of a scheme that stand beside those that it writes.
#[derive(Serialize)]
struct Asked<'a> {
    log: Option<&'a LogSection>,
    mix: Option<&'a MixSection>,
    zones: Option<&'a ZonesSection>,
    elastic: Option<&'a ElasticSection>,
    journal: Option<&'a JournalSection>,
}

/// Why a scheme cannot run on these members.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// The text is not a scheme; the message names line, column and the nearest known key.
    #[error("{0}")]
    Syntax(String),
    /// The geometry cannot be formed.
    #[error("scheme `{scheme}`, section [geometry]: {reason}")]
    Geometry {
        /// The scheme.
        scheme: String,
        /// Why not.
        reason: GeometryError,
    },
    /// The code cannot be formed.
    #[error("scheme `{scheme}`, section [code]: {reason}")]
    Code {
        /// The scheme.
        scheme: String,
        /// Why not.
        reason: CodeError,
    },
    /// A setting that has no meaning here.
    #[error("scheme `{scheme}`: {key} = {value} {reason}")]
    Setting {
        /// The scheme.
        scheme: String,
        /// Section and key.
        key: &'static str,
        /// The value given.
        value: String,
        /// Why it does not do, and what would.
        reason: &'static str,
    },
}

impl Scheme {
    /// Reads a scheme from `text`, the contents of `file`.
    ///
    /// # Errors
    /// Names the line, the column and what was expected; an unknown key names the nearest known one.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, SchemeError> {
        read_toml(file, text).map_err(|error| SchemeError::Syntax(error.to_string()))
    }

    /// The scheme as TOML, every default spelled out.
    pub fn to_toml(&self) -> String {
        let written = toml::to_string(self).and_then(|text| Ok(text + &toml::to_string(&self.asked())?));
        written.expect("a scheme holds nothing that TOML cannot say")
    }

    /// The sections that the placement goes by and that are left out because nothing in them differs from its default.
    fn asked(&self) -> Asked<'_> {
        let policy = self.placement.policy;
        let is = |asking: PlacementPolicy| policy == asking;
        let mixes = is(PlacementPolicy::McRais) || self.elastic.classes == ClassBy::HotnessAndMix;
        Asked {
            log: (is(PlacementPolicy::ParityLogging) && self.log.is_default()).then_some(&self.log),
            mix: (mixes && self.mix.is_default()).then_some(&self.mix),
            zones: (is(PlacementPolicy::McRais) && self.zones.is_default()).then_some(&self.zones),
            elastic: (is(PlacementPolicy::Elastic) && self.elastic.is_default()).then_some(&self.elastic),
            journal: (self.has_journal_section() && self.journal.is_default()).then_some(&self.journal),
        }
    }
}
