//! Suspended programs and erases: the section `[suspend]`.

use serde::{Deserialize, Serialize};
use stripewise_base::units::Span;

/// Programs and erases are suspended for reads of their die, and resume afterwards (Wu and He, FAST 2012). This
/// includes the programs and erases of garbage collection, whatever operations `gc.blocking` blocks.
///
/// A read that arrives while the operation's data are on the bus waits for the cells to begin. An operation is not
/// suspended if its remaining time is no longer than the suspension takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspendSpec {
    /// Programs are suspended.
    #[serde(default = "yes")]
    pub program: bool,
    /// Erases are suspended.
    #[serde(default = "yes")]
    pub erase: bool,
    /// Time from the decision until the die can read. Data sheets state it, so there is no default.
    pub overhead: Span,
    /// Time from the end of the last read until the cells continue.
    pub resume: Span,
    /// The largest number of suspensions of one operation (a choice).
    #[serde(default = "few")]
    pub limit: u32,
    /// The largest number of reads served during one suspension (a choice).
    #[serde(default = "several")]
    pub reads: u32,
}

fn yes() -> bool {
    true
}

fn few() -> u32 {
    4
}

fn several() -> u32 {
    8
}
