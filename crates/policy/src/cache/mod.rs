//! Write caches: content that is kept in controller memory before it goes to the members.
//!
//! A `Store` has the pages, `Rings` determine which of them leave together, and a policy, one file for each published
//! scheme, determines which leave next and when. The handling of requests, plans and row locks is in the controller
//! (`in_place/caching.rs`, `in_place/destaging.rs`, `in_place/absorbing.rs`), and the same for all policies.

mod custom;
mod hybrid;
mod isc;
mod law;
mod leaving;
mod parity_caching;
mod rings;
mod section;
mod siw;
pub mod store;
mod stow;
mod wow;

use std::collections::BTreeSet;

use stripewise_base::Nanos;
use stripewise_core::geometry::{Geometry, Level};
use stripewise_core::ids::{NONE, RowNo};
use stripewise_core::memory::{PageId, Persistence};

pub use section::{CachePolicy, CacheSection, Count, Frees, MEMBERS, PreParity, WaitsFor};

use crate::custom::ChooseGroup;
use custom::Custom;
use hybrid::Hybrid;
use isc::Isc;
use law::Law;
use parity_caching::ParityCaching;
use rings::Rings;
pub use rings::Writer;
use siw::Siw;
use store::{List, Stage, Store};
use stow::Stow;
use wow::Wow;

/// Counters of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Chunks that hosts wrote into it, wholly or in part.
    pub written: u64,
    /// Of those: chunks that were in it already, which are writes that the members never see.
    pub absorbed: u64,
    /// Chunks that hosts read from it without a member read.
    pub hits: u64,
    /// Rows that were destaged; where parity is computed first, pages.
    pub destages: u64,
    /// Chunks that were destaged.
    pub destaged: u64,
    /// Times that a write had to wait for room.
    pub waits: u64,
    /// Number of times that strips left together, one of each member.
    pub releases: u64,
    /// Of those: times that some member had no strip to send in time.
    pub incomplete_releases: u64,
}

impl CacheCounts {
    /// The counts since `base`.
    pub fn since(&self, base: &Self) -> Self {
        Self {
            written: self.written - base.written,
            absorbed: self.absorbed - base.absorbed,
            hits: self.hits - base.hits,
            destages: self.destages - base.destages,
            destaged: self.destaged - base.destaged,
            waits: self.waits - base.waits,
            releases: self.releases - base.releases,
            incomplete_releases: self.incomplete_releases - base.incomplete_releases,
        }
    }
}

/// The policies.
#[derive(Debug)]
enum Policy {
    ParityCaching(ParityCaching),
    Isc(Isc),
    Wow(Wow),
    Stow(Stow),
    Siw(Siw),
    Hybrid(Hybrid),
    Custom(Custom),
}

/// The content that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    Nothing,
    /// Nothing before this time.
    At(Nanos),
    Unit(u32),
    Row(RowNo),
}

/// The content that one plan writes next.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// The row of the content.
    pub row: RowNo,
    /// The columns of the row that leave together.
    pub columns: u64,
    /// Whether parity covers it already, so that it goes to its members unchanged.
    pub is_covered: bool,
    unit: u32,
}

/// The result of writing a chunk into the cache.
#[derive(Clone, Copy, Debug)]
pub enum Put {
    /// The chunk is new: it needs a page.
    New(u32),
    /// The chunk was cached, and its page takes the new content.
    Over(u32),
    /// The chunk was cached and is being written: it needs a page of its own, with the content of the version that is being
    /// written.
    Beside(u32, PageId, u64),
}

/// A write cache.
#[derive(Debug)]
pub struct Cache {
    /// The pages in the cache.
    pub store: Store,
    rings: Rings,
    policy: Policy,
    law: Law,
    count: Count,
    frees: Frees,
    /// Number of pages that are written and keep their room until the rest of their unit is written.
    unfreed: u32,
    /// The most pages that it holds; and the part of each member where sub-caches have equal parts.
    size: u32,
    part: u32,
    outgoing: List,
    /// Number of kept chunks; of chunks in flight; and of those, of older versions, which the store does not have.
    kept: u32,
    leaving: u32,
    older: u32,
    /// Number of pages reserved for writes whose parity is being computed.
    reserved: u32,
    /// Number of pages of each ring, including reserved pages and pages in flight.
    pages: Vec<u32>,
    /// Whether a writer waits for room.
    is_pressed: bool,
    /// Whether a loss of power erases the content.
    pub is_volatile: bool,
    /// Whether everything is to leave: at the end of a run.
    pub draining: bool,
    /// The time of the last timer that was requested.
    pub timer: Nanos,
    /// Ends of the last writes, in pages, by which sequential writes are detected.
    tails: [u64; 8],
    tail: usize,
    /// Chunks (row and column) whose acknowledged content is lost, because too much of their row was lost when they left.
    /// Reads of them fail until they are overwritten as a whole.
    pub lost: BTreeSet<(RowNo, u32)>,
    /// What has happened so far.
    pub counts: CacheCounts,
}

impl Cache {
    /// The cache of a scheme over rows of `geometry`; `None` if the scheme has none.
    pub fn new(section: &CacheSection, geometry: &Geometry, page_bytes: u32) -> Option<Self> {
        let size = section.pages(page_bytes);
        let members = geometry.members;
        let (groups, group_rows) = (groups(geometry), group_rows(geometry));
        let law = match (section.count, section.policy) {
            (Count::Entries, CachePolicy::Wow | CachePolicy::Stow | CachePolicy::Hybrid) => {
                Law::of_entries(section, size, group_rows as u32 * geometry.data)
            }
            (Count::Entries, CachePolicy::Siw) => {
                Law::of_entries(section, (size / members).max(1), geometry.chunk_pages)
            }
            _ => Law::new(section, size),
        };
        let strips = geometry.rows() / u64::from(geometry.chunk_pages) / u64::from(geometry.groups);
        let each = |length: u64| (0..members).map(move |_| length);
        let one = |count| std::iter::repeat_n(groups, count);
        let (policy, rings) = match section.policy {
            CachePolicy::None => return None,
            CachePolicy::ParityCaching => {
                let policy = ParityCaching::new(section.chunks, section.destaging());
                (Policy::ParityCaching(policy), Rings::new(std::iter::empty()))
            }
            CachePolicy::Isc => {
                let room = (size / members).max(1);
                let isc = Isc::new(section.outstanding, Law::new(section, room));
                (Policy::Isc(isc), Rings::new(each(strips * u64::from(geometry.chunk_pages))))
            }
            CachePolicy::Wow => (Policy::Wow(Wow::new(section.outstanding)), Rings::new(one(1))),
            CachePolicy::Stow => {
                let group_pages = group_rows as u32 * geometry.data;
                let stow = Stow::new(section.outstanding, size, groups, group_pages);
                (Policy::Stow(stow), Rings::new(one(2)))
            }
            CachePolicy::Siw => (Policy::Siw(Siw::new(section, members)), Rings::new(each(strips))),
            CachePolicy::Hybrid => {
                (Policy::Hybrid(Hybrid::new(section, group_rows as u32 * geometry.data)), Rings::new(one(1)))
            }
            CachePolicy::Custom => (Policy::Custom(Custom::new(section.outstanding)), Rings::new(one(1))),
        };
        Some(Self {
            store: Store::new(size + 2 * geometry.columns),
            pages: vec![0; rings.rings.len()],
            rings,
            policy,
            law,
            count: section.count,
            frees: section.frees,
            unfreed: 0,
            part: (size / members).max(1),
            size,
            outgoing: List::EMPTY,
            kept: 0,
            leaving: 0,
            older: 0,
            reserved: 0,
            is_pressed: false,
            is_volatile: section.persistence == Persistence::Volatile,
            draining: false,
            timer: Nanos::MAX,
            tails: [u64::MAX; 8],
            tail: 0,
            lost: BTreeSet::new(),
            counts: CacheCounts::default(),
        })
    }

    /// Asks `chooser` for the order in which groups leave, if the scheme leaves it to the user.
    pub fn install(&mut self, chooser: Box<dyn ChooseGroup>) {
        if let Policy::Custom(custom) = &mut self.policy {
            custom.install(chooser);
        }
    }

    /// The cache after a loss of power that it survived, with all content that was not on its member; nothing is in flight.
    pub fn restarted(self, section: &CacheSection, geometry: &Geometry, page_bytes: u32) -> Option<Self> {
        let mut fresh = Self::new(section, geometry, page_bytes)?;
        for chunk in self.store.iter() {
            let at = (chunk.row, chunk.column);
            if let Put::New(id) = fresh.put(geometry, at, chunk.sectors, chunk.is_covered, Writer::default())
            {
                fresh.set_page(id, chunk.page);
            }
        }
        (fresh.lost, fresh.counts) = (self.lost, self.counts);
        Some(fresh)
    }

    /// Records a write of pages `first..=last`. Returns whether it is sequential: whether it begins where one of the last
    /// writes ended. Choice: WOW does not say how it detects this; eight remembered writes support as many streams.
    pub fn is_sequential(&mut self, first: u64, last: u64) -> bool {
        let found = self.tails.iter().position(|&tail| tail == first);
        let at = found.unwrap_or(self.tail);
        self.tails[at] = last + 1;
        if found.is_none() {
            self.tail = (self.tail + 1) % self.tails.len();
        }
        found.is_some()
    }

    /// Cached columns of `row`.
    #[inline]
    pub fn columns(&self, row: RowNo) -> u64 {
        self.store.columns(row, |_| true)
    }

    /// Cached columns of `row` that its parity, in the cache or on the members, covers.
    #[inline]
    pub fn covered(&self, row: RowNo) -> u64 {
        self.store.columns(row, |chunk| chunk.is_covered)
    }

    /// Whether there is room for `mask` of `row`, including parity where parity is cached. A caller that gets false waits for
    /// room.
    pub fn has_room(&mut self, geometry: &Geometry, row: RowNo, mask: u64) -> bool {
        let fits = match &self.policy {
            Policy::ParityCaching(policy) => self.kept <= policy.chunks,
            Policy::Isc(_) | Policy::Siw(_) if self.has_parts() => {
                let room = self.part;
                let held = self.store.columns(row, |chunk| !matches!(chunk.stage, Stage::Carried(_)));
                let place = geometry.place(row);
                stripewise_core::bits::columns(mask & !held).all(|column| {
                    let pages = self.pages[geometry.member(place, column).index()];
                    pages < room
                })
            }
            _ => {
                let occupied = self.occupied();
                let fits = |count: u32| occupied + count <= self.size || occupied == 0;
                let held = || self.store.columns(row, |chunk| !matches!(chunk.stage, Stage::Carried(_)));
                fits(mask.count_ones()) || fits((mask & !held()).count_ones())
            }
        };
        self.counts.waits += u64::from(!fits && !self.is_pressed);
        self.is_pressed = !fits;
        fits
    }

    /// Number of pages held, including pages in flight and reserved pages.
    #[inline]
    pub fn occupied(&self) -> u32 {
        self.store.count() + self.older + self.reserved + self.unfreed
    }

    /// Whether each member has its own sub-cache, of an equal part of the size.
    fn has_parts(&self) -> bool {
        match self.policy {
            Policy::Isc(_) => true,
            Policy::Siw(_) => self.count == Count::Entries,
            _ => false,
        }
    }

    /// Reserves room for `mask` of `row`, whose parity is being computed.
    pub fn reserve(&mut self, geometry: &Geometry, row: RowNo, mask: u64) {
        self.reserved += mask.count_ones();
        let place = geometry.place(row);
        stripewise_core::bits::columns(mask)
            .for_each(|column| self.pages[geometry.member(place, column).index()] += 1);
    }

    /// Releases reserved room.
    pub fn unreserve(&mut self, geometry: &Geometry, row: RowNo, mask: u64) {
        self.reserved -= mask.count_ones();
        let place = geometry.place(row);
        stripewise_core::bits::columns(mask)
            .for_each(|column| self.pages[geometry.member(place, column).index()] -= 1);
    }

    /// The ring and position of a chunk.
    fn home(&mut self, geometry: &Geometry, row: RowNo, column: u32, writer: Writer) -> (u32, u64) {
        let member = |geometry: &Geometry| {
            let place = geometry.place(row);
            (u32::from(geometry.member(place, column).number()), place.page)
        };
        let group = row.number() / group_rows(geometry);
        match &mut self.policy {
            Policy::ParityCaching(_) | Policy::Wow(_) | Policy::Hybrid(_) | Policy::Custom(_) => (0, group),
            Policy::Stow(stow) => (stow.ring(&self.rings, group, writer), group),
            Policy::Siw(_) => {
                let (ring, page) = member(geometry);
                (ring, u64::from(page / geometry.chunk_pages))
            }
            Policy::Isc(_) => {
                let (ring, page) = member(geometry);
                (ring, page.into())
            }
        }
    }

    /// Writes `sectors` of a chunk for `writer`. The caller provides the page that takes their content.
    pub fn put(
        &mut self,
        geometry: &Geometry,
        (row, column): (RowNo, u32),
        sectors: u64,
        is_covered: bool,
        writer: Writer,
    ) -> Put {
        let (ring, position) = self.home(geometry, row, column, writer);
        if let Policy::ParityCaching(policy) = &mut self.policy {
            return put_by_age(
                &mut self.store,
                &mut policy.ages,
                (&mut self.kept, &mut self.older),
                (row, column),
                sectors,
            );
        }
        if let Policy::Custom(custom) = &mut self.policy {
            custom.wrote(position, writer, self.rings.find(ring, position) == NONE);
        }
        let unit = self.rings.write(ring, position, writer);
        let Some(id) = self.store.find(row, column) else {
            let id = self.store.insert(row, column, unit);
            let chunk = self.store.get_mut(id);
            (chunk.sectors, chunk.is_covered) = (sectors, is_covered);
            self.stays(id, unit);
            self.pages[ring as usize] += 1;
            return Put::New(id);
        };
        let chunk = self.store.get_mut(id);
        chunk.sectors |= sectors;
        chunk.is_covered = is_covered;
        let (stage, before, page, had) = (chunk.stage, chunk.unit, chunk.page, chunk.sectors);
        if let Stage::Carried(_) = stage {
            self.store.get_mut(id).stage = Stage::Kept;
            self.older += 1;
            self.pages[ring as usize] += 1;
            self.stays(id, unit);
            return Put::Beside(id, page, had);
        }
        if before != unit {
            // Its row leaves in another way from now on.
            self.pages[self.rings.unit(before).ring as usize] -= 1;
            self.pages[ring as usize] += 1;
            self.withdraw(id);
            self.stays(id, unit);
        }
        Put::Over(id)
    }

    /// Adds a chunk to the kept chunks of `unit`.
    fn stays(&mut self, id: u32, unit: u32) {
        let chunk = self.store.get_mut(id);
        (chunk.unit, chunk.stage) = (unit, Stage::Kept);
        self.kept += 1;
        self.store.link(&mut self.rings.unit_mut(unit).chunks, id);
        self.rings.kept(unit);
    }

    /// Removes a chunk that no plan has from its list.
    fn withdraw(&mut self, id: u32) {
        let unit = self.store.get(id).unit;
        if self.store.get(id).stage == Stage::Kept {
            self.kept -= 1;
            self.store.unlink(&mut self.rings.unit_mut(unit).chunks, id);
            if self.rings.unit(unit).kept == 1 {
                self.forget_nominee(unit);
            }
            self.rings.lost(unit);
        } else {
            self.leaving -= 1;
            self.store.unlink(&mut self.outgoing, id);
            self.rings.arrived(unit);
        }
    }

    /// Drops a chunk whose member accepts no writes. Returns its page unless a plan has it.
    pub fn drop_chunk(&mut self, row: RowNo, column: u32) -> Option<PageId> {
        let id = self.store.find(row, column)?;
        let chunk = *self.store.get(id);
        if let Stage::Carried(_) = chunk.stage {
            self.older += 1;
            self.store.remove(id);
            return None;
        }
        self.pages[self.rings.unit(chunk.unit).ring as usize] -= 1;
        self.withdraw(id);
        self.store.remove(id);
        Some(chunk.page)
    }

    fn forget_nominee(&mut self, unit: u32) {
        if let Policy::Siw(siw) = &mut self.policy {
            siw.forget(unit);
        }
    }

    /// Sets the page of a chunk that has none yet, or whose page belongs to the plan that writes it.
    pub fn set_page(&mut self, id: u32, page: PageId) {
        self.store.get_mut(id).page = page;
    }

    /// Whether writes are split into strips before they are acknowledged.
    pub fn splits(&self) -> bool {
        matches!(self.policy, Policy::Siw(_))
    }
}

/// [`Cache::put`] where chunks are kept by age.
fn put_by_age(
    store: &mut Store,
    ages: &mut List,
    (kept, older): (&mut u32, &mut u32),
    (row, column): (RowNo, u32),
    sectors: u64,
) -> Put {
    let found = store.find(row, column);
    let id = found.unwrap_or_else(|| store.insert(row, column, 0));
    let before = *store.get(id);
    let chunk = store.get_mut(id);
    chunk.sectors |= sectors;
    let put = match before.stage {
        _ if found.is_none() => Put::New(id),
        Stage::Carried(_) => {
            *older += 1;
            chunk.stage = Stage::Kept;
            Put::Beside(id, before.page, before.sectors)
        }
        Stage::Outgoing => return Put::Over(id),
        Stage::Kept => {
            store.unlink(ages, id);
            store.link(ages, id);
            return Put::Over(id);
        }
    };
    *kept += 1;
    store.link(ages, id);
    put
}

/// Rows of a write group: of a stripe; without parity, of the stripes at the same place of all members.
fn group_rows(geometry: &Geometry) -> u64 {
    let rows = u64::from(geometry.chunk_pages);
    if geometry.level == Level::Raid0 { rows * u64::from(geometry.members) } else { rows }
}

fn groups(geometry: &Geometry) -> u64 {
    geometry.rows() / group_rows(geometry)
}
