//! GC coordination: which members collect garbage when.
//!
//! One file for each published scheme. Members that collect by themselves need none of it; those with the capability
//! `gc_control` begin a block only while they are permitted to, and tell when that may matter. A scheme of this axis turns
//! their news into permissions. What a device does within its own collections (preemption, suspension) is the device's.

mod global;
mod groups;
mod rotating;

use serde::{Deserialize, Serialize};
use stripewise_base::Nanos;
use stripewise_base::share::Share;
use stripewise_base::units::Span;

use crate::driver::Driver;
use crate::geometry::{Geometry, Level};
use crate::memory::Memory;
use global::Global;
use groups::Groups;
use rotating::Rotating;

/// The section `[coordination]` of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoordinationSection {
    /// Which scheme.
    pub policy: CoordinationPolicy,
    /// Of `rotating`: who has permission next. Choice: the papers' devices rotate by time (IODA) or by hand-over
    /// (TTFLASH); a token never lets a member wait for a turn that nobody uses.
    pub turn: Turn,
    /// Of `turn = "window"`: how long each member of a group has permission. Choice: tens of collections.
    pub window: Span,
    /// Of `rotating`: a member that has permission also collects planes with no more than so many blocks above their low
    /// watermark, so that it seldom has to ask. Choice: one block.
    pub ahead: u32,
    /// Of `global`: what windows begin with.
    pub start: Start,
    /// Of `start = "proactive"`: what windows also begin with.
    pub trigger: Trigger,
    /// Of `trigger = "idle"`: how long the array has rested before. Choice: longer than between the requests of a burst,
    /// shorter than a collection.
    pub idle: Span,
    /// Of `global`: the soft limit. Members collect with the others whose free space is no more than this share of their
    /// blocks above the low watermark, rounded down, but at least one block. Choice: 1 %, which makes 6 % of the papers' 5 %.
    /// It is a share, since the controller does not know how many blocks a plane has, and above the low watermark, since it
    /// does not know that either.
    pub margin: Share,
    /// Of `global`: blocks that each die collects in a window at most. Choice: one, as many as it collects alone.
    pub blocks: u32,
}

impl Default for CoordinationSection {
    fn default() -> Self {
        let window = Span(100_000_000);
        Self {
            policy: CoordinationPolicy::default(),
            turn: Turn::default(),
            window,
            ahead: 1,
            start: Start::default(),
            trigger: Trigger::default(),
            idle: Span(1_000_000),
            margin: Share(10_000),
            blocks: 1,
        }
    }
}

impl CoordinationSection {
    /// How far above its low watermark a plane asks for permission.
    pub(crate) fn asks_ahead(&self) -> Ahead {
        let is_soft = self.policy == CoordinationPolicy::Global
            && self.start == Start::Proactive
            && self.trigger == Trigger::SoftLimit;
        Ahead::Share(if is_soft { self.margin } else { Share::NONE })
    }

    /// Whether keys that only a proactive start has are as they are by default.
    pub(crate) fn is_default_if_reactive(&self) -> bool {
        (self.trigger, self.idle) == (Trigger::default(), Self::default().idle)
    }

    /// Whether keys that only `policy` has are as they are by default.
    pub(crate) fn is_default_of(&self, policy: CoordinationPolicy) -> bool {
        let default = Self::default();
        match policy {
            CoordinationPolicy::None => true,
            CoordinationPolicy::Rotating => {
                (self.turn, self.window, self.ahead) == (default.turn, default.window, default.ahead)
            }
            CoordinationPolicy::Global => {
                let keys = |section: &Self| {
                    (section.start, section.trigger, section.idle, section.margin, section.blocks)
                };
                keys(self) == keys(&default)
            }
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The schemes of coordination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoordinationPolicy {
    /// Every member collects when it has to.
    #[default]
    None,
    /// At most one member of a parity group collects at a time.
    Rotating,
    /// The members of a group collect in the same windows of time.
    Global,
}

/// What windows of global collection begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// A member that has to collect.
    #[default]
    Reactive,
    /// That, or a [`Trigger`].
    Proactive,
}

/// What windows of proactive global collection also begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The array has been idle for a while (no request is under way, and no operation is queued or in flight anywhere), and
    /// a member is below half of the margin; while that lasts, window after window. Half, so that others are below the
    /// soft limit by then and windows are few.
    #[default]
    Idle,
    /// A member comes to the soft limit. Then those collect with it that are below twice the margin.
    SoftLimit,
}

/// Who of a group has permission next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Whoever has the fewest free pages, for one block of each of its dies.
    #[default]
    Token,
    /// The members in turn, each for a time.
    Window,
}

/// The members of this axis: name in a scheme, and what it does.
pub const MEMBERS: &[(&str, &str)] = &[
    ("none", "every member collects garbage when it has to"),
    (
        "rotating",
        "at most one member of a parity group collects at a time (TTFLASH, FAST 2017; IODA, SOSP 2021)",
    ),
    (
        "global",
        "the members of a group collect in the same windows of time (GGC: Harmonia, MSST 2011; TC 2014)",
    ),
];

/// How far from having to collect a plane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// So many blocks above its low watermark.
    Blocks(u32),
    /// So large a share of its blocks above it, rounded down, but one block unless it is none.
    Share(Share),
}

impl Ahead {
    /// Blocks of a plane that has `plane_blocks`.
    pub fn blocks(self, plane_blocks: u32) -> u32 {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Share(Share(0)) => 0,
            Self::Share(share) => (share.of(plane_blocks.into()) as u32).max(1),
        }
    }
}

/// A permission to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcPermit {
    /// Blocks that each die may begin, of planes that wait for permission, the fullest first.
    pub blocks: u32,
    /// Dies where no plane waits collect planes that are no farther from having to.
    pub ahead: Ahead,
    /// At most so many such planes of a die, the fullest of them.
    pub ahead_planes: u32,
}

/// What a member tells of its permission to collect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcTurn {
    /// It collects a block, or is about to begin one that it is permitted to.
    pub collects: bool,
    /// Free pages where it needs permission most, if it waits for any.
    pub need: Option<u32>,
}

/// What hosts and members are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// A request is under way.
    Serving,
    /// None is, but operations are queued or in flight.
    Draining,
    /// Nor is any of those; since then no request is.
    Resting {
        /// When the last one was acknowledged.
        since: Nanos,
    },
}

/// A scheme of this axis at work.
#[derive(Debug)]
pub(crate) enum Coordination {
    Rotating(Rotating),
    Global(Global),
}

impl Coordination {
    /// The scheme of `section` over `geometry`, of which an array of `count` members is made; none if members collect by
    /// themselves.
    pub(crate) fn new(
        section: CoordinationSection,
        level: Level,
        geometry: &Geometry,
        count: u32,
    ) -> Option<Self> {
        match section.policy {
            CoordinationPolicy::None => None,
            CoordinationPolicy::Rotating => {
                Some(Self::Rotating(Rotating::new(section, Groups::of_parity(geometry, count))))
            }
            CoordinationPolicy::Global => {
                Some(Self::Global(Global::new(&section, Groups::of_requests(level, geometry, count))))
            }
        }
    }

    /// A member needs permission, or finished a block.
    pub(crate) fn heard<M: Memory, D: Driver<M>>(
        &mut self,
        now: Nanos,
        member: u16,
        activity: Activity,
        driver: &mut D,
    ) {
        match self {
            Self::Rotating(rotating) => rotating.heard(now, member, driver),
            Self::Global(global) => global.heard(now, member, activity, driver),
        }
    }

    /// A time has come that was asked for, or another one.
    pub(crate) fn timer<M: Memory, D: Driver<M>>(&mut self, now: Nanos, activity: Activity, driver: &mut D) {
        match self {
            Self::Rotating(rotating) => rotating.timer(now, driver),
            Self::Global(global) => global.timer(now, activity, driver),
        }
    }

    /// The last request that was under way is acknowledged.
    #[inline]
    pub(crate) fn rests<M: Memory, D: Driver<M>>(&mut self, now: Nanos, driver: &mut D) {
        if let Self::Global(global) = self {
            global.rests(now, driver);
        }
    }
}

#[cfg(test)]
mod tests;
