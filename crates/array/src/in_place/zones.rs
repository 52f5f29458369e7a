//! Requests over zones: the host's pages are translated, run by run, to pages of the array; blocks that are evicted from a
//! full zone are read and written by the controller itself.

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::geometry::RowCursor;
use stripewise_core::ids::{PlanId, RequestId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::Class;
use stripewise_core::request::{HostRequest, RequestKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::internal::Internal;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::split::mask_of;
use stripewise_exec::{Executor, RequestSlot, Split};

use crate::in_place::InPlace;
use crate::in_place::job::PlanState;
use crate::zones::{ZoneRun, Zones};

impl InPlace {
    /// Like [`Self::split`], run by run.
    pub(crate) fn split_zones<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        kind: RequestKind,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Split {
        loop {
            let RequestSlot { mut extent, cursor, .. } = *exec.request(id);
            let Some(piece) = extent.next(exec.geometry()) else {
                if cursor.is_done() {
                    return Split::Done;
                }
                if !self.translate(id, kind, exec) {
                    return Split::WantsPage;
                }
                continue;
            };
            let mask = mask_of(&piece);
            if !self.may_split(kind, piece.row, mask, exec) {
                return Split::WantsPlans;
            }
            exec.request_mut(id).extent = extent;
            match kind {
                RequestKind::Read => self.read_row(id, piece.row, mask, RowLock::None, exec, driver),
                RequestKind::Write => self.write_row(id, piece.row, mask, exec, driver),
                RequestKind::Trim => self.trim_row(id, piece.row, mask, exec, driver),
                RequestKind::Flush => unreachable!("flushes touch no rows"),
            }
        }
    }

    /// Translates the next run of request `id`. Returns false if another request moves its first page.
    fn translate<M: Memory>(&mut self, id: RequestId, kind: RequestKind, exec: &mut Executor<M>) -> bool {
        let (page, end) = exec.request(id).cursor.remaining();
        let is_own = id == exec.internal_id();
        let whole_end = self.whole_end(id, page, end, exec);
        let is_whole = kind == RequestKind::Write && whole_end > page;
        let ignores = exec.has_bug(Bug::MoveNotAwaited);
        // A row that has lost more columns than its parity tolerates accepts no writes; parity that covers nothing any more is
        // lost. Without parity each chunk is independent.
        let (geometry, window) = (exec.geometry(), &self.window);
        let any_failed = exec.is_any_failed();
        let can_write = |page| {
            if !any_failed {
                return true;
            }
            let (row, column) = geometry.slot(page);
            let place = geometry.place(row);
            let is_lost = |&column: &u32| exec.is_failed(geometry.member(place, column));
            if geometry.parity() == 0 {
                return !is_lost(&column);
            }
            let stale = if window.is_stale(row) { geometry.parity_columns() } else { 0 };
            let lost = |column: &u32| stale >> column & 1 != 0 || is_lost(column);
            columns(geometry.all_columns()).filter(lost).count() as u32 <= geometry.parity()
        };
        let Some(zones) = &mut self.zones else { return false };
        let is_moving = kind != RequestKind::Read && !is_own && zones.is_moving(page, id);
        if is_moving && !ignores {
            return false;
        }
        let ZoneRun { page: first, count } = match kind {
            // Blocks are moved to their home.
            RequestKind::Write if is_own => ZoneRun { page, count: end - page },
            RequestKind::Write if is_whole && !is_moving => zones.write_run(id, page, whole_end, can_write),
            RequestKind::Write => zones.read_run(page, page + 1),
            RequestKind::Read | RequestKind::Flush => zones.read_run(page, end),
            RequestKind::Trim => zones.change_run(page, end),
        };
        let slot = exec.request_mut(id);
        slot.extent = RowCursor::new(first, count);
        slot.cursor = RowCursor::new(page + count, end - page - count);
        if exec.has_bug(Bug::MoveBeforeWritten) && is_whole {
            (first..first + count).for_each(|page| self.moved_in_zones(page, exec));
        }
        true
    }

    /// The end of the pages from `page` on that request `id` covers as a whole, at most `end`; `page` if it does not cover
    /// even the first as a whole.
    fn whole_end<M: Memory>(&self, id: RequestId, page: u64, end: u64, exec: &Executor<M>) -> u64 {
        let slot = exec.request(id);
        if !slot.in_part {
            return end;
        }
        let is_whole = |page: &u64| exec.sectors_of_page(id, *page) == exec.whole_page();
        // Pages between the first and the last are always whole.
        if !is_whole(&page) {
            page
        } else if !is_whole(&(end - 1)) {
            end - 1
        } else {
            end
        }
    }

    #[inline]
    fn moved_in_zones<M: Memory>(&mut self, page: u64, exec: &mut Executor<M>) {
        let is_early = exec.has_bug(Bug::LeftPageReused);
        let Some(zones) = self.zones.as_mut().filter(|zones| zones.mover_to(page).is_some()) else { return };
        zones.moved_to(page);
        if is_early {
            zones.free_at_once();
        }
    }

    fn mover_to(&self, page: u64) -> Option<RequestId> {
        self.zones.as_ref()?.mover_to(page)
    }

    /// The write cache has the content that request `id` writes to columns `mask` of `row`.
    #[inline]
    pub(crate) fn cached_in_zones<M: Memory>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        exec: &mut Executor<M>,
    ) {
        if self.zones.is_none() {
            return;
        }
        for column in columns(mask) {
            let page = exec.geometry().array_page(row, column);
            if self.mover_to(page) == Some(id) {
                self.moved_in_zones(page, exec);
            }
        }
    }

    /// `plan` writes columns `mask` of its row for request `id`, which may move pages there.
    #[inline]
    pub(crate) fn moves_in_zones<M: Memory>(
        &mut self,
        plan: PlanId,
        id: RequestId,
        mask: u64,
        exec: &mut Executor<M>,
    ) {
        if self.zones.is_none() {
            return;
        }
        let row = exec.plan(plan).row;
        for column in columns(mask) {
            let page = exec.geometry().array_page(row, column);
            if self.mover_to(page) == Some(id) {
                self.jobs[plan].moves |= 1 << column;
            }
        }
    }

    /// The host writes of `plan` are done, as far as possible.
    #[inline]
    pub(crate) fn plan_written_in_zones<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, purpose, is_abandoned, .. } = *exec.plan(plan);
        let PlanState { moves, carried, .. } = self.jobs[plan];
        if self.zones.is_none() || purpose != Purpose::Write || carried != 0 || is_abandoned {
            return;
        }
        // Without parity each chunk is independent.
        let lost = if exec.geometry().parity() == 0 { exec.columns_on_failed(plan) } else { 0 };
        // A request may have parts of one row in two plans: only the plan that writes the page moves it.
        for column in columns(moves & !lost) {
            let page = exec.geometry().array_page(row, column);
            if self.mover_to(page).is_some_and(|id| exec.is_attached(plan, id)) {
                self.moved_in_zones(page, exec);
            }
        }
    }

    /// Continues the controller's own request, before those of hosts, or starts one if a zone has too little room. Returns
    /// false if nothing can be done.
    pub(crate) fn evict_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        match exec.internal() {
            Internal::Idle => {}
            Internal::Splitting => return self.split_internal(exec, driver),
            Internal::UnderWay => return false,
            Internal::Over { failed } => {
                exec.set_internal(Internal::Idle);
                self.internal_over(failed, exec, driver);
                return true;
            }
        }
        if self.resync.is_some() {
            return false;
        }
        let Some((first, count)) = self.zones.as_mut().and_then(Zones::evict) else { return false };
        let block = exec.scheme().zones.block.0 as usize;
        let payload = exec.own_payload(block);
        self.begin_internal(RequestKind::Read, first, count, payload, exec, driver);
        true
    }

    /// Starts an internal request for `count` pages from `first` on.
    fn begin_internal<M: Memory, D: Driver<M>>(
        &mut self,
        kind: RequestKind,
        first: u64,
        count: u64,
        payload: M::Host,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let page = u64::from(exec.members().page_bytes);
        let host = HostRequest {
            tag: u64::MAX,
            arrival: exec.now(),
            offset: first * page,
            bytes: (count * page) as u32,
            kind,
        };
        exec.begin_internal(host, (first, count), payload);
        self.split_internal(exec, driver);
    }

    fn split_internal<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) -> bool {
        let id = exec.internal_id();
        let kind = exec.request(id).host.kind;
        if self.split_zones(id, kind, exec, driver) != Split::Done {
            return false;
        }
        exec.set_internal(Internal::UnderWay);
        exec.split_done(id, self, driver);
        true
    }

    /// The controller's own request is over: content that was read is now written to its home.
    fn internal_over<M: Memory, D: Driver<M>>(
        &mut self,
        failed: bool,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let id = exec.internal_id();
        let RequestSlot { host, pages: (first, last), .. } = *exec.request(id);
        let payload = exec.take_own_payload();
        let ignores = exec.has_bug(Bug::EvictionNotStopped);
        let Some(zones) = &mut self.zones else { return };
        let continues = host.kind == RequestKind::Read && !failed && (!zones.is_stopped() || ignores);
        if let Some(payload) = payload {
            if continues {
                zones.bring_home(id);
                return self.begin_internal(
                    RequestKind::Write,
                    first,
                    last - first + 1,
                    payload,
                    exec,
                    driver,
                );
            }
            exec.keep_payload(payload);
        }
        zones.brought_home(id, failed);
    }

    /// The class of the reads or writes of `plan`: the controller's own class where the plan moves a block home.
    #[inline]
    pub(crate) fn class_of<M: Memory>(&self, plan: PlanId, hosts: Class, exec: &Executor<M>) -> Class {
        if self.zones.is_none() || exec.host_of(plan) != Some(exec.internal_id()) {
            return hosts;
        }
        if hosts == Class::HostRead { Class::ArrayGcRead } else { Class::ArrayGcWrite }
    }
}

impl InPlace {
    /// Bytes of the map of zones and of the other location state; 0 without zones.
    pub(crate) fn zone_map_bytes(&self) -> u64 {
        self.zones.as_ref().map_or(0, Zones::bytes) + self.blank.bytes()
    }
}
