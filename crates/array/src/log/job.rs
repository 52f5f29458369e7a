//! The jobs of the log's plans, and what the log keeps with a plan besides.

use stripewise_core::memory::Memory;
use stripewise_exec::AfterErrors;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Purpose;

use crate::job::{BuildResult, Cx, Job, jobs};
use crate::log::contents::Walker;

jobs! {
    Facts:
    /// Writes a stripe of chunks from controller memory.
    Append => Facts::of_stripe(Purpose::Append);
    /// Reads valid chunks of a segment that is collected.
    Collect => Facts { walker: Some(Walker::Collection), ..Facts::of_stripe(Purpose::Collect) };
    /// Notifies the members that a row of a free segment is unused.
    Discard => Facts { writes_may_fail: true, ..Facts::of_other(Purpose::Discard) };
    /// A flush of the members for a host: the executor takes the plan, so it has the default job.
    Flush => Facts::of_other(Purpose::Flush);
    /// Reads a chunk of which a part is overwritten, and writes the result to this stream.
    Merge { stream: u8 } => Facts::of_stripe(Purpose::Merge);
    /// Reads chunks for a host.
    Read => Facts::of_stripe(Purpose::Read);
    /// Reads the summary of a batch for a walk.
    ReadSummary { walker: Walker } => Facts::of_other(Purpose::ReadSummary);
    /// Rebuilds the chunks of a stripe on members that are being rebuilt, for the walk of this turn.
    RebuildStripe { turn: u32 } => Facts {
        walker: Some(Walker::Rebuild),
        reads_obsolete: true,
        ..Facts::of_stripe(Purpose::Rebuild)
    };
    /// Writes a copy of a summary to a member that is being rebuilt, for the walk of this turn.
    RewriteCopy { turn: u32 } => Facts { reads_copies: true, ..Facts::of_stripe(Purpose::RepairSummary) };
    /// Reads a copy of a summary, and rewrites it if it is bad.
    ScrubCopy => Facts { reads_copies: true, writes_may_fail: true, ..Facts::of_stripe(Purpose::RepairSummary) };
    /// Reads a stripe, and rewrites or moves it if a column is bad.
    ScrubStripe => Facts {
        walker: Some(Walker::Scrub),
        reads_obsolete: true,
        writes_may_fail: true,
        ..Facts::of_stripe(Purpose::Scrub)
    };
    /// Writes this number of pages of metadata, or flushes the members.
    WriteMetadata { pages: u32 } => Facts::of_other(Purpose::Commit);
    /// Writes the summary of a batch.
    WriteSummary => Facts::of_other(Purpose::Summary);
}

impl Default for AnyJob {
    fn default() -> Self {
        Flush.into()
    }
}

/// What the log asks about a job.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The purpose of its plans.
    pub(crate) purpose: Purpose,
    /// Whether its plans work on a stripe.
    pub(crate) is_stripe: bool,
    /// The walk over segments that makes its plans, and knows the content of their slots.
    pub(crate) walker: Option<Walker>,
    /// Whether it reads stripes without valid chunks, too.
    pub(crate) reads_obsolete: bool,
    /// Whether it reads copies of summaries.
    pub(crate) reads_copies: bool,
    /// Whether a member stays in the array although a write of the plan to it failed: the write was optional, or the page was
    /// bad before.
    pub(crate) writes_may_fail: bool,
}

impl Facts {
    /// The facts of a job that works on a stripe.
    pub(crate) const fn of_stripe(purpose: Purpose) -> Self {
        Self {
            purpose,
            is_stripe: true,
            walker: None,
            reads_obsolete: false,
            reads_copies: false,
            writes_may_fail: false,
        }
    }

    /// The facts of a job that works on anything else.
    pub(crate) const fn of_other(purpose: Purpose) -> Self {
        Self { is_stripe: false, ..Self::of_stripe(purpose) }
    }
}

/// What the log keeps with a plan, besides the slots of its stripe and their content.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlanState {
    /// What the plan does.
    pub(crate) job: AnyJob,
    /// How decoded content is verified.
    pub(crate) trust: Trust,
    /// Columns whose copies of a summary could not be read.
    pub(crate) unread: u64,
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

impl PlanState {
    /// The plan no longer needs the checksums of its whole stripe.
    #[inline]
    pub(crate) fn end_asking(&mut self) {
        if self.trust == Trust::Asks {
            self.trust = Trust::Result;
        }
    }
}
