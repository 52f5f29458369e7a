//! Suspended programs and erases: the section `[suspend]`.

use serde::{Deserialize, Serialize};
use stripewise_base::units::Span;

/// Programs and erases stop for reads that come to their die, and go on afterwards (Wu and He, FAST 2012). Garbage
/// collection's own programs and erases do so too, whatever `gc.blocking` keeps from their die.
///
/// A read that comes while the operation's data are on the bus waits for the cells to begin. What has no more left than
/// suspending takes is not suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuspendSpec {
    /// Programs are suspended.
    #[serde(default = "yes")]
    pub program: bool,
    /// Erases are suspended.
    #[serde(default = "yes")]
    pub erase: bool,
    /// From the decision until the die can read. Given by data sheets, so there is no default.
    pub overhead: Span,
    /// From the end of the last read until the cells go on.
    pub resume: Span,
    /// How often one operation is suspended at most (a choice).
    #[serde(default = "few")]
    pub limit: u32,
    /// How many reads are served at most while it is suspended once (a choice).
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
