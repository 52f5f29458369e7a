//! What physical pages hold. Timed simulation needs nothing; a checking simulation keeps real bytes here, at
//! *physical* addresses, so that a wrong map or a block erased too early shows as wrong content. A recorder is told here
//! what every die does when.

use stripewise_base::Nanos;

/// What a die does for a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads a page for whoever drives the member: the command on the bus, then the cells.
    Sense,
    /// Gives that page out: the bus alone. The operation is complete.
    Out,
    /// Programs a page for whoever drives the member: command and data on the bus, then the cells.
    Program,
    /// Reads a valid page of a victim block; where the data go out in a phase of their own, that is told as one more.
    MoveSense,
    /// Programs that page elsewhere: out and in again on the bus, then the cells.
    MoveProgram,
    /// Erases a block.
    Erase,
    /// Collects a block as one busy span, moves and erase together.
    Collection,
}

/// A stretch of time on one die: its bus for `bus_ns` from `start_ns` on, then its cells for `cell_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Number of the die, over all members.
    pub die: u32,
    /// What it does.
    pub work: Work,
    /// For whom: what the caller of [`crate::Flash::start`] named it. `None` is garbage collection.
    pub token: Option<u32>,
    /// Plane, over all members.
    pub plane: u32,
    /// Victim block within the plane; 0 when it is not garbage collection.
    pub block: u32,
    /// Moves that it holds: 1 for a [`Work::MoveProgram`], all of the block's for a [`Work::Collection`], else 0.
    pub moves: u32,
    /// When the die has its bus, if it needs it; else when its cells begin.
    pub start_ns: Nanos,
    /// It goes on with what was suspended; its moves were counted before.
    pub is_rest: bool,
    /// Time on the bus.
    pub bus_ns: Nanos,
    /// Time in the cells, after it.
    pub cell_ns: Nanos,
}

/// Content of physical pages. Pages count within their member. `token` is the operation's.
pub trait Media {
    /// Whether [`Self::stretch`] is called. What records nothing costs nothing.
    const RECORDS: bool = false;

    /// A die begins something; times ahead of it are known.
    fn stretch(&mut self, _stretch: &Stretch) {}

    /// What a die began last stops with so much of its cell time left, which comes as another stretch.
    fn suspended(&mut self, _die: u32, _left: Nanos) {}

    /// Another operation takes part in what a die began last, on another plane.
    fn joined(&mut self, _die: u32, _token: u32) {}

    /// The content of the operation is written to a page.
    fn program(&mut self, _member: u32, _page: u32, _token: u32) {}

    /// The content of a page goes to the operation; `None` is a page that was never written, or was trimmed.
    fn read(&mut self, _member: u32, _page: Option<u32>, _token: u32) {}

    /// Garbage collection copies a page.
    fn copy(&mut self, _member: u32, _from: u32, _to: u32) {}

    /// `count` pages from `first` on lose their content.
    fn erase(&mut self, _member: u32, _first: u32, _count: u32) {}
}

/// Holds nothing and costs nothing.
impl Media for () {}
