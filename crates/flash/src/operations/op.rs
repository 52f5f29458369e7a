//! Operations on pages, and the results that are reported when they are done.

use stripewise_base::Nanos;

use crate::list::NONE;
use crate::operations::holds::Hold;

/// The kinds of operations on a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// Read the page.
    #[default]
    Read,
    /// Write the page.
    Program,
    /// Declare the page unused.
    Trim,
    /// Make completed programs durable. They always are: a modelled member has no volatile cache.
    Flush,
}

/// One operation on one logical page of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Op {
    /// The kind of operation.
    pub kind: OpKind,
    /// Logical page of the member; ignored by flushes.
    pub page: u32,
    /// For a program or a trim: keep the version that it replaces until [`crate::Flash::release`]. A page keeps at
    /// most one old version: the first that was requested to be kept. For a read: read the kept version if there is
    /// one, else the current version.
    pub old_version: bool,
    /// For a program: the stream whose block takes the page, below [`crate::spec::FtlSpec::streams`].
    pub stream: u8,
    /// If the host link transfers commands: the request that the operation is part of. Operations of one request,
    /// kind and instant form one command.
    pub request: u32,
}

/// A member's answer to an offered operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The member can take the operation now.
    Admitted,
    /// The member cannot take this operation now; it may take another one. The reason, if it is known, saves the offer as long as
    /// [`Flash::still_holds`](crate::Flash::still_holds).
    Refused(Hold),
    /// The member can take no operation of this kind now.
    Closed,
}

/// A finished operation.
///
/// `end - start = queue_ns + gc_wait_ns + bus_ns + cell_ns`, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The caller's token.
    pub token: u32,
    /// The member that ran the operation.
    pub member: u32,
    /// Waiting inside the member for dies, buses and the host link, other than for garbage collection.
    pub queue_ns: Nanos,
    /// Waiting inside the member while garbage collection ran on its die or held it back: before service, or of a program that
    /// made it due (`gc.start = "on-write"`), after it.
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
    /// The GC clock of the die when the operation entered the die's queue; later the operation's wait for garbage
    /// collection.
    pub(crate) gc: Nanos,
    pub(crate) bus: Nanos,
    pub(crate) cell: Nanos,
    /// The part of `bus` that belongs to the host link.
    pub(crate) link: Nanos,
    /// The command that contains the operation, if the host link transfers commands.
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
