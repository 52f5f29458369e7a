//! How a device collects garbage: the section `[gc]`.

use serde::{Deserialize, Serialize};

use stripewise_base::share::Share;

/// How a device collects garbage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GcSpec {
    /// Which block is collected.
    pub victim: Victim,
    /// A plane is collected when an allocation leaves it with this much free space or less.
    pub low_watermark: Watermark,
    /// It is collected, block after block, until more than this is free; the low watermark when not given.
    #[serde(default)]
    pub high_watermark: Option<Watermark>,
    /// An idle die collects a plane with this much free space or less in the background: step by step, while nobody
    /// wants the die (SSDsim's soft threshold, and idle-time collection). Above the low watermark; not given: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_watermark: Option<Watermark>,
    /// A plane with this much free space or less is collected without preemption. At most the low watermark; not
    /// given: every collection can be preempted, because programs leave the space that collection needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hard_watermark: Option<Watermark>,
    /// Where a collection that is due lets host operations in.
    #[serde(default, skip_serializing_if = "Preemption::is_never")]
    pub preemption: Preemption,
    /// The most host operations that a die takes up at one such point. A choice: Lee et al. serve all that wait, and
    /// say no bound.
    #[serde(default = "one_batch", skip_serializing_if = "is_one_batch")]
    pub preemption_batch: u32,
    /// What host operations cannot use while a block is collected.
    pub blocking: Domain,
    /// The same during the erase at its end; as `blocking` when not given.
    #[serde(default)]
    pub erase_blocking: Option<Domain>,
    /// What a collection is made of.
    #[serde(default)]
    pub span: GcSpan,
    /// When it starts.
    #[serde(default)]
    pub start: GcStart,
    /// Where moved pages go.
    #[serde(default, skip_serializing_if = "Moves::is_shared")]
    pub moves: Moves,
    /// Moved pages stay in the registers of their plane and cross no bus (SSDsim's and DiskSim's copy-back); neither
    /// pages of the same parity nor a bound on copies in a row is asked for.
    #[serde(default, skip_serializing_if = "is_off")]
    pub copy_back: bool,
}

impl GcSpec {
    /// Collection with every other key at its default.
    pub fn new(victim: Victim, low_watermark: Watermark, blocking: Domain) -> Self {
        Self {
            victim,
            low_watermark,
            high_watermark: None,
            soft_watermark: None,
            hard_watermark: None,
            preemption: Preemption::Never,
            preemption_batch: BATCH,
            blocking,
            erase_blocking: None,
            span: GcSpan::Steps,
            start: GcStart::AtOnce,
            moves: Moves::Shared,
            copy_back: false,
        }
    }
}

/// Which block is collected: always one that is written to its end, of the plane that ran low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// Fewest valid pages; the first of equals.
    Greedy,
    /// Fewest valid pages among so many random ones (Van Houdt, SIGMETRICS 2013; MQSim's RGA).
    DChoices(u32),
    /// Most benefit for its cost, `age * (1 - u) / (2 * u)` where `u` is the valid share of its pages; the first of
    /// equals (Kawaguchi, Nishioka and Motoda, USENIX 1995, after LFS of Rosenblum and Ousterhout, SOSP 1991). The age
    /// counts the pages that the plane has programmed since the block last changed: was filled, or lost a page.
    CostBenefit,
    /// The one filled longest ago.
    Fifo,
    /// Any.
    Random,
}

/// An amount of free space of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watermark {
    /// A share of the plane's pages; pages of the block being written count while they are free.
    Pages(Share),
    /// A share of the plane's blocks; the block being written is not free.
    Blocks(Share),
    /// So many blocks; the block being written is not free.
    BlockCount(u32),
}

/// What host operations cannot use while garbage is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// The plane: operations on other planes of the die run between two steps.
    Plane,
    /// The die.
    Die,
    /// All dies of the channel (SSDsim).
    Channel,
    /// All dies of the device.
    Device,
}

/// Where a collection that is due lets host operations in (semi-preemptive collection, Lee et al., ISPASS 2011); an
/// operation of the flash is never broken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// Nowhere, but between two steps for other planes of its die if `blocking` is `plane`.
    #[default]
    Never,
    /// Between two moves, before the erase and after it.
    Moves,
    /// Also between the halves of a move: when the page is out of the cells, and before it goes in again.
    Phases,
}

impl Preemption {
    fn is_never(&self) -> bool {
        *self == Self::Never
    }
}

/// Where moved pages go, always within their plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moves {
    /// To the block that programs are written to (SSDsim); of several streams, see [`super::Isolation`].
    #[default]
    Shared,
    /// To a block of their own, so that cold pages gather (Kawaguchi's separate cleaning; Van Houdt's double write
    /// mode, SIGMETRICS 2014). Costs one more open block of a plane, or one for each stream that moves are isolated by.
    Apart,
}

impl Moves {
    fn is_shared(&self) -> bool {
        *self == Self::Shared
    }
}

/// What a collection is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GcSpan {
    /// Every moved page takes its cell times and its transfers, step by step.
    #[default]
    Steps,
    /// The die is busy for one span, the cell times of all moves and the erase; the bus is not used (DiskSim).
    Busy,
}

/// When a collection that is due starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GcStart {
    /// As soon as the die is idle.
    #[default]
    AtOnce,
    /// When the next host operation asks for the die, which then waits (DiskSim's foreground cleaning).
    OnDemand,
}

/// As many as one die of a busy SSD usually has waiting.
const BATCH: u32 = 8;

fn one_batch() -> u32 {
    BATCH
}

fn is_one_batch(batch: &u32) -> bool {
    *batch == BATCH
}

fn is_off(switch: &bool) -> bool {
    !switch
}
