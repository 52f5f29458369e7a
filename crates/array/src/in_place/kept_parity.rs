//! Updates of rows whose parity is kept in persistent memory, and its way to the members.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{NONE, PlanId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_exec::Executor;
use stripewise_exec::bytes::Version;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_exec::row_locks::RowLock;
use stripewise_policy::update::{Decision, Reason, Routine};

use crate::in_place::InPlace;
use crate::in_place::job::{PlanState, UpdateParity};

impl InPlace {
    /// The parity columns of `row` whose content is in persistent memory.
    #[inline]
    pub(crate) fn parity_in_memory<M: Memory>(&self, row: RowNo, exec: &Executor<M>) -> u64 {
        if self.parity_memory.keeps(row) { exec.geometry().parity_columns() } else { 0 }
    }

    /// Copies the parity of the plan's row from persistent memory, if it is there, as the old content of its columns. Returns
    /// these columns.
    pub(crate) fn take_parity<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> u64 {
        let row = exec.plan(plan).row;
        let kept = self.parity_in_memory(row, exec);
        if M::CARRIES_DATA {
            for column in columns(kept) {
                if let Some(page) = self.parity_memory.page(row, column - exec.geometry().data) {
                    exec.copy_to_old(plan, column, page);
                }
            }
        }
        kept
    }

    /// Decides whether the parity that the update `plan` computes stays in persistent memory. `lost` columns of its row cannot be
    /// used; `left_out` are data columns that parity takes for zeros if the row is encoded.
    pub(crate) fn keep_parity<M: Memory>(
        &mut self,
        plan: PlanId,
        lost: u64,
        left_out: u64,
        exec: &mut Executor<M>,
    ) {
        let Plan { row, wanted, purpose, .. } = *exec.plan(plan);
        let PlanState { moves, blank, .. } = self.jobs[plan];
        let data = exec.geometry().data_columns();
        let is_kept = self.parity_memory.keeps(row);
        let rest = data & !wanted;
        let keeps = lost == 0
            && purpose == Purpose::Write
            && rest != 0
            && if self.zones.is_none() {
                true
            } else if is_kept {
                // Until all pages are written.
                blank != 0
            } else {
                !self.blank.is_home(row) && rest & !left_out == 0 && wanted & !(moves | left_out) == 0
            };
        self.jobs[plan].keeps_parity = keeps && self.parity_memory.reserve(row);
    }

    /// Builds the steps of a plan that writes the parity of its row from persistent memory.
    pub(crate) fn build_leaving<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, place, .. } = *exec.plan(plan);
        self.jobs[plan].blank = self.blank.columns(row);
        let targets = exec.geometry().parity_columns() & !exec.columns_on_failed(plan);
        exec.decide(plan, Decision::forced(Routine::Plain, Reason::NothingLate));
        if M::CARRIES_DATA {
            for column in columns(targets) {
                if let Some(page) = self.parity_memory.page(row, column - exec.geometry().data) {
                    exec.copy_to_new(plan, column, page, exec.whole_page());
                }
            }
        }
        if targets != 0 && !exec.has_bug(Bug::KeptParityNotWritten) {
            exec.push_operations(plan, targets, OperationKind::Write, |_| Class::Parity, place);
            exec.acknowledge_here(plan);
        }
    }

    /// The update `plan` of a row is over: its parity stays in persistent memory, or is on the members.
    #[inline]
    pub(crate) fn end_parity<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if self.parity_memory.slots.is_empty() {
            return;
        }
        let Plan { row, purpose, is_abandoned, .. } = *exec.plan(plan);
        let PlanState { keeps_parity, .. } = self.jobs[plan];
        let is_kept = self.parity_memory.keeps(row);
        if is_abandoned && purpose == Purpose::Write && is_kept && exec.changed_by(plan).0 == 0 {
            return;
        }
        if !keeps_parity || is_abandoned {
            return self.forget_parity(row, exec);
        }
        if is_kept && exec.has_bug(Bug::KeptParityNotUpdated) {
            return;
        }
        self.store_parity(plan, exec.geometry().parity_columns(), exec);
        self.parity_memory.updated(row);
    }

    /// Moves the parity that `plan` has computed for columns `made` to persistent memory.
    pub(crate) fn store_parity<M: Memory>(&mut self, plan: PlanId, made: u64, exec: &mut Executor<M>) {
        let row = exec.plan(plan).row;
        if !M::CARRIES_DATA {
            return;
        }
        for column in columns(made) {
            let new = exec.buffer(plan, column, Version::New);
            exec.adopt_buffer(plan, column, NONE);
            let Some(page) = self.parity_memory.page_mut(row, column - exec.geometry().data) else { return };
            let before = std::mem::replace(page, new);
            if before != NONE {
                exec.memory_mut().give(before);
            }
        }
    }

    /// Drops the parity of `row` from persistent memory, if it is there.
    pub(crate) fn forget_parity<M: Memory>(&mut self, row: RowNo, exec: &mut Executor<M>) {
        for nth in 0..exec.geometry().parity() {
            let page = self.parity_memory.page_mut(row, nth).map(|page| std::mem::replace(page, NONE));
            page.filter(|&page| page != NONE).into_iter().for_each(|page| exec.memory_mut().give(page));
        }
        self.parity_memory.forget(row);
    }

    /// Starts to write all parity in memory to the members.
    pub(crate) fn drain_parity_memory(&mut self) {
        self.parity_memory.is_draining = self.parity_memory.rows.count() > 0;
    }

    /// Starts to write the parity of one row to the members, if there is too little room for others. Returns false if there is
    /// nothing to do or no plan is free.
    pub(crate) fn leave_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if !exec.has_free_plan() || self.parity_memory.slots.is_empty() {
            return false;
        }
        let Some(slot) = self.parity_memory.due() else {
            self.parity_memory.is_draining = false;
            return false;
        };
        let row = self.parity_memory.slots[slot as usize].row;
        self.parity_memory.slots[slot as usize].is_leaving = true;
        self.parity_memory.leaving += 1;
        self.parity_memory.is_pressed = false;
        let plan = self.take_plan(row, UpdateParity, exec);
        exec.acquire(plan, RowLock::Exclusive, self, driver);
        true
    }
}
