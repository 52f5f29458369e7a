//! What the log keeps with a plan, besides the slots of its stripe and their content.

use crate::log::contents::Walker;

/// The job of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Job {
    /// How decoded content is verified.
    pub(crate) trust: Trust,
    /// Columns whose copies of a summary could not be read.
    pub(crate) unread: u64,
    /// What the plan belongs to.
    pub(crate) task: Task,
}

/// What a plan of the log belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Task {
    /// Nothing that has to be known at its end.
    #[default]
    Plain,
    /// A chunk that is written in part, and its stream.
    Merge(u8),
    /// The rebuild of this turn.
    Rebuild(u32),
    /// A scrub of copies of summaries.
    ScrubCopy,
    /// A walk that reads summaries.
    Walk(Walker),
    /// An update of metadata, and the number of pages that the plan writes.
    Sync(u32),
}

/// How a decoding read of the log verifies its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The decoded content must match the chunk's checksum.
    #[default]
    Result,
    /// It did not match: the summary is read, which has the checksums of the whole stripe.
    Asks,
    /// All columns that it decodes from must match their checksums too.
    Sources,
    /// Even those checksums did not lead to a matching result.
    Nothing,
}

impl Job {
    /// The plan no longer needs the checksums of its whole stripe.
    #[inline]
    pub(crate) fn end_asking(&mut self) {
        if self.trust == Trust::Asks {
            self.trust = Trust::Result;
        }
    }

    /// Whether the plan is part of a scrub of copies of summaries.
    pub(crate) fn scrubs_copy(&self) -> bool {
        matches!(self.task, Task::ScrubCopy)
    }
}
