//! Parity logging: updates whose deltas go to the log, plans that apply deltas, background commits.
//!
//! [`ParityLog`] knows which deltas a row has while no plan has the row lock. An update takes a slot when its steps are built,
//! and the slot joins its row when the update ends. An update that writes parity in place makes the row's deltas obsolete.

use super::{Array, columns};
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, Operation, OperationKind};
use crate::placement::parity_logging::ParityLog;
use crate::plan::{Plan, Purpose, Step};
use crate::row_locks::RowLock;
use crate::scheme::Acknowledge;
use crate::update::{Decision, Reason, Routine};

impl<M: Memory> Array<M> {
    /// Whether the update `plan` may leave its row's parity as it is and log the change: it covers only part of the row, no
    /// column of the row is lost, and the log has room.
    #[inline]
    pub(super) fn may_log(&self, plan: u32, lost: u64) -> bool {
        let Some(log) = &self.log else { return false };
        let Plan { row, purpose, wanted, partial, .. } = self.plans[plan as usize];
        let covers_row = wanted == self.geometry.data_columns() && partial == 0;
        purpose == Purpose::Write && lost == 0 && !covers_row && !self.is_fresh(plan) && log.has_room(row)
    }

    /// Builds the steps of a logged update: read the old content of columns that were written before, write data and deltas.
    pub(super) fn build_logging<D: Driver<M>>(&mut self, plan: u32, driver: &mut D) {
        let Plan { row, place, wanted, .. } = self.plans[plan as usize];
        let Some(log) = &mut self.log else { return };
        let reads = wanted & log.written(row);
        self.plans[plan as usize].delta = log.take();
        self.decided(plan, Decision::forced(Routine::Log, Reason::Logged), driver);
        if reads != 0 {
            self.push_operations(plan, reads, OperationKind::Read, |_| Class::PreRead, place);
        }
        // Page operations: one for each difference of old and new content, and one for each change added to a delta after the
        // first.
        let pages = reads.count_ones() + self.geometry.parity() * (wanted.count_ones() - 1);
        self.plans[plan as usize].push_step(Step::Compute { pages: pages as u16 });
        self.push_operations(plan, wanted, OperationKind::Write, |_| Class::HostWrite, place);
        let after_data = self.scheme.parity.acknowledge == Acknowledge::AfterData;
        if after_data || self.has_bug(Bug::AcknowledgeBeforeParity) {
            let slot = &mut self.plans[plan as usize];
            slot.acknowledge_here();
            slot.push_step(Step::Operations { first: slot.operations, count: 0 });
            self.push_delta_writes(plan);
        } else {
            self.push_delta_writes(plan);
            self.plans[plan as usize].acknowledge_here();
        }
    }

    /// Adds the writes of the deltas of `plan` to its last step.
    fn push_delta_writes(&mut self, plan: u32) {
        let Some(log) = &self.log else { return };
        let page = self.plans[plan as usize].delta;
        for parity in 0..self.geometry.parity() {
            let operation = Operation {
                page,
                member: log.member(parity),
                kind: OperationKind::Write,
                class: Class::Log,
                column: (self.geometry.data + parity) as u8,
                ..Operation::default()
            };
            let slot = &mut self.plans[plan as usize];
            self.slots[(plan * self.stride + u32::from(slot.operations)) as usize].operation = operation;
            slot.add_to_step();
        }
    }

    /// Adds the reads of all deltas of the parity columns in `parity` to the last step of `plan`, which reads these columns in
    /// place. Returns the number of reads.
    pub(super) fn push_delta_reads(&mut self, plan: u32, parity: u64, class: Class) -> u16 {
        let (reads_behind, ignores) =
            (self.has_bug(Bug::DeltaOfOtherRow), self.has_bug(Bug::LostDeltasIgnored));
        let Some(log) = &self.log else { return 0 };
        let slot = &mut self.plans[plan as usize];
        slot.delta_first = slot.operations;
        for column in columns(parity) {
            let member = log.member(column - self.geometry.data);
            if ignores && self.failed[member as usize] {
                continue;
            }
            for page in log.slots_of(slot.row) {
                let page = if reads_behind { log.slot_behind(page) } else { page };
                let at = (plan * self.stride + u32::from(slot.operations)) as usize;
                self.slots[at].operation = Operation {
                    page,
                    member,
                    kind: OperationKind::Read,
                    class,
                    column: column as u8,
                    ..Operation::default()
                };
                slot.add_to_step();
                slot.delta_reads += 1;
            }
        }
        slot.delta_reads
    }

    /// Number of deltas of `row`, for each parity chunk.
    #[inline]
    pub(super) fn deltas(&self, row: u64) -> u32 {
        self.log.as_ref().map_or(0, |log| log.count(row))
    }

    /// Parity columns of `row` that have a delta on a failed log member.
    #[inline]
    pub(super) fn lost_in_log(&self, row: u64) -> u64 {
        self.log.as_ref().map_or(0, |log| log.lost_of(row) << self.geometry.data)
    }

    /// Parity columns whose delta `plan` could not write.
    pub(super) fn unlogged(&self, plan: u32) -> u64 {
        let is_logged = self.plans[plan as usize].delta != NONE;
        self.log.as_ref().filter(|_| is_logged).map_or(0, |log| log.lost() << self.geometry.data)
    }

    /// Restarts an update that was to be logged and may no longer be logged; nothing is written yet.
    pub(super) fn stop_logging(&mut self, plan: u32) {
        let delta = std::mem::replace(&mut self.plans[plan as usize].delta, NONE);
        if delta != NONE
            && let Some(log) = &mut self.log
        {
            log.give_back(delta);
        }
    }

    /// Ends an update, for the log. An update that gave up after it had written, and a commit that could not be done, leave
    /// parity that covers nothing.
    pub(super) fn end_logging(&mut self, plan: u32) {
        let drops = self.has_bug(Bug::DeltaDropped);
        let overtakes = self.has_bug(Bug::OlderDeltasForgotten);
        let forgets = self.has_bug(Bug::WrittenForgotten);
        let Some(log) = &mut self.log else { return };
        let slot = &mut self.plans[plan as usize];
        let delta = std::mem::replace(&mut slot.delta, NONE);
        let Plan { row, purpose, wanted, gave_up, .. } = *slot;
        if !forgets {
            log.set_written(row, wanted);
        }
        if delta != NONE && drops {
            log.give_back(delta);
        } else if delta != NONE {
            log.join(delta, row);
            if overtakes {
                log.forget_older(row);
            }
        }
        let is_void = gave_up && log.count(row) > 0 && (delta != NONE || purpose == Purpose::Parity);
        if is_void {
            self.window.set_stale(row, true);
        }
        if is_void || (delta == NONE && !gave_up) {
            log.clear(row);
        }
        if purpose == Purpose::Parity {
            log.commit_over(row);
        }
    }

    /// Discards the deltas of the plan's row.
    pub(super) fn forget_deltas(&mut self, plan: u32) {
        let row = self.plans[plan as usize].row;
        if let Some(log) = &mut self.log {
            log.clear(row);
        }
    }

    /// Forgets the deltas and written columns of `row`, all of which was trimmed.
    pub(super) fn forget_row(&mut self, row: u64) {
        if self.has_bug(Bug::TrimKeepsDeltas) {
            return;
        }
        if let Some(log) = &mut self.log {
            log.clear(row);
            log.clear_written(row);
        }
    }

    /// Commits the row that is due, if there is one and a plan is free.
    pub(super) fn commit_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        if self.free_plan == NONE {
            return false;
        }
        let Some(row) = self.log.as_mut().and_then(ParityLog::next_due) else { return false };
        let plan = self.take_plan(row, Purpose::Parity);
        self.acquire(plan, RowLock::Exclusive, driver);
        true
    }

    /// Commits all rows at the end of a run, including those that a write cache has yet to write, unless the scheme never
    /// commits.
    pub(super) fn drain_log(&mut self) {
        if let Some(log) = &mut self.log
            && self.scheme.log.commit == crate::placement::Commit::Watermark
        {
            log.settling = true;
        }
    }

    /// Marks the chunks of the array's first `pages` pages as written.
    pub(super) fn log_assume_written(&mut self, pages: u64) {
        for page in 0..if self.log.is_some() { pages } else { 0 } {
            if let (Some((row, column)), Some(log)) = (self.locate(page), &mut self.log) {
                log.set_written(row, 1 << column);
            }
        }
    }

    /// The pages of the log members that hold deltas of `row`, newest first: the same pages on each log member.
    pub fn delta_pages(&self, row: u64) -> impl Iterator<Item = u32> + '_ {
        self.log.iter().flat_map(move |log| log.slots_of(row))
    }

    /// The member that holds the deltas of the parity chunk with this number, if there is a log.
    pub fn log_member(&self, parity: u32) -> Option<u16> {
        self.log.as_ref().map(|log| log.member(parity))
    }

    /// Whether a background commit works on `row`, or waits for it.
    pub fn is_committing(&self, row: u64) -> bool {
        self.log.as_ref().is_some_and(|log| log.is_due(row))
    }

    /// Pages of each log member that are in use, including vacant pages between them.
    pub fn log_pages_taken(&self) -> u64 {
        self.log.as_ref().map_or(0, ParityLog::taken)
    }
}
