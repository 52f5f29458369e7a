//! GC coordination: which elements collect garbage when.
//!
//! One file for each published scheme. Elements that collect by themselves need none of it; those with the capability
//! `gc_control` begin a block only while they are permitted to, and tell when that may matter. A scheme of this axis turns
//! their news into permissions. What a device does within its own collections (preemption, suspension) is the device's.

mod rotating;

use serde::{Deserialize, Serialize};
use stripewise_base::units::Span;

pub(crate) use rotating::Rotating;

/// The section `[coordination]` of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoordinationSection {
    /// Which scheme.
    pub policy: CoordinationPolicy,
    /// Of `rotating`: who has permission next. Choice: the papers' devices rotate by time (IODA) or by hand-over
    /// (TTFLASH); a token never lets an element wait for a turn that nobody uses.
    pub turn: Turn,
    /// Of `turn = "window"`: how long each member of a group has permission. Choice: tens of collections.
    pub window: Span,
    /// Of `rotating`: an element that has permission also collects planes with no more than so many blocks above their low
    /// watermark, so that it seldom has to ask. Choice: one block.
    pub ahead: u32,
}

impl Default for CoordinationSection {
    fn default() -> Self {
        let window = Span(100_000_000);
        Self { policy: CoordinationPolicy::default(), turn: Turn::default(), window, ahead: 1 }
    }
}

impl CoordinationSection {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The schemes of coordination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoordinationPolicy {
    /// Every element collects when it has to.
    #[default]
    None,
    /// At most one element of a parity group collects at a time.
    Rotating,
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
    ("none", "every element collects garbage when it has to"),
    (
        "rotating",
        "at most one element of a parity group collects at a time (TTFLASH, FAST 2017; IODA, SOSP 2021)",
    ),
];

/// What an element tells of its permission to collect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcTurn {
    /// It collects a block, or is about to begin one that it is permitted to.
    pub collects: bool,
    /// Free pages where it needs permission most, if it waits for any.
    pub need: Option<u32>,
}

#[cfg(test)]
mod tests;
