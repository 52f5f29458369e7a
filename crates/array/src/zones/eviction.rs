//! Blocks that are moved home because their zone has too little room.
//!
//! Source: our choice; paper 004 (section 3) does not say what happens when a zone is full.

use stripewise_core::ids::RequestId;

use super::map::HOME;
use super::{CANDIDATES, Eviction, Zones};

impl Zones {
    /// The next pages to move home, where a zone has too little room: a run of one block of the zone that no host writes. The
    /// run is to be read, and written after [`Self::bring_home`].
    pub(crate) fn evict(&mut self) -> Option<(u64, u64)> {
        if self.eviction.is_some() || self.is_stuck || self.trims > 0 {
            return None;
        }
        let wanting = |&zone: &usize| self.spaces[zone - 1].count() + self.leaving[zone] < self.reserve[zone];
        let zone = (1..=self.spaces.len()).find(wanting)?;
        let is_idle = |&id: &u32| self.map.get(id).writers == 0 && self.map.get(id).away > 0;
        let found = self.map.oldest_first(zone).take(CANDIDATES).find(is_idle);
        self.is_stuck = found.is_none();
        let (entry, epoch) = (found?, self.epoch);
        let run = self.away_run(entry);
        self.eviction = Some(Eviction { entry, run, epoch, is_writing: false, is_stopped: false });
        self.begun[(self.epoch & 1) as usize] += 1;
        Some(run)
    }

    /// The first run of consecutive pages of an entry that are not at home.
    pub(super) fn away_run(&self, id: u32) -> (u64, u64) {
        let is_away = |page: &u64| self.map.place(id, *page) != HOME;
        let pages = self.map.pages(id);
        let first = pages.clone().find(is_away).unwrap_or(pages.start);
        (first, (first..pages.end).take_while(is_away).count() as u64)
    }

    /// Whether a host changes the block that is being moved home.
    pub(crate) fn is_stopped(&self) -> bool {
        self.eviction.is_some_and(|eviction| eviction.is_stopped)
    }

    /// The pages to move home are read, and the request `mover` is about to write them there.
    pub(crate) fn bring_home(&mut self, mover: RequestId) {
        let Some(eviction) = &mut self.eviction else { return };
        eviction.is_writing = true;
        let (first, count) = eviction.run;
        for page in first..first + count {
            self.aim(mover, page, page);
        }
    }

    /// The pages that `mover` was to move home are there, or are not because it `failed` or a host write came first.
    pub(crate) fn brought_home(&mut self, mover: RequestId, failed: bool) {
        let Some(Eviction { entry, epoch, run: (first, count), .. }) = self.eviction.take() else { return };
        self.cancel_moves(mover, first, first + count - 1);
        if failed {
            // The block is not tried again before it is written again.
            self.map.forget_order(entry);
        }
        if self.map.get(entry).away == 0 && self.map.get(entry).writers == 0 {
            self.map.remove(entry);
        }
        self.over(epoch);
    }
}
