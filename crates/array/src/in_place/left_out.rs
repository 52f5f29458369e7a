//! Updates of rows with columns that parity takes for zeros, and which columns these are after an update.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_exec::Executor;
use stripewise_exec::bytes::Version;
use stripewise_exec::plan::Plan;
use stripewise_policy::update::Routine;

use crate::in_place::InPlace;
use crate::in_place::job::PlanState;

impl InPlace {
    /// Data columns of the plan's row that its update can leave out by encoding the row, besides those that it writes: parity
    /// takes them for zeros already, or they are free. Content of a free page that the write cache still has is left as it is.
    pub(crate) fn left_out<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let Plan { row, wanted, dirty, .. } = *exec.plan(plan);
        let blank = self.blank.columns(row);
        let Some(zones) = self.zones.as_ref().filter(|_| !self.blank.is_off() && !self.blank.is_home(row))
        else {
            return blank;
        };
        if self.parity_memory.keeps(row) {
            return blank;
        }
        let others = exec.geometry().data_columns() & !(wanted | dirty | blank | self.cached_columns(row));
        let takes_left = exec.has_bug(Bug::LeftColumnsLeftOut);
        let is_free = |&column: &u32| {
            let page = exec.geometry().array_page(row, column);
            zones.is_free(page) || takes_left && zones.place(zones.owner(page)) != page
        };
        columns(others).filter(is_free).fold(blank, |mask, column| mask | 1 << column)
    }

    /// After a loss of power, and before the parity of all rows is computed again: pages that the map of zones names may have
    /// been written by updates whose parity was not. Parity takes none of them for zeros.
    pub(crate) fn count_named_pages<M: Memory>(&mut self, exec: &Executor<M>) {
        let Some(zones) = self.zones.as_ref().filter(|_| !self.blank.is_off()) else { return };
        for row in exec.geometry().all_rows() {
            let is_named = |&column: &u32| {
                let page = exec.geometry().array_page(row, column);
                zones.place(zones.owner(page)) == page
            };
            let blank = self.blank.columns(row);
            let named = columns(blank).filter(is_named).fold(0, |mask, column| mask | 1 << column);
            self.blank.set(row, blank & !named);
        }
    }

    /// Columns that the plan's update writes for the first time since they were free, while parity covers their old content.
    pub(crate) fn reopened<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let Plan { row, .. } = *exec.plan(plan);
        let PlanState { moves, .. } = self.jobs[plan];
        if self.blank.is_off() || self.blank.is_home(row) { 0 } else { moves & !self.blank.columns(row) }
    }

    /// Before a computation of `plan`: the columns that parity takes for zeros have zeros as their old content.
    pub(crate) fn fill_blank<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, decision, .. } = *exec.plan(plan);
        let PlanState { job, blank, .. } = self.jobs[plan];
        let mut zeros = self.blank.columns(row);
        if job.facts().is_update && decision.routine == Routine::Rcw {
            zeros |= blank;
        }
        for column in columns(zeros) {
            let page = exec.buffer(plan, column, Version::Old);
            exec.memory_mut().zero(page);
        }
    }

    /// The update `plan` of a row is over: its parity takes other columns for zeros from now on.
    #[inline]
    pub(crate) fn end_blank<M: Memory>(&mut self, plan: PlanId, exec: &Executor<M>) {
        let Plan { row, is_abandoned, wanted, .. } = *exec.plan(plan);
        let PlanState { job, blank, .. } = self.jobs[plan];
        // An update that was abandoned before it wrote has changed nothing.
        let has_written = !is_abandoned || exec.changed_by(plan).0 != 0;
        if self.blank.is_off() || !has_written || !job.facts().is_update {
            return;
        }
        let blank =
            if exec.has_bug(Bug::FreeColumnsForgotten) { self.blank.columns(row) & !wanted } else { blank };
        self.blank.set(row, blank);
    }
}
