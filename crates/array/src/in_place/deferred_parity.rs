//! Deferred parity: data is written to the members at once, and the parity of its row follows when the window wraps round to
//! it, when a host flushes or is idle, or when a member is lost.
//!
//! [`Window`] knows all data that a row's parity does not cover, while no plan has the row lock. An update that makes parity
//! cover this data takes it over, with its buffers, as the plan's `dirty` columns.
//!
//! [`Window`]: crate::in_place::window::Window

use stripewise_core::bits::columns;
use stripewise_core::bugs::Bug;
use stripewise_core::ids::{PlanId, RequestId, RowNo};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_exec::Executor;
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_exec::row_locks::RowLock;
use stripewise_policy::update::Routine;
use stripewise_scheme::Acknowledge;

use crate::in_place::InPlace;
use crate::in_place::job::{PlanState, UpdateParity};
use crate::in_place::journal::Checksums;

impl InPlace {
    /// Takes slots of the window for columns `mask` of `row`, written by request `id`. Updates the parity of the rows that the
    /// ring wraps round to.
    pub(crate) fn enter_window<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        row: RowNo,
        mask: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let mut own_is_due = false;
        for _ in columns(mask) {
            match self.window.enter(row) {
                // The row's own parity update covers all columns written here, and follows when all of them have their slots.
                Some(due) if due == row => {
                    own_is_due = true;
                    self.window.leave(row);
                }
                Some(due) => self.update_parity(due, self.waiter(id, exec), exec, driver),
                None => {}
            }
        }
        if own_is_due {
            self.update_parity(row, self.waiter(id, exec), exec, driver);
        }
        let idle = exec.scheme().parity.idle.0;
        if idle > 0 && self.window.timer.is_none() && !self.window.is_empty() {
            self.window.timer = Some(exec.now() + idle);
            driver.set_timer(exec.now() + idle);
        }
    }

    /// The request that waits for the parity updates that it makes due.
    fn waiter<M: Memory>(&self, id: RequestId, exec: &Executor<M>) -> RequestId {
        let waits = exec.scheme().parity.acknowledge == Acknowledge::AfterParity;
        if waits && !exec.has_bug(Bug::AcknowledgeBeforeParity) { id } else { RequestId::NONE }
    }

    /// Updates the deferred parity of `row` once earlier plans have released the row lock; request `id` waits for it. There
    /// must be a free plan.
    fn update_parity<M: Memory, D: Driver<M>>(
        &mut self,
        row: RowNo,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        self.window.leave(row);
        let plan = self.take_plan(row, UpdateParity, exec);
        if !id.is_none() {
            exec.attach(plan, id);
        }
        exec.acquire(plan, self.update_lock(Purpose::Parity, exec), self, driver);
    }

    /// Empties one slot of the window, if the window is to be emptied and a plan is free. Returns false if there is nothing to
    /// do.
    pub(crate) fn flush_one_deferred<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if !self.window.flushes_deferred || !exec.has_free_plan() {
            return false;
        }
        match self.window.oldest() {
            Some(row) => self.update_parity(row, RequestId::NONE, exec, driver),
            None => self.window.flushes_deferred = false,
        }
        true
    }

    /// A flush waits for all parity that is deferred or being written, because the data that it covers must tolerate the loss
    /// of a member. Returns false if a plan or an attachment is lacking; the flush continues later.
    pub(crate) fn flush_deferred_for<M: Memory, D: Driver<M>>(
        &mut self,
        id: RequestId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        // Content in the journal, together with the content that parity covers, is durable without new parity.
        let is_durable = self.journal.is_some();
        if exec.request(id).deferred_flushed || is_durable || exec.has_bug(Bug::LateParityKept) {
            return true;
        }
        while let Some(row) = self.window.oldest() {
            if !exec.has_free_plan() {
                return false;
            }
            self.update_parity(row, id, exec, driver);
        }
        let may_owe = self.window.is_open() || exec.scheme().parity.acknowledge == Acknowledge::AfterData;
        if may_owe && !exec.wait_for_all(id, |exec, plan| self.owes_parity(plan, exec)) {
            return false;
        }
        exec.request_mut(id).deferred_flushed = true;
        true
    }

    /// Whether `plan` is in progress and makes parity cover writes that were acknowledged to hosts.
    fn owes_parity<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> bool {
        let slot = exec.plan(plan);
        match slot.purpose {
            Purpose::Parity => slot.lock != RowLock::None,
            Purpose::Write => {
                slot.lock != RowLock::None && slot.steps.current > slot.steps.ack_after && !slot.defers
            }
            _ => false,
        }
    }

    /// Handles the idle timer: deferred parity is updated once no request has been in progress for long enough.
    pub(crate) fn window_timer<M: Memory, D: Driver<M>>(&mut self, exec: &mut Executor<M>, driver: &mut D) {
        if self.window.timer.is_none_or(|at| at > exec.now()) {
            return;
        }
        self.window.timer = None;
        if self.window.is_empty() {
            return;
        }
        let idle = exec.scheme().parity.idle.0;
        let idle_at = exec.idle_since() + idle;
        if idle_at <= exec.now() {
            self.window.flushes_deferred = true;
        } else {
            self.window.timer = Some(idle_at);
            driver.set_timer(idle_at);
        }
    }

    /// Whether the write `plan` may defer its row's parity. Not if a column of the row is lost, because content written to
    /// that column would be stored nowhere; and not if a member has no room to keep the version that is replaced.
    #[inline]
    pub(crate) fn may_defer<M: Memory>(&self, plan: PlanId, lost: u64, exec: &Executor<M>) -> bool {
        let Plan { row, place, purpose, wanted, dirty, .. } = *exec.plan(plan);
        // Nor if the plan has taken over deferred content: then its steps were built for a loss that is over now.
        if !self.window.is_open()
            || purpose != Purpose::Write
            || lost | dirty != 0
            || wanted & self.blank.columns(row) != 0
            || self.is_fresh(plan, exec)
        {
            return false;
        }
        // A write that goes home to its zone, directly or through the write cache, was acknowledged long ago, and a flush that
        // waits for deferred parity may already have checked its row.
        let is_cached = self.jobs[plan].carried != 0;
        if self.zones.is_some() && (is_cached || exec.is_attached(plan, exec.internal_id())) {
            return false;
        }
        let replaced = if self.window.order.is_some() {
            self.unkept(plan, exec)
        } else {
            wanted & !self.window.dirty(row)
        };
        if let Some(journal) = &self.journal {
            // A walk needs rows with their parity, and a record has room for a limited number of entries.
            let entries = wanted.count_ones() + replaced.count_ones();
            if exec.is_walking(self) || journal.is_full || entries > journal.layout.entries_max() {
                return false;
            }
        }
        !self.window.pins()
            || self.window.overlaps
            || columns(replaced).all(|column| self.window.has_pin(exec.geometry().member(place, column)))
    }

    /// Builds the steps of a write that defers its parity: read the old content that memory must keep, then write the data.
    pub(crate) fn build_deferring<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, place, wanted, .. } = *exec.plan(plan);
        let entry = self.window.entry(row);
        let dirty = self.window.dirty(row);
        if let Some(entry) = entry {
            self.merge_late(plan, entry, dirty, exec);
        }
        let keeps = self.window.pins();
        let replaced = wanted & !dirty;
        if keeps {
            columns(replaced).for_each(|column| self.window.pin(exec.geometry().member(place, column)));
        }
        exec.defer_parity(plan, if keeps { replaced } else { 0 });
        let partial = self.jobs[plan].partial;
        let reads = if keeps { partial } else { replaced };
        if reads != 0 {
            exec.push_operations(plan, reads, OperationKind::Read, |_| Class::PreRead, place);
        }
        if partial != 0 {
            exec.push_compute(plan, 0);
        }
        if self.writes_ahead() && !exec.has_bug(Bug::JournalSkipped) {
            exec.push_journal_wait(plan);
        }
        exec.push_operations(plan, wanted, OperationKind::Write, |_| Class::HostWrite, place);
        exec.acknowledge_here(plan);
    }

    /// Completes partially written chunks with the content that memory has of them.
    fn merge_late<M: Memory>(&mut self, plan: PlanId, entry: u32, dirty: u64, exec: &mut Executor<M>) {
        let merged = self.jobs[plan].partial & dirty;
        for column in columns(merged) {
            self.fill_from_late(plan, entry, column, exec);
        }
        self.jobs[plan].partial &= !dirty;
    }

    /// Stops counting the versions that `plan` has kept or has been counted to keep.
    pub(crate) fn uncount_pins<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { place, pinned, .. } = *exec.plan(plan);
        columns(pinned).for_each(|column| self.window.unpin(exec.geometry().member(place, column)));
        exec.pin(plan, 0);
    }

    /// Restarts a write that was to defer its parity and may no longer do so; nothing is written yet.
    pub(crate) fn stop_deferring<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        if exec.plan(plan).defers {
            exec.defer_no_longer(plan);
            self.uncount_pins(plan, exec);
        }
    }

    /// `plan` has written its data: its row's parity is deferred from now on.
    pub(crate) fn leave_late<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { row, wanted, .. } = *exec.plan(plan);
        let dirty = self.window.dirty(row);
        let entry = self.window.add(row, wanted);
        self.give_to_late(plan, entry, wanted, dirty, exec);
        if self.window.record(row) == 0 {
            self.window.set_record(entry, self.jobs[plan].record);
            if !exec.has_bug(Bug::BeforeImageFreed) {
                // The record is done when parity covers its content.
                self.jobs[plan].record = 0;
            }
        }
        // Members keep the versions until parity covers the content that replaced them.
        exec.pin(plan, 0);
    }

    /// Makes `plan` responsible for covering the deferred content of its row.
    #[inline]
    pub(crate) fn take_late<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let row = exec.plan(plan).row;
        let Some(entry) = self.window.entry(row) else { return };
        let dirty = self.window.dirty(row);
        // A plan that began beside writes has the content that parity covers of the columns that it took over then.
        let again = self.drop_taken(plan, entry, dirty, exec);
        let in_memory = self.covered_in_memory(row) & !again;
        self.merge_late(plan, entry, dirty, exec);
        self.take_from_late(plan, entry, dirty, exec);
        let covers = self.window.record(row);
        let job = &mut self.jobs[plan];
        job.covers = covers;
        exec.add_dirty(plan, dirty);
        if !self.window.overlaps {
            job.kept |= in_memory;
            exec.pin_also(plan, dirty & !again & !in_memory);
        }
        if exec.plan(plan).lock == RowLock::SharedParity {
            self.begin_beside_writes(plan, entry, exec);
        } else {
            self.window.remove(entry);
        }
    }

    /// Handles a write that was to defer its parity and lost a member while in progress: its data is covered at once.
    pub(crate) fn cover_at_once<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let Plan { wanted, pinned: before, .. } = *exec.plan(plan);
        let record = std::mem::take(&mut self.jobs[plan].record);
        self.take_late(plan, exec);
        self.covers_from(plan, record);
        let keeps = self.window.pins();
        exec.defer_no_longer(plan);
        exec.add_dirty(plan, wanted);
        exec.pin_also(plan, before);
        let job = &mut self.jobs[plan];
        job.written = wanted;
        job.partial = 0;
        if !keeps {
            job.kept |= wanted;
        }
    }

    /// Makes `plan` cover the content of `record`, if there is one, along with the content deferred before it.
    fn covers_from(&mut self, plan: PlanId, record: u64) {
        let covers = &mut self.jobs[plan].covers;
        if *covers == 0 {
            *covers = record;
        } else if let Some(journal) = self.journal.as_mut().filter(|_| record != 0) {
            // Behind an older record that is still needed, this record is not freed.
            journal.ring.done(record);
        }
    }

    /// Starts to compute deferred parity if that is what keeps records from being freed: for the rows whose records are in the
    /// older half of the journal, or for all rows if there is no room left. Returns false if there is nothing to start.
    pub(crate) fn cover_for_room<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        let Some(journal) = self.journal.as_ref().filter(|journal| journal.late > 0) else { return false };
        let Some(row) = self.window.oldest() else { return false };
        if journal.is_full {
            return !std::mem::replace(&mut self.window.flushes_deferred, true);
        }
        let middle = journal.ring.middle();
        let record = self.window.record(row);
        let is_due = record != 0 && record <= middle && exec.has_free_plan();
        if is_due {
            self.update_parity(row, RequestId::NONE, exec, driver);
        }
        is_due
    }

    /// A walk over rows waits until their parity covers their data. Returns `None` if the walk need not wait; otherwise
    /// whether a parity update was started now.
    pub(crate) fn flush_deferred_for_walk<M: Memory>(&mut self, exec: &mut Executor<M>) -> Option<bool> {
        // This is asked at every poll, and the first answer is no for most arrays.
        if !self.window.is_open() || !exec.is_walking(self) {
            return None;
        }
        if self.window.deferred_rows() == 0 && !exec.plans().is_any_deferring() {
            return None;
        }
        Some(!self.window.is_empty() && !std::mem::replace(&mut self.window.flushes_deferred, true))
    }

    /// The plan's row has its parity, or never will: members need not keep the content that the parity covered.
    pub(crate) fn release_versions<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let Plan { place, pinned, .. } = *exec.plan(plan);
        for column in columns(pinned) {
            driver.release(exec.geometry().member(place, column), place.page);
        }
        self.uncount_pins(plan, exec);
    }

    /// The parity of the plan's row does not cover its data any more, and the records of that are about to be freed: the table
    /// of checksums says so from now on, and the next assembly computes the parity again.
    fn disown_parity<M: Memory>(&mut self, plan: PlanId, exec: &Executor<M>) {
        let place = exec.plan(plan).place;
        let Some(journal) = self.journal.as_mut().filter(|_| M::CARRIES_DATA) else { return };
        if exec.has_bug(Bug::StaleParityTrusted) {
            return;
        }
        for column in columns(exec.geometry().parity_columns()) {
            let (group, position) = exec.geometry().position_of(exec.geometry().member(place, column));
            journal.table.set(group, place.page - exec.geometry().first_page, position, Checksums::UNKNOWN);
        }
    }

    /// The end of an update: records whether its row's parity is valid from now on.
    pub(crate) fn end_update<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let Plan { row, lock, defers, is_abandoned, dirty, decision, .. } = *exec.plan(plan);
        let PlanState { carried, .. } = self.jobs[plan];
        self.end_logging(plan, exec);
        if defers && lock != RowLock::SharedWrite {
            return self.leave_late(plan, exec);
        }
        self.release_versions(plan, exec, driver);
        if matches!(lock, RowLock::SharedWrite | RowLock::SharedParity) {
            self.end_beside(plan, exec);
        }
        if is_abandoned {
            // A row with columns that parity takes for zeros may still decode, although more members are lost than parity
            // tolerates. Its parity does not cover what this update has written.
            let has_blank = self.blank.columns(row) != 0 && !exec.has_bug(Bug::AbandonedParityTrusted);
            let has_written = has_blank && exec.changed_by(plan).0 != 0;
            if (dirty != 0 || carried != 0 || has_written) && exec.geometry().parity() > 0 {
                self.window.set_stale(row, true);
                self.disown_parity(plan, exec);
            }
        } else if decision.routine != Routine::Plain {
            self.window.set_stale(row, false);
        }
    }
}
