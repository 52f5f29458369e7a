//! The content of physical pages. Timed simulation needs none. A checking simulation keeps real bytes here, at
//! *physical* addresses, so that a wrong map or a block erased too early shows up as wrong content. A recorder
//! receives the activity of every die here.

use stripewise_base::Nanos;

/// The activity of a die during a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads a page for the host: the command on the bus, then the cells.
    Sense,
    /// Transfers that page out: the bus alone. The operation completes at the end.
    Out,
    /// Programs a page for the host: command and data on the bus, then the cells.
    Program,
    /// Reads a valid page of a victim block. If the data leave in a separate phase, that phase is reported as another
    /// stretch of this kind.
    MoveSense,
    /// Programs that page elsewhere: out and back in on the bus, then the cells.
    MoveProgram,
    /// Erases a block.
    Erase,
    /// Collects a block as one busy span, with moves and erase together.
    Collection,
}

/// A stretch of time on one die: its bus for `bus_ns` from `start_ns`, then its cells for `cell_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Number of the die, counted over all members.
    pub die: u32,
    /// The activity.
    pub work: Work,
    /// The token that the caller of [`crate::Flash::start`] gave to the operation; `None` for garbage collection.
    pub token: Option<u32>,
    /// Plane, counted over all members.
    pub plane: u32,
    /// Victim block within the plane; 0 if this is not garbage collection.
    pub block: u32,
    /// Moves in this stretch: 1 for a [`Work::MoveProgram`], all moves of the block for a [`Work::Collection`], else
    /// 0.
    pub moves: u32,
    /// When the die gets its bus, if it needs the bus; otherwise when its cells begin.
    pub start_ns: Nanos,
    /// This stretch continues a suspended one, whose moves were already counted.
    pub is_rest: bool,
    /// Time on the bus.
    pub bus_ns: Nanos,
    /// Time in the cells, after the bus.
    pub cell_ns: Nanos,
}

/// Content of physical pages. Pages count within their member. `token` identifies the operation.
pub trait Media {
    /// Whether [`Self::stretch`] is called. Media that do not record have no overhead.
    const RECORDS: bool = false;

    /// A die begins an activity; its times, in the future, are known.
    fn stretch(&mut self, _stretch: &Stretch) {}

    /// The latest activity of a die is suspended with `left` of its cell time remaining; the rest is reported as
    /// another stretch.
    fn suspended(&mut self, _die: u32, _left: Nanos) {}

    /// Another operation, on another plane, joins the latest activity of a die.
    fn joined(&mut self, _die: u32, _token: u32) {}

    /// The content of the operation is written to a page.
    fn program(&mut self, _member: u32, _page: u32, _token: u32) {}

    /// The content of a page goes to the operation; `None` means that the page was never written, or was trimmed.
    fn read(&mut self, _member: u32, _page: Option<u32>, _token: u32) {}

    /// Garbage collection copies a page.
    fn copy(&mut self, _member: u32, _from: u32, _to: u32) {}

    /// `count` pages from `first` lose their content.
    fn erase(&mut self, _member: u32, _first: u32, _count: u32) {}
}

/// No content, no overhead.
impl Media for () {}
