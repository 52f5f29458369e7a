//! Pages that move from zone to zone, and the pages that they leave.
//!
//! Source: paper 004, section 3.2 (a page moves when it is written, and its old entry goes when the write is done); the rule
//! when a page that was left may be reused is ours.

use super::map::HOME;
use super::{Move, Unflushed, Zones};
use stripewise_core::ids::{NONE, RequestId};

impl Zones {
    /// Ends a request or internal operation of the controller that began in `epoch`.
    pub(super) fn over(&mut self, epoch: u64) {
        self.begun[(epoch & 1) as usize] -= 1;
        self.is_stuck = false;
        // The epoch ends when no request of the previous epoch is left.
        while self.begun[((self.epoch + 1) & 1) as usize] == 0
            && self.oldest_left().is_some_and(|left| left <= self.epoch)
        {
            self.epoch += 1;
            self.free_left();
        }
    }

    /// The epoch in which the first page was left that still waits.
    fn oldest_left(&self) -> Option<u64> {
        let left = self.left.front().map(|&(epoch, _)| epoch);
        left.into_iter().chain(self.left_home.front().map(|&(epoch, _)| epoch)).min()
    }

    /// Whether a request may still be sent to the home of the host's `page`, which left it.
    pub(super) fn is_home_awaited(&self, page: u64) -> bool {
        self.left_home.iter().any(|&(_, left)| left == page)
    }

    /// Frees the pages that were left two epochs ago: every request that may have been sent there has ended.
    pub(super) fn free_left(&mut self) {
        while let Some(&(epoch, page)) = self.left.front()
            && epoch + 2 <= self.epoch
        {
            self.left.pop_front();
            let zone = self.zone_of(page.into());
            self.leaving[zone] -= 1;
            self.spaces[zone - 1].give(page.into());
        }
        while self.left_home.front().is_some_and(|&(epoch, _)| epoch + 2 <= self.epoch) {
            self.left_home.pop_front();
        }
    }

    /// Records that a page is left; it will be free once no request can be sent there any more. At home there is nothing to
    /// free.
    pub(super) fn leave(&mut self, place: u32) {
        if place != HOME {
            self.left.push_back((self.epoch, place));
        }
    }

    /// Records that `place` will be left.
    pub(super) fn will_leave(&mut self, place: u32) {
        if place != HOME {
            let zone = self.zone_of(place.into());
            self.leaving[zone] += 1;
        }
    }

    /// Cancels the moves of `mover` within the host pages `first..=last` that are not done: these pages stay where they are.
    pub(super) fn cancel_moves(&mut self, mover: RequestId, first: u64, last: u64) {
        if self.moving.count() == 0 {
            return;
        }
        for page in first..=last {
            if self.move_of(page).is_some_and(|under_way| under_way.mover == mover) {
                self.stays(page);
            }
        }
    }

    /// The host's `page`, which is moving, stays where it is.
    pub(super) fn stays(&mut self, page: u64) {
        let target = self.arrived(page);
        let place = self.place_of(target as u32, page);
        self.will_leave(place);
        self.leave(place);
    }

    /// Ends the move of the host's `page`. Returns its target.
    pub(super) fn arrived(&mut self, page: u64) -> u64 {
        let number = self.moving.put(page, NONE);
        self.free_moves.push(number);
        self.has_arrived = true;
        self.moves[number as usize].target
    }

    /// A page of the array, in the form in which the map stores it for the host's `page`.
    #[inline]
    pub(super) fn place_of(&self, array_page: u32, page: u64) -> u32 {
        if u64::from(array_page) == page { HOME } else { array_page }
    }

    /// The page of the array where the host's `page` would be found after a loss of power now.
    pub(crate) fn durable_place(&self, page: u64) -> u64 {
        match self.unflushed.iter().find(|unflushed| unflushed.page == page) {
            None => self.place(page),
            Some(unflushed) if unflushed.from == HOME => page,
            Some(unflushed) => unflushed.from.into(),
        }
    }

    /// The move of the host's `page`, if it is moving.
    #[inline]
    pub(super) fn move_of(&self, page: u64) -> Option<Move> {
        let number = if self.moving.count() == 0 { NONE } else { self.moving.get(page) };
        (number != NONE).then(|| self.moves[number as usize])
    }

    /// Whether a change of the host's `page` by the request `mover` must wait: another request moves the page.
    #[inline]
    pub(crate) fn is_moving(&self, page: u64, mover: RequestId) -> bool {
        self.move_of(page).is_some_and(|other| other.mover != mover)
    }

    /// Whether the move of a page has ended since the last call.
    pub(crate) fn has_arrived(&mut self) -> bool {
        std::mem::take(&mut self.has_arrived)
    }

    /// Lets `mover` move the host's `page` to `target`.
    pub(super) fn aim(&mut self, mover: RequestId, page: u64, target: u64) {
        if target >= self.home {
            self.owners[(target - self.home) as usize] = page as u32;
        }
        let one = Move { target, mover };
        let number = self.free_moves.pop().unwrap_or(self.moves.len() as u32);
        if number as usize == self.moves.len() {
            self.moves.push(one);
        } else {
            self.moves[number as usize] = one;
        }
        self.moving.put(page, number);
    }

    /// The request that moves a host page to the array's `page`, if there is one.
    #[inline]
    pub(crate) fn mover_to(&self, page: u64) -> Option<RequestId> {
        if self.moving.count() == 0 {
            return None;
        }
        let under_way = self.move_of(self.owner(page))?;
        (under_way.target == page).then_some(under_way.mover)
    }

    /// The mover has written the page that was moving to the array's `page`, which is its place now. (At home, older writes
    /// may arrive while a newer one moves there.)
    pub(crate) fn moved_to(&mut self, page: u64) {
        let host = self.owner(page);
        self.arrived(host);
        let id = self.map.peek(host);
        let to = self.place_of(page as u32, host);
        let from = self.map.set_place(id, host, to);
        if self.eviction.is_some_and(|eviction| eviction.is_writing && eviction.entry == id) {
            self.counts.evicted += 1;
        } else if from != HOME && to != HOME && self.zone_of(from.into()) == self.zone_of(to.into()) {
            self.counts.appended += 1;
        } else {
            self.counts.moved += 1;
        }
        if from == HOME {
            self.left_home.push_back((self.epoch, host));
        }
        self.will_leave(from);
        if self.awaits_flush {
            self.unflushed.push_back(Unflushed { page: host, from, to });
        } else {
            self.leave(from);
        }
    }

    /// Part of a planted bug: frees pages that were left, although requests may have been sent there.
    pub(crate) fn free_at_once(&mut self) {
        self.left.iter_mut().for_each(|(epoch, _)| *epoch = 0);
        self.epoch += 2 * u64::from(self.epoch < 2);
        self.free_left();
    }

    /// Part of a planted bug: no move is undone.
    pub(crate) fn keep_unflushed(&mut self) {
        self.flushed(self.moves());
    }

    /// Number of moves so far: a flush that starts now covers them.
    pub(crate) fn moves(&self) -> u64 {
        self.flushed + self.unflushed.len() as u64
    }

    /// A flush has covered the first `moves` moves.
    pub(crate) fn flushed(&mut self, moves: u64) {
        while self.flushed < moves
            && let Some(Unflushed { from, .. }) = self.unflushed.pop_front()
        {
            self.flushed += 1;
            self.leave(from);
        }
    }
}
