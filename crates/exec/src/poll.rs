//! Work that has become possible: checked after every event.

use stripewise_core::memory::Memory;

use crate::driver::Driver;
use crate::{Executor, Placement, When};

impl<M: Memory> Executor<M> {
    /// Whether only plans of host requests are in progress, so that the long list of [`Self::poll_all`] need not be checked.
    #[inline]
    fn is_plain<P: Placement<M>>(&self, placement: &P) -> bool {
        placement.is_plain() && !self.metadata.is_under_way()
    }

    /// Does all work that has become possible: plans that got their row lock continue, then waiting requests are split.
    #[inline]
    pub fn poll<P: Placement<M>, D: Driver<M>>(&mut self, placement: &mut P, driver: &mut D) {
        // Nothing that starts here makes a plain array non-plain.
        if !self.is_plain(placement) {
            return self.poll_all(placement, driver);
        }
        loop {
            if let Some(plan) = self.woken.pop_front() {
                self.begin(plan, placement, driver);
            } else if !self.issue_front(placement, driver) && self.woken.is_empty() {
                debug_assert!(self.is_plain(placement));
                return;
            }
        }
    }

    /// Like [`Self::poll`], where other work may be due.
    fn poll_all<P: Placement<M>, D: Driver<M>>(&mut self, placement: &mut P, driver: &mut D) {
        loop {
            if let Some(plan) = self.woken.pop_front() {
                self.begin(plan, placement, driver);
            } else if placement.poll(When::Waiting, self, driver) {
                // Updates continue whose record is durable.
            } else if self.hedge_due(placement, driver) {
                // A hedge waits only for its time.
            } else if placement.poll(When::BeforeHosts, self, driver) {
                // Requests of hosts wait for this work.
            } else if self.recall_set_aside(placement) {
                // Requests continue for which a page has become free.
            } else if !self.issue_front(placement, driver)
                && !self.issue_passing(placement, driver)
                && !self.issue_batches(placement, driver)
                && !placement.poll(When::AfterHosts, self, driver)
                && self.woken.is_empty()
                && !placement.poll(When::Last, self, driver)
            {
                return;
            }
        }
    }
}
