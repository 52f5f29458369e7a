//! Discards: members are told of segments that are free and not soon written again, so that an SSD need not keep what is in
//! them, and a thin file gives its space back.
//!
//! In the steady state each freed segment is written again soon, and a discard would only cost time. So the ones that were
//! freed last are kept as they are; what is more than that, after a large trim, is discarded. For that, segments of which
//! nothing counts any more are not left to collection, which comes when space is short. A segment that is being
//! discarded is not opened: no write can come before a discard that was begun earlier.

use super::super::{Array, columns};
use crate::driver::Driver;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, OperationKind};
use crate::placement::elastic::Elastic;
use crate::placement::elastic::durable::Walk;
use crate::plan::Purpose;

impl<M: Memory> Array<M> {
    /// Goes one step on with discarding. False if there is nothing to be done now.
    pub(in super::super) fn discard_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        if !self.members.discard || self.read_only || !self.is_kept() {
            return false;
        }
        if let Some(empty) = self.elastic_mut().segments.take_empty_victim() {
            self.vacate(empty);
            return true;
        }
        let Some(log) = &mut self.elastic else { return false };
        let (slots, columns) = (log.segment_slots() as u32, log.columns());
        let kept = log.kept_undiscarded();
        let Some(durable) = &mut log.durable else { return false };
        let Some(walk) = &mut durable.discard else {
            durable.discard = log.segments.take_used(kept).map(|segment| Walk { segment, ..Walk::default() });
            return durable.discard.is_some();
        };
        if walk.next == slots {
            let (segment, is_over) = (walk.segment, walk.under_way == 0);
            if is_over {
                durable.discard = None;
                durable.counts.discarded += 1;
                log.segments.give_discarded(segment);
            }
            return is_over;
        }
        if self.free_plan == NONE {
            return false;
        }
        // All rows at once: a driver makes one call of pages that lie side by side.
        let first = u64::from(walk.segment) * u64::from(slots) + u64::from(walk.next);
        walk.next += columns;
        walk.under_way += 1;
        let plan = self.take_plan(first, Purpose::Discard);
        let homes = self.elastic_mut().homes_mut(plan);
        homes.iter_mut().zip(first..).for_each(|(location, slot)| *location = slot);
        self.begin(plan, driver);
        true
    }

    /// The step of a discard: a row, but for what lies on failed members.
    pub(in super::super) fn build_discard(&mut self, plan: u32) {
        let row = u64::MAX >> (64 - self.geometry.columns);
        let mut living = row;
        for column in columns(row) {
            let slot = self.elastic().homes(plan)[column as usize];
            living &= !(u64::from(self.is_on_failed(slot)) << column);
        }
        self.push_slots(plan, living, OperationKind::Trim, |_| Class::Metadata);
    }

    /// A row is discarded, or stays as it was: nobody reads it either way.
    pub(in super::super) fn discarded(&mut self) {
        if let Some(walk) = &mut self.elastic_mut().durable_mut().discard {
            walk.under_way -= 1;
        }
    }
}

impl Elastic {
    /// Free segments that were in use and are left as they are, since they will be written soon.
    fn kept_undiscarded(&self) -> u32 {
        self.comfort + self.segments.count() / 16
    }
}
