//! Operations on pages, and what is told of them when they are done.

use stripewise_base::Nanos;

use crate::list::NONE;

/// What to do with a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// Read it.
    #[default]
    Read,
    /// Write it.
    Program,
    /// Declare it unused.
    Trim,
    /// Make completed programs durable. They are: a modelled member has no volatile cache.
    Flush,
}

/// One operation on one logical page of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// Logical page of the member; ignored by flushes.
    pub page: u32,
    /// For a program or a trim: keep the version that it replaces until [`crate::Flash::release`]; a page keeps at
    /// most one old version, the first that was asked to be kept. For a read: read the kept version where there is
    /// one, else the current one.
    pub old_version: bool,
    /// For a program: the stream whose block takes the page, below [`crate::spec::FtlSpec::streams`].
    pub stream: u8,
    /// Where the host link moves commands: the request that it is a part of. Operations of one request, kind and instant are
    /// one command.
    pub request: u32,
}

/// A member's answer to an operation that it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It can take the operation now.
    Admitted,
    /// It cannot take this operation now; it may take another.
    Refused,
    /// It can take no operation of this kind now.
    Closed,
}

/// A finished operation.
///
/// `end - start = queue_ns + gc_wait_ns + bus_ns + cell_ns`, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// What the caller named it.
    pub token: u32,
    /// Where it ran.
    pub member: u32,
    /// Waiting inside the member for dies, buses and the host link, other than for garbage collection.
    pub queue_ns: Nanos,
    /// Waiting inside the member, before service, while garbage collection ran on its die or held it back.
    pub gc_wait_ns: Nanos,
    /// Transfers and commands on the bus and the host link.
    pub bus_ns: Nanos,
    /// Cell time.
    pub cell_ns: Nanos,
}

/// An operation inside a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) start: Nanos,
    /// Its die's GC clock when it came to the die's queue, later its wait for garbage collection.
    pub(crate) gc: Nanos,
    pub(crate) bus: Nanos,
    pub(crate) cell: Nanos,
    /// The part of `bus` that is the host link's.
    pub(crate) link: Nanos,
    /// The command that it came with, where the host link moves commands.
    pub(crate) command: u32,
    pub(crate) token: u32,
    pub(crate) member: u32,
    pub(crate) page: u32,
    pub(crate) plane: u32,
    pub(crate) kind: OpKind,
    pub(crate) old_version: bool,
    pub(crate) stream: u8,
}

impl Slot {
    pub(crate) const VACANT: Self = Self {
        start: 0,
        gc: 0,
        bus: 0,
        cell: 0,
        link: 0,
        command: NONE,
        token: NONE,
        member: 0,
        page: 0,
        plane: 0,
        kind: OpKind::Read,
        old_version: false,
        stream: 0,
    };

    pub(crate) fn done(&self, now: Nanos) -> Done {
        Done {
            token: self.token,
            member: self.member,
            queue_ns: now - self.start - self.gc - self.bus - self.cell,
            gc_wait_ns: self.gc,
            bus_ns: self.bus,
            cell_ns: self.cell,
        }
    }
}
