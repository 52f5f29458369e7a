//! The specification of a device in one TOML schema: its geometry, its timing, its mapping and its garbage
//! collection.

use serde::{Deserialize, Serialize};
use stripewise_base::suggest::{self, ConfigError};
use stripewise_base::units::{Bytes, Span};

use crate::rate::Rate;
use stripewise_base::share::Share;

mod gc;
mod ldpc;
mod order;
mod suspend;
mod wear;

pub use gc::{Domain, GcSpan, GcSpec, GcStart, Moves, Preemption, Victim, Watermark};
pub use ldpc::{BINS, LEVELS, LdpcSpec};
pub use order::{Order, OrderError};
pub use suspend::SuspendSpec;
pub use wear::{AgeSpec, FreeBlock, WearSpec};

/// A modelled flash device, as a TOML file describes it. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// Name of the device, for results.
    pub name: String,
    /// The parts of the device.
    pub geometry: Geometry,
    /// The durations of operations.
    pub timing: Timing,
    /// The mapping of pages, and the placement of written pages.
    pub ftl: FtlSpec,
    /// The order of service.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// Garbage collection.
    pub gc: GcSpec,
    /// Suspension of programs and erases for reads; if absent, they are not suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<SuspendSpec>,
    /// Read times as a function of wear; if absent, every read takes `timing.read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ldpc: Option<LdpcSpec>,
    /// Wear-levelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSpec>,
    /// Wear of the blocks before the first request; if absent, blocks are new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<AgeSpec>,
}

/// The parts of a device. Every number counts within the next larger part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels, each with its own bus.
    pub channels: u32,
    /// Chips on a channel.
    pub chips: u32,
    /// Dies in a chip; a die runs one operation at a time.
    pub dies: u32,
    /// Planes in a die.
    pub planes: u32,
    /// Blocks in a plane.
    pub blocks: u32,
    /// Pages in a block.
    pub pages: u32,
    /// User data in a page.
    pub page_bytes: Bytes,
    /// Spare area of a page (out-of-band bytes), transferred with it.
    #[serde(default)]
    pub spare_bytes: Bytes,
}

/// The durations of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Time from cell array to register.
    pub read: Span,
    /// Time from register to cell array.
    pub program: Span,
    /// Time to erase a block.
    pub erase: Span,
    /// Rate of the channel's bus, for page data and spare area.
    pub bus: Rate,
    /// Command and address cycles of a read on the bus. A command of zero time does not need the bus.
    #[serde(default)]
    pub read_command: Span,
    /// Command and address cycles of a program on the bus, just before its data.
    #[serde(default)]
    pub program_command: Span,
    /// Command and address cycles of an erase on the bus.
    #[serde(default)]
    pub erase_command: Span,
    /// Rate of the link between host and device (or its interface bus), for user data; one transfer at a time for the
    /// whole device. Only a whole SSD has a link: the controller of an array of channels or chips sits behind it.
    #[serde(default)]
    pub host_link: Rate,
    /// Fixed time on that link for each page operation, in addition to its data.
    #[serde(default)]
    pub host_link_command: Span,
    /// The unit of transfer on that link.
    #[serde(default)]
    pub host_link_unit: LinkUnit,
    /// With commands as the unit: fixed time on that link for each command, in addition to its pages.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub host_link_per_command: Span,
}

fn is_no_time(span: &Span) -> bool {
    span.0 == 0
}

/// The unit of transfer on a host link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkUnit {
    /// A page. A program starts after its own data have crossed the link; a read requests the link when its own data
    /// are ready.
    #[default]
    Page,
    /// All operations of one kind that the SSD is given for one request at one instant (DiskSim). No page starts
    /// before all data of a write have crossed, and read data cross when all pages are ready. Commands, also those of
    /// reads, wait for the link in order. The array's own operations of one instant form one command.
    Command,
}

/// The mapping of pages, and the placement of written pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtlSpec {
    /// Share of the raw pages that is not exported. This follows the convention of SSD simulators, with the raw
    /// capacity in the denominator. Data sheets divide by the exported capacity instead: their OP is
    /// `share / (1 - share)`.
    pub over_provisioning: Share,
    /// The order in which consecutive pages visit channels, ways (chips), dies and planes: the first letter varies
    /// fastest. With `pool = "plane"` this is static allocation, in MQSim's terms.
    #[serde(default)]
    pub order: Order,
    /// The part within which a written page may go anywhere (dynamic allocation). Above the pool, the place of a page
    /// is static.
    #[serde(default)]
    pub pool: Pool,
    /// How a dynamic allocation chooses within its pool.
    #[serde(default)]
    pub choice: Choice,
    /// Bytes of the summary in the last page of every block. The program that fills a block also takes the time of
    /// the summary's transfer and of one more program (DiskSim). If absent, every page holds data.
    #[serde(default)]
    pub summary_page: Option<Bytes>,
    /// Write streams of programs. Each stream has its own open block in every plane, so that pages of one stream
    /// share erase blocks (Kang et al., HotStorage 2014; NVMe's placement handles).
    #[serde(default = "one_stream", skip_serializing_if = "is_one_stream")]
    pub streams: u32,
    /// Whether collection also keeps streams separate.
    #[serde(default, skip_serializing_if = "Isolation::is_initial")]
    pub isolation: Isolation,
}

fn one_stream() -> u32 {
    1
}

fn is_one_stream(streams: &u32) -> bool {
    *streams == 1
}

/// How far streams are kept separate: the types of reclaim unit handles of NVMe Flexible Data Placement (NVM Express
/// Base Specification 2.1, section 5.1.12.1.28).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Until collection moves their pages. Then the pages of all streams mix in the block of stream 0 or, with
    /// [`Moves::Apart`], in the block for moves. Shipped devices have this type.
    #[default]
    Initial,
    /// Permanently. Moves go to the block of their victim's stream or, with [`Moves::Apart`], to one additional block
    /// per stream.
    Persistent,
}

impl Isolation {
    fn is_initial(&self) -> bool {
        *self == Self::Initial
    }
}

/// The part within which a written page may go anywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// A plane: static allocation.
    #[default]
    Plane,
    /// A die.
    Die,
    /// A chip.
    Chip,
    /// A channel.
    Channel,
    /// The whole member: dynamic allocation.
    #[serde(alias = "element")]
    Member,
}

/// How a dynamic allocation chooses a plane within its pool. Planes that cannot take a page now are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The next plane in the order of `order` (SSDsim).
    #[default]
    RoundRobin,
    /// The plane with the most free pages; of equals, the next one in that order (DiskSim).
    MostFree,
}

/// The order in which a device serves operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduling {
    /// Reads go before programs and before moves of garbage collection, on dies and on buses. Otherwise service is
    /// first come, first served.
    pub read_priority: bool,
    /// Page operations that a whole SSD accepts at a time. Channels and chips accept the operations that they can
    /// start at once.
    pub window: u32,
    /// Whether planes of a die work in parallel. Only a whole SSD has the queues that this needs.
    #[serde(skip_serializing_if = "MultiPlane::is_off")]
    pub multi_plane: MultiPlane,
    /// Whether dies of a chip work at the same time. Only a whole SSD has the queues that restrictions need.
    #[serde(skip_serializing_if = "DieInterleaving::is_free")]
    pub die_interleaving: DieInterleaving,
}

/// Whether pages of several planes of a die are read or programmed in one cell time. Their blocks may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MultiPlane {
    /// Never.
    #[default]
    Off,
    /// If they have the same offset in their blocks (SSDsim's two-plane commands).
    SamePage,
    /// Always, whatever their offsets.
    AnyPage,
}

impl MultiPlane {
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// Whether dies of a chip work at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DieInterleaving {
    /// Each die takes operations whenever it is idle.
    #[default]
    Free,
    /// An idle chip starts operations of one kind, at most one for each die (with [`MultiPlane`], one for each plane).
    /// It starts no others until all of them are done (MQSim as published).
    OneKind,
    /// A chip does one operation at a time (later revisions of MQSim).
    Off,
}

impl DieInterleaving {
    fn is_free(&self) -> bool {
        *self == Self::Free
    }
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            read_priority: true,
            window: 256,
            multi_plane: MultiPlane::Off,
            die_interleaving: DieInterleaving::Free,
        }
    }
}

/// The device presets of the program, by name.
pub const PRESETS: [(&str, &str); 16] = [
    ("ssdsim-5+1", include_str!("../../../presets/devices/ssdsim-5+1.toml")),
    ("ssdsim-7+1", include_str!("../../../presets/devices/ssdsim-7+1.toml")),
    ("ssdsim-5+1-ldpc", include_str!("../../../presets/devices/ssdsim-5+1-ldpc.toml")),
    ("ssdsim-7+1-ldpc", include_str!("../../../presets/devices/ssdsim-7+1-ldpc.toml")),
    ("disksim", include_str!("../../../presets/devices/disksim.toml")),
    ("disksim-chips", include_str!("../../../presets/devices/disksim-chips.toml")),
    ("disksim-suite", include_str!("../../../presets/devices/disksim-suite.toml")),
    ("paper001", include_str!("../../../presets/devices/paper001.toml")),
    ("paper001-fdp", include_str!("../../../presets/devices/paper001-fdp.toml")),
    ("paper002", include_str!("../../../presets/devices/paper002.toml")),
    ("paper003", include_str!("../../../presets/devices/paper003.toml")),
    ("paper003-preemptive", include_str!("../../../presets/devices/paper003-preemptive.toml")),
    ("paper004", include_str!("../../../presets/devices/paper004.toml")),
    ("s3700-like", include_str!("../../../presets/devices/s3700-like.toml")),
    ("mqsim", include_str!("../../../presets/devices/mqsim.toml")),
    ("mqsim-gc-2gib", include_str!("../../../presets/devices/mqsim-gc-2gib.toml")),
];

impl DeviceSpec {
    /// Reads a device from `text`, the contents of `file`, and validates it.
    ///
    /// # Errors
    /// The error, its place, and the expected value.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ConfigError> {
        let spec: Self = suggest::read_toml(file, text)?;
        spec.validate().map_err(|error| ConfigError::at(file, text, None, error.to_string()))?;
        Ok(spec)
    }

    /// The preset of this name.
    ///
    /// # Errors
    /// The name is unknown; the message names the most similar preset.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        match PRESETS.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::from_toml(name, text),
            None => {
                let known = PRESETS.map(|(name, _)| name);
                Err(ConfigError::at("device", "", None, suggest::unknown("device", name, &known)))
            }
        }
    }
}
