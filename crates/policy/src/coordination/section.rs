//! The settings of coordination in a scheme's file.

use serde::{Deserialize, Serialize};
use stripewise_base::share::Share;
use stripewise_base::units::Span;

use super::permit::Ahead;

/// The section `[coordination]` of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoordinationSection {
    /// The scheme.
    pub policy: CoordinationPolicy,
    /// For which acknowledgements it coordinates.
    #[serde(skip_serializing_if = "When::is_default")]
    pub when: When,
    /// For `rotating`: which member has permission next. Choice: the papers' devices rotate by time (IODA) or by hand-over
    /// (TTFLASH); with a token, no member waits for a turn that goes unused.
    pub turn: Turn,
    /// For `turn = "window"`: how long each member of a group has permission. Choice: the time of tens of collections.
    pub window: Span,
    /// For `rotating`: a member with permission also collects planes with no more than this number of blocks above their
    /// low watermark, so that it seldom has to ask. Choice: one block.
    pub ahead: u32,
    /// For `global`: which event opens a window.
    pub start: Start,
    /// For `start = "proactive"`: which event also opens a window.
    pub trigger: Trigger,
    /// For `trigger = "idle"`: how long the array must have been idle. Choice: longer than the time between the requests
    /// of a burst, shorter than a collection.
    pub idle: Span,
    /// For `global`: the soft limit. A member collects with the others if its free space is no more than this share of its
    /// blocks above the low watermark, rounded down, but at least one block. Choice: 1 %, which makes 6 % of the papers' 5
    /// %. The limit is a share above the low watermark because the controller knows neither the number of blocks of a
    /// plane nor the watermark.
    pub margin: Share,
    /// For `global`: the largest number of blocks that each die collects in a window. Choice: one, as many as it collects
    /// alone.
    pub blocks: u32,
}

impl Default for CoordinationSection {
    fn default() -> Self {
        let window = Span(100_000_000);
        Self {
            policy: CoordinationPolicy::default(),
            when: When::default(),
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
    pub fn asks_ahead(&self) -> Ahead {
        let is_soft = self.policy == CoordinationPolicy::Global
            && self.start == Start::Proactive
            && self.trigger == Trigger::SoftLimit;
        Ahead::Share(if is_soft { self.margin } else { Share::NONE })
    }

    /// Whether the keys that only a proactive start uses have their defaults.
    pub fn is_default_if_reactive(&self) -> bool {
        (self.trigger, self.idle) == (Trigger::default(), Self::default().idle)
    }

    /// Whether the keys that only `policy` uses have their defaults.
    pub fn is_default_of(&self, policy: CoordinationPolicy) -> bool {
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

    /// Whether all keys have their defaults, which a scheme leaves out.
    pub fn is_default(&self) -> bool {
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

/// For which acknowledgements the collections are coordinated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// For all.
    #[default]
    Always,
    /// Where memory acknowledges writes. Elsewhere a host would wait for the turn of a member: every member collects when it
    /// has to. A choice, by measurement (`docs/evidence/default-scheme.md`).
    Buffered,
}

impl When {
    /// Whether it is for all, which a scheme leaves out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The event that opens windows of global collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// A member that has to collect.
    #[default]
    Reactive,
    /// A member that has to collect, or a [`Trigger`].
    Proactive,
}

/// The event that also opens windows of proactive global collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The array has been idle for a while (no request in flight, no operation queued or in flight anywhere), and a member
    /// is below half of the margin. While that lasts, one window follows another. With half of the margin, the other
    /// members are below the soft limit by then, so windows are few.
    #[default]
    Idle,
    /// A member reaches the soft limit. The members below twice the margin collect with it.
    SoftLimit,
}

/// Which member of a group has permission next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// The member with the fewest free pages, for one block of each of its dies.
    #[default]
    Token,
    /// Each member in turn, for a fixed time.
    Window,
}

/// The values of this axis: name in a scheme, and description.
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
