//! Late parity: data goes to the members at once, and the parity of its row follows when the window comes round to it,
//! when a host flushes or is idle, or when a member is lost.
//!
//! Everything that a row's parity does not cover is known to [`crate::window::Window`] while nobody holds the row; an
//! update that makes parity cover it takes it over, together with its buffers, as the plan's `dirty` columns.

use super::{Array, columns};
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, OperationKind};
use crate::plan::{Plan, Purpose, Step};
use crate::row_locks::RowLock;
use crate::scheme::Acknowledge;
use crate::update::{Decision, Reason, Routine};
use crate::window::Held;

impl<M: Memory> Array<M> {
    /// Columns `mask` of `row`, written by request `id`, take slots of the window; updates the parity of the rows that
    /// the ring comes round to.
    pub(super) fn enter_window<D: Driver<M>>(&mut self, id: u32, row: u64, mask: u64, driver: &mut D) {
        let mut own_is_due = false;
        for _ in columns(mask) {
            match self.window.enter(row) {
                // Its own parity covers all that is written here, and follows when everything has its slot.
                Some(due) if due == row => {
                    own_is_due = true;
                    self.window.leave(row);
                }
                Some(due) => self.update_parity(due, self.waiter(id), driver),
                None => {}
            }
        }
        if own_is_due {
            self.update_parity(row, self.waiter(id), driver);
        }
        let idle = self.scheme.parity.idle.0;
        if idle > 0 && self.window.timer.is_none() && !self.window.is_empty() {
            self.window.timer = Some(self.now + idle);
            driver.set_timer(self.now + idle);
        }
    }

    /// The request that waits for the parity updates that it makes due.
    fn waiter(&self, id: u32) -> u32 {
        let waits = self.scheme.parity.acknowledge == Acknowledge::AfterParity;
        if waits && !self.has_bug(Bug::AcknowledgeBeforeParity) { id } else { NONE }
    }

    /// Updates the late parity of `row` when those before are done with it; request `id` waits for it. There must be
    /// a free plan.
    fn update_parity<D: Driver<M>>(&mut self, row: u64, id: u32, driver: &mut D) {
        self.window.leave(row);
        let plan = self.take_plan(row, Purpose::Parity);
        if id != NONE {
            self.attach(plan, id);
        }
        self.acquire(plan, RowLock::Exclusive, driver);
    }

    /// Empties one slot of the window, if it is to be emptied and a plan is free. False when there is nothing to do.
    pub(super) fn flush_one_deferred<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        if !self.window.flushes_deferred || self.free_plan == NONE {
            return false;
        }
        match self.window.oldest() {
            Some(row) => self.update_parity(row, NONE, driver),
            None => self.window.flushes_deferred = false,
        }
        true
    }

    /// A flush waits for all parity that is late or under way, because what it covers must tolerate the loss of a member.
    /// False when a plan or an attachment is wanting; it goes on later.
    pub(super) fn flush_deferred_for<D: Driver<M>>(&mut self, id: u32, driver: &mut D) -> bool {
        // What a journal has, with what parity covers, needs no parity to be durable.
        let is_durable = self.journal.is_some();
        if self.requests[id as usize].deferred_flushed || is_durable || self.has_bug(Bug::LateParityKept) {
            return true;
        }
        while let Some(row) = self.window.oldest() {
            if self.free_plan == NONE {
                return false;
            }
            self.update_parity(row, id, driver);
        }
        let may_owe = self.window.is_open() || self.scheme.parity.acknowledge == Acknowledge::AfterData;
        if may_owe && !self.wait_for_all(id, Self::owes_parity) {
            return false;
        }
        self.requests[id as usize].deferred_flushed = true;
        true
    }

    /// Whether `plan` is under way and makes parity cover what hosts were told to be written.
    fn owes_parity(&self, plan: u32) -> bool {
        let slot = &self.plans[plan as usize];
        match slot.purpose {
            Purpose::Parity => slot.lock != RowLock::None,
            Purpose::Write => slot.lock != RowLock::None && slot.current > slot.ack_after && !slot.defers,
            _ => false,
        }
    }

    /// The idle timer's part: late parity is updated once no request has been under way for long enough.
    pub(super) fn window_timer<D: Driver<M>>(&mut self, driver: &mut D) {
        if self.window.timer.is_none_or(|at| at > self.now) {
            return;
        }
        self.window.timer = None;
        if self.window.is_empty() {
            return;
        }
        let idle = self.scheme.parity.idle.0;
        let idle_at = if self.under_way > 0 { self.now + idle } else { self.last_active + idle };
        if idle_at <= self.now {
            self.window.flushes_deferred = true;
        } else {
            self.window.timer = Some(idle_at);
            driver.set_timer(idle_at);
        }
    }

    /// Whether the write `plan` may leave its row's parity late. Not when a column of the row is lost: what is written
    /// to that one would be nowhere; and not when a member has no room for the version that is replaced.
    #[inline]
    pub(super) fn may_defer(&self, plan: u32, lost: u64) -> bool {
        let Plan { row, place, purpose, wanted, dirty, .. } = self.plans[plan as usize];
        // Nor when it has taken over what was late: then its steps were made for a loss that is over now.
        if !self.window.is_open() || purpose != Purpose::Write || lost | dirty != 0 || self.is_fresh(plan) {
            return false;
        }
        // What goes home to its zone, by itself or through the write cache, was acknowledged long ago, and a flush that waits for
        // late parity may be past its row.
        let is_cached = self.plans[plan as usize].carried != 0;
        if self.zones.is_some() && (is_cached || self.is_attached(plan, self.internal_id())) {
            return false;
        }
        let replaced = wanted & !self.window.dirty(row);
        if let Some(journal) = &self.journal {
            // What is walked over has its parity; and a record has room for so much.
            let entries = wanted.count_ones() + replaced.count_ones();
            if self.is_walking() || journal.is_full || entries > journal.layout.entries_max() {
                return false;
            }
        }
        !self.window.pins()
            || columns(replaced).all(|column| self.window.has_pin(self.geometry.member(place, column)))
    }

    /// Steps of a write that leaves parity late: what memory must know of the old content is read, the data is written.
    pub(super) fn build_deferring(&mut self, plan: u32) {
        let Plan { row, place, wanted, .. } = self.plans[plan as usize];
        let entry = self.window.entry(row);
        let dirty = self.window.dirty(row);
        if let Some(entry) = entry {
            self.merge_late(plan, entry, dirty);
        }
        let keeps = self.window.pins();
        let replaced = wanted & !dirty;
        if keeps {
            columns(replaced).for_each(|column| self.window.pin(self.geometry.member(place, column)));
        }
        let slot = &mut self.plans[plan as usize];
        slot.pinned = if keeps { replaced } else { 0 };
        slot.defers = true;
        slot.decision = Decision::forced(Routine::Plain, Reason::Late);
        let partial = slot.partial;
        let reads = if keeps { partial } else { replaced };
        if reads != 0 {
            self.push_operations(plan, reads, OperationKind::Read, |_| Class::PreRead, place);
        }
        if partial != 0 {
            self.plans[plan as usize].push_step(Step::Compute { pages: 0 });
        }
        if self.writes_ahead() && !self.has_bug(Bug::JournalSkipped) {
            self.plans[plan as usize].push_step(Step::Journal);
        }
        self.push_operations(plan, wanted, OperationKind::Write, |_| Class::HostWrite, place);
        self.plans[plan as usize].acknowledge_here();
    }

    /// What `plan` writes only in part of chunks whose content memory has becomes whole.
    fn merge_late(&mut self, plan: u32, entry: u32, dirty: u64) {
        let merged = self.plans[plan as usize].partial & dirty;
        for column in columns(merged) {
            self.fill_from_late(plan, entry, column);
        }
        self.plans[plan as usize].partial &= !dirty;
    }

    /// The versions that `plan` has kept, or counted to be kept, are no longer counted.
    pub(super) fn uncount_pins(&mut self, plan: u32) {
        let Plan { place, pinned, .. } = self.plans[plan as usize];
        columns(pinned).for_each(|column| self.window.unpin(self.geometry.member(place, column)));
        self.plans[plan as usize].pinned = 0;
    }

    /// A write that was to leave parity late and found on the way that it may not begins anew: nothing is written.
    pub(super) fn stop_deferring(&mut self, plan: u32) {
        if self.plans[plan as usize].defers {
            self.plans[plan as usize].defers = false;
            self.uncount_pins(plan);
        }
    }

    /// `plan` has written its data: its row's parity is late from now on.
    pub(super) fn leave_late(&mut self, plan: u32) {
        let Plan { row, wanted, .. } = self.plans[plan as usize];
        let dirty = self.window.dirty(row);
        let entry = self.window.add(row, wanted);
        self.give_to_late(plan, entry, wanted, dirty);
        if self.window.record(row) == 0 {
            self.window.set_record(entry, self.plans[plan as usize].record);
            if !self.has_bug(Bug::BeforeImageFreed) {
                // Its record is done when parity covers what it has.
                self.plans[plan as usize].record = 0;
            }
        }
        // The versions stay kept until parity covers what replaced them.
        self.plans[plan as usize].pinned = 0;
    }

    /// What is late of the plan's row becomes the plan's to cover.
    #[inline]
    pub(super) fn take_late(&mut self, plan: u32) {
        let row = self.plans[plan as usize].row;
        let Some(entry) = self.window.entry(row) else { return };
        let dirty = self.window.dirty(row);
        self.merge_late(plan, entry, dirty);
        self.take_from_late(plan, entry, dirty);
        let covers = self.window.record(row);
        self.window.remove(entry);
        let slot = &mut self.plans[plan as usize];
        slot.covers = covers;
        slot.dirty |= dirty;
        if !self.window.pins() {
            slot.kept |= dirty;
        } else {
            slot.pinned |= dirty;
        }
    }

    /// A write that was to leave parity late lost a member on the way: what it wrote is covered at once.
    pub(super) fn cover_at_once(&mut self, plan: u32) {
        let before = self.plans[plan as usize].pinned;
        let record = std::mem::take(&mut self.plans[plan as usize].record);
        self.take_late(plan);
        self.covers_from(plan, record);
        let keeps = self.window.pins();
        let slot = &mut self.plans[plan as usize];
        slot.defers = false;
        slot.dirty |= slot.wanted;
        slot.written = slot.wanted;
        slot.partial = 0;
        slot.pinned |= before;
        if !keeps {
            slot.kept |= slot.wanted;
        }
    }

    /// `plan` is to cover what `record` has, if there is one, with what was late before that.
    fn covers_from(&mut self, plan: u32, record: u64) {
        let covers = &mut self.plans[plan as usize].covers;
        if *covers == 0 {
            *covers = record;
        } else if let Some(journal) = self.journal.as_mut().filter(|_| record != 0) {
            // Behind an older record that is needed it is not freed.
            journal.ring.done(record);
        }
    }

    /// Begins to make parity that was late, if that is what keeps records from being freed: that of the rows whose records are
    /// in the older half of the journal, or all of it when there is no room left. False when there is nothing to begin.
    pub(super) fn cover_for_room<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(journal) = self.journal.as_ref().filter(|journal| journal.late > 0) else { return false };
        let Some(row) = self.window.oldest() else { return false };
        if journal.is_full {
            return !std::mem::replace(&mut self.window.flushes_deferred, true);
        }
        let middle = journal.ring.middle();
        let record = self.window.record(row);
        let is_due = record != 0 && record <= middle && self.free_plan != NONE;
        if is_due {
            self.update_parity(row, NONE, driver);
        }
        is_due
    }

    /// A walk over rows waits until their parity is that of their data. Nothing if it need not; else whether making it so is
    /// begun now.
    pub(super) fn flush_deferred_for_walk(&mut self) -> Option<bool> {
        let is_leaving = |plan: &Plan| plan.is_under_way && plan.defers;
        let is_late = |array: &Self| array.window.late_rows() > 0 || array.plans.iter().any(is_leaving);
        if !self.window.is_open() || !self.is_walking() || !is_late(self) {
            return None;
        }
        Some(!self.window.is_empty() && !std::mem::replace(&mut self.window.flushes_deferred, true))
    }

    /// The plan's row has its parity, or never will: members need not keep what it covered.
    pub(super) fn release_versions<D: Driver<M>>(&mut self, plan: u32, driver: &mut D) {
        let Plan { place, pinned, .. } = self.plans[plan as usize];
        for column in columns(pinned) {
            driver.release(self.geometry.member(place, column), place.page);
        }
        self.uncount_pins(plan);
    }

    /// The end of an update: whether its row's parity can be relied on from now on.
    pub(super) fn end_update<D: Driver<M>>(&mut self, plan: u32, driver: &mut D) {
        let Plan { row, defers, gave_up, carried, dirty, decision, .. } = self.plans[plan as usize];
        self.end_logging(plan);
        if defers {
            return self.leave_late(plan);
        }
        self.release_versions(plan, driver);
        if gave_up {
            if (dirty != 0 || carried != 0) && self.geometry.parity() > 0 {
                self.window.set_stale(row, true);
            }
        } else if decision.routine != Routine::Plain {
            self.window.set_stale(row, false);
        }
    }

    /// Rows whose parity is late, those being updated not counted.
    pub fn late_rows(&self) -> usize {
        self.window.late_rows()
    }

    /// Data columns of `row` that are written and that its parity does not cover.
    pub fn late_columns(&self, row: u64) -> u64 {
        self.window.dirty(row)
    }

    /// Whether the parity of `row` covers nothing any more, because too much of the row was lost when it was late.
    pub fn is_stale(&self, row: u64) -> bool {
        self.window.is_stale(row)
    }

    /// All such rows.
    pub fn stale_rows(&self) -> impl Iterator<Item = u64> {
        self.window.stale()
    }

    /// The buffer with the content of a late column that parity covers, where the member does not keep it.
    pub fn covered_content(&self, row: u64, column: u32) -> Option<crate::memory::PageId> {
        let entry = self.window.entry(row)?;
        let is_held = M::CARRIES_DATA && !self.window.pins() && self.window.dirty(row) >> column & 1 != 0;
        is_held.then(|| self.window.page(entry, column, Held::Covered))
    }
}
