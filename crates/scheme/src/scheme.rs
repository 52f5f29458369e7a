//! A scheme: one policy on every axis, as a TOML file.

mod acknowledges;
mod coordination;
mod elastic;
mod in_place;
mod metadata;
mod overlapping;
mod parity_memory;
mod resolve;
mod restart;
mod settings;
mod zones;

use serde::{Deserialize, Serialize};
use stripewise_base::renamed;
use stripewise_base::suggest::read_toml;
use stripewise_base::units::{Bytes, Span};
use stripewise_code::{CodeError, Kind};
use stripewise_core::geometry::{GeometryError, Level, Membership, Rotation};
use stripewise_policy::cache::CacheSection;
use stripewise_policy::coordination::CoordinationSection;
use stripewise_policy::dispatch::Dispatch;
use stripewise_policy::hotness::HotnessSection;
use stripewise_policy::mix::MixSection;
use stripewise_policy::read::ReadSection;
use stripewise_policy::update::Update;

use crate::placement::JournalSection;
use crate::placement::ZonesSection;
use crate::placement::{ClassBy, ElasticSection};
use crate::placement::{ParityLoggingSection, Placement};

/// A named choice of one policy on every axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// The scheme's name, as results print it.
    pub name: String,
    /// One sentence that describes the scheme and its source.
    #[serde(default)]
    pub description: String,
    /// Where chunks are placed.
    #[serde(default)]
    pub geometry: GeometrySection,
    /// The code that computes parity from data.
    #[serde(default, skip_serializing_if = "CodeSection::is_default")]
    pub code: CodeSection,
    /// The routine that updates parity.
    #[serde(default = "default_update")]
    pub update: Update,
    /// Where chunks are read from.
    #[serde(default, skip_serializing_if = "ReadSection::is_default")]
    pub read: ReadSection,
    /// Where written chunks go.
    #[serde(default)]
    pub placement: Placement,
    /// The content that is kept in memory before it is written to the members.
    #[serde(default, skip_serializing_if = "CacheSection::is_default")]
    pub cache: CacheSection,
    /// How the placement `parity-logging` logs changes of parity.
    // Digests of runs, superblocks and saved cases have the section under its former name, and keep it.
    #[serde(
        default,
        rename = "log",
        alias = "parity_logging",
        skip_serializing_if = "ParityLoggingSection::is_default"
    )]
    pub parity_logging: ParityLoggingSection,
    /// How hot chunks are distinguished from cold ones; the placement `elastic` writes the two separately.
    #[serde(default, skip_serializing_if = "HotnessSection::is_default")]
    pub hotness: HotnessSection,
    /// How read-intensive blocks are distinguished from write-intensive ones, for placements that separate them.
    #[serde(default, skip_serializing_if = "MixSection::is_default")]
    pub mix: MixSection,
    /// The zones of the placement `mc-rais`.
    #[serde(default, skip_serializing_if = "ZonesSection::is_default")]
    pub zones: ZonesSection,
    /// The streams and segments of the placement `elastic`.
    #[serde(default, skip_serializing_if = "ElasticSection::is_default")]
    pub elastic: ElasticSection,
    /// The order in which a member's queue is served.
    #[serde(default)]
    pub dispatch: Dispatch,
    /// Which members collect garbage, and when.
    #[serde(default, skip_serializing_if = "CoordinationSection::is_default")]
    pub coordination: CoordinationSection,
    /// Bounds of the controller's queues.
    #[serde(default)]
    pub queues: Queues,
    /// The parity computation.
    #[serde(default)]
    pub parity: Parity,
    /// Whether the array can be assembled again after failures of members and of power: see `docs/design/format.md`.
    #[serde(default)]
    pub metadata: Metadata,
    /// The record that is written before an update in place, with metadata.
    #[serde(default, skip_serializing_if = "JournalSection::is_default")]
    pub journal: JournalSection,
}

fn default_update() -> Update {
    Update::Baseline { tie: stripewise_policy::update::Tie::default() }
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
    /// The number of parity groups that the members form.
    pub groups: u32,
    /// Which members form a group.
    #[serde(skip_serializing_if = "Membership::is_default")]
    pub membership: Membership,
    /// How parity rotates from stripe to stripe.
    pub rotation: Rotation,
    /// The number of stripes of a group after which parity rotates.
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
    /// The code; absent means XOR for RAID-5, P+Q Reed-Solomon for RAID-6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The prime of RDP and EVENODD: one more than the number of parts of a page that they compute with. Absent means 17,
    /// or 257 if the stripe is too wide for 17.
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
    /// Host requests in the controller; the next one is answered Busy.
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
    /// Time to combine one page into parity, on an engine that combines one page after the other; absent means none. It
    /// adds to `xor`, which any number of rows take in parallel.
    #[serde(skip_serializing_if = "is_no_time")]
    pub combine: Span,
    /// Written chunks whose parity may be deferred; 0 updates parity with each write.
    pub window: WindowSize,
    /// Deferred parity is updated after this time without a host request in flight; 0 leaves it deferred.
    pub idle: Span,
    /// When a write is acknowledged.
    pub acknowledge: Acknowledge,
    /// Whether writes that defer their parity take their row alone, or share it and wait only in the queues of the members.
    #[serde(skip_serializing_if = "is_default")]
    pub rows: Rows,
    /// Whether a write joins an update that waits for its row.
    #[serde(skip_serializing_if = "is_default")]
    pub merge: Merge,
    /// Whether updates of a row's parity follow each other, or each begins when it is due.
    #[serde(skip_serializing_if = "is_default")]
    pub updates: Updates,
    /// Updated rows whose parity is kept in persistent memory, and written when others need the room; 0 writes parity with
    /// each update.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_rows: u32,
}

/// How writes that defer their parity take their row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// One write or update of parity after the other.
    #[default]
    Exclusive,
    /// Writes beside one another and beside one update of parity, where members keep old versions and the array has no
    /// metadata, write cache or zones; elsewhere, and while a member is lost or rebuilt, one after the other.
    Shared,
}

/// Whether writes join waiting updates of their row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Merge {
    /// They do.
    #[default]
    On,
    /// Each write is an update of its own.
    Off,
}

/// How updates of one row's parity follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Updates {
    /// One after the other, and each page has one write in progress.
    #[default]
    Row,
    /// None waits for another, nor a write for another write of its page: the public fork of paper 000's simulator. This
    /// cannot hold over real bytes, so it is for simulated time alone.
    Each,
}

impl Default for Parity {
    fn default() -> Self {
        Self {
            xor: Span::default(),
            combine: Span::default(),
            window: WindowSize::default(),
            idle: Span(10_000_000),
            acknowledge: Acknowledge::default(),
            rows: Rows::default(),
            merge: Merge::default(),
            updates: Updates::default(),
            memory_rows: 0,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_no_time(time: &Span) -> bool {
    time.0 == 0
}

/// Slots of the parity window: a number, or `"members"` for as many as the array has members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of chunks, or \"members\"")]
pub enum WindowSize {
    /// This number of slots.
    Chunks(u32),
    /// One slot for each member.
    Members(EachMember),
}

/// The word for one slot for each member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EachMember {
    /// `"members"`, and its former name.
    #[serde(rename = "members", alias = "elements")]
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
            Self::Members(_) => f.write_str("\"members\""),
        }
    }
}

impl WindowSize {
    /// The number of slots in an array of `members` members.
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
    /// When its data is written and the parity updates that the write caused are done.
    #[default]
    AfterParity,
    /// When its data is written; its parity follows.
    AfterData,
}

/// Whether journal, checksums and checkpoints are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metadata {
    /// No metadata is written, as in the runs of the papers.
    #[default]
    Off,
    /// The format of `docs/design/format.md`: the array can be assembled again after failures of members and of power.
    On,
}

/// Sections of a scheme that are written in addition to its own output.
#[derive(Serialize)]
struct RequiredSections<'a> {
    parity_logging: Option<&'a ParityLoggingSection>,
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
        /// The reason.
        reason: GeometryError,
    },
    /// The code cannot be formed.
    #[error("scheme `{scheme}`, section [code]: {reason}")]
    Code {
        /// The scheme.
        scheme: String,
        /// The reason.
        reason: CodeError,
    },
    /// A setting that has no meaning in this scheme or on these members.
    #[error("scheme `{scheme}`: {key} = {value} {reason}")]
    Setting {
        /// The scheme.
        scheme: String,
        /// Section and key.
        key: &'static str,
        /// The value given.
        value: String,
        /// Why the value is refused, and which value to use.
        reason: &'static str,
    },
}

impl Scheme {
    /// Reads a scheme from `text`, the contents of `file`.
    ///
    /// # Errors
    /// Names the line, the column and what was expected; an unknown key names the nearest known one.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, SchemeError> {
        read_toml(file, text).map_err(|error| {
            // serde knows one of the two names, and would call it a duplicate.
            let twice = text.parse().ok().and_then(|table| renamed::given_twice(&table));
            SchemeError::Syntax(twice.map_or_else(|| error.to_string(), |twice| format!("{file}: {twice}")))
        })
    }

    /// The scheme as TOML, with every default written out and every section under its present name.
    pub fn to_toml(&self) -> String {
        // Parity logging comes with the further sections: serialization gives it the name that digests have.
        let shown = Self { parity_logging: ParityLoggingSection::default(), ..self.clone() };
        let text = toml::to_string(&shown).expect("a scheme holds nothing that TOML cannot say");
        let required =
            toml::to_string(&self.required()).expect("a section holds nothing that TOML cannot say");
        if required.is_empty() { text } else { text + "\n" + &required }
    }

    /// The sections that [`Self::to_toml`] adds: those that the placement uses but that serialization omits, because all their
    /// values are defaults; and that of parity logging, if it has a meaning or a value.
    fn required(&self) -> RequiredSections<'_> {
        let facts = self.placement.facts();
        RequiredSections {
            parity_logging: (facts.logs_parity || !self.parity_logging.is_default())
                .then_some(&self.parity_logging),
            mix: (self.asks_mix() && self.mix.is_default()).then_some(&self.mix),
            zones: (facts.has_zones && self.zones.is_default()).then_some(&self.zones),
            elastic: (facts.forms_stripes && self.elastic.is_default()).then_some(&self.elastic),
            journal: (self.has_journal_section() && self.journal.is_default()).then_some(&self.journal),
        }
    }

    /// Whether the section `[mix]` has a meaning.
    fn asks_mix(&self) -> bool {
        self.placement.facts().asks_mix || self.elastic.classes == ClassBy::HotnessAndMix
    }
}
