//! Writes and updates of parity that overlap in their row (`parity.updates = "each"`), in simulated time alone.
//!
//! Every write goes to its member at once, with what it must pre-read of its own page, and counts as not covered by parity from
//! its arrival on. Every update of parity that is due begins at once and covers what is not covered then, from the content that
//! the members have. Nothing keeps old content. So versions of a page overlap: a read returns whichever the member has when it
//! gets there, and no parity need be that of one content of the row. That cannot hold over real bytes, and nothing may decode
//! from such a row.
//!
//! Source: the public fork of paper 000's simulator, which has no lock on a stripe.

use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_exec::Executor;
use stripewise_exec::plan::Plan;

use crate::in_place::InPlace;

impl InPlace {
    /// Builds the steps of a write whose row others write and update too: read the rest of its own pages, then write.
    pub(crate) fn build_overlapping<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        debug_assert!(!M::CARRIES_DATA, "a scheme with overlapping updates is refused over real bytes");
        let Plan { row, place, wanted, .. } = *exec.plan(plan);
        self.window.add(row, wanted);
        exec.defer_parity(plan, 0);
        let job = &mut self.jobs[plan];
        job.written = 0;
        let partial = std::mem::take(&mut job.partial);
        if partial != 0 {
            exec.push_operations(plan, partial, OperationKind::Read, |_| Class::PreRead, place);
        }
        exec.push_operations(plan, wanted, OperationKind::Write, |_| Class::HostWrite, place);
        exec.acknowledge_here(plan);
    }
}
