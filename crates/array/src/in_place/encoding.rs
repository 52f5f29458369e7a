//! Requests over a placement that buffers the chunks of a row until it can be encoded.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{NONE, PlanId, RequestId, RowNo};
use stripewise_core::memory::{Memory, Persistence};
use stripewise_core::request::RequestKind;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Purpose;
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::{Executor, Split};

use crate::in_place::InPlace;
use crate::in_place::job::Write;

impl InPlace {
    /// [`Self::split`] row by row: a row that was never encoded is in controller memory, or is not stored.
    pub(crate) fn split_encoding<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        kind: RequestKind,
        is_bounded: bool,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Split {
        loop {
            let mut cursor = exec.request(id).cursor;
            let Some(piece) = cursor.next(exec.geometry()) else { return Split::Done };
            let (row, mask) = (piece.row, stripewise_exec::split::mask_of(&piece));
            let Some(encode) = &self.encode else { return Split::Done };
            if encode.is_begun(row) {
                let overlooks = exec.has_bug(Bug::FreshRowRead);
                let lock = if encode.is_fresh(row) && !overlooks { RowLock::Shared } else { RowLock::None };
                if !self.may_split(kind, row, mask, exec) {
                    return Split::WantsPlans;
                }
                if is_bounded && !exec.has_room_for(kind, row, mask) {
                    return Split::WantsRoom;
                }
                exec.request_mut(id).cursor = cursor;
                match kind {
                    RequestKind::Read => self.read_row(id, row, mask, lock, exec, driver),
                    RequestKind::Write => self.write_row(id, row, mask, exec, driver),
                    RequestKind::Trim => self.trim_row(id, row, mask, exec, driver),
                    RequestKind::Flush => unreachable!("flushes touch no rows"),
                }
                continue;
            }
            if kind == RequestKind::Write {
                // The write may complete the row.
                if !exec.has_free_plan() {
                    return Split::WantsPlans;
                }
                if !encode.has_place(row)
                    && let Some((oldest, _)) = encode.oldest()
                {
                    self.encode_row(oldest, exec);
                    continue;
                }
            }
            exec.request_mut(id).cursor = cursor;
            match kind {
                RequestKind::Read => self.read_unencoded(id, row, mask, exec),
                RequestKind::Write => self.write_unencoded(id, row, mask, exec, driver),
                // Buffered content belongs to a row that it shares with other pages: it stays.
                RequestKind::Trim | RequestKind::Flush => {}
            }
        }
    }

    /// Serves columns `mask` of a row that was never encoded: buffered content, and zeros for the rest.
    fn read_unencoded<M: Memory>(&mut self, id: RequestId, row: RowNo, mask: u64, exec: &mut Executor<M>) {
        if !M::CARRIES_DATA {
            return;
        }
        let forgets = exec.has_bug(Bug::EncodeBufferForgotten);
        for column in columns(mask) {
            let Some(encode) = &mut self.encode else { return };
            let waits = encode.columns(row) >> column & 1 != 0 && !forgets;
            let page = encode.page_mut(row, column).filter(|_| waits).copied();
            let array_page = self.array_page(row, column, exec);
            if let Some(page) = page {
                exec.store_host(page, array_page, id);
                continue;
            }
            let zeros = exec.memory_mut().take();
            exec.memory_mut().zero(zeros);
            exec.store_host(zeros, array_page, id);
            exec.memory_mut().give(zeros);
        }
    }

    /// Buffers columns `mask` of a row that was never encoded. There must be a place for them, and a plan if they complete the
    /// row.
    fn write_unencoded<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let wait = exec.scheme().placement.encode_wait.0;
        let now = exec.now();
        let Some(encode) = &mut self.encode else { return };
        if encode.open(row, now) && wait > 0 {
            driver.set_timer(now + wait);
        }
        let before = encode.columns(row);
        let is_complete = encode.put(row, mask);
        if M::CARRIES_DATA {
            for column in columns(mask) {
                let array_page = self.array_page(row, column, exec);
                let sectors = exec.sectors_of_page(id, array_page);
                let Some(place) = self.encode.as_mut().and_then(|encode| encode.page_mut(row, column)) else {
                    return;
                };
                if before >> column & 1 == 0 {
                    *place = exec.memory_mut().take();
                    exec.memory_mut().zero(*place);
                }
                let page = *place;
                exec.load_host(page, array_page, id, sectors);
            }
        }
        if is_complete {
            self.encode_row(row, exec);
        }
    }

    /// Writes the buffered chunks of `row`, with their parity; there must be a free plan.
    fn encode_row<M: Memory>(&mut self, row: RowNo, exec: &mut Executor<M>) {
        // No plan reads or updates a row before it is encoded: its reads are served from memory.
        let taken = exec.try_lock(row, RowLock::Exclusive);
        debug_assert!(taken, "row {row} is not known yet");
        let plan = self.take_plan(row, Write, exec);
        let Some(encode) = &self.encode else { return };
        let mask = encode.columns(row);
        for column in columns(mask) {
            let place = self.encode.as_mut().and_then(|encode| encode.page_mut(row, column));
            if let Some(page) = place.map(|place| std::mem::replace(place, NONE)) {
                exec.adopt_buffer(plan, column, page);
            }
            exec.set_cover(plan, column, exec.whole_page());
        }
        if let Some(encode) = &mut self.encode {
            encode.begin(row);
        }
        exec.want(plan, mask);
        exec.wake_with(plan, RowLock::Exclusive);
    }

    /// Writes the row that has waited long enough, if there is one and a plan is free.
    #[inline]
    pub(crate) fn encode_due<M: Memory>(&mut self, exec: &mut Executor<M>) -> bool {
        let wait = exec.scheme().placement.encode_wait.0;
        let Some(encode) = &mut self.encode else { return false };
        let Some((row, since)) = encode.oldest() else {
            encode.is_draining = false;
            return false;
        };
        let is_due = encode.is_draining || wait > 0 && exec.now() >= since + wait;
        if is_due && exec.has_free_plan() {
            self.encode_row(row, exec);
            return true;
        }
        false
    }

    /// Starts to write out all buffered rows.
    pub(crate) fn drain_encode(&mut self) {
        if let Some(encode) = &mut self.encode {
            encode.is_draining = true;
        }
    }

    /// A flush drains controller memory that does not survive a loss of power: it waits for the rows that are written out now
    /// and for those in flight. Returns false if a plan or an attachment is lacking; the flush continues later.
    pub(crate) fn encode_flush_for<M: Memory>(&mut self, id: RequestId, exec: &mut Executor<M>) -> bool {
        let is_volatile = exec.scheme().placement.buffer_persistence == Persistence::Volatile;
        if self.encode.is_none() || !is_volatile || exec.request(id).drained {
            return true;
        }
        if exec.has_bug(Bug::FlushDropped) {
            return true;
        }
        // The flush also writes rows that are begun while it waits for plans, because it does not distinguish them from its
        // own. It ends nevertheless, because it takes every free plan before any write does.
        while let Some((row, _)) = self.encode.as_ref().and_then(|encode| encode.oldest()) {
            if !exec.has_free_plan() {
                return false;
            }
            self.encode_row(row, exec);
        }
        let is_first_write = |exec: &Executor<M>, plan: PlanId| {
            let plan = exec.plan(plan);
            plan.is_under_way
                && plan.purpose == Purpose::Write
                && plan.lock == RowLock::Exclusive
                && self.encode.as_ref().is_some_and(|encode| encode.is_fresh(plan.row))
        };
        if !exec.wait_for_all(id, is_first_write) {
            return false;
        }
        exec.request_mut(id).drained = true;
        true
    }

    /// The first write of a row is done: the row can be read and updated like any other.
    #[inline]
    pub(crate) fn encode_settled(&mut self, row: RowNo) {
        if let Some(encode) = &mut self.encode {
            encode.settled(row);
        }
    }

    /// Treats the rows of the first `pages` pages of the array as encoded.
    pub(crate) fn encode_assume_written<M: Memory>(&mut self, pages: u64, exec: &mut Executor<M>) {
        let stripe = u64::from(exec.geometry().data) * u64::from(exec.geometry().chunk_pages);
        let rows = pages.div_ceil(stripe) * u64::from(exec.geometry().chunk_pages);
        if let Some(encode) = &mut self.encode {
            encode.assume_encoded(rows);
        }
    }
}
