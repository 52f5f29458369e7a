//! Steps of reads: direct, or decoding from the rest of the row the columns that are lost, or avoided by choice.

use super::updates::TooManyLost;
use super::{Array, columns};
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::memory::Memory;
use crate::operation::{Class, OperationKind};
use crate::plan::Step;
use crate::row_locks::RowLock;

/// The result of the attempt to build the steps of a read.
pub(super) enum Built {
    /// The steps are built.
    Ready,
    /// The plan must first get this row lock.
    Needs(RowLock),
}

impl<M: Memory> Array<M> {
    /// Builds the steps of the read `plan`, given the columns that are lost now.
    pub(super) fn build_read<D: Driver<M>>(
        &mut self,
        plan: u32,
        driver: &mut D,
    ) -> Result<Built, TooManyLost> {
        self.note_cached(plan);
        self.fail_lost_cached(plan);
        if self.plans[plan as usize].doubts && self.plans[plan as usize].lock == RowLock::None {
            // A page that has a wrong checksum while no update has the row lock is bad.
            return Ok(Built::Needs(RowLock::Shared));
        }
        let slot = &self.plans[plan as usize];
        let (place, wanted, lock) = (slot.place, slot.wanted, slot.lock);
        // Cached columns that parity covers need not be read to decode the rest of the row.
        let held = self.covered_in_cache(self.plans[plan as usize].row);
        let unreadable = self.lost_columns(plan);
        let mut lost = unreadable & !held;
        if self.has_bug(Bug::StaleMemberRead) {
            lost &= slot.lost;
        }
        // For columns with deferred parity, memory has the content that hosts want, as long as the row is locked.
        let late = self.window.dirty(self.plans[plan as usize].row);
        if lost.count_ones() > self.geometry.parity() && wanted & lost & !late != 0 {
            let slot = &mut self.plans[plan as usize];
            if slot.lost == 0 || slot.looked_again {
                slot.missing = lost;
                return Err(TooManyLost);
            }
            // Pages that went bad and were healed one after the other look as if they were lost together to a read without the
            // row lock. Before the read gives up, it looks again, alone.
            slot.looked_again = true;
            slot.lost = 0;
            if lock == RowLock::None {
                return Ok(Built::Needs(RowLock::Exclusive));
            }
            return self.build_read(plan, driver);
        }
        lost |= self.around_slow(plan, lost);
        if lost == 0 {
            lost = self.redirect(plan, driver);
        }
        self.plans[plan as usize].missing = lost;
        if wanted & lost == 0 {
            // Recorded cached content replaces columns that members cannot read.
            let rest = wanted & !(unreadable & held);
            let class = self.class_of(plan, Class::HostRead);
            self.push_operations(plan, rest, OperationKind::Read, |_| class, place);
            self.plans[plan as usize].acknowledge_here();
            if lost == 0 && rest == wanted {
                self.arm_hedge(plan);
            }
            return Ok(Built::Ready);
        }
        // Content that a working member could not read is written back once it is decoded.
        let slot = &self.plans[plan as usize];
        let unreadable = slot.lost & !self.columns_on_failed(plan);
        let repair = if self.read_only { 0 } else { unreadable };
        let needed = if repair != 0 { RowLock::Exclusive } else { RowLock::Shared };
        let held = slot.lock == needed || slot.lock == RowLock::Exclusive;
        let skips = slot.path.avoided() != 0 && self.has_bug(Bug::RedirectNotHeld);
        if !held && !skips && !self.has_bug(Bug::DecodeWithoutHold) {
            return Ok(Built::Needs(needed));
        }
        if wanted & lost & !late == 0 {
            let rest = wanted & !late;
            self.push_operations(plan, rest, OperationKind::Read, |_| Class::HostRead, place);
            self.plans[plan as usize].push_step(Step::Compute { pages: 0 });
        } else {
            let sources = self.sources(lost);
            // Decoding uses the versions that parity covers, which memory has where members do not keep them.
            let rest = if self.window.pins() { sources } else { sources & !late };
            let rest = rest & !self.take_covered(plan);
            self.plans[plan as usize].pinned = late;
            let hosts = self.class_of(plan, Class::HostRead);
            let class = move |column: u32| if wanted >> column & 1 != 0 { hosts } else { Class::Decode };
            self.push_operations(plan, rest, OperationKind::Read, class, place);
            self.plans[plan as usize].pinned = 0;
            let parity = sources & self.geometry.parity_columns();
            let folded = self.push_delta_reads(plan, parity, Class::Decode);
            let pages = self.decoded_pages(lost) + folded;
            self.plans[plan as usize].push_step(Step::Compute { pages });
        }
        self.plans[plan as usize].acknowledge_here();
        if repair != 0 {
            self.push_operations(plan, repair & wanted, OperationKind::Write, |_| Class::Repair, place);
        }
        Ok(Built::Ready)
    }

    /// The columns from which those in `lost` are decoded: the remaining data columns, and as many parity columns as data
    /// columns are lost.
    pub(super) fn sources(&self, lost: u64) -> u64 {
        let data = self.geometry.data_columns();
        let needed = (lost & data).count_ones() as usize;
        let parity = columns(self.geometry.parity_columns() & !lost).take(needed);
        parity.fold(data & !lost, |mask, column| mask | 1 << column)
    }

    /// Page operations of decoding the data columns in `lost`: each is a sum over all its source columns.
    pub(super) fn decoded_pages(&self, lost: u64) -> u16 {
        let data = self.geometry.data_columns();
        ((lost & data).count_ones() * (self.geometry.data - 1)) as u16
    }

    /// Columns of the plan's row on failed members.
    pub(super) fn columns_on_failed(&self, plan: u32) -> u64 {
        let place = self.plans[plan as usize].place;
        (0..self.geometry.columns)
            .filter(|&column| self.failed[self.geometry.member(place, column) as usize])
            .fold(0, |mask, column| mask | 1 << column)
    }
}
