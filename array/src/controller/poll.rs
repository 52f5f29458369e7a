//! Work that has become possible: checked after every event.

use super::Array;
use crate::driver::Driver;
use crate::memory::Memory;

impl<M: Memory> Array<M> {
    /// Whether only plans of host requests are in progress, so that the long list of [`Self::poll_all`] need not be checked.
    #[inline]
    fn is_plain(&self) -> bool {
        self.only_plans
            && self.resync.is_none()
            && self.roster.is_none()
            && !self.window.flushes_deferred
            && !self.metadata.is_under_way()
    }

    /// Does all work that has become possible: plans that got their row lock continue, then waiting requests are split.
    #[inline]
    pub(super) fn poll<D: Driver<M>>(&mut self, driver: &mut D) {
        // Nothing that starts here makes a plain array non-plain.
        if !self.is_plain() {
            return self.poll_all(driver);
        }
        loop {
            if let Some(plan) = self.woken.pop_front() {
                self.begin(plan, driver);
            } else if !self.issue_front(driver) && self.woken.is_empty() {
                debug_assert!(self.is_plain());
                return;
            }
        }
    }

    /// Like [`Self::poll`], where other work may be due.
    fn poll_all<D: Driver<M>>(&mut self, driver: &mut D) {
        loop {
            if let Some(plan) = self.woken.pop_front() {
                self.begin(plan, driver);
            } else if self.journaled(driver) || self.intended(driver) {
                // Journaled updates continue in place.
            } else if self.hedge_due(driver) {
                // A hedge waits only for its time.
            } else if self.resync_one(driver) {
                // Parity must be right before anything relies on it.
            } else if self.evict_one(driver) {
                // A host request to a block that is being moved home waits for the move.
            } else if self.destage_due(driver) || self.encode_due() {
                // Destaging goes first: writes wait for the room that it frees.
            } else if !self.issue_front(driver)
                && !self.issue_batches(driver)
                && !self.append_one(driver)
                && !self.summarise_one(driver)
                && !self.collect_one(driver)
                && !self.flush_one_deferred(driver)
                && !self.commit_one(driver)
                && !self.sync_one(driver)
                && !self.walk_one(driver)
                && !self.discard_one(driver)
                && self.woken.is_empty()
                && !self.destage_due(driver)
                && !self.note_full(driver)
                && !self.write_record(driver)
                && !self.write_intent(driver)
                && !self.free_records(driver)
            {
                return;
            }
        }
    }
}
