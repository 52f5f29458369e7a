//! Loss of power: what a new controller over the same elements begins with, and making parity right again.
//!
//! Without persistent memory nobody knows which rows were under update, and their parity may not be that of their data:
//! the write hole of RAID-5 and RAID-6. All rows are walked before the first request is issued, as Linux md does after
//! an unclean shutdown. A row that has lost a chunk too cannot be helped: what its parity decodes may be nothing that was
//! ever written.

use super::Array;
use crate::bugs::Bug;
use crate::cache::Cache;
use crate::driver::Driver;
use crate::holds::Hold;
use crate::memory::Memory;
use crate::operation::{Class, OperationKind};
use crate::placement::{FirstWrites, PlacementPolicy};
use crate::plan::{Plan, Purpose, Step};
use crate::scheme::{Scheme, SchemeError};
use crate::update::{Decision, Reason, Routine};

/// The walk over all rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resync {
    /// The next row to be made right.
    next: u64,
    /// Rows that are being made right.
    under_way: u32,
}

impl Scheme {
    /// Whether a controller of this scheme finds everything again after a loss of power.
    ///
    /// # Errors
    /// What it keeps in memory alone, and what to use instead.
    pub fn check_restart(&self) -> Result<(), SchemeError> {
        let refuse = |key, value: &str, reason| {
            Err(SchemeError::Setting { scheme: self.name.clone(), key, value: value.into(), reason })
        };
        let reason = "keeps its map in memory alone, which a loss of power erases; use \"in-place\"";
        match self.placement.policy {
            PlacementPolicy::InPlace => {}
            PlacementPolicy::ParityLogging => {
                return refuse("placement.policy", "\"parity-logging\"", reason);
            }
            PlacementPolicy::Elastic => return refuse("placement.policy", "\"elastic\"", reason),
        }
        match self.placement.first_writes {
            FirstWrites::InPlace => {}
            FirstWrites::Gather => return refuse("placement.first_writes", "\"gather\"", reason),
            FirstWrites::Encode => return refuse("placement.first_writes", "\"encode\"", reason),
        }
        if self.parity.window != crate::WindowSize::default() {
            let reason = "keeps in memory alone which parity is late, which a loss of power erases; use 0";
            return refuse("parity.window", "a window", reason);
        }
        Ok(())
    }
}

impl<M: Memory> Array<M> {
    /// The controller after a loss of power: a new one of the same scheme over the same elements, of which those that were
    /// failed stay failed. Requests and operations under way are forgotten; nobody will be told of them. Time begins anew.
    ///
    /// Call [`Self::resume`] next.
    ///
    /// # Errors
    /// When the scheme keeps in memory alone what would be needed, with the reason.
    pub fn restart(mut self) -> Result<Self, SchemeError> {
        self.scheme.check_restart()?;
        (0..self.plans.len() as u32).for_each(|plan| self.keep_cached(plan));
        (0..self.plans.len() as u32).for_each(|plan| self.return_buffers(plan));
        let survives = |cache: &Cache| !cache.is_volatile;
        if !self.cache.as_ref().is_some_and(survives) && !self.has_bug(Bug::VolatileCacheKept) {
            self.erase_cache();
        }
        let before = self.cache.take();
        let page_bytes = self.elements.page_bytes;
        let mut array = Self::new(&self.scheme, self.elements, self.memory)?;
        let restarted = |cache: Cache| cache.restarted(&self.scheme.cache, &self.geometry, page_bytes);
        array.cache = before.and_then(restarted).or(array.cache);
        array.any_failed = self.any_failed;
        array.failed = self.failed;
        #[cfg(feature = "planted-bugs")]
        array.plant(self.bug);
        if array.geometry.parity() > 0 && !array.has_bug(Bug::ResyncSkipped) {
            array.resync = Some(Resync::default());
        }
        Ok(array)
    }

    /// Begins to make right what a loss of power left: the first call after [`Self::restart`].
    pub fn resume<D: Driver<M>>(&mut self, now: u64, driver: &mut D) {
        self.advance(now);
        self.settle(driver);
    }

    /// Whether parity is still being made right after a loss of power. Requests wait for the end of that.
    pub fn is_resyncing(&self) -> bool {
        self.resync.is_some()
    }

    /// What a volatile cache holds is gone.
    fn erase_cache(&mut self) {
        let Some(cache) = self.cache.take() else { return };
        for chunk in cache.store.iter().filter(|_| M::CARRIES_DATA) {
            self.memory.give(chunk.page);
        }
    }

    /// Goes on with the next row, if a plan is free. False when there is nothing to do.
    pub(super) fn resync_one<D: Driver<M>>(&mut self, driver: &mut D) -> bool {
        let Some(resync) = &mut self.resync else { return false };
        let row = resync.next;
        if row == self.geometry.rows() {
            let is_over = resync.under_way == 0;
            if is_over {
                self.resync = None;
            }
            return is_over;
        }
        if self.free_plan == crate::holds::NONE {
            return false;
        }
        resync.next += 1;
        resync.under_way += 1;
        let plan = self.take_plan(row, Purpose::Resync);
        self.acquire(plan, Hold::Exclusive, driver);
        true
    }

    /// Steps of making the parity of a row right: all data is read, decoded where it cannot be, and what parity was not
    /// needed for that is written. Data on living elements that had to be decoded is written back.
    pub(super) fn build_resync(&mut self, plan: u32) {
        // Parity may be wrong: before it is believed, what gave an error is read a second time.
        let believes = self.has_bug(Bug::ResyncBelievesParity);
        let slot = &mut self.plans[plan as usize];
        if slot.lost & !slot.unread_once != 0 && !believes {
            slot.unread_once |= slot.lost;
            slot.lost = 0;
        }
        let lost = self.lost_members(plan);
        let failed = self.members_on_failed(plan);
        let slot = &mut self.plans[plan as usize];
        slot.missing = lost;
        let row = slot.row;
        if lost.count_ones() > self.geometry.parity() {
            slot.gave_up = true;
            slot.decision = Decision::forced(Routine::Plain, Reason::ParityLost);
            return self.window.set_stale(row, true);
        }
        let (data, parity) = (self.geometry.data_members(), self.geometry.parity_members());
        let sources = self.sources(lost);
        let repaired = lost & data & !failed;
        let targets = parity & !sources & !failed;
        let slot = &mut self.plans[plan as usize];
        if targets | repaired == 0 {
            slot.decision = Decision::forced(Routine::Plain, Reason::ParityLost);
            return;
        }
        let routine = if lost & data == 0 { Routine::Rcw } else { Routine::Reconstruct };
        slot.decision = Decision::forced(routine, Reason::Unclean);
        let place = slot.place;
        self.push_operations(plan, sources, OperationKind::Read, |_| Class::PreRead, place);
        let encoded = targets.count_ones() * (self.geometry.data - 1);
        let pages = self.decoded_pages(lost) + encoded as u16;
        self.plans[plan as usize].push_step(Step::Compute { pages });
        if repaired != 0 {
            self.push_operations(plan, repaired, OperationKind::Write, |_| Class::Repair, place);
        }
        if targets != 0 {
            self.push_operations(plan, targets, OperationKind::Write, |_| Class::Parity, place);
        }
        self.plans[plan as usize].acknowledge_here();
    }

    /// The end of a row's resync.
    pub(super) fn resynced(&mut self, plan: u32) {
        let Plan { row, gave_up, .. } = self.plans[plan as usize];
        if gave_up {
            self.window.set_stale(row, true);
        }
        if let Some(resync) = &mut self.resync {
            resync.under_way -= 1;
        }
    }
}
