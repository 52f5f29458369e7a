//! What decoding reads: the columns from which lost ones are decoded.

use stripewise_core::bits::columns;
use stripewise_core::ids::PlanId;
use stripewise_core::memory::Memory;

use crate::Executor;

impl<M: Memory> Executor<M> {
    /// The columns from which those in `lost` are decoded: the remaining data columns, and as many parity columns as data
    /// columns are lost.
    pub fn sources(&self, lost: u64) -> u64 {
        let data = self.geometry.data_columns();
        let needed = (lost & data).count_ones() as usize;
        let parity = columns(self.geometry.parity_columns() & !lost).take(needed);
        parity.fold(data & !lost, |mask, column| mask | 1 << column)
    }

    /// Page operations of decoding the data columns in `lost`: each is a sum over all its source columns.
    pub fn decoded_pages(&self, lost: u64) -> u16 {
        let data = self.geometry.data_columns();
        ((lost & data).count_ones() * (self.geometry.data - 1)) as u16
    }

    /// Columns of the plan's row on failed members.
    pub fn columns_on_failed(&self, plan: PlanId) -> u64 {
        let place = self.plans[plan].place;
        (0..self.geometry.columns)
            .filter(|&column| self.failed[self.geometry.member(place, column).index()])
            .fold(0, |mask, column| mask | 1 << column)
    }
}
