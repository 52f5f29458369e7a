//! Requests over zones: the host's pages are translated, run by run, to pages of the array; blocks that are evicted from a
//! full zone are read and written by the controller itself.

use super::scheduler::Split;
use super::split::mask_of;
use super::{Array, columns};
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::geometry::RowCursor;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::Class;
use crate::placement::mc_rais::{ZoneCounts, ZoneRun, Zones};
use crate::plan::{Plan, Purpose};
use crate::request::{HostRequest, RequestKind, RequestSlot};
use crate::row_locks::RowLock;

/// State of the controller's own request, of which there is at most one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Internal {
    /// There is none.
    #[default]
    Idle,
    /// The request is not yet wholly split into plans.
    Splitting,
    /// The request waits for its plans.
    UnderWay,
    /// The request is over.
    Over {
        /// Whether some of its content was lost.
        failed: bool,
    },
}

impl<M: Memory> Array<M> {
    /// Registers request `id`, which was accepted.
    #[inline]
    pub(super) fn begin_in_zones(&mut self, id: u32) {
        let Some(zones) = &mut self.zones else { return };
        let slot = &mut self.requests[id as usize];
        slot.epoch = zones.begin(slot.host.kind, slot.pages);
        slot.moves = zones.moves();
    }

    /// Unregisters request `id`, which is over.
    #[inline]
    pub(super) fn end_in_zones(&mut self, id: u32, failed: bool) {
        let Some(zones) = &mut self.zones else { return };
        let RequestSlot { host, pages, epoch, moves, .. } = self.requests[id as usize];
        if host.kind == RequestKind::Flush && !failed {
            zones.flushed(moves);
        }
        zones.end(id, host.kind, pages, epoch);
    }

    /// Like [`Array::split`], run by run.
    pub(super) fn split_zones<D: Driver<M>>(&mut self, id: u32, kind: RequestKind, driver: &mut D) -> Split {
        loop {
            let RequestSlot { mut extent, cursor, .. } = self.requests[id as usize];
            let Some(piece) = extent.next(&self.geometry) else {
                if cursor.is_done() {
                    return Split::Done;
                }
                if !self.translate(id, kind) {
                    return Split::WantsPlans;
                }
                continue;
            };
            let mask = mask_of(&piece);
            if !self.may_split(kind, piece.row, mask) {
                return Split::WantsPlans;
            }
            self.requests[id as usize].extent = extent;
            match kind {
                RequestKind::Read => self.read_row(id, piece.row, mask, RowLock::None, driver),
                RequestKind::Write => self.write_row(id, piece.row, mask, driver),
                RequestKind::Trim => self.trim_row(id, piece.row, mask, driver),
                RequestKind::Flush => unreachable!("flushes touch no rows"),
            }
        }
    }

    /// Translates the next run of request `id`. Returns false if the request must wait.
    fn translate(&mut self, id: u32, kind: RequestKind) -> bool {
        let (page, end) = self.requests[id as usize].cursor.remaining();
        let is_own = id == self.internal_id();
        let whole_end = self.whole_end(id, page, end);
        let is_whole = kind == RequestKind::Write && whole_end > page;
        let ignores = self.has_bug(Bug::MoveNotAwaited);
        // Without parity each chunk is independent, and a chunk on a lost member accepts no writes.
        let (geometry, failed) = (&self.geometry, &self.failed);
        let stands_alone = self.any_failed && geometry.parity() == 0;
        let can_write = |page| {
            if !stands_alone {
                return true;
            }
            let (row, column) = geometry.slot(page);
            !failed[usize::from(geometry.member(geometry.place(row), column))]
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
        let slot = &mut self.requests[id as usize];
        slot.extent = RowCursor::new(first, count);
        slot.cursor = RowCursor::new(page + count, end - page - count);
        if self.has_bug(Bug::MoveBeforeWritten) && is_whole {
            (first..first + count).for_each(|page| self.moved_in_zones(page));
        }
        true
    }

    /// The end of the pages from `page` on that request `id` covers as a whole, at most `end`; `page` if it does not cover
    /// even the first as a whole.
    fn whole_end(&self, id: u32, page: u64, end: u64) -> u64 {
        let slot = &self.requests[id as usize];
        if !slot.in_part {
            return end;
        }
        let is_whole = |page: &u64| self.sectors_of_page(id, *page) == self.whole_page;
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
    fn moved_in_zones(&mut self, page: u64) {
        let is_early = self.has_bug(Bug::LeftPageReused);
        let Some(zones) = self.zones.as_mut().filter(|zones| zones.mover_to(page).is_some()) else { return };
        zones.moved_to(page);
        if is_early {
            zones.free_at_once();
        }
    }

    fn mover_to(&self, page: u64) -> Option<u32> {
        self.zones.as_ref()?.mover_to(page)
    }

    /// The write cache has the content that request `id` writes to columns `mask` of `row`.
    #[inline]
    pub(super) fn cached_in_zones(&mut self, id: u32, row: u64, mask: u64) {
        if self.zones.is_none() {
            return;
        }
        for column in columns(mask) {
            let page = self.geometry.array_page(row, column);
            if self.mover_to(page) == Some(id) {
                self.moved_in_zones(page);
            }
        }
    }

    /// `plan` writes columns `mask` of its row for request `id`, which may move pages there.
    #[inline]
    pub(super) fn moves_in_zones(&mut self, plan: u32, id: u32, mask: u64) {
        if self.zones.is_none() {
            return;
        }
        let row = self.plans[plan as usize].row;
        for column in columns(mask) {
            let page = self.geometry.array_page(row, column);
            if self.mover_to(page) == Some(id) {
                self.plans[plan as usize].moves |= 1 << column;
            }
        }
    }

    /// The host writes of `plan` are done, as far as possible.
    #[inline]
    pub(super) fn plan_written_in_zones(&mut self, plan: u32) {
        let Plan { row, purpose, moves, carried, gave_up, .. } = self.plans[plan as usize];
        if self.zones.is_none() || purpose != Purpose::Write || carried != 0 || gave_up {
            return;
        }
        // Without parity each chunk is independent.
        let lost = if self.geometry.parity() == 0 { self.columns_on_failed(plan) } else { 0 };
        // A request may have parts of one row in two plans: only the plan that writes the page moves it.
        for column in columns(moves & !lost) {
            let page = self.geometry.array_page(row, column);
            if self.mover_to(page).is_some_and(|id| self.is_attached(plan, id)) {
                self.moved_in_zones(page);
            }
        }
    }

    /// Continues the controller's own request, before those of hosts, or starts one if a zone has too little room. Returns
    /// false if nothing can be done.
    pub(super) fn evict_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        match self.internal {
            Internal::Idle => {}
            Internal::Splitting => return self.split_internal(driver),
            Internal::UnderWay => return false,
            Internal::Over { failed } => {
                self.internal = Internal::Idle;
                self.internal_over(failed, driver);
                return true;
            }
        }
        if self.resync.is_some() {
            return false;
        }
        let Some((first, count)) = self.zones.as_mut().and_then(Zones::evict) else { return false };
        let block = self.scheme.zones.block.0 as usize;
        let payload = self.spare_payload.take().unwrap_or_else(|| self.memory.payload(block));
        self.begin_internal(RequestKind::Read, first, count, payload, driver);
        true
    }

    /// Starts an internal request for `count` pages from `first` on.
    fn begin_internal<D: Driver<M>>(
        &mut self,
        kind: RequestKind,
        first: u64,
        count: u64,
        payload: M::Host,
        driver: &mut D,
    ) {
        let page = u64::from(self.members.page_bytes);
        let host = HostRequest {
            tag: u64::MAX,
            arrival: self.now,
            offset: first * page,
            bytes: (count * page) as u32,
            kind,
        };
        let id = self.internal_id();
        self.requests[id as usize] = RequestSlot {
            host,
            cursor: RowCursor::new(first, count),
            pages: (first, first + count - 1),
            remaining: 1,
            next: NONE,
            ..RequestSlot::default()
        };
        self.payloads[id as usize] = Some(payload);
        self.under_way += 1;
        self.internal = Internal::Splitting;
        self.split_internal(driver);
    }

    fn split_internal<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let id = self.internal_id();
        let kind = self.requests[id as usize].host.kind;
        if self.split_zones(id, kind, driver) != Split::Done {
            return false;
        }
        self.internal = Internal::UnderWay;
        self.split_done(id, driver);
        true
    }

    /// The controller's own request is over: content that was read is now written to its home.
    fn internal_over<D: Driver<M>>(&mut self, failed: bool, driver: &mut D) {
        let id = self.internal_id() as usize;
        let RequestSlot { host, pages: (first, last), .. } = self.requests[id];
        let payload = self.payloads[id].take();
        let ignores = self.has_bug(Bug::EvictionNotStopped);
        let Some(zones) = &mut self.zones else { return };
        let goes_on = host.kind == RequestKind::Read && !failed && (!zones.is_stopped() || ignores);
        if let Some(payload) = payload {
            if goes_on {
                zones.bring_home(id as u32);
                return self.begin_internal(RequestKind::Write, first, last - first + 1, payload, driver);
            }
            self.spare_payload = Some(payload);
        }
        zones.brought_home(id as u32, failed);
    }

    /// The slot of the controller's own request, after those of hosts.
    #[inline]
    pub(super) fn internal_id(&self) -> u32 {
        self.scheme.queues.requests
    }

    /// The class of the reads or writes of `plan`: the controller's own class where the plan moves a block home.
    #[inline]
    pub(super) fn class_of(&self, plan: u32, hosts: Class) -> Class {
        let first = self.plans[plan as usize].first_request;
        if self.zones.is_none()
            || first == NONE
            || self.attachments[first as usize].request != self.internal_id()
        {
            return hosts;
        }
        if hosts == Class::HostRead { Class::ArrayGcRead } else { Class::ArrayGcWrite }
    }
}

/// Getters.
impl<M: Memory> Array<M> {
    /// Counters of the zones; all zero without zones.
    pub fn zone_counts(&self) -> ZoneCounts {
        self.zones.as_ref().map_or_else(ZoneCounts::default, Zones::counts)
    }

    /// Bytes of the map of zones and of the other location state; 0 without zones.
    pub(super) fn zone_map_bytes(&self) -> u64 {
        self.zones.as_ref().map_or(0, Zones::bytes)
    }

    /// Number of blocks in the map of zones; 0 without zones.
    pub fn zone_map_blocks(&self) -> u64 {
        self.zones.as_ref().map_or(0, Zones::blocks)
    }

    /// Checks the map of zones for inconsistencies.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn audit_zones(&self) -> Result<(), String> {
        self.zones.as_ref().map_or(Ok(()), Zones::audit)
    }
}
