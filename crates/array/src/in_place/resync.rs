//! Loss of power: the initial state of a new controller over the same members, and resync of parity.
//!
//! Without persistent memory, the controller does not know which rows were being updated, and their parity may not match their
//! data: the write hole of RAID-5 and RAID-6. All rows are walked before the first request is issued, as Linux md does after
//! an unclean shutdown. A row that has also lost a chunk cannot be repaired: its parity may decode to content that was never
//! written.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RowNo};
use stripewise_core::memory::{Memory, PageId};
use stripewise_core::operation::{Class, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::{AfterErrors, Built, Executor};
use stripewise_policy::cache::Cache;
use stripewise_policy::update::{Decision, Reason, Routine};

use crate::in_place::InPlace;
use crate::in_place::job::{PlanState, RedoUpdate, ResyncRow};
use crate::job::{BuildResult, Cx, Job};

/// An interrupted update or trim of a row.
#[derive(Debug)]
struct Redo {
    row: RowNo,
    written: u64,
    trimmed: u64,
    /// The pages to write, by column.
    pages: Vec<(u32, PageId)>,
}

/// The resync work after a loss of power: first the updates in persistent memory, then perhaps all rows in turn.
#[derive(Debug, Default)]
pub(crate) struct Resync {
    redo: Vec<Redo>,
    /// The next row to resync.
    next: u64,
    /// Number of rows being resynced.
    under_way: u32,
}

impl Resync {
    /// This work, and all rows from `next` on.
    pub(crate) fn starting_at(self, next: u64) -> Self {
        Self { next, ..self }
    }
}

impl InPlace {
    /// Collects from persistent memory the updates that had begun to write, and the trims that had begun: they are done again,
    /// because a row that has lost a chunk cannot be repaired otherwise.
    pub(crate) fn interrupted<M: Memory>(&mut self, exec: &mut Executor<M>) -> Resync {
        // Work that was to be redone after the previous loss of power, and has not begun.
        let mut redo = self.resync.take().map_or_else(Vec::new, |resync| resync.redo);
        for plan in exec.plans().ids() {
            let slot = *exec.plan(plan);
            let is_meant = slot.purpose == Purpose::Trim
                || slot.purpose == Purpose::Write && self.jobs[plan].carried != 0;
            let is_again = slot.purpose == Purpose::Redo;
            if !slot.is_under_way || slot.lock != RowLock::Exclusive || !(is_meant || is_again) {
                continue;
            }
            if slot.is_abandoned && exec.geometry().parity() > 0 {
                self.window.set_stale(slot.row, true);
            }
            let (written, trimmed) = exec.changed_by(plan);
            if written | trimmed == 0 || exec.has_bug(Bug::RedoForgotten) {
                continue;
            }
            if slot.purpose == Purpose::Write && written != 0 {
                self.end_blank(plan, exec);
            }
            let pages = columns(written).map(|column| (column, exec.copy_of_new(plan, column))).collect();
            redo.push(Redo { row: slot.row, written, trimmed, pages });
        }
        Resync { redo, ..Resync::default() }
    }

    /// Frees all page buffers except those of the cache, if it `is_kept`.
    pub(crate) fn erase_memory<M: Memory>(&mut self, is_kept: bool, exec: &mut Executor<M>) -> Option<Cache> {
        exec.plans().ids().for_each(|plan| self.keep_cached(plan, exec));
        exec.plans().ids().for_each(|plan| exec.return_buffers(plan));
        let cache = self.cache.take()?;
        let forgets = is_kept && exec.has_bug(Bug::PersistentCacheLost);
        if (is_kept || exec.has_bug(Bug::VolatileCacheKept)) && !forgets {
            return Some(cache);
        }
        for chunk in cache.store.iter().filter(|_| M::CARRIES_DATA) {
            exec.memory_mut().give(chunk.page);
        }
        None
    }

    /// Schedules a resync of all rows that may be unclean; no request is issued before it ends.
    pub(crate) fn resync_from_start(&mut self) {
        self.resync = Some(Resync::default());
    }

    /// Continues with the next row, if a plan is free. Returns false if there is nothing to do.
    pub(crate) fn resync_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let Some(resync) = &mut self.resync else { return false };
        if !exec.has_free_plan() {
            return false;
        }
        if let Some(redo) = resync.redo.pop() {
            resync.under_way += 1;
            self.redo(&redo, exec, driver);
            return true;
        }
        let mut row = resync.next;
        while row < exec.geometry().rows() && !self.may_be_unclean(RowNo::new(row), exec) {
            row += 1;
        }
        let Some(resync) = &mut self.resync else { return false };
        resync.next = row;
        if row == exec.geometry().rows() {
            let is_over = resync.under_way == 0;
            if is_over {
                self.resync = None;
            }
            return is_over;
        }
        resync.next += 1;
        resync.under_way += 1;
        let plan = self.take_plan(RowNo::new(row), ResyncRow { unread: 0 }, exec);
        exec.acquire(plan, RowLock::Exclusive, self, driver);
        true
    }

    fn redo<M: Memory, D: Driver<M>>(&mut self, redo: &Redo, exec: &mut Executor<M>, driver: &mut D) {
        let plan = self.take_plan(redo.row, RedoUpdate, exec);
        exec.want(plan, redo.written);
        exec.add_dirty(plan, redo.trimmed);
        redo.pages.iter().for_each(|&(column, page)| exec.adopt_buffer(plan, column, page));
        exec.acquire(plan, RowLock::Exclusive, self, driver);
    }

    /// Builds the steps of a plan that repeats an interrupted update.
    fn build_redo<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let failed = exec.columns_on_failed(plan);
        let Plan { wanted, dirty, place, .. } = *exec.plan(plan);
        let data = exec.geometry().data;
        let class = move |column| if column < data { Class::HostWrite } else { Class::Parity };
        exec.push_operations(plan, wanted & !failed, OperationKind::Write, class, place);
        exec.push_operations(plan, dirty & !failed, OperationKind::Trim, |_| Class::Metadata, place);
        exec.acknowledge_here(plan);
    }

    /// Builds the steps of resyncing a row: read all data, decode unreadable data, and write the parity columns that decoding
    /// did not use. Data on working members that had to be decoded is written back.
    fn build_resync<M: Memory>(&mut self, plan: PlanId, unread: u64, exec: &mut Executor<M>) {
        // Parity may be wrong: before the plan trusts it, columns that returned an error are read a second time.
        let believes = exec.has_bug(Bug::ResyncBelievesParity);
        let Plan { row, place, lost, .. } = *exec.plan(plan);
        if lost & !unread != 0 && !believes {
            self.jobs[plan].job = ResyncRow { unread: unread | lost }.into();
            exec.forget_losses(plan);
        }
        let held = self.take_covered(plan, exec) | self.blank.columns(row);
        let lost = self.lost_columns(plan, exec) & !held;
        let failed = exec.columns_on_failed(plan);
        let is_beyond = lost.count_ones() > exec.geometry().parity();
        exec.miss(plan, lost);
        if is_beyond {
            exec.abandon(plan);
            exec.decide(plan, Decision::forced(Routine::Plain, Reason::ParityLost));
            return self.window.set_stale(row, true);
        }
        let (data, parity) = (exec.geometry().data_columns(), exec.geometry().parity_columns());
        let sources = exec.sources(lost);
        let repaired = lost & data & !failed;
        let in_memory = self.take_parity(plan, exec);
        let targets = parity & !sources & !(failed & !in_memory);
        if targets | repaired == 0 {
            return exec.decide(plan, Decision::forced(Routine::Plain, Reason::ParityLost));
        }
        let routine = if lost & data == 0 { Routine::Rcw } else { Routine::Reconstruct };
        exec.decide(plan, Decision::forced(routine, Reason::Unclean));
        exec.push_operations(
            plan,
            sources & !(held | in_memory),
            OperationKind::Read,
            |_| Class::PreRead,
            place,
        );
        let encoded = targets.count_ones() * (exec.geometry().data - 1);
        let pages = exec.decoded_pages(lost) + encoded as u16;
        exec.push_compute(plan, pages);
        if repaired != 0 {
            exec.push_operations(plan, repaired, OperationKind::Write, |_| Class::Repair, place);
        }
        self.jobs[plan].keeps_parity = in_memory != 0;
        if targets & !in_memory != 0 {
            exec.push_operations(plan, targets, OperationKind::Write, |_| Class::Parity, place);
        }
        exec.acknowledge_here(plan);
    }

    /// The end of a row's resync.
    fn row_resynced<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { missing, .. } = *exec.plan(plan);
        let PlanState { keeps_parity, .. } = self.jobs[plan];
        if self.row_redone(plan, exec) {
            self.forget_cached_parity(plan, exec);
            if keeps_parity {
                let made = exec.geometry().parity_columns() & !exec.sources(missing);
                self.store_parity(plan, made, exec);
            }
        }
    }

    /// The end of work on a row after a loss of power. Returns whether it was done.
    fn row_redone<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> bool {
        let Plan { row, is_abandoned, .. } = *exec.plan(plan);
        if is_abandoned {
            self.window.set_stale(row, true);
            // It may cover data that never reached its member.
            self.forget_parity(row, exec);
        }
        if let Some(resync) = &mut self.resync {
            resync.under_way -= 1;
        }
        !is_abandoned
    }

    /// Drops cached parity of the row: recomputed parity is on its members, and the cached version is older. Parity that was
    /// not recomputed because its member is gone is invalid too: the data that it covers may never have reached its members.
    fn forget_cached_parity<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, missing, .. } = *exec.plan(plan);
        let made = exec.geometry().parity_columns() & !exec.sources(missing);
        for column in columns(made) {
            let page = self.cache.as_mut().and_then(|cache| cache.drop_chunk(row, column));
            if let Some(page) = page.filter(|_| M::CARRIES_DATA) {
                exec.memory_mut().give(page);
            }
        }
    }
}

impl Job<InPlace> for ResyncRow {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_resync(cx.plan, self.unread, cx.exec);
        Ok(Built::Ready)
    }

    #[inline]
    fn combine<M: Memory>(self, cx: Cx<'_, InPlace, M>) {
        cx.placement.combine_update(cx.plan, cx.exec);
    }

    fn step_failed<M: Memory>(self, cx: Cx<'_, InPlace, M>) -> AfterErrors {
        cx.placement.update_failed(cx.plan, cx.exec)
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.row_resynced(cx.plan, cx.exec);
    }
}

impl Job<InPlace> for RedoUpdate {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_redo(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        cx.placement.row_redone(cx.plan, cx.exec);
    }
}
