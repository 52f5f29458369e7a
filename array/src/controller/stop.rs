//! A clean stop: what the array was is told by a version of the superblocks that no earlier moment of a member has.

use super::Array;
use crate::driver::Driver;
use crate::memory::Memory;

impl<M: Memory> Array<M> {
    /// Tells all superblocks that the array was stopped cleanly, when everything is durable and nothing is under way: call
    /// [`Self::drain`] and [`Self::checkpoint`] first, and let a flush end. Nothing may be asked of the array behind this.
    ///
    /// A member that is put back to what it was at any earlier moment while the array is stopped has an older version then, and
    /// counts as absent.
    pub fn stop<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.advance(now);
        if self.read_only {
            return;
        }
        if let Some(roster) = &mut self.roster {
            roster.is_stopping = true;
        } else if self.is_kept() {
            let durable = self.elastic_mut().durable_mut();
            durable.superblock.is_clean = durable.superblock.version > 1;
            durable.is_news = true;
        }
        self.poll(driver);
    }
}
