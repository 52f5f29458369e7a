//! How a device collects garbage: the section `[gc]`.

use serde::{Deserialize, Serialize};

use stripewise_base::share::Share;

/// How a device collects garbage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GcSpec {
    /// The policy that chooses the block to collect.
    pub victim: Victim,
    /// A plane is collected when an allocation leaves it with this much free space or less.
    pub low_watermark: Watermark,
    /// The plane is collected, block after block, until more than this is free; if absent, the low watermark.
    #[serde(default)]
    pub high_watermark: Option<Watermark>,
    /// An idle die collects a plane with this much free space or less in the background: step by step, while the die
    /// has no other work (SSDsim's soft threshold, and idle-time collection). Above the low watermark; if absent,
    /// never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_watermark: Option<Watermark>,
    /// A plane with this much free space or less is collected without preemption. At most the low watermark; if
    /// absent, every collection can be preempted, because programs leave the space that collection needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hard_watermark: Option<Watermark>,
    /// The points at which a collection that is due lets host operations start.
    #[serde(default, skip_serializing_if = "Preemption::is_never")]
    pub preemption: Preemption,
    /// The largest number of host operations that a die starts at one such point. A choice: Lee et al. serve all
    /// waiting operations and state no limit.
    #[serde(default = "one_batch", skip_serializing_if = "is_one_batch")]
    pub preemption_batch: u32,
    /// The part that host operations cannot use while a block is collected.
    pub blocking: Domain,
    /// The same during the erase at the end; if absent, as `blocking`.
    #[serde(default)]
    pub erase_blocking: Option<Domain>,
    /// The steps of a collection.
    #[serde(default)]
    pub span: GcSpan,
    /// When a collection starts.
    #[serde(default)]
    pub start: GcStart,
    /// The destination of moved pages.
    #[serde(default, skip_serializing_if = "Moves::is_shared")]
    pub moves: Moves,
    /// Moved pages stay in the registers of their plane and cross no bus (SSDsim's and DiskSim's copy-back). Source
    /// and destination need not have the same page parity, and the number of successive copies is not limited.
    #[serde(default, skip_serializing_if = "is_off")]
    pub copy_back: bool,
}

impl GcSpec {
    /// Collection with all other keys at their defaults.
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

/// The policy that chooses the block to collect: always a full block, in the plane that is low on space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The block with the fewest valid pages; the first of equals.
    Greedy,
    /// The block with the fewest valid pages among this many random ones (Van Houdt, SIGMETRICS 2013; MQSim's RGA).
    DChoices(u32),
    /// The block with the best ratio of benefit to cost, `age * (1 - u) / (2 * u)`, where `u` is the valid share of
    /// its pages; the first of equals (Kawaguchi, Nishioka and Motoda, USENIX 1995, after LFS of Rosenblum and
    /// Ousterhout, SOSP 1991). The age is the number of pages that the plane has programmed since the block last
    /// changed, that is, was filled or lost a page.
    CostBenefit,
    /// The block that was filled longest ago.
    Fifo,
    /// A random block.
    Random,
    /// The choice of the user's own policy, which only a program can give.
    #[serde(skip_deserializing)]
    Custom,
}

/// An amount of free space of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watermark {
    /// A share of the plane's pages; free pages of the block being written count as free.
    Pages(Share),
    /// A share of the plane's blocks; the block being written does not count as free.
    Blocks(Share),
    /// A number of blocks; the block being written does not count as free.
    BlockCount(u32),
}

/// The part that host operations cannot use while garbage is collected.
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

/// The points at which a collection that is due lets host operations start (semi-preemptive collection, Lee et al.,
/// ISPASS 2011). A flash operation is never aborted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// No points, except between two steps for other planes of the die if `blocking` is `plane`.
    #[default]
    Never,
    /// Between two moves, and before and after the erase.
    Moves,
    /// Also between the halves of a move: after the page is read and before it is programmed.
    Phases,
}

impl Preemption {
    fn is_never(&self) -> bool {
        *self == Self::Never
    }
}

/// The destination of moved pages, always within their plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moves {
    /// The block to which programs are written (SSDsim); with several streams, see [`super::Isolation`].
    #[default]
    Shared,
    /// A separate block, so that cold pages gather (Kawaguchi's separate cleaning; Van Houdt's double write mode,
    /// SIGMETRICS 2014). Costs one more open block per plane, or one for each stream if moves keep streams separate.
    Apart,
}

impl Moves {
    fn is_shared(&self) -> bool {
        *self == Self::Shared
    }
}

/// The steps of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GcSpan {
    /// Every moved page takes its cell times and transfers, step by step.
    #[default]
    Steps,
    /// The die is busy for one span: the cell times of all moves and of the erase. The bus is not used (DiskSim).
    Busy,
}

/// When a collection that is due starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GcStart {
    /// As soon as the die is idle.
    #[default]
    AtOnce,
    /// When the next host operation needs the die; that operation then waits (DiskSim's foreground cleaning).
    OnDemand,
    /// At the end of the program that makes it due, which is not done before the collection is.
    OnWrite,
}

/// The number of operations that usually wait for one die of a busy SSD.
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
