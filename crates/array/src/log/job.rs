//! The jobs of the log's plans, and what the log keeps with a plan besides.

use stripewise_core::driver::Driver;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::plan::Purpose;
use stripewise_exec::{AfterErrors, Built, Executor, TooManyLost};

use crate::job::{HasJobs, Job, jobs};
use crate::log::Log;
use crate::log::append::Append;
use crate::log::batches::WriteSummary;
use crate::log::collect::Collect;
use crate::log::contents::Walker;
use crate::log::discard::Discard;
use crate::log::merge::Merge;
use crate::log::read::Read;
use crate::log::rebuild::{RebuildStripe, RewriteCopy};
use crate::log::scrub::{ScrubCopy, ScrubStripe};
use crate::log::sync::WriteMetadata;
use crate::log::tell::ReadSummary;

jobs! {
    /// The job of a plan of the log.
    AnyJob of Log:
        Append, Collect, Discard, Flush, Merge, Read, ReadSummary, RebuildStripe, RewriteCopy, ScrubCopy, ScrubStripe,
        WriteMetadata, WriteSummary,
}

impl HasJobs for Log {
    type Facts = Facts;
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

/// A flush of the members for a host: the executor takes the plan, so it has the default job.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flush;

impl Default for AnyJob {
    fn default() -> Self {
        Flush.into()
    }
}

impl Job<Log> for Flush {
    const FACTS: Facts = Facts::of_other(Purpose::Flush);

    fn build<M: Memory, D: Driver<M>>(
        self,
        plan: PlanId,
        _log: &mut Log,
        exec: &mut Executor<M>,
        _driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        exec.build_flush_of(plan, |_| true);
        Ok(Built::Ready)
    }
}

impl Log {
    /// Takes a free plan for `job`, at `row`.
    #[inline]
    pub(crate) fn take_plan<M: Memory, J: Job<Self> + Into<AnyJob>>(
        &mut self,
        row: u64,
        job: J,
        exec: &mut Executor<M>,
    ) -> PlanId {
        let plan = exec.take_plan(row, J::FACTS.purpose);
        self.jobs[plan].job = job.into();
        plan
    }
}
