//! Dispatch policies: when a host request is issued to the members, and in which order a member's queue issues its operations.
//!
//! A request is issued in pieces, a plan for each row. With `queue` bounded, a plan waits until each member that it needs has
//! room: for a read those of its columns, for an update those of its data and parity. Operations of the plan elsewhere or
//! later (the chunks that RCW reads, the writes after pre-reads) are not held back.
//!
//! Source: paper 002, section II-D (the three disciplines) and IV-A (the length of queues); paper 000, section III-B (a
//! pre-read goes after queued reads, before all writes).

mod earliest;
mod members;
mod piq;
mod queues;
mod sync_fifo;

use serde::{Deserialize, Serialize};

pub use earliest::Earliest;
pub use members::MemberSet;
pub use piq::{BatchKind, Piq};
pub use queues::{LEVELS, Link, Queued, Queues};
pub use sync_fifo::SyncFifo;

/// The dispatch section of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dispatch {
    /// The dispatch policy.
    pub policy: Discipline,
    /// Number of operations queued and in flight at a member at which no new plan is issued to it; absent means no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// The order in which a member's queue issues its operations.
    pub order: QueueOrder,
    /// Number of queued operations of one kind that are offered to a member before it is left alone. A channel may accept the
    /// second operation of its queue when the die of the first is busy.
    pub lookahead: u32,
    /// For `sync-fifo`: whether a request waits for all before it, or only for those with which it shares a member.
    #[serde(skip_serializing_if = "is_true")]
    pub strict: bool,
    /// For `piq`: whether a batch is issued when the previous one is acknowledged, or as soon as there is room.
    #[serde(skip_serializing_if = "is_false")]
    pub sync: bool,
    /// For `piq`: the number of younger batches that a request may overtake.
    #[serde(skip_serializing_if = "is_overtake_default")]
    pub overtake: u32,
}

/// The literature names no bound; ours keeps a hot member's requests from waiting for a whole round of others.
const OVERTAKE: u32 = 16;

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_overtake_default(value: &u32) -> bool {
    *value == OVERTAKE
}

impl Default for Dispatch {
    fn default() -> Self {
        Self {
            policy: Discipline::AsyncFifo,
            queue: None,
            order: QueueOrder::ReadFirst,
            lookahead: 64,
            strict: true,
            sync: false,
            overtake: OVERTAKE,
        }
    }
}

impl Dispatch {
    /// Whether the policy needs the members of a request before the request is issued.
    pub fn asks_targets(&self) -> bool {
        self.queue.is_some() || self.policy == Discipline::Piq || !self.strict
    }

    /// A setting that the policy does not use: section and key, the value given, and advice.
    pub fn idle_setting(&self) -> Option<(&'static str, String, &'static str)> {
        if self.policy != Discipline::SyncFifo && !self.strict {
            let reason = "is about policy = \"sync-fifo\" alone; use that, or leave it out";
            return Some(("dispatch.strict", "false".into(), reason));
        }
        let reason = "is about policy = \"piq\" alone; use that, or leave it out";
        if self.policy != Discipline::Piq && self.sync {
            return Some(("dispatch.sync", "true".into(), reason));
        }
        if self.policy != Discipline::Piq && self.overtake != OVERTAKE {
            return Some(("dispatch.overtake", self.overtake.to_string(), reason));
        }
        None
    }
}

/// Dispatch policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// Each member serves its own queue; requests are issued in order of arrival, and the first waits for room.
    #[default]
    AsyncFifo,
    /// A request is issued when those before it are acknowledged.
    SyncFifo,
    /// Requests that share no member are issued together, reads before writes.
    Piq,
}

/// The dispatch policies: name in a scheme, and description.
pub const MEMBERS: &[(&str, &str)] = &[
    ("async-fifo", "each member serves its own queue in order of arrival (paper 002, section II-D)"),
    ("sync-fifo", "a request is issued when those before it are done (paper 002, section II-D)"),
    ("piq", "requests without common members are issued together, in batches (paper 002, Algorithm 1)"),
];

/// Orders within a member's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueOrder {
    /// In the order in which operations were queued.
    Arrival,
    /// Reads, including pre-reads, before writes.
    #[default]
    ReadFirst,
    /// In rounds: a round has the operations that are queued when the member takes the first of it, reads before writes; later
    /// operations wait for the next round. So a write waits behind pending reads, and never behind those that arrive later
    /// (paper 002, section III-C; that a round is such a snapshot is our choice).
    Rounds,
    /// Reads and writes upwards by their page on the member, from the page of the last one that was taken; then from the
    /// lowest page again (C-LOOK; DiskSim's policy 3, `CYCLE_LBN`). One that the member refuses waits without ending the sweep.
    /// Queueing takes time in proportion to the queue's length.
    CLook,
    /// Upwards by a rank that the user's own policy gives each operation; only a program can give one. Queueing takes time in
    /// proportion to the queue's length.
    #[serde(skip_deserializing)]
    Custom,
}
