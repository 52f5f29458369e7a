//! MC-RAIS: three zones with chunk sizes of their own over the same elements, for blocks that are mostly read, mostly written
//! or both.
//!
//! Host addresses are those of the zone of reads, where every page is at home. A block whose tendency changes moves when
//! it is written again: the pages written go to the next free ones of its zone, and the map names them once they are
//! written. So a host's page is translated to a page of the array, and below that everything (rows, parity, holds, write
//! cache, degraded reads) is as in any array with rewritten chunks.
//!
//! Source: Wu et al., paper 004, section 3. What it leaves open is marked as our choice here and in `docs/zones.md`.
//!
//! # Why a moving page is never lost or mixed up
//! - A page has one *place*, and while it moves one *target*. Reads go to the place. The write that moves the page goes to
//!   the target, which becomes the place once it is written; if that fails, nothing has changed. Other writes wait for that.
//! - A page that was left is not used anew before every request is over that was under way then: one of them may have
//!   been sent there. Two counters of requests tell: those that began in this epoch, and those of the one before.
//! - Where memory or elements would lose what is not flushed, a page that was left stays as it is until a flush covers
//!   what replaced it, and a loss of power takes the block back to it.
//! - A page leaves a full zone as an internal read and write of the controller, begun only while no host writes its block. A
//!   host that comes while it is read stops it; one that comes later waits.

mod filter;
mod map;
mod section;
mod space;

use std::collections::VecDeque;

use crate::geometry::Geometry;
use crate::holds::NONE;
use crate::mix::MixSection;
use crate::request::RequestKind;
use crate::scheme::Scheme;
use crate::table::Table;
use map::{HOME, Map};
use space::Space;

pub(crate) use section::ZonePages;
pub use section::{ZoneSection, ZonesSection};

/// Zones of an array: of reads, mixed, of writes.
pub(crate) const ZONES: usize = 3;

/// No page of the array.
const NOWHERE: u64 = u64::MAX;

/// How many blocks are looked at for one that nobody writes.
const CANDIDATES: usize = 64;

/// What the zones did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneCounts {
    /// Pages that changed their zone as they were written.
    pub moved: u64,
    /// Pages that could not, because their zone was full.
    pub refused: u64,
    /// Pages that went home to make room.
    pub evicted: u64,
    /// Looks at the map, those that its filter answered, and those that it passed in vain.
    pub looks: u64,
    /// Answered by the filter.
    pub filtered: u64,
    /// Passed by the filter, in vain.
    pub in_vain: u64,
}

impl ZoneCounts {
    /// What came after `base`.
    pub fn since(&self, base: &Self) -> Self {
        Self {
            moved: self.moved - base.moved,
            refused: self.refused - base.refused,
            evicted: self.evicted - base.evicted,
            looks: self.looks - base.looks,
            filtered: self.filtered - base.filtered,
            in_vain: self.in_vain - base.in_vain,
        }
    }
}

/// A block on its way home.
#[derive(Clone, Copy, Debug)]
struct Eviction {
    entry: u32,
    /// The pages under way.
    run: (u64, u64),
    /// The epoch in which this began.
    epoch: u64,
    /// They have targets at home.
    is_writing: bool,
    /// A host writes the block.
    is_stopped: bool,
}

/// A page on its way.
#[derive(Clone, Copy, Debug)]
struct Move {
    /// The page of the array that it moves to.
    target: u64,
    /// The request that moves it.
    mover: u32,
}

/// A move that no flush covers yet.
#[derive(Clone, Copy, Debug)]
struct Unflushed {
    page: u64,
    from: u32,
    to: u32,
}

/// Where the pages of hosts are, in zones.
#[derive(Debug)]
pub(crate) struct Zones {
    map: Map,
    mix: MixSection,
    /// Pages of the first zone, which are home to the host's pages of the same number.
    home: u64,
    /// The zones behind the first, `spaces[z - 1]` of zone `z`.
    spaces: Vec<Space>,
    /// Of each page behind the first zone the host's page that it holds, or held last.
    owners: Vec<u32>,
    /// Pages of hosts that are moving, each with its number in `moves`; and the numbers that are free.
    moving: Table,
    moves: Vec<Move>,
    free_moves: Vec<u32>,
    /// Pages that were left, each with the epoch in which that was.
    left: VecDeque<(u64, u32)>,
    epoch: u64,
    /// Requests under way that began in an even epoch, and in an odd one.
    begun: [u32; 2],
    /// Whether a page that was left must wait for a flush; then moves since the last one, and how many came before those.
    awaits_flush: bool,
    unflushed: VecDeque<Unflushed>,
    flushed: u64,
    /// Trims under way.
    trims: u32,
    /// Free pages of each zone below which blocks are evicted, and pages that will be free.
    reserve: [u64; ZONES],
    leaving: [u64; ZONES],
    eviction: Option<Eviction>,
    /// No block could be evicted; until a request ends it is no use to look again.
    is_stuck: bool,
    counts: ZoneCounts,
}

/// A run of a host's pages that follow each other in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first page of the array.
    pub(crate) page: u64,
    /// How many there are.
    pub(crate) count: u64,
}

impl Zones {
    /// Empty zones of `scheme` over `geometry`.
    pub(crate) fn new(scheme: &Scheme, geometry: &Geometry, page_bytes: u32, awaits_flush: bool) -> Self {
        let spaces: Vec<Space> = geometry.zones().skip(1).map(Space::new).collect();
        let home = geometry.first_zone_pages();
        let below = scheme.zones.evict_below;
        let mut reserve = [0; ZONES];
        for (reserve, space) in reserve[1..].iter_mut().zip(&spaces) {
            *reserve = below.of(space.len()).max(u64::from(below.0 > 0));
        }
        Self {
            map: Map::new(scheme.zones.block_pages(page_bytes)),
            mix: scheme.mix,
            home,
            spaces,
            owners: vec![0; (geometry.pages() - home) as usize],
            moving: Table::new(64),
            moves: Vec::new(),
            free_moves: Vec::new(),
            left: VecDeque::new(),
            epoch: 0,
            begun: [0; 2],
            awaits_flush,
            unflushed: VecDeque::new(),
            flushed: 0,
            trims: 0,
            reserve,
            leaving: [0; ZONES],
            eviction: None,
            is_stuck: false,
            counts: ZoneCounts::default(),
        }
    }

    /// A request about the host's pages `first..=last` begins. Returns what [`Self::end`] asks for.
    pub(crate) fn begin(&mut self, kind: RequestKind, (first, last): (u64, u64)) -> u64 {
        self.begun[(self.epoch & 1) as usize] += 1;
        self.trims += u32::from(kind == RequestKind::Trim);
        let step = self.map.block_pages();
        let mut page = first;
        while kind != RequestKind::Flush && page <= last {
            self.note(kind, page);
            page = (page / step + 1) * step;
        }
        self.epoch
    }

    /// A request of kind `kind` touches the block of `page`.
    fn note(&mut self, kind: RequestKind, page: u64) {
        let id = match kind {
            RequestKind::Write => self.map.find_or_add(page),
            RequestKind::Read | RequestKind::Trim | RequestKind::Flush => self.map.find(page),
        };
        if id == NONE {
            return;
        }
        if kind != RequestKind::Read
            && let Some(eviction) = self.eviction.as_mut().filter(|eviction| eviction.entry == id)
        {
            eviction.is_stopped = true;
        }
        let mix = self.mix;
        let entry = self.map.get_mut(id);
        match kind {
            RequestKind::Read => entry.mix.note_read(),
            RequestKind::Write => {
                entry.mix.note_write();
                entry.writers += 1;
                let zone = match entry.mix.tendency(&mix) as u8 {
                    // What it has in another zone is there still.
                    0 => entry.zone,
                    zone => zone,
                };
                if zone != 0 {
                    self.map.note_written(id, zone);
                }
            }
            RequestKind::Trim | RequestKind::Flush => {}
        }
    }

    /// The request `mover` that began in `epoch` is over.
    pub(crate) fn end(&mut self, mover: u32, kind: RequestKind, (first, last): (u64, u64), epoch: u64) {
        if kind == RequestKind::Write {
            self.give_up(mover, first, last);
        }
        self.trims -= u32::from(kind == RequestKind::Trim);
        let step = self.map.block_pages();
        let mut page = first;
        while kind == RequestKind::Write && page <= last {
            let id = self.map.peek(page);
            self.map.get_mut(id).writers -= 1;
            page = (page / step + 1) * step;
        }
        self.over(epoch);
    }

    /// Something that began in `epoch` is over: a request, or what the controller does by itself.
    fn over(&mut self, epoch: u64) {
        self.begun[(epoch & 1) as usize] -= 1;
        self.is_stuck = false;
        // The epoch ends when nobody is left of the one before.
        while self.begun[(self.epoch + 1 & 1) as usize] == 0
            && self.left.front().is_some_and(|&(left, _)| left <= self.epoch)
        {
            self.epoch += 1;
            self.free_left();
        }
    }

    /// Frees what was left two epochs ago: whoever may have been sent there is gone.
    fn free_left(&mut self) {
        while let Some(&(epoch, page)) = self.left.front()
            && epoch + 2 <= self.epoch
        {
            self.left.pop_front();
            let zone = self.zone_of(page.into());
            self.leaving[zone] -= 1;
            self.spaces[zone - 1].give(page.into());
        }
    }

    /// The zone of the array's `page`.
    #[inline]
    fn zone_of(&self, page: u64) -> usize {
        if page < self.home {
            0
        } else {
            1 + self.spaces.iter().take_while(|space| space.end() <= page).count()
        }
    }

    /// A page that is left will be free, once nobody can be sent there any more. At home there is nothing to free.
    fn leave(&mut self, place: u32) {
        if place != HOME {
            self.left.push_back((self.epoch, place));
        }
    }

    /// `place` will be left.
    fn will_leave(&mut self, place: u32) {
        if place != HOME {
            let zone = self.zone_of(place.into());
            self.leaving[zone] += 1;
        }
    }

    /// What `mover` was to move of the host's pages `first..=last`, and has not, stays where it is.
    fn give_up(&mut self, mover: u32, first: u64, last: u64) {
        if self.moving.len() == 0 {
            return;
        }
        for page in first..=last {
            if self.move_of(page).is_some_and(|under_way| under_way.mover == mover) {
                self.stays(page);
            }
        }
    }

    /// The host's `page`, which is moving, stays where it is.
    fn stays(&mut self, page: u64) {
        let target = self.arrived(page);
        let place = self.place_of(target as u32, page);
        self.will_leave(place);
        self.leave(place);
    }

    /// The host's `page`, which is moving, moves no more. Returns its target.
    fn arrived(&mut self, page: u64) -> u64 {
        let number = self.moving.put(page, NONE);
        self.free_moves.push(number);
        self.moves[number as usize].target
    }

    /// A page of the array as the map notes it for the host's `page`.
    #[inline]
    fn place_of(&self, array_page: u32, page: u64) -> u32 {
        if u64::from(array_page) == page { HOME } else { array_page }
    }

    /// The host's page that the array's `page` holds, or held last.
    #[inline]
    pub(crate) fn owner(&self, page: u64) -> u64 {
        if page < self.home { page } else { self.owners[(page - self.home) as usize].into() }
    }

    /// The page of the array where the host's `page` would be found after a loss of power now.
    pub(crate) fn durable_place(&self, page: u64) -> u64 {
        match self.unflushed.iter().find(|unflushed| unflushed.page == page) {
            None => self.place(page),
            Some(unflushed) if unflushed.from == HOME => page,
            Some(unflushed) => unflushed.from.into(),
        }
    }

    /// Every page of the array that holds the host's `page`, or held it last.
    pub(crate) fn places_of(&self, page: u64) -> impl Iterator<Item = u64> + '_ {
        let away = (self.home..).zip(&self.owners).filter(move |&(_, &owner)| u64::from(owner) == page);
        std::iter::once(page).chain(away.map(|(place, _)| place))
    }

    /// The page of the array where the host's `page` is.
    #[inline]
    pub(crate) fn place(&self, page: u64) -> u64 {
        self.placed(self.map.peek(page), page)
    }

    #[inline]
    fn placed(&self, id: u32, page: u64) -> u64 {
        match if id == NONE { HOME } else { self.map.place(id, page) } {
            HOME => page,
            place => place.into(),
        }
    }

    /// Where the host's pages from `page` on are read, as far as they follow each other before `end`.
    pub(crate) fn read_run(&mut self, page: u64, end: u64) -> Run {
        self.run(page, end, |zones, id, page| zones.placed(id, page))
    }

    /// The move of the host's `page`, if it is moving.
    #[inline]
    fn move_of(&self, page: u64) -> Option<Move> {
        let number = if self.moving.len() == 0 { NONE } else { self.moving.get(page) };
        (number != NONE).then(|| self.moves[number as usize])
    }

    /// Whether a change of the host's `page` by the request `mover` must wait: another one moves it.
    #[inline]
    pub(crate) fn is_moving(&self, page: u64, mover: u32) -> bool {
        self.move_of(page).is_some_and(|other| other.mover != mover)
    }

    /// Where the host's pages from `page` on, which is not moving, are changed where they are.
    pub(crate) fn change_run(&mut self, page: u64, end: u64) -> Run {
        self.run(page, end, |zones, id, page| match zones.move_of(page) {
            None => zones.placed(id, page),
            Some(_) => NOWHERE,
        })
    }

    /// Where the request `mover` writes the host's pages from `page` on, all of them whole; no other moves `page`.
    pub(crate) fn write_run(&mut self, mover: u32, page: u64, end: u64) -> Run {
        self.run(page, end, |zones, id, page| zones.written(mover, id, page))
    }

    /// Where `mover` writes the host's `page`: where it is, if that is its zone, or if its zone is full; else at a new target.
    fn written(&mut self, mover: u32, id: u32, page: u64) -> u64 {
        if let Some(under_way) = self.move_of(page) {
            return if under_way.mover == mover { under_way.target } else { NOWHERE };
        }
        let place = self.placed(id, page);
        let zone = self.map.get(id).mix.tendency(&self.mix) as usize;
        if zone == self.zone_of(place) {
            return place;
        }
        let target = match zone {
            0 => Some(page),
            zone => self.spaces[zone - 1].take(),
        };
        let Some(target) = target else {
            self.counts.refused += 1;
            return place;
        };
        self.aim(mover, page, target);
        target
    }

    /// `mover` moves the host's `page` to `target`.
    fn aim(&mut self, mover: u32, page: u64, target: u64) {
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

    /// A run of pages by what `find` says of each: first the one at `page`, then those behind it that follow it, before `end`
    /// and the end of the zone.
    fn run(&mut self, page: u64, end: u64, mut find: impl FnMut(&mut Self, u32, u64) -> u64) -> Run {
        let step = self.map.block_pages();
        let mut id = self.map.peek(page);
        let first = find(self, id, page);
        let zone = self.zone_of(first);
        let mut count = 1;
        while page + count < end {
            let next = page + count;
            if next.is_multiple_of(step) {
                id = self.map.peek(next);
            }
            let expected = first + count;
            if self.zone_of(expected) != zone || find(self, id, next) != expected {
                break;
            }
            count += 1;
        }
        Run { page: first, count }
    }

    /// The request that moves a host's page to the array's `page`, if one does.
    #[inline]
    pub(crate) fn mover_to(&self, page: u64) -> Option<u32> {
        if self.moving.len() == 0 {
            return None;
        }
        let under_way = self.move_of(self.owner(page))?;
        (under_way.target == page).then_some(under_way.mover)
    }

    /// What was moving to the array's `page` is written there by its mover, and is there now. (At home, older writes may
    /// arrive while a newer one moves there.)
    pub(crate) fn moved_to(&mut self, page: u64) {
        let host = self.owner(page);
        self.arrived(host);
        let id = self.map.peek(host);
        let to = self.place_of(page as u32, host);
        let from = self.map.set_place(id, host, to);
        if self.eviction.is_some_and(|eviction| eviction.is_writing && eviction.entry == id) {
            self.counts.evicted += 1;
        } else {
            self.counts.moved += 1;
        }
        self.will_leave(from);
        if self.awaits_flush {
            self.unflushed.push_back(Unflushed { page: host, from, to });
        } else {
            self.leave(from);
        }
    }

    /// Part of a planted bug: pages that were left are free, whoever may be on the way to them.
    pub(crate) fn free_at_once(&mut self) {
        self.left.iter_mut().for_each(|(epoch, _)| *epoch = 0);
        self.epoch += 2 * u64::from(self.epoch < 2);
        self.free_left();
    }

    /// Part of a planted bug: no move is taken back.
    pub(crate) fn keep_unflushed(&mut self) {
        self.flushed(self.moves());
    }

    /// How many moves there were: a flush that is asked for now covers them.
    pub(crate) fn moves(&self) -> u64 {
        self.flushed + self.unflushed.len() as u64
    }

    /// A flush has covered the first so many moves.
    pub(crate) fn flushed(&mut self, moves: u64) {
        while self.flushed < moves
            && let Some(Unflushed { from, .. }) = self.unflushed.pop_front()
        {
            self.flushed += 1;
            self.leave(from);
        }
    }

    /// The next pages to be brought home, where a zone has too little room: a run of a block of it that no host writes. It is
    /// to be read, then written after [`Self::bring_home`].
    pub(crate) fn evict(&mut self) -> Option<(u64, u64)> {
        if self.eviction.is_some() || self.is_stuck || self.trims > 0 {
            return None;
        }
        let wanting = |&zone: &usize| self.spaces[zone - 1].count() + self.leaving[zone] < self.reserve[zone];
        let zone = (1..ZONES).find(wanting)?;
        let is_idle = |&id: &u32| self.map.get(id).writers == 0 && self.map.get(id).away > 0;
        let found = self.map.oldest_first(zone).take(CANDIDATES).find(is_idle);
        self.is_stuck = found.is_none();
        let (entry, epoch) = (found?, self.epoch);
        let run = self.away_run(entry);
        self.eviction = Some(Eviction { entry, run, epoch, is_writing: false, is_stopped: false });
        self.begun[(self.epoch & 1) as usize] += 1;
        Some(run)
    }

    /// The first pages of an entry that are not at home and follow each other.
    fn away_run(&self, id: u32) -> (u64, u64) {
        let is_away = |page: &u64| self.map.place(id, *page) != HOME;
        let pages = self.map.pages(id);
        let first = pages.clone().find(is_away).unwrap_or(pages.start);
        (first, (first..pages.end).take_while(is_away).count() as u64)
    }

    /// Whether a host changes the block that is brought home.
    pub(crate) fn is_stopped(&self) -> bool {
        self.eviction.is_some_and(|eviction| eviction.is_stopped)
    }

    /// What is brought home is read, and is to be written there by the request `mover`.
    pub(crate) fn bring_home(&mut self, mover: u32) {
        let Some(eviction) = &mut self.eviction else { return };
        eviction.is_writing = true;
        let (first, count) = eviction.run;
        for page in first..first + count {
            self.aim(mover, page, page);
        }
    }

    /// What `mover` was to bring home is there, or is not because it `failed` or a host came first.
    pub(crate) fn brought_home(&mut self, mover: u32, failed: bool) {
        let Some(Eviction { entry, epoch, run: (first, count), .. }) = self.eviction.take() else { return };
        self.give_up(mover, first, first + count - 1);
        if failed {
            // It is not tried again before the block is written again.
            self.map.forget_order(entry);
        }
        if self.map.get(entry).away == 0 && self.map.get(entry).writers == 0 {
            self.map.remove(entry);
        }
        self.over(epoch);
    }

    /// The zones after a loss of power: the map is persistent (paper 004, section 3.3). What was under way is forgotten, and
    /// moves that no flush covers are taken back where that is needed.
    pub(crate) fn restarted(mut self) -> Self {
        while let Some(Unflushed { page, from, to }) = self.unflushed.pop_back() {
            // The block may have been forgotten when the last of it was home.
            let id = self.map.find_or_add(page);
            self.map.set_place(id, page, from);
            if from != HOME {
                let zone = self.zone_of(from.into());
                self.leaving[zone] -= 1;
            }
            self.will_leave(to);
            self.leave(to);
        }
        self.eviction = None;
        for id in self.map.iter().collect::<Vec<_>>() {
            self.map.get_mut(id).writers = 0;
            for page in self.map.pages(id).filter(|&page| self.move_of(page).is_some()).collect::<Vec<_>>() {
                self.stays(page);
            }
        }
        self.trims = 0;
        self.begun = [0; 2];
        self.epoch += 2;
        self.free_left();
        self.is_stuck = false;
        self
    }

    /// Blocks that the map knows.
    pub(crate) fn blocks(&self) -> u64 {
        self.map.len() as u64
    }

    /// What the zones did so far.
    pub(crate) fn counts(&self) -> ZoneCounts {
        let map::Looks { all, filtered, in_vain } = self.map.looks;
        ZoneCounts { looks: all, filtered, in_vain, ..self.counts }
    }

    /// Bytes of the map, of its filter, and of what is known of free pages.
    pub(crate) fn bytes(&self) -> u64 {
        let spaces: u64 = self.spaces.iter().map(Space::bytes).sum();
        self.map.bytes() + spaces + size_of_val(&self.owners[..]) as u64
    }

    /// Looks for contradictions.
    ///
    /// # Errors
    /// The first that it finds.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let mut users = vec![0u32; self.owners.len()];
        let mut use_page = |page: u64, host: u64| {
            users[(page - self.home) as usize] += 1;
            let owner = self.owner(page);
            let is_right = owner == host || host == u64::MAX;
            if is_right { Ok(()) } else { Err(format!("page {page} is of host page {owner}, not {host}")) }
        };
        for id in self.map.iter() {
            let mut away = 0;
            for page in self.map.pages(id) {
                let place = self.map.place(id, page);
                if place != HOME {
                    away += 1;
                    use_page(place.into(), page)?;
                }
                let target = self.move_of(page).map_or(0, |under_way| under_way.target);
                if target >= self.home {
                    use_page(target, page)?;
                }
            }
            if away != self.map.get(id).away {
                return Err(format!(
                    "block {} has {away} pages away, not what it says",
                    self.map.get(id).block
                ));
            }
        }
        let left = self.left.iter().map(|&(_, page)| page);
        for page in
            left.chain(self.unflushed.iter().map(|unflushed| unflushed.from)).filter(|&page| page != HOME)
        {
            use_page(page.into(), u64::MAX)?;
        }
        for (page, count) in (self.home..).zip(users) {
            let is_free = self.spaces[self.zone_of(page) - 1].is_free(page);
            if count + u32::from(is_free) != 1 {
                return Err(format!("page {page} of the zones is used {count} times, and free: {is_free}"));
            }
        }
        Ok(())
    }
}
