//! What a placement answers to the executor.

use crate::row_locks::RowLock;

/// The result of the attempt to build the steps of a read.
pub enum Built {
    /// The steps are built.
    Ready,
    /// The plan must first get this row lock.
    Needs(RowLock),
}

/// The result of the attempt to split the rest of a request into plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The request is wholly issued.
    Done,
    /// A member that the request needs has as many operations queued as `dispatch.queue` allows.
    WantsRoom,
    /// Plans, attachments, room in controller memory, or what else the placement needs (a free row) are lacking. The request
    /// is split again after the next event, and those behind it wait.
    WantsPlans,
    /// An earlier request must first be done with a page that the request changes; requests for other pages need not wait.
    WantsPage,
}

/// What the executor does after a step with errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterErrors {
    /// The next step runs: enough was written.
    NextStep,
    /// The steps are built again.
    BuildAgain,
    /// The plan fails.
    Fail,
}

/// More columns of a row are lost than its code tolerates. A placement whose plan may read columns with errors a second time
/// asks [`Executor::look_again`](crate::Executor::look_again) first.
pub struct TooManyLost;
