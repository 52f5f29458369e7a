//! A clean stop: a version of the superblocks that is newer than any earlier state of a member records it.

use crate::array::{Array, Placed};
use stripewise_core::memory::Memory;
use stripewise_exec::driver::Driver;

impl<M: Memory> Array<M> {
    /// Requests a checkpoint: content moved off damaged stripes is durable with it, and the next assembly has little to do.
    pub fn checkpoint<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.exec_mut().advance(now);
        let is_read_only = self.exec().reads_only();
        if let Some(log) = self.as_log_mut().filter(|log| log.is_kept() && !is_read_only) {
            log.durable_mut().sync.is_requested = true;
            self.poll(driver);
        }
    }

    /// Records in all superblocks that the array was stopped cleanly, once everything is durable and nothing is in progress:
    /// call [`drain`](crate::Controller::drain) and [`Self::checkpoint`] first, and let a flush complete. Nothing may be
    /// requested of the array after this call.
    ///
    /// If a member is set back to an earlier state while the array is stopped, it then has an older version, and counts as
    /// absent.
    pub fn stop<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.exec_mut().advance(now);
        if self.exec().reads_only() {
            return;
        }
        match &mut self.0 {
            Placed::InPlace(array) => {
                if let Some(roster) = &mut array.placement.roster {
                    roster.is_stopping = true;
                }
            }
            Placed::Log(array) => {
                if let Some(durable) = &mut array.placement.durable {
                    let superblock = &mut durable.members.superblock;
                    superblock.is_clean = superblock.version > 1;
                    durable.has_event = true;
                }
            }
        }
        self.poll(driver);
    }
}
