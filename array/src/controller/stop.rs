//! A clean stop: a version of the superblocks that is newer than any earlier state of a member records it.

use super::Array;
use crate::driver::Driver;
use crate::memory::Memory;

impl<M: Memory> Array<M> {
    /// Records in all superblocks that the array was stopped cleanly, once everything is durable and nothing is in progress:
    /// call [`Self::drain`] and [`Self::checkpoint`] first, and let a flush complete. Nothing may be requested of the array
    /// after this call.
    ///
    /// If a member is set back to an earlier state while the array is stopped, it then has an older version, and counts as
    /// absent.
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
