//! Reading summaries: only the members store the content of the slots of a batch. Walks over segments read one summary for
//! each batch; other reads do so only if their decoded content is wrong, to find out which columns of the stripe are right.

use super::super::updates::TooManyLost;
use super::super::{Array, columns};
use crate::driver::Driver;
use crate::ids::NONE;
use crate::memory::Memory;
use crate::operation::{Class, Operation, OperationKind};
use crate::placement::elastic::contents::{Content, Walker};
use crate::plan::{Plan, Purpose, Step, Trust};

impl<M: Memory> Array<M> {
    /// Reads the summary of the batch of `slot`, which is wholly on the members, for `walker`, which does not know it yet.
    /// Returns false if it is being read already, or no plan is free.
    pub(super) fn ask_contents<D: Driver<M>>(&mut self, walker: Walker, slot: u64, driver: &mut D) -> bool {
        let copy = self.elastic().directory.batch(slot).0;
        if self.free_plan == NONE || self.elastic().durable().told[walker as usize].asked == Some(copy) {
            return false;
        }
        let plan = self.take_plan(copy, Purpose::ReadSummary);
        self.plans[plan as usize].unit = walker as u32;
        self.plans[plan as usize].trust = Trust::Asks;
        let log = self.elastic_mut();
        log.durable_mut().told[walker as usize].asked = Some(copy);
        let segment = log.segment_of(copy);
        log.segments.lock(segment);
        self.begin(plan, driver);
        true
    }

    /// Builds the step of reading a summary: a copy that was not found bad.
    pub(in super::super) fn build_tell(&mut self, plan: u32) -> Result<(), TooManyLost> {
        self.push_copy(plan)?;
        self.plans[plan as usize].acknowledge_here();
        Ok(())
    }

    /// Appends the step of reading a copy of the summary of the batch of `plan`: a copy that is readable as far as the plan
    /// knows.
    pub(super) fn push_copy(&mut self, plan: u32) -> Result<(), TooManyLost> {
        let Plan { row, unread_once, .. } = self.plans[plan as usize];
        let first = self.elastic().directory.batch(row).0;
        let copy = self.good_copy(first, unread_once, None).ok_or(TooManyLost)?;
        let (member, page) = self.elastic().member(copy);
        self.slots[(plan * self.stride) as usize].operation = Operation {
            page,
            member,
            kind: OperationKind::Read,
            class: Class::Metadata,
            column: (copy % u64::from(self.geometry.columns)) as u8,
            ..Operation::default()
        };
        let slot = &mut self.plans[plan as usize];
        slot.operations = 1;
        slot.push_step(Step::Operations { first: 0, count: 1 });
        Ok(())
    }

    /// Gives `plan`, which needs the checksums of its stripe, these checksums from memory, if the batch is still being
    /// written.
    pub(super) fn told_by_batch(&mut self, plan: u32) -> bool {
        let row = self.plans[plan as usize].row;
        let present = self.present(plan);
        let log = self.elastic_mut();
        let Some(durable) = &log.durable else { return false };
        let Some(nth) = durable.batches.iter().position(|batch| (batch.first..batch.end).contains(&row))
        else {
            return false;
        };
        for column in columns(present) {
            let content = log.durable().batches[nth].content(log.homes(plan)[column as usize]);
            log.set_content(plan, column, content);
        }
        self.plans[plan as usize].trust = Trust::Sources;
        true
    }

    /// Gives `plan`, which has read a summary, the checksums of its stripe; its steps are built again.
    pub(super) fn told_by_summary(&mut self, plan: u32) {
        let Plan { row, .. } = self.plans[plan as usize];
        let present = self.present(plan);
        let page = self.buffer_of(plan * self.stride);
        let Some(log) = &mut self.elastic else { return };
        let copy = log.directory.batch(row).0;
        let told = log.read_summary(copy, Some(self.memory.bytes(page)), Vec::new());
        for column in columns(present) {
            let content = log.look_up(&told, log.homes(plan)[column as usize]);
            log.set_content(plan, column, content.unwrap_or(Content::UNKNOWN));
        }
        let slot = &mut self.plans[plan as usize];
        slot.trust = Trust::Sources;
        slot.anew = true;
    }

    /// A summary was read, or none of its copies can be read.
    pub(in super::super) fn summary_read(&mut self, plan: u32) {
        let Plan { row: copy, unit, gave_up, .. } = self.plans[plan as usize];
        let page = (M::CARRIES_DATA && !gave_up).then(|| self.buffer_of(plan * self.stride));
        let Some(log) = &mut self.elastic else { return };
        let segment = log.segment_of(copy);
        log.segments.let_go(segment);
        log.tell(Walker::ALL[unit as usize], copy, page.map(|page| self.memory.bytes(page)));
    }
}
