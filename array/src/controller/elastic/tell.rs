//! Reading summaries for those who walk over segments: what lies in the slots of a batch is on the elements alone.

use super::super::Array;
use super::super::updates::TooManyLost;
use crate::driver::Driver;
use crate::holds::NONE;
use crate::memory::Memory;
use crate::operation::{Class, Operation, OperationKind};
use crate::placement::elastic::contents::Walker;
use crate::plan::{Plan, Purpose, Step};

/// Whether a walker knows what lies in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    Known,
    /// The summary is being read since now.
    Begun,
    /// It is being read, or a plan is wanting.
    Awaited,
}

impl<M: Memory> Array<M> {
    /// Sees to it that `walker` knows what lies in the batch of `slot`, all of which is on the elements.
    pub(super) fn ask_contents<D: Driver<M>>(
        &mut self,
        walker: Walker,
        slot: u64,
        driver: &mut D,
    ) -> Telling {
        if self.elastic().is_told(walker, slot) {
            return Telling::Known;
        }
        let copy = self.elastic().directory.batch(slot).0;
        if self.free_plan == NONE || self.elastic().durable().told[walker as usize].asked == Some(copy) {
            return Telling::Awaited;
        }
        let plan = self.take_plan(copy, Purpose::Tell);
        self.plans[plan as usize].unit = walker as u32;
        let log = self.elastic_mut();
        log.durable_mut().told[walker as usize].asked = Some(copy);
        let segment = log.segment_of(copy);
        log.segments.hold(segment);
        self.begin(plan, driver);
        Telling::Begun
    }

    /// The step of reading a summary: a copy that was not found bad.
    pub(in super::super) fn build_tell(&mut self, plan: u32) -> Result<(), TooManyLost> {
        let Plan { row: first, lost, .. } = self.plans[plan as usize];
        let copy = self.good_copy(first, lost, None).ok_or(TooManyLost)?;
        let (element, page) = self.elastic().element(copy);
        self.slots[(plan * self.stride) as usize].operation = Operation {
            page,
            element,
            kind: OperationKind::Read,
            class: Class::Metadata,
            member: (copy % u64::from(self.geometry.members)) as u8,
            ..Operation::default()
        };
        let slot = &mut self.plans[plan as usize];
        slot.operations = 1;
        slot.push_step(Step::Operations { first: 0, count: 1 });
        slot.acknowledge_here();
        Ok(())
    }

    /// A summary was read, or no copy of it can be.
    pub(in super::super) fn summary_read(&mut self, plan: u32) {
        let Plan { row: copy, unit, gave_up, .. } = self.plans[plan as usize];
        let page = (M::CARRIES_DATA && !gave_up).then(|| self.buffer_of(plan * self.stride));
        let Some(log) = &mut self.elastic else { return };
        let segment = log.segment_of(copy);
        log.segments.let_go(segment);
        log.tell(Walker::ALL[unit as usize], copy, page.map(|page| self.memory.bytes(page)));
    }
}
