//! A die: its current phase, its queues, and the collections that hold it back.

use stripewise_base::Nanos;

use crate::list::{List, NONE};
use crate::spec::Domain;

/// What a die is doing, or waits for its bus to do. The die's event is the end of the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The die is idle.
    Idle,
    /// The die is idle for an instant between two steps of a collection, so that a host operation can start.
    Offer,
    /// Program: command and data on the bus, then the cells.
    Program,
    /// Read: the command on the bus, then the cells.
    Sense,
    /// Read: the data on the bus. The operation completes at the end.
    Out,
    /// Move: the read command on the bus, then the cells.
    MoveSense,
    /// Move, if host operations may start between its halves: the data out on the bus.
    MoveOut,
    /// Move: data out (unless that was a separate phase) and back in on the bus, then the cells.
    MoveProgram,
    /// Erase: the command on the bus, then the cells.
    Erase,
    /// The collection of one block as one busy span.
    Span,
    /// The die's current operation is being suspended.
    Suspend,
}

/// The time of the next event of a die that has none.
pub(crate) const NEVER: Nanos = Nanos::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Die {
    /// When the current phase ends. An event at another time is stale: it belongs to an offer that was taken.
    pub(crate) due: Nanos,
    pub(crate) phase: Phase,
    /// The host operation in service.
    pub(crate) slot: u32,
    /// Host operations that wait: reads (all, without read priority), then the rest.
    pub(crate) queues: [List; 2],
    /// A search of the queues found nothing to run while these planes collected; 0 for none. Until an operation
    /// arrives or the planes change, another search would find nothing either.
    pub(crate) barren: u64,
    /// Planes that collect or are due to collect, one bit each.
    pub(crate) collecting: u64,
    /// Planes that are due and wait for permission to collect.
    pub(crate) withheld: u64,
    /// Planes at or below their soft watermark, one bit each. Maintained only if there is such a watermark.
    pub(crate) eager: u64,
    /// A collection that is due runs on this die.
    pub(crate) active: bool,
    /// The collection is preempted: `batch` more host operations go first.
    pub(crate) yields: bool,
    pub(crate) batch: u32,
    /// Collections that hold host operations back from this die.
    pub(crate) held: u32,
    /// Number of collections that run on this die or hold it back; the start of the current such period; the total of
    /// earlier periods.
    pub(crate) gc_count: u32,
    pub(crate) gc_since: Nanos,
    pub(crate) gc_total: Nanos,
    /// Cell time, including all of the current phase.
    pub(crate) cell_busy: Nanos,
    /// `cell_busy` when counters were reset.
    pub(crate) cell_origin: Nanos,
}

impl Die {
    pub(crate) fn new() -> Self {
        Self {
            due: NEVER,
            phase: Phase::Idle,
            slot: NONE,
            queues: [List::default(); 2],
            barren: 0,
            collecting: 0,
            withheld: 0,
            eager: 0,
            active: false,
            yields: false,
            batch: 0,
            held: 0,
            gc_count: 0,
            gc_since: 0,
            gc_total: 0,
            cell_busy: 0,
            cell_origin: 0,
        }
    }

    /// Planes on which collection blocks host operations.
    #[inline(always)]
    pub(crate) fn closed(&self) -> u64 {
        if self.yields { 0 } else { self.collecting }
    }

    /// Whether the die runs nothing.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Offer)
    }

    /// Total time with garbage collection on the die, up to now.
    #[inline(always)]
    pub(crate) fn gc_clock(&self, now: Nanos) -> Nanos {
        if self.gc_count > 0 { self.gc_total + (now - self.gc_since) } else { self.gc_total }
    }
}

/// A collection of one plane, block after block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collection {
    /// Plane, and victim block within it; there is no victim between two blocks.
    pub(crate) plane: u32,
    pub(crate) block: u32,
    /// First page of the victim, within the member.
    pub(crate) first: u32,
    /// Position in the list of the victim's pages that were valid at the start, and the end of the list.
    pub(crate) next: u32,
    pub(crate) end: u32,
    /// Pages moved so far.
    pub(crate) moved: u32,
    /// Cell time of reading the page that is being moved.
    pub(crate) sense: Nanos,
    /// The page being moved was the last page of its destination block.
    pub(crate) filled: bool,
    pub(crate) start: Nanos,
    /// The collection is not due yet.
    pub(crate) background: bool,
    /// The page being moved has been read but not yet programmed.
    pub(crate) halfway: bool,
    /// The collection is for wear-levelling: the victim is not collected for its space.
    pub(crate) levels: bool,
    /// The block of the same plane that wear-levelling moves next, plus one.
    pub(crate) cold: u32,
    /// The domain from which the collection holds back host operations.
    pub(crate) held: Option<Domain>,
}

impl Collection {
    pub(crate) const NONE: Self = Self {
        plane: 0,
        block: NONE,
        first: 0,
        next: 0,
        end: 0,
        moved: 0,
        sense: 0,
        filled: false,
        start: 0,
        background: false,
        halfway: false,
        levels: false,
        cold: 0,
        held: None,
    };
}
