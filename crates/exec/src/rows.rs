//! Reads of rows, for placements whose rows need nothing else: no deferred parity, no cache, no deltas.

use stripewise_core::bits::columns;
use stripewise_core::geometry::COLUMNS_MAX;
use stripewise_core::ids::{NONE, PlanId};
use stripewise_core::memory::Memory;
use stripewise_core::operation::{Class, OperationKind};

use crate::bytes::Version;
use crate::plan::Step;
use crate::{Executor, TooManyLost};

impl<M: Memory> Executor<M> {
    /// Builds the steps of a read of the plan's `wanted` columns: direct, or decoding those that cannot be read. The content
    /// is in the buffers of old content when the step is complete after which hosts are acknowledged. Columns with errors are
    /// not read a second time.
    ///
    /// # Errors
    /// More columns of the row are lost than its code tolerates, and the plan reads some of them.
    pub fn build_row_read(&mut self, plan: PlanId, class: Class) -> Result<(), TooManyLost> {
        let slot = &self.plans[plan];
        let (place, wanted, unread) = (slot.place, slot.wanted, slot.lost);
        let lost = unread | if self.any_failed { self.columns_on_failed(plan) } else { 0 };
        self.plans[plan].missing = lost;
        if wanted & lost == 0 {
            self.push_operations(plan, wanted, OperationKind::Read, |_| class, place);
        } else if lost.count_ones() > self.geometry.parity() {
            return Err(TooManyLost);
        } else {
            let sources = self.sources(lost) | wanted & !lost;
            let class = |column: u32| if wanted >> column & 1 != 0 { class } else { Class::Decode };
            self.push_operations(plan, sources, OperationKind::Read, class, place);
            let pages = self.decoded_pages(lost);
            self.plans[plan].steps.push(Step::Compute { pages });
        }
        self.plans[plan].steps.acknowledge_here();
        Ok(())
    }

    /// Decodes the wanted columns that [`Self::build_row_read`] could not read.
    pub fn decode_row(&mut self, plan: PlanId) {
        let slot = &self.plans[plan];
        let (place, missing, wanted) = (slot.place, slot.missing, slot.wanted & slot.missing);
        let sources = self.sources(missing);
        let mut row = [NONE; COLUMNS_MAX as usize];
        let (mut lost_indices, mut wanted_indices) = (0, 0);
        for column in columns(self.geometry.all_columns()) {
            let index = self.geometry.code_index(place, column);
            if (sources | wanted) >> column & 1 != 0 {
                row[index as usize] = self.buffer(plan, column, Version::Old);
            }
            lost_indices |= u64::from(sources >> column & 1 == 0) << index;
            wanted_indices |= u64::from(wanted >> column & 1 != 0) << index;
        }
        self.decode(&row, lost_indices, wanted_indices);
    }
}
