//! Loss of power: the initial state of a new controller over the same members, and resync of parity.
//!
//! Without persistent memory, the controller does not know which rows were being updated, and their parity may not match their
//! data: the write hole of RAID-5 and RAID-6. All rows are walked before the first request is issued, as Linux md does after
//! an unclean shutdown. A row that has also lost a chunk cannot be repaired: its parity may decode to content that was never
//! written.

use super::{Array, columns};
use crate::bugs::Bug;
use crate::cache::Cache;
use crate::driver::Driver;
use crate::memory::{Memory, PageId};
use crate::operation::{Class, OperationKind};
use crate::placement::{FirstWrites, Persistence, PlacementPolicy};
use crate::plan::{Plan, Purpose, Step};
use crate::row_locks::RowLock;
use crate::scheme::{Metadata, Scheme, SchemeError};
use crate::update::{Decision, Reason, Routine};

/// An interrupted update or trim of a row.
#[derive(Debug)]
struct Redo {
    row: u64,
    written: u64,
    trimmed: u64,
    /// The pages to write, by column.
    pages: Vec<(u32, PageId)>,
}

/// The resync work after a loss of power: first the updates in persistent memory, then perhaps all rows in turn.
#[derive(Debug, Default)]
pub(super) struct Resync {
    redo: Vec<Redo>,
    /// The next row to resync.
    next: u64,
    /// Number of rows being resynced.
    under_way: u32,
}

impl Scheme {
    /// Checks that a controller of this scheme can recover all content after a loss of power.
    ///
    /// # Errors
    /// The setting that keeps state only in memory, and the setting to use instead.
    pub fn check_restart(&self) -> Result<(), SchemeError> {
        let refuse = |key, value: &str, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: value.into(), reason })
        };
        if self.metadata == Metadata::On {
            let reason = "is assembled from its members, with nothing kept in memory: use `Array::open`";
            return refuse("metadata", "\"on\"", reason);
        }
        let reason = "keeps its map in memory alone, which a loss of power erases; use \"in-place\"";
        match self.placement.policy {
            PlacementPolicy::InPlace => {}
            PlacementPolicy::McRais if self.placement.buffer_persistence == Persistence::Persistent => {}
            PlacementPolicy::McRais => {
                let reason = "loses the map of zones with power; use \"persistent\"";
                return refuse("placement.buffer_persistence", "\"volatile\"", reason);
            }
            PlacementPolicy::ParityLogging => {
                return refuse("placement.policy", "\"parity-logging\"", reason);
            }
            PlacementPolicy::Elastic => return refuse("placement.policy", "\"elastic\"", reason),
        }
        match self.placement.first_writes {
            FirstWrites::InPlace => {}
            FirstWrites::Gather => return refuse("placement.first_writes", "\"gather\"", reason),
            FirstWrites::Encode => return refuse("placement.first_writes", "\"encode\"", reason),
        }
        if self.parity.window != crate::WindowSize::default() {
            let reason = "keeps in memory alone which parity is late, which a loss of power erases; use 0";
            return refuse("parity.window", "a window", reason);
        }
        Ok(())
    }
}

impl<M: Memory> Array<M> {
    /// The controller after a loss of power: a new one of the same scheme over the same members; failed members stay failed. A
    /// persistent write cache keeps its content, and the results of updates that were destaging it. Requests and operations in
    /// progress are forgotten, and their completion is never reported. Time starts again.
    ///
    /// Call [`Self::resume`] next.
    ///
    /// # Errors
    /// The scheme keeps required state only in memory; the error has the reason.
    pub fn restart(mut self) -> Result<Self, SchemeError> {
        self.scheme.check_restart()?;
        let is_kept = self.cache.as_ref().is_some_and(|cache| !cache.is_volatile);
        let resync = if is_kept { self.interrupted() } else { Resync::default() };
        let before = self.erase_memory(is_kept);
        let zones = self.zones.take().map(|mut zones| {
            if self.has_bug(Bug::UnflushedMoveKept) {
                zones.keep_unflushed();
            }
            zones.restarted()
        });
        let mut array = Self::new(&self.scheme, self.members, self.memory)?;
        #[cfg(debug_assertions)]
        array.plant(self.bug);
        array.any_failed = self.any_failed;
        array.failed = self.failed;
        array.zones = zones;
        if let Some(before) = before {
            array.cache = before.restarted(&self.scheme.cache, &array.geometry, self.members.page_bytes);
            self.window.stale().for_each(|row| array.window.set_stale(row, true));
        }
        let has_hole = array.geometry.parity() > 0 && (!is_kept || array.members.volatile_cache);
        let walks = has_hole && !array.has_bug(Bug::ResyncSkipped);
        let next = if walks { 0 } else { array.geometry.rows() };
        array.resync = Some(Resync { next, ..resync });
        Ok(array)
    }

    /// Collects from persistent memory the updates that had begun to write, and the trims that had begun: they are done again,
    /// because a row that has lost a chunk cannot be repaired otherwise.
    fn interrupted(&mut self) -> Resync {
        // Work that was to be redone after the previous loss of power, and has not begun.
        let mut redo = self.resync.take().map_or_else(Vec::new, |resync| resync.redo);
        for plan in 0..self.plans.len() as u32 {
            let slot = self.plans[plan as usize];
            let is_meant =
                slot.purpose == Purpose::Trim || slot.purpose == Purpose::Write && slot.carried != 0;
            let is_again = slot.purpose == Purpose::Redo;
            if !slot.is_under_way || slot.lock != RowLock::Exclusive || !(is_meant || is_again) {
                continue;
            }
            if slot.gave_up && self.geometry.parity() > 0 {
                self.window.set_stale(slot.row, true);
            }
            let (written, trimmed) = self.changed_by(plan);
            if written | trimmed == 0 || self.has_bug(Bug::RedoForgotten) {
                continue;
            }
            let pages = columns(written).map(|column| (column, self.copy_of_new(plan, column))).collect();
            redo.push(Redo { row: slot.row, written, trimmed, pages });
        }
        Resync { redo, ..Resync::default() }
    }

    /// The columns that `plan` writes and those that it trims, if it has begun to.
    fn changed_by(&self, plan: u32) -> (u64, u64) {
        let slot = &self.plans[plan as usize];
        let base = plan as usize * self.stride as usize;
        let of = |steps: &[Step], kind| {
            let ranges = steps.iter().filter_map(|step| match step {
                Step::Operations { first, count } => Some(*first as usize..(first + count) as usize),
                Step::Compute { .. } | Step::Journal => None,
            });
            let operations = ranges.flatten().map(|nth| self.slots[base + nth].operation);
            operations
                .filter(|operation| operation.kind == kind)
                .fold(0, |mask, operation| mask | 1u64 << operation.column)
        };
        let begun = |kind| of(slot.steps_begun(), kind) != 0;
        let all = |kind| if begun(kind) { of(slot.steps(), kind) } else { 0 };
        (all(OperationKind::Write), all(OperationKind::Trim))
    }

    /// Frees all page buffers except those of the cache, if it `is_kept`.
    fn erase_memory(&mut self, is_kept: bool) -> Option<Cache> {
        (0..self.plans.len() as u32).for_each(|plan| self.keep_cached(plan));
        (0..self.plans.len() as u32).for_each(|plan| self.return_buffers(plan));
        let cache = self.cache.take()?;
        let forgets = is_kept && self.has_bug(Bug::PersistentCacheLost);
        if (is_kept || self.has_bug(Bug::VolatileCacheKept)) && !forgets {
            return Some(cache);
        }
        for chunk in cache.store.iter().filter(|_| M::CARRIES_DATA) {
            self.memory.give(chunk.page);
        }
        None
    }

    /// Schedules a resync of all rows that may be unclean; no request is issued before it ends.
    pub(super) fn resync_from_start(&mut self) {
        self.resync = Some(Resync::default());
    }

    /// Starts recovery after a loss of power: the first call after [`Self::restart`] or [`Self::open`].
    pub fn resume<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.advance(now);
        self.poll(driver);
    }

    /// Whether a resync after a loss of power is in progress. Requests wait for its end.
    pub fn is_resyncing(&self) -> bool {
        self.resync.is_some()
    }

    /// Continues with the next row, if a plan is free. Returns false if there is nothing to do.
    pub(super) fn resync_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(resync) = &mut self.resync else { return false };
        if self.free_plan == crate::ids::NONE {
            return false;
        }
        if let Some(redo) = resync.redo.pop() {
            resync.under_way += 1;
            self.redo(&redo, driver);
            return true;
        }
        let mut row = resync.next;
        while row < self.geometry.rows() && !self.may_be_unclean(row) {
            row += 1;
        }
        let Some(resync) = &mut self.resync else { return false };
        resync.next = row;
        if row == self.geometry.rows() {
            let is_over = resync.under_way == 0;
            if is_over {
                self.resync = None;
            }
            return is_over;
        }
        resync.next += 1;
        resync.under_way += 1;
        let plan = self.take_plan(row, Purpose::Resync);
        self.acquire(plan, RowLock::Exclusive, driver);
        true
    }

    fn redo<D: Driver<M>>(&mut self, redo: &Redo, driver: &mut D) {
        let plan = self.take_plan(redo.row, Purpose::Redo);
        let slot = &mut self.plans[plan as usize];
        (slot.wanted, slot.dirty) = (redo.written, redo.trimmed);
        redo.pages.iter().for_each(|&(column, page)| self.adopt_buffer(plan, column, page));
        self.acquire(plan, RowLock::Exclusive, driver);
    }

    /// Builds the steps of a plan that repeats an interrupted update.
    pub(super) fn build_redo(&mut self, plan: u32) {
        let failed = self.columns_on_failed(plan);
        let Plan { wanted, dirty, place, .. } = self.plans[plan as usize];
        let data = self.geometry.data;
        let class = move |column| if column < data { Class::HostWrite } else { Class::Parity };
        self.push_operations(plan, wanted & !failed, OperationKind::Write, class, place);
        self.push_operations(plan, dirty & !failed, OperationKind::Trim, |_| Class::Metadata, place);
        self.plans[plan as usize].acknowledge_here();
    }

    /// Builds the steps of resyncing a row: read all data, decode unreadable data, and write the parity columns that decoding
    /// did not use. Data on working members that had to be decoded is written back.
    pub(super) fn build_resync(&mut self, plan: u32) {
        // Parity may be wrong: before the plan trusts it, columns that returned an error are read a second time.
        let believes = self.has_bug(Bug::ResyncBelievesParity);
        let slot = &mut self.plans[plan as usize];
        if slot.lost & !slot.unread_once != 0 && !believes {
            slot.unread_once |= slot.lost;
            slot.lost = 0;
        }
        let held = self.take_covered(plan);
        let lost = self.lost_columns(plan) & !held;
        let failed = self.columns_on_failed(plan);
        let slot = &mut self.plans[plan as usize];
        slot.missing = lost;
        let row = slot.row;
        if lost.count_ones() > self.geometry.parity() {
            slot.gave_up = true;
            slot.decision = Decision::forced(Routine::Plain, Reason::ParityLost);
            return self.window.set_stale(row, true);
        }
        let (data, parity) = (self.geometry.data_columns(), self.geometry.parity_columns());
        let sources = self.sources(lost);
        let repaired = lost & data & !failed;
        let targets = parity & !sources & !failed;
        let slot = &mut self.plans[plan as usize];
        if targets | repaired == 0 {
            slot.decision = Decision::forced(Routine::Plain, Reason::ParityLost);
            return;
        }
        let routine = if lost & data == 0 { Routine::Rcw } else { Routine::Reconstruct };
        slot.decision = Decision::forced(routine, Reason::Unclean);
        let place = slot.place;
        self.push_operations(plan, sources & !held, OperationKind::Read, |_| Class::PreRead, place);
        let encoded = targets.count_ones() * (self.geometry.data - 1);
        let pages = self.decoded_pages(lost) + encoded as u16;
        self.plans[plan as usize].push_step(Step::Compute { pages });
        if repaired != 0 {
            self.push_operations(plan, repaired, OperationKind::Write, |_| Class::Repair, place);
        }
        if targets != 0 {
            self.push_operations(plan, targets, OperationKind::Write, |_| Class::Parity, place);
        }
        self.plans[plan as usize].acknowledge_here();
    }

    /// The end of a row's resync.
    pub(super) fn resynced(&mut self, plan: u32) {
        let Plan { row, purpose, gave_up, .. } = self.plans[plan as usize];
        if gave_up {
            self.window.set_stale(row, true);
        } else if purpose == Purpose::Resync {
            self.forget_cached_parity(plan);
        }
        if let Some(resync) = &mut self.resync {
            resync.under_way -= 1;
        }
    }

    /// Drops cached parity of the row: recomputed parity is on its members, and the cached version is older. Parity that was
    /// not recomputed because its member is gone is invalid too: the data that it covers may never have reached its members.
    fn forget_cached_parity(&mut self, plan: u32) {
        let Plan { row, missing, .. } = self.plans[plan as usize];
        let made = self.geometry.parity_columns() & !self.sources(missing);
        for column in columns(made) {
            let page = self.cache.as_mut().and_then(|cache| cache.drop_chunk(row, column));
            if let Some(page) = page.filter(|_| M::CARRIES_DATA) {
                self.memory.give(page);
            }
        }
    }
}
