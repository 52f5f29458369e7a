//! Parity logging: updates whose deltas go to the log, plans that apply deltas, background commits.
//!
//! [`ParityLog`] knows which deltas a row has while no plan has the row lock. An update takes a slot when its steps are built,
//! and the slot joins its row when the update ends. An update that writes parity in place makes the row's deltas obsolete.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, Operation, OperationKind};
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{DeltaReads, Plan, Purpose};
use stripewise_exec::row_locks::RowLock;
use stripewise_policy::update::{Decision, Reason, Routine};
use stripewise_scheme::Acknowledge;

use crate::in_place::InPlace;
use crate::in_place::job::{PlanState, UpdateParity};
use crate::in_place::parity_log::ParityLog;

impl InPlace {
    /// Whether the update `plan` may leave its row's parity as it is and log the change: it covers only part of the row, no
    /// column of the row is lost, and the log has room.
    #[inline]
    pub(crate) fn may_log<M: Memory>(&self, plan: PlanId, lost: u64, exec: &Executor<M>) -> bool {
        let Some(parity_log) = &self.parity_log else { return false };
        let Plan { row, purpose, wanted, .. } = *exec.plan(plan);
        let PlanState { partial, .. } = self.jobs[plan];
        let covers_row = wanted == exec.geometry().data_columns() && partial == 0;
        purpose == Purpose::Write
            && lost == 0
            && !covers_row
            && !self.is_fresh(plan, exec)
            && parity_log.has_room(row)
    }

    /// Builds the steps of a logged update: read the old content of columns that were written before, write data and deltas.
    pub(crate) fn build_logging<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let Plan { row, place, wanted, .. } = *exec.plan(plan);
        let Some(parity_log) = &mut self.parity_log else { return };
        let reads = wanted & parity_log.written(row);
        self.jobs[plan].delta = Some(parity_log.take());
        self.decided(plan, Decision::forced(Routine::Log, Reason::Logged), exec, driver);
        if reads != 0 {
            exec.push_operations(plan, reads, OperationKind::Read, |_| Class::PreRead, place);
        }
        // Page operations: one for each difference of old and new content, and one for each change added to a delta after the
        // first.
        let pages = reads.count_ones() + exec.geometry().parity() * (wanted.count_ones() - 1);
        exec.push_compute(plan, pages as u16);
        exec.push_operations(plan, wanted, OperationKind::Write, |_| Class::HostWrite, place);
        let after_data = exec.scheme().parity.acknowledge == Acknowledge::AfterData;
        if after_data || exec.has_bug(Bug::AcknowledgeBeforeParity) {
            exec.acknowledge_here(plan);
            exec.push_step(plan, []);
            self.push_delta_writes(plan, exec);
        } else {
            self.push_delta_writes(plan, exec);
            exec.acknowledge_here(plan);
        }
    }

    /// Adds the writes of the deltas of `plan` to its last step.
    fn push_delta_writes<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Some(parity_log) = &self.parity_log else { return };
        let Some(page) = self.jobs[plan].delta else { return };
        for parity in 0..exec.geometry().parity() {
            let operation = Operation {
                page,
                member: parity_log.member(parity),
                kind: OperationKind::Write,
                class: Class::Log,
                column: (exec.geometry().data + parity) as u8,
                ..Operation::default()
            };
            exec.add_operation(plan, operation);
        }
    }

    /// Adds the reads of all deltas of the parity columns in `parity` to the last step of `plan`, which reads these columns in
    /// place. Returns the number of reads.
    pub(crate) fn push_delta_reads<M: Memory>(
        &mut self,
        plan: PlanId,
        parity: u64,
        class: Class,
        exec: &mut Executor<M>,
    ) -> u16 {
        let (reads_behind, ignores) =
            (exec.has_bug(Bug::DeltaOfOtherRow), exec.has_bug(Bug::LostDeltasIgnored));
        let Some(parity_log) = &self.parity_log else { return 0 };
        let Plan { row, steps, .. } = *exec.plan(plan);
        let mut deltas = DeltaReads { first: steps.operations, count: 0 };
        for column in columns(parity) {
            let member = parity_log.member(column - exec.geometry().data);
            if ignores && exec.is_failed(member) {
                continue;
            }
            for page in parity_log.slots_of(row) {
                let page = if reads_behind { parity_log.slot_behind(page) } else { page };
                let (kind, column) = (OperationKind::Read, column as u8);
                exec.add_operation(
                    plan,
                    Operation { page, member, kind, class, column, ..Operation::default() },
                );
                deltas.count += 1;
            }
        }
        exec.set_delta_reads(plan, deltas);
        deltas.count
    }

    /// Number of deltas of `row`, for each parity chunk.
    #[inline]
    pub(crate) fn deltas(&self, row: RowNo) -> u32 {
        self.parity_log.as_ref().map_or(0, |parity_log| parity_log.count(row))
    }

    /// Parity columns of `row` that have a delta on a failed log member.
    #[inline]
    pub(crate) fn lost_in_parity_log<M: Memory>(&self, row: RowNo, exec: &Executor<M>) -> u64 {
        self.parity_log.as_ref().map_or(0, |parity_log| parity_log.lost_of(row) << exec.geometry().data)
    }

    /// Parity columns whose delta `plan` could not write.
    pub(crate) fn unlogged<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let is_logged = self.jobs[plan].delta.is_some();
        self.parity_log
            .as_ref()
            .filter(|_| is_logged)
            .map_or(0, |parity_log| parity_log.lost() << exec.geometry().data)
    }

    /// Restarts an update that was to be logged and may no longer be logged; nothing is written yet.
    pub(crate) fn stop_logging(&mut self, plan: PlanId) {
        let delta = self.jobs[plan].delta.take();
        if let (Some(delta), Some(parity_log)) = (delta, &mut self.parity_log) {
            parity_log.give_back(delta);
        }
    }

    /// Ends an update, for the log. An update that was abandoned after it had written, and a commit that could not be done, leave
    /// parity that covers nothing.
    pub(crate) fn end_logging<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let drops = exec.has_bug(Bug::DeltaDropped);
        let overtakes = exec.has_bug(Bug::OlderDeltasForgotten);
        let forgets = exec.has_bug(Bug::WrittenForgotten);
        let Some(parity_log) = &mut self.parity_log else { return };
        let delta = self.jobs[plan].delta.take();
        let Plan { row, purpose, wanted, is_abandoned, .. } = *exec.plan(plan);
        if !forgets {
            parity_log.set_written(row, wanted);
        }
        match delta {
            Some(slot) if drops => parity_log.give_back(slot),
            Some(slot) => {
                parity_log.join(slot, row);
                if overtakes {
                    parity_log.forget_older(row);
                }
            }
            None => {}
        }
        let is_void =
            is_abandoned && parity_log.count(row) > 0 && (delta.is_some() || purpose == Purpose::Parity);
        if is_void {
            self.window.set_stale(row, true);
        }
        if is_void || (delta.is_none() && !is_abandoned) {
            parity_log.clear(row);
        }
        if purpose == Purpose::Parity {
            parity_log.commit_over(row);
        }
    }

    /// Discards the deltas of the plan's row.
    pub(crate) fn forget_deltas<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let row = exec.plan(plan).row;
        if let Some(parity_log) = &mut self.parity_log {
            parity_log.clear(row);
        }
    }

    /// Forgets the deltas and written columns of `row`, all of which was trimmed.
    pub(crate) fn forget_row<M: Memory>(&mut self, row: RowNo, exec: &mut Executor<M>) {
        if exec.has_bug(Bug::TrimKeepsDeltas) {
            return;
        }
        if let Some(parity_log) = &mut self.parity_log {
            parity_log.clear(row);
            parity_log.clear_written(row);
        }
    }

    /// Commits the row that is due, if there is one and a plan is free.
    pub(crate) fn commit_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if !exec.has_free_plan() {
            return false;
        }
        let Some(row) = self.parity_log.as_mut().and_then(ParityLog::next_due) else { return false };
        let plan = self.take_plan(row, UpdateParity, exec);
        exec.acquire(plan, RowLock::Exclusive, self, driver);
        true
    }

    /// Commits all rows at the end of a run, including those that a write cache has yet to write, unless the scheme never
    /// commits.
    pub(crate) fn drain_parity_log<M: Memory>(&mut self, exec: &mut Executor<M>) {
        if let Some(parity_log) = &mut self.parity_log
            && exec.scheme().parity_logging.commit == stripewise_scheme::placement::Commit::Watermark
        {
            parity_log.settling = true;
        }
    }

    /// Marks the chunks of the array's first `pages` pages as written.
    pub(crate) fn parity_log_assume_written<M: Memory>(&mut self, pages: u64, exec: &mut Executor<M>) {
        for page in 0..if self.parity_log.is_some() { pages } else { 0 } {
            if let (Some((row, column)), Some(parity_log)) = (self.locate(page, exec), &mut self.parity_log) {
                parity_log.set_written(row, 1 << column);
            }
        }
    }
}
