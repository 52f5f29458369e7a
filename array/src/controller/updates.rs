//! Steps of updates: pre-read, compute parity, write.

use super::{Array, members};
use crate::bugs::Bug;
use crate::driver::Driver;
use crate::geometry::Place;
use crate::memory::Memory;
use crate::operation::{Class, Operation, OperationKind};
use crate::plan::{Plan, Step};
use crate::update::{Choice, Decision, ParityUpdate, Reason, Routine, Update};

/// More members of a row are lost than its code can bear.
pub(super) struct TooManyLost;

impl<M: Memory> Array<M> {
    /// Makes the steps of the update `plan` from what is lost now.
    #[inline]
    pub(super) fn build_update<D: Driver<M>>(
        &mut self,
        plan: u32,
        driver: &mut D,
    ) -> Result<(), TooManyLost> {
        let lost = self.lost_members(plan);
        // A page that could not be read can still be written, and is healed by it; a failed element takes nothing.
        let failed = if lost == 0 { 0 } else { self.members_on_failed(plan) };
        self.plans[plan as usize].missing = lost;
        let bearable = if self.has_bug(Bug::FailureInvented) { 0 } else { self.geometry.parity() };
        if lost.count_ones() > bearable {
            // Without parity every chunk stands for itself: those that are left are written. So are those of a gathered
            // row, which hosts know to be written: what is lost must not be found to be zeros.
            let stands_alone = self.geometry.parity() == 0 || self.is_fresh(plan);
            if !stands_alone || self.plans[plan as usize].wanted & !lost == 0 {
                return Err(TooManyLost);
            }
            self.fail_requests(plan, lost);
            let slot = &mut self.plans[plan as usize];
            slot.wanted &= !lost;
            slot.partial &= !lost;
        }
        let slot = &self.plans[plan as usize];
        let (place, wanted, partial) = (slot.place, slot.wanted, slot.partial);
        let parity = self.geometry.all_members() & !self.geometry.data_members();
        let (decision, reads) = self.choose(plan, lost, failed, driver);
        self.decided(plan, decision, driver);
        if reads != 0 {
            self.push_operations(plan, reads, OperationKind::Read, |_| Class::PreRead, place);
        }
        let with_parity = parity & !failed != 0;
        if with_parity || partial != 0 {
            // One exclusive-or for each page that goes into the parity but the first.
            let pages = if with_parity { (wanted.count_ones() + reads.count_ones()).max(1) - 1 } else { 0 };
            self.plans[plan as usize].push_step(Step::Compute { pages: pages as u16 });
        }
        if self.has_bug(Bug::AcknowledgeBeforeWrite) && self.plans[plan as usize].step().is_some() {
            self.plans[plan as usize].acknowledge_here();
        }
        let mut targets = (wanted | parity) & !failed;
        if lost & wanted != 0 && self.has_bug(Bug::DegradedParitySkipped) {
            targets &= !parity;
        }
        let data = self.geometry.data;
        let class = move |member| if member < data { Class::HostWrite } else { Class::Parity };
        let is_early = self.has_bug(Bug::AcknowledgeBeforeParity) && targets & !parity != 0;
        if is_early {
            self.push_operations(plan, targets & !parity, OperationKind::Write, class, place);
            self.plans[plan as usize].acknowledge_here();
            targets &= parity;
        }
        self.push_operations(plan, targets, OperationKind::Write, class, place);
        if !is_early && !self.has_bug(Bug::AcknowledgeBeforeWrite) {
            self.plans[plan as usize].acknowledge_here();
        }
        Ok(())
    }

    /// Chooses the routine, and the members to pre-read.
    #[inline]
    fn choose<D: Driver<M>>(&self, plan: u32, lost: u64, failed: u64, driver: &mut D) -> (Decision, u64) {
        let Plan { wanted, partial, .. } = self.plans[plan as usize];
        let forced = Decision::forced;
        let data = self.geometry.data_members();
        let parity = self.geometry.all_members() & !data;
        if parity == 0 {
            return (forced(Routine::Plain, Reason::NoParity), partial);
        }
        if parity & failed != 0 {
            return (forced(Routine::Plain, Reason::ParityLost), partial);
        }
        let is_fresh = self.is_fresh(plan);
        let rmw = wanted | parity;
        let rcw = (data & !wanted) | partial;
        if rcw == 0 {
            return (forced(Routine::FullStripe, Reason::NothingToRead), 0);
        }
        if is_fresh {
            return (forced(Routine::ShortStripe, Reason::FirstWrite), 0);
        }
        if lost != 0 {
            if partial & lost != 0 {
                let everything = self.geometry.all_members() & !lost;
                return (forced(Routine::Reconstruct, Reason::PartOfLost), everything);
            }
            return if rmw & lost != 0 {
                (forced(Routine::Rcw, Reason::OtherNeedsLost), rcw)
            } else if rcw & lost != 0 {
                (forced(Routine::Rmw, Reason::OtherNeedsLost), rmw)
            } else {
                self.choose_freely(plan, rmw, rcw, driver)
            };
        }
        self.choose_freely(plan, rmw, rcw, driver)
    }

    /// Whether `plan` is the first write of a gathered row.
    fn is_fresh(&self, plan: u32) -> bool {
        self.gather.as_ref().is_some_and(|gather| gather.is_fresh(self.plans[plan as usize].row))
    }

    #[inline]
    fn choose_freely<D: Driver<M>>(&self, plan: u32, rmw: u64, rcw: u64, driver: &mut D) -> (Decision, u64) {
        let Plan { place, row, wanted, .. } = self.plans[plan as usize];
        let choice = Choice {
            now: self.now,
            row,
            updated: wanted,
            rmw,
            rcw,
            old: 0,
            geometry: &self.geometry,
            place,
            page_bytes: self.elements.page_bytes,
            loads: &self.loads,
            times: &self.times,
        };
        let update = &self.scheme.update;
        let chosen = if *update == (Update::Custom {}) { driver.choose(&choice) } else { None };
        let decision = update.choose(&choice, driver, chosen);
        (decision, if decision.routine == Routine::Rmw { rmw } else { rcw })
    }

    /// Notes the decision of `plan`, and tells of it if it is the plan's first.
    #[inline]
    fn decided<D: Driver<M>>(&mut self, plan: u32, decision: Decision, driver: &mut D) {
        let is_fresh = decision.reason == Reason::FirstWrite || self.is_fresh(plan);
        let slot = &mut self.plans[plan as usize];
        slot.decision = decision;
        if decision.routine != Routine::Plain && !is_fresh && !std::mem::replace(&mut slot.told, true) {
            let (row, dirty) = (slot.row, slot.wanted.count_ones());
            driver.updated(&ParityUpdate { at: self.now, row, dirty, decision });
        }
    }

    /// Appends a step with one operation for each member of `mask`.
    #[inline]
    pub(super) fn push_operations(
        &mut self,
        plan: u32,
        mask: u64,
        kind: OperationKind,
        class: impl Fn(u32) -> Class,
        place: Place,
    ) {
        let slot = &mut self.plans[plan as usize];
        let first = slot.operations;
        let count = mask.count_ones() as u16;
        let base = (plan * self.stride) as usize + first as usize;
        for (slot, member) in self.slots[base..base + count as usize].iter_mut().zip(members(mask)) {
            slot.operation = Operation {
                page: place.page,
                element: self.geometry.element(place, member),
                kind,
                class: class(member),
                member: member as u8,
            };
        }
        slot.operations += count;
        slot.push_step(Step::Operations { first, count });
    }

    /// Members of the plan's row that cannot be used: on failed elements, or found bad by the plan itself.
    #[inline]
    pub(super) fn lost_members(&self, plan: u32) -> u64 {
        let slot = &self.plans[plan as usize];
        let mut lost = slot.lost;
        if self.any_failed {
            for member in 0..self.geometry.members {
                if self.failed[self.geometry.element(slot.place, member) as usize] {
                    lost |= 1 << member;
                }
            }
        }
        lost
    }
}
