//! Steps of updates: pre-read, compute parity, write.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::{Plan, Purpose};
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::{AfterErrors, Built, Executor, TooManyLost};
use stripewise_policy::update::{Choice, Decision, ParityUpdate, Reason, Routine, Update};
use stripewise_scheme::Acknowledge;

use crate::in_place::InPlace;
use crate::in_place::job::{PlanState, UpdateParity, Write};
use crate::job::{BuildResult, Cx, Job};

impl InPlace {
    /// Builds the steps of the update `plan`, given the columns that are lost now.
    #[inline]
    pub(crate) fn build_update<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<(), TooManyLost> {
        if exec.plan(plan).purpose == Purpose::Parity && self.parity_memory.keeps(exec.plan(plan).row) {
            self.build_leaving(plan, exec);
            return Ok(());
        }
        if !self.blank.is_off() {
            self.jobs[plan].blank = self.blank.columns(exec.plan(plan).row);
        }
        let absorbs = exec.plan(plan).ends_in_memory;
        if absorbs {
            self.jobs[plan].kept = self.take_covered(plan, exec);
        }
        let lost = self.lost_columns(plan, exec);
        // A page that could not be read can still be written, which heals it; a failed member accepts no writes.
        let failed = if lost == 0 { 0 } else { exec.columns_on_failed(plan) };
        exec.miss(plan, if absorbs { lost & !self.jobs[plan].kept } else { lost });
        if self.defers_parity(plan, lost, exec, driver) {
            return Ok(());
        }
        self.take_late(plan, exec);
        if exec.has_bug(Bug::ReleasedTooEarly) {
            self.release_versions(plan, exec, driver);
        }
        let deltas = self.deltas(exec.plan(plan).row);
        let Plan { wanted, dirty, .. } = *exec.plan(plan);
        if wanted | dirty == 0 && deltas == 0 {
            exec.decide(plan, Decision::forced(Routine::Plain, Reason::NothingLate));
            return Ok(());
        }
        let tolerable = if exec.has_bug(Bug::FailureInvented) { 0 } else { exec.geometry().parity() };
        if lost.count_ones() > tolerable {
            if self.jobs[plan].carried != 0 {
                return self.build_abandoning(plan, lost, exec, driver);
            }
            if !self.writes_rest_alone(plan, lost, exec) {
                look_again_before_abandoning(plan, exec)?;
                return self.build_update(plan, exec, driver);
            }
            exec.fail_requests(plan, lost, self);
            exec.want_no_longer(plan, lost);
            self.jobs[plan].partial &= !lost;
        }
        let (routine, reads) = self.decide(plan, (lost, failed), exec, driver);
        self.push_pre_reads(plan, reads, routine, (lost, failed), exec);
        if absorbs {
            // The results go into the write cache.
            exec.acknowledge_here(plan);
        } else {
            self.push_writes(plan, (lost, failed), exec);
        }
        Ok(())
    }

    /// Builds the steps of the update `plan` without new parity of its row, if parity may be deferred or logged. Returns whether
    /// it did.
    #[inline]
    fn defers_parity<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        lost: u64,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if self.may_defer(plan, lost, exec) {
            if exec.plan(plan).lock == RowLock::SharedWrite {
                self.build_sharing(plan, exec);
            } else {
                self.build_deferring(plan, exec);
            }
            return true;
        }
        self.stop_deferring(plan, exec);
        self.stop_logging(plan);
        let logs = self.may_log(plan, lost, exec);
        if logs {
            self.build_logging(plan, exec, driver);
        }
        logs
    }

    /// Whether the update `plan` writes its remaining chunks although its row has lost more than parity tolerates.
    fn writes_rest_alone<M: Memory>(&self, plan: PlanId, lost: u64, exec: &Executor<M>) -> bool {
        // Without parity each chunk is independent: the remaining chunks are written. So are those of a gathered row,
        // which hosts know to be written: lost content must not read as zeros.
        let stands_alone = exec.geometry().parity() == 0 || self.is_fresh(plan, exec);
        stands_alone && exec.plan(plan).wanted & !lost != 0
    }

    /// Decides how the update `plan` computes parity. Returns the routine, and the columns to pre-read.
    #[inline]
    fn decide<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        (lost, failed): (u64, u64),
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> (Routine, u64) {
        let Plan { row, wanted, dirty, .. } = *exec.plan(plan);
        let left_out = self.left_out(plan, exec);
        if !self.blank.is_off() {
            self.jobs[plan].blank = self.blank.columns(row) & !(wanted | dirty);
        }
        let kept_parity = self.take_parity(plan, exec);
        self.keep_parity(plan, lost, left_out, exec);
        let (decision, reads) = self.choose(plan, (lost, failed), left_out, exec, driver);
        if matches!(decision.routine, Routine::Rcw | Routine::ShortStripe) {
            self.jobs[plan].blank = left_out & !(wanted | dirty);
        }
        self.decided(plan, decision, exec, driver);
        (decision.routine, reads & !kept_parity)
    }

    /// Adds the steps that pre-read the columns `reads` and compute what the update `plan` writes.
    // Its only caller is on the path of every write.
    #[inline(always)]
    fn push_pre_reads<M: Memory>(
        &mut self,
        plan: PlanId,
        reads: u64,
        routine: Routine,
        (lost, failed): (u64, u64),
        exec: &mut Executor<M>,
    ) {
        let Plan { place, wanted, dirty, ends_in_memory: absorbs, .. } = *exec.plan(plan);
        let parity = exec.geometry().parity_columns();
        if reads != 0 {
            exec.push_operations(plan, reads, OperationKind::Read, |_| Class::PreRead, place);
        }
        let folded = self.push_delta_reads(plan, reads & parity, Class::PreRead, exec);
        if folded > 0 && exec.has_bug(Bug::DeltasFreedEarly) {
            self.forget_deltas(plan, exec);
        }
        let with_parity = parity & !failed != 0;
        if with_parity || self.jobs[plan].partial != 0 || absorbs {
            let live = (parity & !failed).count_ones();
            let updated = (wanted | dirty).count_ones();
            let read = (reads & !parity).count_ones();
            // Page operations: each page added to a parity after the first, the difference of old and new data, and each delta
            // added to the parity that it changes.
            let pages = u32::from(folded)
                + match routine {
                    Routine::Rmw => updated * (1 + live),
                    Routine::Reconstruct => {
                        u32::from(exec.decoded_pages(lost)) + live * (exec.geometry().data - 1)
                    }
                    _ => live * ((updated + read).max(1) - 1),
                };
            exec.push_compute(plan, pages as u16);
        }
    }

    /// Adds the steps that write data and parity of the update `plan`, and its mark.
    // Its only caller is on the path of every write.
    #[inline(always)]
    fn push_writes<M: Memory>(&mut self, plan: PlanId, (lost, failed): (u64, u64), exec: &mut Executor<M>) {
        let place = exec.plan(plan).place;
        let written = self.jobs[plan].written;
        let (data, parity) = (exec.geometry().data, exec.geometry().parity_columns());
        if exec.has_bug(Bug::AcknowledgeBeforeWrite) && exec.plan(plan).steps.now().is_some() {
            exec.acknowledge_here(plan);
        }
        let mut targets = self.targets(plan, (lost, failed), exec);
        let hosts = self.class_of(plan, Class::HostWrite, exec);
        let class = move |column| if column < data { hosts } else { Class::Parity };
        let has_changes = targets != 0 || self.jobs[plan].covers != 0;
        if self.writes_ahead() && has_changes && !exec.has_bug(Bug::JournalSkipped) {
            exec.push_journal_wait(plan);
        }
        // Content written to a lost chunk is only in the parity.
        let after_data =
            exec.scheme().parity.acknowledge == Acknowledge::AfterData && lost == 0 && written == 0;
        let is_early = (after_data || exec.has_bug(Bug::AcknowledgeBeforeParity)) && targets & !parity != 0;
        if is_early {
            exec.push_operations(plan, targets & !parity, OperationKind::Write, class, place);
            exec.acknowledge_here(plan);
            targets &= parity;
            if exec.has_bug(Bug::FlushWithoutQ) {
                let second = q_columns(parity);
                exec.push_operations(plan, targets & !second, OperationKind::Write, class, place);
                targets &= second;
            }
        }
        if targets != 0 || !is_early {
            exec.push_operations(plan, targets, OperationKind::Write, class, place);
        }
        if !is_early && !exec.has_bug(Bug::AcknowledgeBeforeWrite) {
            exec.acknowledge_here(plan);
        }
    }

    /// The columns that the update `plan` writes.
    #[inline]
    fn targets<M: Memory>(&self, plan: PlanId, (lost, failed): (u64, u64), exec: &Executor<M>) -> u64 {
        let wanted = exec.plan(plan).wanted;
        let parity = exec.geometry().parity_columns();
        let PlanState { written, keeps_parity, .. } = self.jobs[plan];
        let mut targets = (wanted & !written | parity) & !failed;
        if lost & wanted != 0 && exec.has_bug(Bug::DegradedParitySkipped) {
            targets &= !parity;
        }
        if exec.has_bug(Bug::QLeftOld) || (lost != 0 && exec.has_bug(Bug::DegradedQSkipped)) {
            targets &= !q_columns(parity);
        }
        if keeps_parity {
            targets &= !parity;
        }
        targets
    }

    /// Chooses the routine, and the columns to pre-read.
    #[inline]
    fn choose<M: Memory, D: Driver<M>>(
        &self,
        plan: PlanId,
        (lost, failed): (u64, u64),
        left_out: u64,
        exec: &Executor<M>,
        driver: &mut D,
    ) -> (Decision, u64) {
        let Plan { row, wanted, dirty, ends_in_memory, lock, .. } = *exec.plan(plan);
        let PlanState { partial, kept, .. } = self.jobs[plan];
        let blank = self.blank.columns(row);
        let in_memory = self.parity_in_memory(row, exec);
        let deltas = self.deltas(row);
        let forced = Decision::forced;
        let data = exec.geometry().data_columns();
        let parity = exec.geometry().parity_columns();
        // If the row's parity is computed before it enters the write cache, columns that the cache has need not be read.
        // Beside writes, columns whose covered content memory keeps need not be read either.
        let held = if ends_in_memory || lock == RowLock::SharedParity { kept } else { 0 };
        if parity == 0 {
            return (forced(Routine::Plain, Reason::NoParity), partial);
        }
        let parity = parity & !failed;
        if parity == 0 {
            return (forced(Routine::Plain, Reason::ParityLost), partial & !held);
        }
        let is_fresh = self.is_fresh(plan, exec);
        let updated = wanted | dirty;
        let unread = if exec.has_bug(Bug::UnreadParityUpdated) { parity & lost } else { 0 };
        let rmw = (updated & !(kept | blank)) | (parity & !(unread | in_memory));
        let rcw = (data & !(updated | left_out)) | partial;
        if rcw == 0 {
            let routine = if updated == data { Routine::FullStripe } else { Routine::ShortStripe };
            return (forced(routine, Reason::NothingToRead), 0);
        }
        let (rmw, rcw, lost, partial) = (rmw & !held, rcw & !held, lost & !held, partial & !held);
        if is_fresh {
            return (forced(Routine::ShortStripe, Reason::FirstWrite), 0);
        }
        if rmw == 0 && partial == 0 && in_memory != 0 {
            return (forced(Routine::Rmw, Reason::NothingToRead), 0);
        }
        if self.reopened(plan, exec) != 0 && rcw & lost == 0 {
            return (forced(Routine::Rcw, Reason::FreePages), rcw);
        }
        match (rmw & lost == 0 && partial & lost == 0, rcw & lost == 0) {
            (true, true) if deltas > 0 => choose_by_pages(rmw, rcw, deltas * parity.count_ones()),
            (true, true) => choose_freely(exec, plan, rmw, rcw, driver),
            (true, false) => (forced(Routine::Rmw, Reason::OtherNeedsLost), rmw),
            (false, true) => (forced(Routine::Rcw, Reason::OtherNeedsLost), rcw),
            (false, false) => {
                let sources = exec.sources(lost) & !(kept | blank | in_memory);
                (forced(Routine::Reconstruct, Reason::BothNeedLost), sources)
            }
        }
    }

    /// Whether `plan` is the first write of a row that was gathered or encoded in memory.
    pub(crate) fn is_fresh<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> bool {
        let row = exec.plan(plan).row;
        self.gather.as_ref().is_some_and(|gather| gather.is_fresh(row))
            || self.encode.as_ref().is_some_and(|encode| encode.is_fresh(row))
            || self.encode.is_some() && exec.has_bug(Bug::LateMemberEncodesAlone)
    }

    /// Records the decision of `plan`, and reports it if it is the plan's first.
    #[inline]
    pub(crate) fn decided<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        decision: Decision,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) {
        let is_fresh = decision.reason == Reason::FirstWrite || self.is_fresh(plan, exec);
        exec.decide(plan, decision);
        if decision.routine != Routine::Plain
            && !is_fresh
            && !std::mem::replace(&mut self.jobs[plan].is_reported, true)
        {
            let Plan { row, wanted, dirty, .. } = *exec.plan(plan);
            let dirty = (wanted | dirty).count_ones();
            driver.updated(&ParityUpdate { at: exec.now(), row, dirty, decision });
        }
    }

    /// Columns of the plan's row that cannot be used: on failed members, or found bad by the plan itself.
    #[inline]
    pub(crate) fn lost_columns<M: Memory>(&self, plan: PlanId, exec: &Executor<M>) -> u64 {
        let slot = exec.plan(plan);
        let mut lost = slot.lost;
        if self.window.is_stale(slot.row) && slot.purpose != Purpose::Flush {
            lost |= exec.geometry().parity_columns();
        }
        if !exec.has_bug(Bug::LostDeltasIgnored) {
            lost |= self.lost_in_parity_log(slot.row, exec);
        }
        lost |= self.stale_columns(plan, exec);
        if exec.is_any_failed() {
            for column in 0..exec.geometry().columns {
                if exec.is_failed(exec.geometry().member(slot.place, column)) {
                    lost |= 1 << column;
                }
            }
        }
        lost
    }
}

/// Lets the update `plan` read everything once more before its row is abandoned: its data is on the members already. Any other
/// update fails.
fn look_again_before_abandoning<M: Memory>(plan: PlanId, exec: &mut Executor<M>) -> Result<(), TooManyLost> {
    let Plan { dirty, purpose, .. } = *exec.plan(plan);
    let has_written = dirty != 0 || purpose == Purpose::Parity;
    if has_written && exec.look_again(plan) { Ok(()) } else { Err(TooManyLost) }
}

/// The columns of Q among the columns `parity`; none if parity is P alone.
#[inline]
fn q_columns(parity: u64) -> u64 {
    parity & parity.wrapping_sub(1)
}

/// The routine that reads fewer pages, where RMW reads `deltas` besides the columns of its mask; RMW if they are equal.
fn choose_by_pages(rmw: u64, rcw: u64, deltas: u32) -> (Decision, u64) {
    let (rmw_reads, rcw_reads) = (rmw.count_ones() + deltas, rcw.count_ones());
    let routine = if rmw_reads <= rcw_reads { Routine::Rmw } else { Routine::Rcw };
    let reason = if rmw_reads == rcw_reads { Reason::Tie } else { Reason::FewerPreReads };
    let decision = Decision {
        rmw_reads: rmw_reads as u8,
        rcw_reads: rcw_reads as u8,
        ..Decision::forced(routine, reason)
    };
    (decision, if routine == Routine::Rmw { rmw } else { rcw })
}

#[inline]
fn choose_freely<M: Memory, D: Driver<M>>(
    exec: &Executor<M>,
    plan: PlanId,
    rmw: u64,
    rcw: u64,
    driver: &mut D,
) -> (Decision, u64) {
    let Plan { place, row, wanted, dirty, pinned, .. } = *exec.plan(plan);
    let choice = Choice {
        now: exec.now(),
        row,
        updated: wanted | dirty,
        rmw,
        rcw,
        old: pinned,
        geometry: exec.geometry(),
        place,
        page_bytes: exec.members().page_bytes,
        loads: exec.loads(),
        times: exec.times(),
    };
    let update = &exec.scheme().update;
    let chosen = if *update == (Update::Custom {}) { driver.choose(&choice) } else { None };
    let decision = update.choose(&choice, driver, chosen);
    (decision, if decision.routine == Routine::Rmw { rmw } else { rcw })
}

impl InPlace {
    /// Writes of an update failed.
    pub(crate) fn update_failed<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) -> AfterErrors {
        let lost = exec.columns_on_failed(plan) | self.unlogged(plan, exec);
        if exec.geometry().parity() == 0 {
            // Without parity, each chunk is independent.
            exec.fail_requests(plan, lost, self);
        }
        if lost & exec.plan(plan).wanted != 0 {
            // Content written to a lost column is only in parity, which may be written after the mark.
            exec.acknowledge_last(plan);
        }
        let is_bad = lost.count_ones() > exec.geometry().parity() && exec.geometry().parity() > 0;
        if is_bad { AfterErrors::Fail } else { AfterErrors::NextStep }
    }
}

impl Job<InPlace> for Write {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, driver: &mut impl Driver<M>) -> BuildResult {
        if cx.placement.needs_row_alone(cx.plan, cx.exec) {
            return Ok(Built::Needs(RowLock::Exclusive));
        }
        cx.placement.build_update(cx.plan, cx.exec, driver)?;
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
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, driver: &mut impl Driver<M>) {
        let row = cx.exec.plan(cx.plan).row;
        cx.placement.gather_settled(row);
        cx.placement.encode_settled(row);
        cx.placement.unreserve(cx.plan, cx.exec);
        cx.placement.destaged(cx.plan, cx.exec);
        UpdateParity.finished(cx, driver);
    }
}

impl Job<InPlace> for UpdateParity {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, driver: &mut impl Driver<M>) -> BuildResult {
        Write.build(cx, driver)
    }

    #[inline]
    fn combine<M: Memory>(self, cx: Cx<'_, InPlace, M>) {
        Write.combine(cx);
    }

    fn step_failed<M: Memory>(self, cx: Cx<'_, InPlace, M>) -> AfterErrors {
        Write.step_failed(cx)
    }

    #[inline]
    fn finished<M: Memory>(self, cx: Cx<'_, InPlace, M>, driver: &mut impl Driver<M>) {
        cx.placement.end_blank(cx.plan, cx.exec);
        cx.placement.end_parity(cx.plan, cx.exec);
        cx.placement.end_update(cx.plan, cx.exec, driver);
    }
}
