//! Splitting host requests into plans, one for each row that they touch.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RequestId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_core::request::RequestKind;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::split::mask_of;
use stripewise_exec::{Built, Executor, Split};
use stripewise_policy::cache::PreParity;
use stripewise_scheme::Merge;

use crate::in_place::InPlace;
use crate::in_place::job::{Flush, Read, Trim, Write};
use crate::job::{BuildResult, Cx, Job};

impl InPlace {
    /// Builds plans for the rest of request `id`, as far as possible.
    #[inline]
    pub(crate) fn split<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Split {
        let kind = exec.request(id).host.kind;
        let over = |is_done| if is_done { Split::Done } else { Split::WantsPlans };
        if self.resync.is_some() && !exec.has_bug(Bug::ResyncNotAwaited) {
            return Split::WantsPlans;
        }
        if kind == RequestKind::Flush {
            return over(self.split_flush(id, exec, driver));
        }
        if self.gather.is_some() {
            return over(self.split_gathering(id, exec, driver));
        }
        if self.zones.is_some() {
            return self.split_zones(id, kind, exec, driver);
        }
        exec.set_splitting(id);
        let split = self.split_rows(id, kind, exec, driver);
        exec.set_splitting(RequestId::NONE);
        split
    }

    /// Like [`Self::split`], row by row.
    #[inline]
    fn split_rows<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        kind: RequestKind,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Split {
        // Writes that go to memory need no member.
        let is_bounded = exec.limits_queues() && (kind != RequestKind::Write || self.cache.is_none());
        if self.encode.is_some() {
            return self.split_encoding(id, kind, is_bounded, exec, driver);
        }
        loop {
            let mut cursor = exec.request(id).cursor;
            let Some(piece) = cursor.next(exec.geometry()) else { return Split::Done };
            let mask = mask_of(&piece);
            if !self.may_split(kind, piece.row, mask, exec) {
                return Split::WantsPlans;
            }
            if is_bounded && !exec.has_room_for(kind, piece.row, mask) {
                return Split::WantsRoom;
            }
            exec.request_mut(id).cursor = cursor;
            match kind {
                RequestKind::Read => self.read_row(id, piece.row, mask, RowLock::None, exec, driver),
                RequestKind::Write => self.write_row(id, piece.row, mask, exec, driver),
                RequestKind::Trim => self.trim_row(id, piece.row, mask, exec, driver),
                RequestKind::Flush => unreachable!("flushes touch no rows"),
            }
        }
    }

    /// Reads columns `mask` of `row` for request `id`.
    pub(crate) fn read_row<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        lock: RowLock,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let mask = self.read_cached(id, row, mask, exec);
        if mask == 0 {
            return;
        }
        let plan = self.take_plan(row, Read, exec);
        exec.want(plan, mask);
        exec.attach(plan, id);
        if lock != RowLock::None {
            // Content that leaves the cache while the read waits might reach the member after the read.
            self.note_cached(plan, exec);
        } else if self.goes_straight(exec) {
            exec.take_turn(plan, lock);
            return exec.begin_straight(plan, OperationKind::Read, Class::HostRead, self, driver);
        }
        exec.acquire(plan, lock, self, driver);
    }

    /// Whether a read of a row needs no more than its operations. A write that has the row needs no more either, if there is no
    /// parity and it covers whole pages.
    #[inline]
    fn goes_straight<M: Memory>(&self, exec: &Executor<M>) -> bool {
        self.only_plans
            && self.resync.is_none()
            && self.roster.is_none()
            && self.blank.is_off()
            && exec.may_go_straight()
    }

    /// Writes columns `mask` of `row` for request `id`: joins an update that waits for the row, or makes a new one.
    pub(crate) fn write_row<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let absorbs = self.makes_parity_first(exec);
        // Only in simulations without bytes: the content is in no memory before its parity is.
        let is_behind = absorbs && exec.scheme().cache.pre_parity == PreParity::BehindAck;
        if self.cache.is_some() && !absorbs {
            self.write_cached(id, row, mask, exec);
            return self.cached_in_zones(id, row, mask, exec);
        }
        let skips = if absorbs { Bug::AbsorbNotHeld } else { Bug::HoldSkipped };
        if exec.has_bug(skips) {
            let plan = self.take_plan(row, Write, exec);
            self.cover(plan, id, mask, exec);
            self.moves_in_zones(plan, id, mask, exec);
            exec.attach(plan, id);
            if absorbs {
                self.absorbs(plan, exec);
            }
            exec.begin(plan, self, driver);
            return;
        }
        let lock = self.update_lock(Purpose::Write, exec);
        let taken = exec.try_lock(row, lock);
        if taken || !self.merge(id, row, mask, is_behind, exec) {
            let plan = self.take_plan(row, Write, exec);
            exec.take_turn(plan, lock);
            self.cover(plan, id, mask, exec);
            self.moves_in_zones(plan, id, mask, exec);
            if !(is_behind || absorbs && exec.has_bug(Bug::AcknowledgedBeforeCached)) {
                exec.attach(plan, id);
            }
            if absorbs {
                self.absorbs(plan, exec);
            }
            let is_straight =
                exec.geometry().parity() == 0 && self.jobs[plan].partial == 0 && self.goes_straight(exec);
            match (taken, is_straight) {
                (true, true) => {
                    exec.begin_straight(plan, OperationKind::Write, Class::HostWrite, self, driver)
                }
                (true, false) => exec.begin(plan, self, driver),
                (false, _) => exec.wait(plan),
            }
        }
        if self.window.is_open() {
            self.enter_window(id, row, mask, exec, driver);
        }
    }

    /// Whether there are enough plans to split one more row of a request: with a parity window, a write may make parity
    /// updates due. And requests that wait for room in the journal must leave plans for the parity updates that free it.
    #[inline]
    pub(crate) fn has_plans_for<M: Memory>(&self, kind: RequestKind, exec: &Executor<M>) -> bool {
        let waits = kind == RequestKind::Write || kind == RequestKind::Trim && self.journal.is_some();
        if !waits || !self.window.is_open() {
            return exec.has_free_plan();
        }
        exec.has_free_plans(exec.geometry().data + 1)
    }

    /// Merges a write into the last update that waits for `row`, if there is one.
    fn merge<M: Memory>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        is_behind: bool,
        exec: &mut Executor<M>,
    ) -> bool {
        if exec.scheme().parity.merge == Merge::Off {
            return false;
        }
        let waiting = exec.last_waiter(row);
        if waiting.is_none()
            || exec.plan(waiting).purpose != Purpose::Write
            || self.jobs[waiting].carried != 0
            || !exec.has_attachments(1)
        {
            return false;
        }
        self.cover(waiting, id, mask, exec);
        self.moves_in_zones(waiting, id, mask, exec);
        if exec.plan(waiting).ends_in_memory {
            self.absorbs(waiting, exec);
        }
        if !is_behind && !exec.has_bug(Bug::AcknowledgeMerged) {
            exec.attach(waiting, id);
        }
        true
    }

    /// Trims columns `mask` of `row` for request `id`, as far as parity allows.
    pub(crate) fn trim_row<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        // With parity, only a whole row can be trimmed, or its parity would no longer match.
        let partial = self.partial_columns(id, row, mask, exec);
        let mask = mask & !partial;
        let whole = exec.geometry().parity() == 0 || mask == exec.geometry().data_columns();
        if !exec.members().discard || mask == 0 || !whole || self.cached_columns(row) != 0 {
            return;
        }
        let plan = self.take_plan(row, Trim, exec);
        exec.want(plan, mask);
        exec.attach(plan, id);
        exec.acquire(plan, RowLock::Exclusive, self, driver);
    }

    /// A flush first drains volatile controller memory, then flushes every member.
    fn split_flush<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if exec.reads_only() {
            return true;
        }
        let is_drained = self.gather_flush_for(id, exec)
            && self.encode_flush_for(id, exec)
            && self.cache_flush_for(id, exec, driver)
            && self.flush_deferred_for(id, exec, driver);
        if !is_drained {
            return false;
        }
        !exec.wants_members_flushed(id, self) || exec.flush_members(id, self, driver)
    }

    /// Whether updates in place write to the journal or the bitmap first.
    pub(crate) fn writes_ahead(&self) -> bool {
        self.journal.is_some() || self.intent.is_some()
    }

    /// Builds the steps of a trim.
    fn build_trim<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, place, wanted, .. } = *exec.plan(plan);
        if self.cached_columns(row) != 0 {
            // The content was written again, or is in flight, while this plan waited.
            exec.abandon(plan);
            return;
        }
        let parity = exec.geometry().parity_columns();
        // Deferred content is trimmed with the rest of the row.
        self.take_late(plan, exec);
        let mut targets = (wanted | parity) & !exec.columns_on_failed(plan);
        if exec.has_bug(Bug::TrimKeepsParity) {
            targets &= !parity;
        }
        if self.writes_ahead() && targets != 0 {
            exec.push_journal_wait(plan);
        }
        exec.push_operations(plan, targets, OperationKind::Trim, |_| Class::Metadata, place);
        exec.acknowledge_here(plan);
    }

    /// Builds the steps of a flush.
    fn build_flush<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        exec.build_flush_of(plan, |_| true);
        if let Some(intent) = &mut self.intent {
            // Content written without a missing member is durable once metadata records that the member is missing.
            exec.push_journal_wait(plan);
            exec.acknowledge_here(plan);
            intent.flush_begun();
        }
    }

    /// Adds columns `mask`, as far as request `id` covers them, to the writes of `plan`, bytes included.
    pub(crate) fn cover<M: Memory>(
        &mut self,
        plan: PlanId,
        id: RequestId,
        mask: u64,
        exec: &mut Executor<M>,
    ) {
        let row = exec.plan(plan).row;
        let partial = self.partial_columns(id, row, mask, exec);
        let before = exec.plan(plan).wanted;
        if M::CARRIES_DATA || (partial | before) != 0 {
            for column in columns(mask) {
                let bit = 1 << column;
                let mut sectors = exec.whole_page();
                if partial & bit != 0 {
                    sectors = exec.sectors_of_page(id, self.array_page(row, column, exec));
                }
                self.load_sectors(plan, column, id, sectors, before & bit != 0, exec);
                let cover = if before & bit != 0 { exec.cover(plan, column) | sectors } else { sectors };
                exec.set_cover(plan, column, cover);
                exec.want_also(plan, bit);
                let partial = &mut self.jobs[plan].partial;
                *partial = if cover == exec.whole_page() { *partial & !bit } else { *partial | bit };
            }
        } else {
            exec.want(plan, mask);
            // A later merge needs the covered sectors; without merges they are not used.
            for column in columns(mask) {
                exec.set_cover(plan, column, exec.whole_page());
            }
        }
    }

    /// Those of columns `mask` of `row` that request `id` covers only in part.
    #[inline]
    pub(crate) fn partial_columns<M: Memory>(
        &self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        exec: &Executor<M>,
    ) -> u64 {
        if !exec.request(id).in_part {
            return 0;
        }
        columns(mask)
            .filter(|&column| {
                exec.sectors_of_page(id, self.array_page(row, column, exec)) != exec.whole_page()
            })
            .fold(0, |partial, column| partial | 1 << column)
    }
}

impl Job<InPlace> for Trim {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_trim(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, driver: &mut impl Driver<M>) {
        cx.placement.release_versions(cx.plan, cx.exec, driver);
        let Plan { row, is_abandoned, .. } = *cx.exec.plan(cx.plan);
        if !is_abandoned {
            cx.placement.window.set_stale(row, false);
            cx.placement.forget_row(row, cx.exec);
            cx.placement.forget_parity(row, cx.exec);
        }
    }
}

impl Job<InPlace> for Flush {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_flush(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, _driver: &mut impl Driver<M>) {
        if let Some(intent) = &mut cx.placement.intent {
            intent.flush_over();
        }
    }
}
