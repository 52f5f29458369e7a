//! Writes that defer their parity and share their row: they do not wait for one another, nor for the update of parity that is
//! in progress. Each joins the queue of its member at once.
//!
//! What keeps this right:
//! - one write of a page is in flight at a time, in the order of arrival ([`PageOrder`](super::page_order));
//! - parity is updated by one plan a row at a time, after all writes that came before it, and it covers the content that was
//!   written when it began;
//! - the content that parity covers is kept until new parity is written: by the member, which keeps the version that the first
//!   uncovered write replaces, or by memory, which keeps the content that the update in progress is to cover;
//! - everything else takes the row alone: reads that decode, repairs, rebuild, scrub, trims, and all updates while a column of
//!   the row cannot be used.
//!
//! Source: the public fork of paper 000's simulator puts each operation into the queue of its channel at once, whatever else
//! is in progress in its row.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{NONE, PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationId, OperationKind};
use stripewise_exec::Executor;
use stripewise_exec::bytes::Version;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_exec::row_locks::RowLock;

use crate::in_place::InPlace;
use crate::in_place::job::PlanState;
use crate::in_place::window::Held;

impl InPlace {
    /// The lock with which a plan that writes data, or updates deferred parity, takes its row.
    #[inline]
    pub(crate) fn update_lock<M: Memory>(&self, purpose: Purpose, exec: &Executor<M>) -> RowLock {
        if self.window.order.is_none() || exec.is_any_failed() || exec.is_walking(self) {
            return RowLock::Exclusive;
        }
        let takes_turns = !self.window.overlaps && !exec.has_bug(Bug::ParityOutOfTurn);
        if purpose == Purpose::Parity && takes_turns { RowLock::SharedParity } else { RowLock::SharedWrite }
    }

    /// Whether `plan` shares its row and may do so no longer.
    #[inline]
    pub(crate) fn needs_row_alone<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        match exec.plan(plan).lock {
            RowLock::SharedParity => self.lost_columns(plan, exec) != 0,
            RowLock::SharedWrite if exec.plan(plan).purpose == Purpose::Write => {
                let lost = self.lost_columns(plan, exec);
                !self.may_defer(plan, lost, exec) || !self.window.overlaps && self.lacks_content(plan, exec)
            }
            _ => false,
        }
    }

    /// Whether `plan` must read what completes a page. If that failed, it would have to decode, and later writes of the page
    /// would overtake it.
    fn lacks_content<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> bool {
        let Plan { row, .. } = *exec.plan(plan);
        let PlanState { partial, .. } = self.jobs[plan];
        let known = self.window.entry(row).map_or(0, |entry| self.in_memory(entry, exec));
        partial & !known != 0
    }

    /// Columns of the row of `entry` whose newest content is in memory: it is written, or being written, or its parity is being
    /// updated.
    fn in_memory<M: Memory>(&self, entry: u32, exec: &Executor<M>) -> u64 {
        let in_line = self.window.order.as_ref().map_or(0, |order| order.columns(entry));
        self.window.dirty_of(entry) | in_line | self.taken_by_update(entry, exec)
    }

    /// Columns that the update of parity in progress beside writes is to cover.
    fn taken_by_update<M: Memory>(&self, entry: u32, exec: &Executor<M>) -> u64 {
        self.window.update(entry).map_or(0, |update| exec.plan(update).dirty)
    }

    /// Those of columns `mask` that the hosts of `plan` cover only in part.
    fn covered_in_part<M: Memory>(&self, plan: PlanId, mask: u64, exec: &Executor<M>) -> u64 {
        columns(mask)
            .filter(|&column| exec.cover(plan, column) != exec.whole_page())
            .fold(0, |partial, column| partial | 1 << column)
    }

    /// Columns of `row` whose parity is deferred and whose covered content memory keeps.
    pub(crate) fn covered_in_memory(&self, row: RowNo) -> u64 {
        let dirty = self.window.dirty(row);
        match self.window.entry(row) {
            Some(entry) if self.window.pins() => dirty & self.window.kept(entry).1,
            _ => dirty,
        }
    }

    /// Columns that `plan` writes and whose covered content nothing keeps yet: the members are to keep it.
    pub(crate) fn unkept<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let Plan { row, wanted, .. } = *exec.plan(plan);
        let Some(entry) = self.window.entry(row) else { return wanted };
        let dropped = exec.has_bug(Bug::CoveredContentDropped);
        let covered = if dropped { 0 } else { self.taken_by_update(entry, exec) };
        wanted & !self.window.kept(entry).0 & !covered
    }

    /// Builds the step of a write that shares its row: all its writes. What completes its pages is in memory.
    pub(crate) fn build_sharing<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if self.window.overlaps {
            return self.build_overlapping(plan, exec);
        }
        let Plan { row, place, wanted, .. } = *exec.plan(plan);
        let PlanState { partial, .. } = self.jobs[plan];
        let entry = self.window.add(row, 0);
        let in_line = self.window.order.as_ref().map_or(0, |order| order.columns(entry));
        for column in columns(partial & !in_line) {
            self.fill_from_memory(plan, entry, column, exec);
        }
        let pinned = self.unkept(plan, exec);
        self.keep_covered(entry, wanted & !pinned, exec);
        columns(pinned).for_each(|column| self.window.pin(exec.geometry().member(place, column)));
        self.window.keep(entry, pinned, false);
        exec.defer_parity(plan, pinned);
        let job = &mut self.jobs[plan];
        (job.partial, job.written) = (0, 0);
        exec.push_operations(plan, wanted, OperationKind::Write, |_| Class::HostWrite, place);
        exec.acknowledge_here(plan);

        if let Some(order) = &mut self.window.order {
            for column in columns(wanted) {
                order.join(entry, plan, column, (partial & in_line) >> column & 1 != 0);
            }
        }
        let waits = if exec.has_bug(Bug::PageWrittenTwiceAtOnce) { 0 } else { wanted & in_line };
        columns(waits).for_each(|column| exec.hold_write(plan, column, true));
    }

    /// Completes `column` of `plan` with the newest content, which is in memory.
    fn fill_from_memory<M: Memory>(&mut self, plan: PlanId, entry: u32, column: u32, exec: &mut Executor<M>) {
        if self.window.dirty_of(entry) >> column & 1 != 0 {
            return self.fill_from_late(plan, entry, column, exec);
        }
        if let Some(update) = self.window.update(entry).filter(|_| M::CARRIES_DATA) {
            let newest = exec.buffer(update, column, Version::New);
            self.fill(plan, column, newest, exec);
        }
    }

    /// Columns `mask` are written again while an update of parity is to cover what they hold: memory keeps that content.
    fn keep_covered<M: Memory>(&mut self, entry: u32, mask: u64, exec: &mut Executor<M>) {
        let Some(update) = self.window.update(entry) else { return };
        let mask = mask & exec.plan(update).dirty & !self.window.kept(entry).0;
        self.window.keep(entry, mask, true);
        if M::CARRIES_DATA {
            for column in columns(mask) {
                let kept = exec.memory_mut().take();
                let new = exec.buffer(update, column, Version::New);
                exec.copy_page(kept, new);
                *self.window.page_mut(entry, column, Held::Covered) = kept;
            }
        }
    }

    /// Write `id` of a plan that shares its row is over: from now on its content is on the member, its parity is deferred, and
    /// the next write of the page may start.
    pub(crate) fn shared_page_written<M: Memory>(
        &mut self,
        id: OperationId,
        is_good: bool,
        exec: &mut Executor<M>,
    ) {
        let plan = exec.plan_of(id);
        let column = u32::from(exec.operation(id).column);
        exec.let_go(id);
        if exec.plan(plan).defers {
            self.leave_line(plan, column, is_good, exec);
        }
    }

    /// The write of `column` by `plan` leaves the line of its page, written or not.
    fn leave_line<M: Memory>(&mut self, plan: PlanId, column: u32, is_written: bool, exec: &mut Executor<M>) {
        let Plan { row, pinned, .. } = *exec.plan(plan);
        let bit = 1u64 << column;
        if self.window.overlaps {
            self.jobs[plan].written |= bit;
            return;
        }
        let Some(entry) = self.window.entry(row) else { return };
        if is_written {
            self.window.add(row, bit);
            self.give_to_late(plan, entry, bit, bit, exec);
            self.jobs[plan].written |= bit;
            // From now on, the row counts the kept version.
            exec.unpin(plan, bit);
        }
        let Some(order) = &mut self.window.order else { return };
        let first = order.leave(entry, plan, column);
        let is_last = order.columns(entry) & bit == 0;
        if let Some(first) = first {
            if first.fills && is_written {
                self.fill_from_late(first.plan, entry, column, exec);
            }
            exec.hold_write(first.plan, column, false);
        }
        if is_written {
            return;
        }
        if pinned & bit != 0 {
            // The next write has the version kept that parity covers, if there is one. Otherwise the plan itself releases it.
            match first {
                Some(next) => {
                    exec.unpin(plan, bit);
                    exec.keep_replaced(next.plan, column);
                }
                None => self.window.drop_kept(entry, bit),
            }
        } else if is_last && self.window.dirty(row) & bit == 0 {
            self.forget_in_memory(entry, bit, exec);
        }
        self.window.tidy(entry);
    }

    /// `plan` lost a member while it shared its row: what it could not write is written with the row alone.
    pub(crate) fn write_rest_alone<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { wanted, .. } = *exec.plan(plan);
        let PlanState { written, .. } = self.jobs[plan];
        let rest = wanted & !written;
        let partial = self.covered_in_part(plan, rest, exec);
        exec.defer_no_longer(plan);
        exec.want(plan, rest);
        let job = &mut self.jobs[plan];
        (job.partial, job.written) = (partial, 0);
    }

    /// An update of parity beside writes begins: it is to cover the columns that it took over from `entry`, and no others. What
    /// is written meanwhile stays deferred.
    pub(crate) fn begin_beside_writes<M: Memory>(
        &mut self,
        plan: PlanId,
        entry: u32,
        exec: &mut Executor<M>,
    ) {
        let taken = self.window.begin_update(entry, plan);
        let in_line = self.window.order.as_ref().map_or(0, |order| order.columns(entry));
        // Writes that have begun replace, on the members, what this update is to cover.
        self.keep_covered(entry, taken & in_line, exec);
        // Other writes that have begun replace what parity covers already and memory keeps: it need not be read.
        let in_memory = self.window.kept(entry).1 & !taken;
        for column in columns(in_memory) {
            if M::CARRIES_DATA {
                let old = exec.buffer(plan, column, Version::Old);
                let kept = self.window.page(entry, column, Held::Covered);
                exec.copy_page(old, kept);
            }
        }
        self.jobs[plan].kept |= in_memory;
    }

    /// `plan` takes over columns `dirty` of `entry` again, which were written since it first did. Their newest content replaces
    /// what it took; what parity covers is what it took first. Returns these columns.
    pub(crate) fn drop_taken<M: Memory>(
        &mut self,
        plan: PlanId,
        entry: u32,
        dirty: u64,
        exec: &mut Executor<M>,
    ) -> u64 {
        let slot = exec.plan(plan);
        let again = if slot.purpose == Purpose::Parity { slot.dirty & dirty } else { 0 };
        if again != 0 && M::CARRIES_DATA {
            for column in columns(again) {
                let taken = exec.take_buffer(plan, column, Version::New);
                exec.memory_mut().give(taken);
            }
            self.forget_in_memory(entry, again, exec);
        }
        again
    }

    /// The end of a plan that shares its row.
    pub(crate) fn end_beside<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, purpose, .. } = *exec.plan(plan);
        if self.window.overlaps {
            return;
        }
        let Some(entry) = self.window.entry(row) else { return };
        if purpose == Purpose::Parity {
            self.window.end_update(entry);
        }
        self.window.tidy(entry);
    }

    /// Memory need not keep the covered content of columns `mask`: it is on the members.
    fn forget_in_memory<M: Memory>(&mut self, entry: u32, mask: u64, exec: &mut Executor<M>) {
        let in_memory = if M::CARRIES_DATA { mask & self.window.kept(entry).1 } else { 0 };
        for column in columns(in_memory) {
            let page = std::mem::replace(self.window.page_mut(entry, column, Held::Covered), NONE);
            exec.memory_mut().give(page);
        }
        self.window.drop_kept(entry, mask);
    }
}
