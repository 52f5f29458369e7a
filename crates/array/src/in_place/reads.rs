//! Steps of reads of rows: direct, or decoding from the rest of the row the columns that are lost, or avoided by choice.

use stripewise_core::bugs::Bug;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::plan::Plan;
use stripewise_exec::row_locks::RowLock;
use stripewise_exec::{Built, Executor, TooManyLost};

use crate::in_place::InPlace;
use crate::in_place::job::Read;
use crate::job::{BuildResult, Cx, Job};

impl InPlace {
    /// Builds the steps of the read `plan`, given the columns that are lost now.
    pub(crate) fn build_read<M: Memory, D: Driver<M>>(
        &mut self,
        plan: PlanId,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        self.note_cached(plan, exec);
        self.fail_lost_cached(plan, exec);
        if exec.plan(plan).doubts && exec.plan(plan).lock == RowLock::None {
            // A page that has a wrong checksum while no update has the row lock is bad.
            return Ok(Built::Needs(RowLock::Shared));
        }
        let slot = exec.plan(plan);
        let (row, place, wanted, lock) = (slot.row, slot.place, slot.wanted, slot.lock);
        // Cached columns that parity covers need not be read to decode the rest of the row.
        let held = self.covered_in_cache(row);
        let unreadable = self.lost_columns(plan, exec);
        let mut lost = unreadable & !held;
        if exec.has_bug(Bug::StaleMemberRead) {
            lost &= slot.lost;
        }
        // For columns with deferred parity, memory has the content that hosts want, as long as the row is locked.
        let late = self.window.dirty(row);
        if lost.count_ones() > exec.geometry().parity() && wanted & lost & !late != 0 {
            look_again_alone(plan, lost, exec)?;
            if lock == RowLock::None {
                return Ok(Built::Needs(RowLock::Exclusive));
            }
            return self.build_read(plan, exec, driver);
        }
        lost |= exec.around_slow(plan, lost, self);
        if lost == 0 {
            lost = exec.redirect(plan, self, driver);
        }
        exec.miss(plan, lost);
        if wanted & lost == 0 {
            self.push_direct_reads(plan, unreadable & held, exec);
            return Ok(Built::Ready);
        }
        // Content that a working member could not read is written back once it is decoded.
        let slot = exec.plan(plan);
        let unreadable = slot.lost & !exec.columns_on_failed(plan);
        let repair = if exec.reads_only() { 0 } else { unreadable };
        let needed = if repair != 0 { RowLock::Exclusive } else { RowLock::Shared };
        let held = slot.lock == needed || slot.lock == RowLock::Exclusive;
        let skips = slot.path.avoided() != 0 && exec.has_bug(Bug::RedirectNotHeld);
        if !held && !skips && !exec.has_bug(Bug::DecodeWithoutHold) {
            return Ok(Built::Needs(needed));
        }
        if wanted & lost & !late == 0 {
            let rest = wanted & !late;
            exec.push_operations(plan, rest, OperationKind::Read, |_| Class::HostRead, place);
            exec.push_compute(plan, 0);
        } else {
            self.push_decoding_reads(plan, lost, late, exec);
        }
        exec.acknowledge_here(plan);
        if repair != 0 {
            exec.push_operations(plan, repair & wanted, OperationKind::Write, |_| Class::Repair, place);
            if let Some(roster) = &mut self.roster {
                roster.has_healed = true;
            }
        }
        Ok(Built::Ready)
    }

    /// Adds the step that reads what hosts want from where it is, and its mark. Recorded cached content replaces the columns
    /// `cached`, which members cannot read.
    #[inline]
    fn push_direct_reads<M: Memory>(&mut self, plan: PlanId, cached: u64, exec: &mut Executor<M>) {
        let Plan { place, wanted, missing, .. } = *exec.plan(plan);
        let rest = wanted & !cached;
        let class = self.class_of(plan, Class::HostRead, exec);
        exec.push_operations(plan, rest, OperationKind::Read, |_| class, place);
        exec.acknowledge_here(plan);
        if missing == 0 && rest == wanted {
            exec.arm_hedge(plan, self);
        }
    }

    /// Adds the steps that read the rest of the row and decode its `lost` columns. Memory has the content that hosts want of the
    /// `late` columns.
    fn push_decoding_reads<M: Memory>(&mut self, plan: PlanId, lost: u64, late: u64, exec: &mut Executor<M>) {
        let Plan { row, place, wanted, .. } = *exec.plan(plan);
        let sources = exec.sources(lost);
        // Decoding uses the versions that parity covers, which memory has where members do not keep them.
        let rest = sources & !self.covered_in_memory(row);
        let rest = rest & !(self.take_covered(plan, exec) | self.take_parity(plan, exec));
        let rest = rest & !(self.blank.columns(row) & !wanted);
        exec.pin(plan, late);
        let hosts = self.class_of(plan, Class::HostRead, exec);
        let class = move |column: u32| if wanted >> column & 1 != 0 { hosts } else { Class::Decode };
        exec.push_operations(plan, rest, OperationKind::Read, class, place);
        exec.pin(plan, 0);
        let parity = sources & exec.geometry().parity_columns();
        let folded = self.push_delta_reads(plan, parity, Class::Decode, exec);
        let pages = exec.decoded_pages(lost) + folded;
        exec.push_compute(plan, pages);
    }
}

/// Lets the read `plan`, whose row has lost more than parity tolerates, look again, alone. A read that has done so fails.
///
/// Pages that went bad and were healed one after the other look as if they were lost together to a read without the row lock.
fn look_again_alone<M: Memory>(plan: PlanId, lost: u64, exec: &mut Executor<M>) -> Result<(), TooManyLost> {
    if !exec.look_again(plan) {
        exec.miss(plan, lost);
        return Err(TooManyLost);
    }
    Ok(())
}

impl Job<InPlace> for Read {
    #[inline]
    fn build<M: Memory>(self, cx: Cx<'_, InPlace, M>, driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_read(cx.plan, cx.exec, driver)
    }

    #[inline]
    fn combine<M: Memory>(self, cx: Cx<'_, InPlace, M>) {
        cx.placement.decode(cx.plan, cx.exec);
        cx.placement.verify_decoded(cx.plan, cx.exec);
        cx.placement.overlay_late(cx.plan, cx.exec);
    }
}
