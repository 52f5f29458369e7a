//! MC-RAIS: zones with their own chunk sizes over the same members, for blocks that are mostly read, mostly written or
//! both.
//!
//! Host addresses are those of the zone of reads, where every page is at home. A block whose access tendency changes moves
//! when it is written again: the written pages go to the next free pages of the new zone, and the map refers to them once they
//! are written. So a host's page is translated to a page of the array, and below that everything (rows, parity, row locks,
//! write cache, degraded reads) works as in any array that rewrites chunks in place.
//!
//! Source: Wu et al., paper 004, section 3. Points that the paper leaves open are marked as our choice here and in
//! `docs/reference/zones.md`.
//!
//! # Why a moving page is never lost or mixed up
//! - A page has one *place*, and while it moves one *target*. Reads go to the place. The write that moves the page goes to the
//!   target, which becomes the place once it is written; if that write fails, nothing has changed. Other writes of the page
//!   wait for it.
//! - A page that was left is not reused before every request that was in progress at that time has ended: one of them may have
//!   been sent there. Two counters of requests determine this: requests that began in this epoch, and those of the previous
//!   epoch.
//! - Where memory or members would lose unflushed content, a page that was left stays as it is until a flush covers its
//!   replacement, and a loss of power sets the block back to it.
//! - A page leaves a full zone by an internal read and write of the controller, which begin only while no host writes its
//!   block. A host write that arrives during the read stops the move; a later one waits.

mod eviction;
mod filter;
mod map;
mod moves;
mod space;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use stripewise_core::geometry::Geometry;
use stripewise_core::ids::{NONE, RequestId};
use stripewise_core::request::RequestKind;
use stripewise_core::table::Table;
use stripewise_policy::mix::MixSection;
use stripewise_scheme::Scheme;
use stripewise_scheme::placement::WritesAs;

use map::{HOME, Map};
use space::Space;

/// No page of the array.
const NOWHERE: u64 = u64::MAX;

/// Number of blocks that are tried to find one that no host writes.
const CANDIDATES: usize = 64;

/// Counters of the zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneCounts {
    /// Pages that changed their zone when they were written.
    pub moved: u64,
    /// Pages that were written to the next free page of the zone that they were in.
    pub appended: u64,
    /// Pages that were written where they were, because the zone to which they were to move, or to be appended, was full.
    pub refused: u64,
    /// Pages that were moved home to make room.
    pub evicted: u64,
    /// Lookups in the map, including those that its filter rejected.
    pub looks: u64,
    /// Lookups that the filter rejected.
    pub filtered: u64,
    /// Lookups that the filter passed, but that found nothing.
    pub in_vain: u64,
}

impl ZoneCounts {
    /// The counts since `base`.
    pub fn since(&self, base: &Self) -> Self {
        Self {
            moved: self.moved - base.moved,
            appended: self.appended - base.appended,
            refused: self.refused - base.refused,
            evicted: self.evicted - base.evicted,
            looks: self.looks - base.looks,
            filtered: self.filtered - base.filtered,
            in_vain: self.in_vain - base.in_vain,
        }
    }
}

/// A block that is being moved home.
#[derive(Clone, Copy, Debug)]
struct Eviction {
    entry: u32,
    /// The pages in flight.
    run: (u64, u64),
    /// The epoch in which the move began.
    epoch: u64,
    /// Whether the pages have targets at home.
    is_writing: bool,
    /// Whether a host writes the block.
    is_stopped: bool,
}

/// A page that is moving.
#[derive(Clone, Copy, Debug)]
struct Move {
    /// The page of the array that it moves to.
    target: u64,
    /// The request that moves it.
    mover: RequestId,
}

/// A move that no flush covers yet.
#[derive(Clone, Copy, Debug)]
struct Unflushed {
    page: u64,
    from: u32,
    to: u32,
}

/// The locations of host pages in zones.
#[derive(Debug)]
pub(crate) struct Zones {
    map: Map,
    mix: MixSection,
    /// Where a page is written that is in its zone.
    writes_as: WritesAs,
    /// Pages of the first zone, which are the homes of the host pages with the same numbers.
    home: u64,
    /// The zones after the first: `spaces[z - 1]` is zone `z`.
    spaces: Vec<Space>,
    /// For each page after the first zone the host page that it holds, or held last.
    owners: Vec<u32>,
    /// Host pages that are moving, each with its number in `moves`; and the free numbers.
    moving: Table,
    moves: Vec<Move>,
    free_moves: Vec<u32>,
    /// Whether a move has ended, for requests that wait for one.
    has_arrived: bool,
    /// Pages that were left, each with the epoch in which it was left.
    left: VecDeque<(u64, u32)>,
    /// Host pages that left their home, each with that epoch. They do not return before every request that may read the home has
    /// ended: it would find what is not yet written.
    left_home: VecDeque<(u64, u64)>,
    epoch: u64,
    /// Number of requests in progress that began in an even epoch, and in an odd one.
    begun: [u32; 2],
    /// Whether a page that was left must wait for a flush; the moves since the last flush; and the number of moves before
    /// those.
    awaits_flush: bool,
    unflushed: VecDeque<Unflushed>,
    flushed: u64,
    /// Pages after the first zone that cannot be written any more.
    retired: Vec<u32>,
    /// Number of trims in progress.
    trims: u32,
    /// For each zone the number of free pages below which blocks are evicted, and the number of pages that will become free.
    reserve: Vec<u64>,
    leaving: Vec<u64>,
    eviction: Option<Eviction>,
    /// Whether no block could be evicted: a retry before a request ends would be useless.
    is_stuck: bool,
    counts: ZoneCounts,
}

/// A run of host pages that are consecutive in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZoneRun {
    /// The first page of the array.
    pub(crate) page: u64,
    /// Number of pages.
    pub(crate) count: u64,
}

impl Zones {
    /// Empty zones of `scheme` over `geometry`.
    pub(crate) fn new(scheme: &Scheme, geometry: &Geometry, page_bytes: u32, awaits_flush: bool) -> Self {
        let spaces: Vec<Space> = geometry.zones().skip(1).map(Space::new).collect();
        let home = geometry.first_zone_pages();
        let below = scheme.zones.evict_below;
        let reserved = spaces.iter().map(|space| below.of(space.len()).max(u64::from(below.0 > 0)));
        let reserve: Vec<u64> = std::iter::once(0).chain(reserved).collect();
        let zones = reserve.len();
        Self {
            map: Map::new(scheme.zones.block_pages(page_bytes), zones),
            mix: scheme.mix,
            writes_as: scheme.zones.writes_as,
            home,
            spaces,
            owners: vec![0; (geometry.pages() - home) as usize],
            moving: Table::new(64),
            moves: Vec::new(),
            free_moves: Vec::new(),
            has_arrived: false,
            left: VecDeque::new(),
            left_home: VecDeque::new(),
            epoch: 0,
            begun: [0; 2],
            awaits_flush,
            unflushed: VecDeque::new(),
            flushed: 0,
            retired: Vec::new(),
            trims: 0,
            reserve,
            leaving: vec![0; zones],
            eviction: None,
            is_stuck: false,
            counts: ZoneCounts::default(),
        }
    }

    /// Registers a request for the host pages `first..=last`. Returns the epoch to pass to [`Self::end`].
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

    /// Records that a request of kind `kind` accesses the block of `page`.
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
        let (mix, mixed) = (self.mix, self.mixed_zones());
        let entry = self.map.get_mut(id);
        match kind {
            RequestKind::Read => entry.mix.note_read(),
            RequestKind::Write => {
                entry.mix.note_write();
                entry.writers += 1;
                let zone = match entry.mix.zone(&mix, mixed) {
                    // Pages that it has in another zone are still there.
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

    /// Unregisters the request `mover`, which began in `epoch` and is over.
    pub(crate) fn end(&mut self, mover: RequestId, kind: RequestKind, (first, last): (u64, u64), epoch: u64) {
        if kind == RequestKind::Write {
            self.cancel_moves(mover, first, last);
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

    /// Number of zones of mixed blocks: all but those of reads and of writes.
    #[inline]
    fn mixed_zones(&self) -> u8 {
        (self.spaces.len() - 1) as u8
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

    /// The host page that the array's `page` holds, or held last.
    #[inline]
    pub(crate) fn owner(&self, page: u64) -> u64 {
        if page < self.home { page } else { self.owners[(page - self.home) as usize].into() }
    }

    /// Every page of the array that holds the host's `page`, or held it last.
    pub(crate) fn places_of(&self, page: u64) -> impl Iterator<Item = u64> + '_ {
        let away = (self.home..).zip(&self.owners).filter(move |&(_, &owner)| u64::from(owner) == page);
        std::iter::once(page).chain(away.map(|(place, _)| place))
    }

    /// The page of the array that holds the host's `page`.
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

    /// The location from which the host pages from `page` on are read: the consecutive ones before `end`.
    pub(crate) fn read_run(&mut self, page: u64, end: u64) -> ZoneRun {
        self.run(page, end, |zones, id, page| zones.placed(id, page))
    }

    /// The location where the host pages from `page` on are changed in place; `page` is not moving.
    pub(crate) fn change_run(&mut self, page: u64, end: u64) -> ZoneRun {
        self.run(page, end, |zones, id, page| match zones.move_of(page) {
            None => zones.placed(id, page),
            Some(_) => NOWHERE,
        })
    }

    /// The location where the request `mover` writes the host pages from `page` on, each as a whole; no other request moves
    /// `page`. Pages move only to pages for which `can_write` returns true.
    pub(crate) fn write_run(
        &mut self,
        mover: RequestId,
        page: u64,
        end: u64,
        can_write: impl Fn(u64) -> bool,
    ) -> ZoneRun {
        self.run(page, end, |zones, id, page| zones.written(mover, id, page, &can_write))
    }

    /// Whether `page` of a zone after the first is free: no request can be sent there.
    #[inline]
    pub(crate) fn is_free(&self, page: u64) -> bool {
        self.spaces[self.zone_of(page) - 1].is_free(page)
    }

    /// The location where `mover` writes the host's `page`: its current place, if its zone is full, or if that is in its zone and
    /// pages of a zone are written in place; else a new target.
    fn written(&mut self, mover: RequestId, id: u32, page: u64, can_write: impl Fn(u64) -> bool) -> u64 {
        if let Some(under_way) = self.move_of(page) {
            return if under_way.mover == mover { under_way.target } else { NOWHERE };
        }
        let place = self.placed(id, page);
        let zone = usize::from(self.map.get(id).mix.zone(&self.mix, self.mixed_zones()));
        let stays = zone == self.zone_of(place);
        if stays && (zone == 0 || self.writes_as == WritesAs::InPlace) {
            return place;
        }
        let target = match zone {
            0 => Some(page).filter(|&home| can_write(home) && !self.is_home_awaited(home)),
            zone => self.take(zone, can_write),
        };
        let Some(target) = target else {
            self.counts.refused += 1;
            return place;
        };
        self.aim(mover, page, target);
        target
    }

    /// Takes a free page of `zone` that can be written. Pages that cannot be written are retired.
    fn take(&mut self, zone: usize, can_write: impl Fn(u64) -> bool) -> Option<u64> {
        loop {
            let page = self.spaces[zone - 1].take()?;
            if can_write(page) {
                return Some(page);
            }
            self.retired.push(page as u32);
        }
    }

    /// A run of pages by the location that `find` returns for each: first the page at `page`, then the pages that follow it
    /// consecutively, before `end` and the end of the zone.
    fn run(&mut self, page: u64, end: u64, mut find: impl FnMut(&mut Self, u32, u64) -> u64) -> ZoneRun {
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
        ZoneRun { page: first, count }
    }

    /// The zones after a loss of power: the map is persistent (paper 004, section 3.3). Requests in progress are forgotten,
    /// and moves that no flush covers are undone where that is needed.
    pub(crate) fn restarted(mut self) -> Self {
        while let Some(Unflushed { page, from, to }) = self.unflushed.pop_back() {
            // The block may have been forgotten when its last page was at home.
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

    /// Number of blocks in the map.
    pub(crate) fn blocks(&self) -> u64 {
        self.map.len() as u64
    }

    /// Counters of the zones.
    pub(crate) fn counts(&self) -> ZoneCounts {
        let map::Looks { all, filtered, in_vain } = self.map.looks;
        ZoneCounts { looks: all, filtered, in_vain, ..self.counts }
    }

    /// Bytes of the map, of its filter, and of the free page state.
    pub(crate) fn bytes(&self) -> u64 {
        let spaces: u64 = self.spaces.iter().map(Space::bytes).sum();
        self.map.bytes() + spaces + size_of_val(&self.owners[..]) as u64
    }

    /// Checks for inconsistencies.
    ///
    /// # Errors
    /// The first inconsistency.
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
        let left = self.left.iter().map(|&(_, page)| page).chain(self.retired.iter().copied());
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
