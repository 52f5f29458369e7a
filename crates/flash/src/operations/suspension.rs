//! How far the suspension of a die's operation is.

use stripewise_base::Nanos;

use crate::list::NONE;
use crate::operations::die::Phase;

/// State of suspension of a die's current operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspension {
    /// The suspended phase, its remaining cell time, and its host operation; `Phase::Idle` if nothing is suspended.
    pub(crate) phase: Phase,
    pub(crate) left: Nanos,
    pub(crate) slot: u32,
    /// The time when the cells of the current phase began, or begin again.
    pub(crate) cells_from: Nanos,
    /// How often the phase was suspended.
    pub(crate) count: u32,
    /// Number of reads that may still be served during this suspension.
    pub(crate) reads: u32,
    /// A read was refused, and the phase at that time could not be suspended.
    pub(crate) wanted: bool,
}

impl Suspension {
    pub(crate) const NONE: Self =
        Self { phase: Phase::Idle, left: 0, slot: NONE, cells_from: 0, count: 0, reads: 0, wanted: false };
}
