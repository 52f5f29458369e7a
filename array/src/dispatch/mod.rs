//! Dispatch policies: in which order an element's queue gives its operations out.
//!
//! Source: paper 002, section II-D (asynchronous FIFO: operations go at arrival to the queues of their elements, and
//! each element serves its own); paper 000, section III-B (a pre-read goes behind queued reads, before all writes).

mod queues;

use serde::{Deserialize, Serialize};

pub(crate) use queues::{LEVELS, Link, Queues};

/// The dispatch section of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dispatch {
    /// Which discipline.
    pub policy: Discipline,
    /// In which order an element's queue gives its operations out.
    pub order: QueueOrder,
    /// How many queued operations of one kind are offered to an element before it is left alone. A channel may admit
    /// the second of its queue when the first one's die is busy.
    pub lookahead: u32,
}

impl Default for Dispatch {
    fn default() -> Self {
        Self { policy: Discipline::AsyncFifo, order: QueueOrder::ReadFirst, lookahead: 64 }
    }
}

/// Orders inside an element's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueOrder {
    /// As operations were queued.
    Arrival,
    /// Reads, pre-reads among them, before writes.
    #[default]
    ReadFirst,
    /// In rounds: what is queued when the element takes the first of it, reads before writes; what comes later waits for
    /// the next round. So a write waits behind reads that are pending, and never behind those that come later (paper
    /// 002, section III-C; that a round is such a snapshot is our choice).
    Rounds,
}

/// Disciplines of dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// Each element serves its own queue in order of arrival.
    #[default]
    AsyncFifo,
}

/// The members of this axis: name in a scheme, and what it does.
pub const MEMBERS: &[(&str, &str)] =
    &[("async-fifo", "each element serves its own queue in order of arrival (paper 002, section II-D)")];
