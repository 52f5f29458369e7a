//! What a device is: its geometry, its times, its mapping, its garbage collection. One TOML schema.

use serde::{Deserialize, Serialize};
use stripewise_base::suggest::{self, ConfigError};
use stripewise_base::units::{Bytes, Span};

use crate::alloc::Order;
use crate::rate::Rate;
use stripewise_base::share::Share;

mod gc;
mod ldpc;
mod suspend;
mod wear;

pub use gc::{Domain, GcSpan, GcSpec, GcStart, Moves, Preemption, Victim, Watermark};
pub use ldpc::{BINS, LEVELS, LdpcSpec};
pub use suspend::SuspendSpec;
pub use wear::{AgeSpec, FreeBlock, WearSpec};

/// A modelled flash device, as a TOML file describes it. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// Name of the device, for results.
    pub name: String,
    /// What it is built of.
    pub geometry: Geometry,
    /// How long things take.
    pub timing: Timing,
    /// Where written pages go.
    pub ftl: FtlSpec,
    /// In which order it serves.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// How it collects garbage.
    pub gc: GcSpec,
    /// How programs and erases stop for reads; not given: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<SuspendSpec>,
    /// How long reads take as blocks wear; not given: every read takes `timing.read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ldpc: Option<LdpcSpec>,
    /// How wear is spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSpec>,
    /// What its blocks went through before the first request; not given: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<AgeSpec>,
}

/// What a device is built of. Everything is counted within the next larger part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels, each a bus of its own.
    pub channels: u32,
    /// Chips on a channel.
    pub chips: u32,
    /// Dies in a chip; a die does one thing at a time.
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

/// How long things take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Cell array to register.
    pub read: Span,
    /// Register to cell array.
    pub program: Span,
    /// A block.
    pub erase: Span,
    /// The channel's bus, for page data and spare area.
    pub bus: Rate,
    /// Command and address cycles of a read on the bus. A command of no time needs no bus.
    #[serde(default)]
    pub read_command: Span,
    /// Command and address cycles of a program on the bus, just before its data.
    #[serde(default)]
    pub program_command: Span,
    /// Command and address cycles of an erase on the bus.
    #[serde(default)]
    pub erase_command: Span,
    /// The link between host and device (or its interface bus), for user data; one transfer at a time for the whole
    /// device. Only a whole SSD has one: the controller of an array of channels or chips sits behind it.
    #[serde(default)]
    pub host_link: Rate,
    /// Fixed time on that link for each page operation, beside its data.
    #[serde(default)]
    pub host_link_command: Span,
    /// What moves on that link as a whole.
    #[serde(default)]
    pub host_link_unit: LinkUnit,
}

/// What moves on a host link as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkUnit {
    /// Each page: a program starts when its own data are across, a read asks for the link when its own data are there.
    #[default]
    Page,
    /// What the SSD is given for one request at one instant (DiskSim): no page starts before all data of a write are across, and
    /// read data cross when all pages are there. Commands wait for the link in order, those of reads too. The array's own work
    /// of one instant is one command.
    Command,
}

/// Where written pages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtlSpec {
    /// Share of the raw pages that is not exported. The convention of SSD simulators, raw in the denominator;
    /// data sheets divide by the exported capacity instead: their OP is `share / (1 - share)`.
    pub over_provisioning: Share,
    /// In which order consecutive pages visit channels, ways (chips), dies and planes: the first letter turns
    /// fastest. With `pool = "plane"` this is static allocation, as MQSim names it.
    #[serde(default)]
    pub order: Order,
    /// Within what a written page may go anywhere (dynamic allocation). Above the pool a page's place is static.
    #[serde(default)]
    pub pool: Pool,
    /// How a dynamic allocation chooses within its pool.
    #[serde(default)]
    pub choice: Choice,
    /// Bytes of the summary that the last page of every block holds; whoever fills a block pays for their transfer
    /// and for one more program (DiskSim). Not given: every page holds data.
    #[serde(default)]
    pub summary_page: Option<Bytes>,
    /// Write streams that programs tell apart: each has an open block of its own in every plane, so that pages of one
    /// stream share erase blocks (Kang et al., HotStorage 2014; NVMe's placement handles).
    #[serde(default = "one_stream", skip_serializing_if = "is_one_stream")]
    pub streams: u32,
    /// Whether collection keeps streams apart too.
    #[serde(default, skip_serializing_if = "Isolation::is_initial")]
    pub isolation: Isolation,
}

fn one_stream() -> u32 {
    1
}

fn is_one_stream(streams: &u32) -> bool {
    *streams == 1
}

/// How far streams are kept apart: the types of reclaim unit handles of NVMe Flexible Data Placement (NVM Express Base
/// Specification 2.1, section 5.1.12.1.28).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Until collection moves their pages: then those of all streams mix, in the block of stream 0 or, with
    /// [`Moves::Apart`], in the one of moves. The type that shipped devices have.
    #[default]
    Initial,
    /// For ever: moves go to the block of the stream that their victim is of or, with [`Moves::Apart`], to one more for
    /// each stream.
    Persistent,
}

impl Isolation {
    fn is_initial(&self) -> bool {
        *self == Self::Initial
    }
}

/// Within what a written page may go anywhere.
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
    #[serde(rename = "element")]
    Member,
}

/// How a dynamic allocation chooses a plane within its pool. Planes that cannot take a page now are passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The next one in the order of `order` (SSDsim).
    #[default]
    RoundRobin,
    /// The one with most free pages; of equals the next one in that order (DiskSim).
    MostFree,
}

/// In which order a device serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduling {
    /// Reads go before programs and before moves of garbage collection, on dies and on buses; otherwise first come,
    /// first served.
    pub read_priority: bool,
    /// Page operations that a whole SSD takes at a time; channels and chips take what they can start at once.
    pub window: u32,
    /// Whether planes of a die work together. Only a whole SSD has the queues that this needs.
    #[serde(skip_serializing_if = "MultiPlane::is_off")]
    pub multi_plane: MultiPlane,
}

/// Whether pages of several planes of a die are read or programmed in one cell time. Blocks may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MultiPlane {
    /// No.
    #[default]
    Off,
    /// Where they have the same offset in their blocks (SSDsim's two-plane commands).
    SamePage,
    /// Wherever they lie.
    AnyPage,
}

impl MultiPlane {
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

impl Default for Scheduling {
    fn default() -> Self {
        Self { read_priority: true, window: 256, multi_plane: MultiPlane::Off }
    }
}

/// The devices that come with the program, by name.
pub const PRESETS: [(&str, &str); 15] = [
    ("ssdsim-5+1", include_str!("../presets/ssdsim-5+1.toml")),
    ("ssdsim-7+1", include_str!("../presets/ssdsim-7+1.toml")),
    ("ssdsim-5+1-ldpc", include_str!("../presets/ssdsim-5+1-ldpc.toml")),
    ("ssdsim-7+1-ldpc", include_str!("../presets/ssdsim-7+1-ldpc.toml")),
    ("disksim", include_str!("../presets/disksim.toml")),
    ("disksim-chips", include_str!("../presets/disksim-chips.toml")),
    ("disksim-suite", include_str!("../presets/disksim-suite.toml")),
    ("paper001", include_str!("../presets/paper001.toml")),
    ("paper001-fdp", include_str!("../presets/paper001-fdp.toml")),
    ("paper002", include_str!("../presets/paper002.toml")),
    ("paper003", include_str!("../presets/paper003.toml")),
    ("paper003-preemptive", include_str!("../presets/paper003-preemptive.toml")),
    ("paper004", include_str!("../presets/paper004.toml")),
    ("mqsim", include_str!("../presets/mqsim.toml")),
    ("mqsim-gc-2gib", include_str!("../presets/mqsim-gc-2gib.toml")),
];

impl DeviceSpec {
    /// Reads a device from `text`, the contents of `file`, and checks it.
    ///
    /// # Errors
    /// What is wrong, where, and what would be right.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ConfigError> {
        let spec: Self = suggest::read_toml(file, text)?;
        spec.validate().map_err(|error| ConfigError::at(file, text, None, error.to_string()))?;
        Ok(spec)
    }

    /// The preset of this name.
    ///
    /// # Errors
    /// The name is unknown; the message gives the nearest one.
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
