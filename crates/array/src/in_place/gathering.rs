//! Requests over a placement that gathers first writes into full stripes.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RequestId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::request::RequestKind;
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::row_locks::RowLock;

use crate::in_place::InPlace;
use crate::in_place::gather::Waiting;
use crate::in_place::job::Write;

impl InPlace {
    /// [`Self::split`] page by page: each page may lie in a row of its own, in controller memory, or nowhere.
    pub(crate) fn split_gathering<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let kind = exec.request(id).host.kind;
        let overlooks = exec.has_bug(Bug::FreshRowRead);
        while let Some(page) = exec.request(id).cursor.first_page() {
            let end = exec.request(id).cursor.end_page();
            let Some(gather) = &mut self.gather else { return true };
            let run = run_of_row(gather, page, end);
            // A page without a row takes a page of memory, as if in a row of its own.
            let (row, mask) = run.map_or((RowNo::NONE, 1), |(row, mask, _)| (row, mask));
            if !self.has_plans_for(kind, exec) || !self.may_split(kind, row, mask, exec) {
                return false;
            }
            let Some(gather) = &self.gather else { return true };
            if let Some((row, mask, pages)) = run {
                let lock = if gather.is_fresh(row) && !overlooks { RowLock::Shared } else { RowLock::None };
                exec.request_mut(id).cursor = exec.request(id).cursor.skip(pages);
                match kind {
                    RequestKind::Read => self.read_row(id, row, mask, lock, exec, driver),
                    RequestKind::Write => self.write_row(id, row, mask, exec, driver),
                    RequestKind::Trim => self.trim_row(id, row, mask, exec, driver),
                    RequestKind::Flush => unreachable!("flushes touch no rows"),
                }
                continue;
            }
            exec.request_mut(id).cursor = exec.request(id).cursor.skip(1);
            match kind {
                RequestKind::Read => self.read_from_memory(id, page, exec),
                RequestKind::Write => self.first_write(id, page, exec, driver),
                // Buffered content will share its row with other pages: it stays.
                RequestKind::Trim | RequestKind::Flush => {}
            }
        }
        true
    }

    /// Serves a page that waits in controller memory, or zeros if it was never written.
    fn read_from_memory<M: Memory>(&mut self, id: RequestId, page: u64, exec: &mut Executor<M>) {
        if !M::CARRIES_DATA {
            return;
        }
        let Some(gather) = &self.gather else { return };
        if let Some(position) = gather.position(page) {
            exec.store_host(gather.waiting[position].buffer, page, id);
        } else {
            let zeros = exec.memory_mut().take();
            exec.memory_mut().zero(zeros);
            exec.store_host(zeros, page, id);
            exec.memory_mut().give(zeros);
        }
    }

    /// Accepts the first write of a page: into a hole of a short row, or into the buffered pages.
    fn first_write<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        page: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let sectors = exec.sectors_of_page(id, page);
        let Some(gather) = &mut self.gather else { return };
        if let Some(position) = gather.position(page) {
            let buffer = gather.waiting[position].buffer;
            return exec.load_host(buffer, page, id, sectors);
        }
        if let Some((row, column)) = gather.fill_hole(page) {
            return self.write_row(id, row, 1 << column, exec, driver);
        }
        let buffer = if M::CARRIES_DATA { exec.memory_mut().take() } else { 0 };
        if M::CARRIES_DATA {
            exec.memory_mut().zero(buffer);
        }
        exec.load_host(buffer, page, id, sectors);
        let wait = exec.scheme().placement.gather_wait.0;
        let Some(gather) = &mut self.gather else { return };
        if gather.waiting.is_empty() && wait > 0 {
            gather.since = exec.now();
            driver.set_timer(exec.now() + wait);
        }
        gather.waiting.push(Waiting { page, buffer });
        if gather.is_full() {
            self.write_gathered(exec);
        }
    }

    /// Writes the buffered pages as one stripe; there must be a free plan.
    fn write_gathered<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let Some(gather) = &mut self.gather else { return };
        let row = gather.close();
        let count = gather.waiting.len() as u32;
        let taken = exec.try_lock(row, RowLock::Exclusive);
        debug_assert!(taken, "row {row} is not known yet");
        let plan = self.take_plan(row, Write, exec);
        for column in 0..count {
            let Some(gather) = &self.gather else { break };
            let buffer = gather.waiting[column as usize].buffer;
            exec.adopt_buffer(plan, column, buffer);
            exec.set_cover(plan, column, exec.whole_page());
        }
        if let Some(gather) = &mut self.gather {
            gather.waiting.clear();
            gather.overdue = false;
            gather.begun(row, plan);
        }
        exec.want(plan, u64::MAX >> (64 - count));
        exec.wake_with(plan, RowLock::Exclusive);
    }

    /// Writes out the buffered pages, if there are any and a plan is free.
    pub(crate) fn gather_flush<M: Memory>(&mut self, exec: &mut Executor<M>) {
        if self.gather.as_ref().is_some_and(|gather| !gather.waiting.is_empty()) && exec.has_free_plan() {
            self.write_gathered(exec);
        }
    }

    /// Handles the timer: writes out pages that have waited long enough, or does so once a plan is free.
    pub(crate) fn gather_timer<M: Memory>(&mut self, exec: &mut Executor<M>) {
        let wait = exec.scheme().placement.gather_wait.0;
        let Some(gather) = &mut self.gather else { return };
        if wait > 0 && !gather.waiting.is_empty() && exec.now() >= gather.since + wait {
            gather.overdue = true;
            self.gather_flush(exec);
        }
    }

    /// A plan became free: it goes first to pages that have waited long enough.
    pub(crate) fn gather_overdue<M: Memory>(&mut self, exec: &mut Executor<M>) {
        if self.gather.as_ref().is_some_and(|gather| gather.overdue) {
            self.gather_flush(exec);
        }
    }

    /// A flush drains controller memory that does not survive a loss of power: it waits for the pages that are written out now
    /// and for the rows in flight. Returns false if a plan or an attachment is lacking; the flush continues later.
    pub(crate) fn gather_flush_for<M: Memory>(&mut self, id: RequestId, exec: &mut Executor<M>) -> bool {
        let is_volatile =
            exec.scheme().placement.buffer_persistence == stripewise_core::memory::Persistence::Volatile;
        let Some(gather) = &self.gather else { return true };
        if !is_volatile || exec.request(id).drained || exec.has_bug(Bug::FlushDropped) {
            return true;
        }
        if !gather.waiting.is_empty() {
            if !exec.has_free_plan() {
                return false;
            }
            self.write_gathered(exec);
        }
        let is_fresh = |_: &Executor<M>, plan: PlanId| {
            self.gather.as_ref().is_some_and(|gather| gather.fresh_plans().any(|fresh| fresh == plan))
        };
        if !exec.wait_for_all(id, is_fresh) {
            return false;
        }
        exec.request_mut(id).drained = true;
        true
    }

    /// The first write of a row is done: reads need no longer wait for it.
    pub(crate) fn gather_settled(&mut self, row: RowNo) {
        if let Some(gather) = &mut self.gather {
            gather.settled(row);
        }
    }
}

/// The row of `page`, the columns that consecutive pages from `page` on (before `end`) have in that row, and their number.
fn run_of_row(gather: &crate::in_place::gather::Gather, page: u64, end: u64) -> Option<(RowNo, u64, u64)> {
    let (row, column) = gather.slot(page)?;
    let mut mask = 1u64 << column;
    let mut next = page + 1;
    while next < end
        && let Some((same, column)) = gather.slot(next)
        && same == row
    {
        mask |= 1 << column;
        next += 1;
    }
    debug_assert_eq!(u64::from(columns(mask).count() as u32), next - page);
    Some((row, mask, next - page))
}
