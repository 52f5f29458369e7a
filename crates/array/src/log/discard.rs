//! Discards: members are notified of segments that are free and not soon written again, so that an SSD need not keep their
//! content, and a thin file returns its space.
//!
//! In the steady state each freed segment is written again soon, and a discard would only cost time. So the segments that were
//! freed last are kept as they are; segments beyond these, after a large trim, are discarded. For that purpose, segments
//! without valid chunks are not left to collection, which starts only when space is short. A segment that is being discarded
//! is not opened: no write can arrive before a discard that began earlier.

use stripewise_core::bits::columns;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};
use stripewise_exec::driver::Driver;
use stripewise_exec::{Built, Executor};

use crate::job::{BuildResult, Cx, Job};
use crate::log::Log;
use crate::log::durable::Walk;
use crate::log::job::Discard;

impl Log {
    /// Takes the next step of discarding. Returns false if there is nothing to do now.
    pub(crate) fn discard_one<M: Memory, D: Driver<M>>(
        &mut self,
        exec: &mut Executor<M>,
        driver: &mut D,
    ) -> bool {
        if !exec.members().discard || exec.reads_only() || !self.is_kept() {
            return false;
        }
        if let Some(empty) = self.segments.take_empty_victim() {
            self.vacate(empty, exec);
            return true;
        }
        let log = &mut *self;
        let (slots, columns) = (log.segment_slots() as u32, log.width);
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
        if !exec.has_free_plan() {
            return false;
        }
        // All rows at once: a driver merges adjacent pages into one call.
        let first = u64::from(walk.segment) * u64::from(slots) + u64::from(walk.next);
        walk.next += columns;
        walk.under_way += 1;
        let plan = self.take_plan(first, Discard, exec);
        let homes = self.homes_mut(plan);
        homes.iter_mut().zip(first..).for_each(|(location, slot)| *location = slot);
        exec.begin(plan, self, driver);
        true
    }

    /// Builds the step of a discard: a row, except for pages on failed members.
    fn build_discard<M: Memory>(&mut self, plan: PlanId, exec: &mut Executor<M>) {
        let row = u64::MAX >> (64 - exec.geometry().width);
        let mut living = row;
        for column in columns(row) {
            let slot = self.homes(plan)[column as usize];
            living &= !(u64::from(self.is_on_failed(slot, exec)) << column);
        }
        self.push_slots(plan, living, OperationKind::Trim, |_| Class::Metadata, exec);
    }

    /// A row is discarded, or stays as it was: it is not read in either case.
    fn discarded(&mut self) {
        if let Some(walk) = &mut self.durable_mut().discard {
            walk.under_way -= 1;
        }
    }
}

impl Log {
    /// Number of free segments that were in use and are not discarded, because they will be written soon.
    fn kept_undiscarded(&self) -> u32 {
        self.comfort + self.segments.count() / 16
    }
}

impl Job<Log> for Discard {
    fn build<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) -> BuildResult {
        cx.placement.build_discard(cx.plan, cx.exec);
        Ok(Built::Ready)
    }

    fn finished<M: Memory>(self, cx: Cx<'_, Log, M>, _driver: &mut impl Driver<M>) {
        cx.placement.discarded();
    }
}
