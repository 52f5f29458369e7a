//! The map table: for each block that was written, the locations of its pages, and statistics of its accesses.
//!
//! Source: paper 004, section 3.1 (figure 4). An entry has the location of each page of its block, so that an update of part
//! of a block moves only that part (choice). Blocks that were never written have no entry; a counting Bloom filter rejects
//! most of them without a lookup in the table.

use super::filter::Filter;
use stripewise_core::ids::NONE;
use stripewise_core::table::Table;
use stripewise_policy::mix::Mix;

/// The mark of a page that is at home: in the first zone, at its address.
pub(super) const HOME: u32 = u32::MAX;

/// The state of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) block: u64,
    pub(super) mix: Mix,
    /// The zone in whose write order the block is; 0 if in none.
    pub(super) zone: u8,
    /// Number of host requests in progress that change the block.
    pub(super) writers: u32,
    /// Number of its pages that are not at home.
    pub(super) away: u32,
    /// The blocks of the same zone that were written before it and after it.
    older: u32,
    newer: u32,
}

/// The blocks of a zone, in the order in which they were last written.
#[derive(Clone, Copy, Debug)]
struct Order {
    oldest: u32,
    newest: u32,
}

/// Results of lookups in the table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    pub(super) all: u64,
    /// Rejected by the filter.
    pub(super) filtered: u64,
    /// Passed by the filter, but not found.
    pub(super) in_vain: u64,
}

/// The table of entries.
#[derive(Debug)]
pub(super) struct Map {
    entries: Vec<Entry>,
    /// For each entry the location of each of its pages: a page of the array, or [`HOME`].
    places: Vec<u32>,
    free: Vec<u32>,
    table: Table,
    filter: Filter,
    /// Number of entries that the filter was built for.
    most: usize,
    block_pages: u64,
    /// The order of each zone's blocks.
    orders: Vec<Order>,
    pub(super) looks: Looks,
}

/// Number of entries with which a table begins.
const FIRST: usize = 1024;

impl Map {
    /// An empty table, for blocks of this number of pages in this number of zones.
    pub(super) fn new(block_pages: u64, zones: usize) -> Self {
        Self {
            entries: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            table: Table::new(FIRST),
            filter: Filter::new(FIRST),
            most: FIRST,
            block_pages,
            orders: vec![Order { oldest: NONE, newest: NONE }; zones],
            looks: Looks::default(),
        }
    }

    /// Number of entries in use.
    pub(super) fn len(&self) -> usize {
        self.table.count()
    }

    /// Pages of a block.
    #[inline]
    pub(super) fn block_pages(&self) -> u64 {
        self.block_pages
    }

    /// The entry of the block of `page`, or [`NONE`].
    #[inline]
    pub(super) fn find(&mut self, page: u64) -> u32 {
        let block = page / self.block_pages;
        self.looks.all += 1;
        if !self.filter.may_have(block) {
            self.looks.filtered += 1;
            return NONE;
        }
        let id = self.table.get(block);
        self.looks.in_vain += u64::from(id == NONE);
        id
    }

    /// Like [`Self::find`], but not counted.
    #[inline]
    pub(super) fn peek(&self, page: u64) -> u32 {
        self.table.get(page / self.block_pages)
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Entry {
        &self.entries[id as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Entry {
        &mut self.entries[id as usize]
    }

    /// The entry of the block of `page`; creates it if there is none.
    pub(super) fn find_or_add(&mut self, page: u64) -> u32 {
        let id = self.find(page);
        if id != NONE {
            return id;
        }
        let block = page / self.block_pages;
        let entry =
            Entry { block, mix: Mix::default(), zone: 0, writers: 0, away: 0, older: NONE, newer: NONE };
        let id = self.free.pop().unwrap_or(self.entries.len() as u32);
        if id as usize == self.entries.len() {
            self.entries.push(entry);
            self.places.resize(self.places.len() + self.block_pages as usize, HOME);
        } else {
            self.entries[id as usize] = entry;
        }
        self.table.put(block, id);
        self.filter.add(block);
        if self.table.count() > self.most {
            self.grow_filter();
        }
        id
    }

    fn grow_filter(&mut self) {
        self.most *= 2;
        self.filter = Filter::new(self.most);
        let is_used = |&(id, entry): &(u32, &Entry)| self.table.get(entry.block) == id;
        for (_, entry) in (0..).zip(&self.entries).filter(is_used) {
            self.filter.add(entry.block);
        }
    }

    /// Deletes an entry whose pages are all at home.
    pub(super) fn remove(&mut self, id: u32) {
        debug_assert!(self.get(id).away == 0, "pages that are away are lost with their entry");
        self.forget_order(id);
        let block = self.get(id).block;
        self.table.put(block, NONE);
        self.filter.remove(block);
        self.free.push(id);
    }

    /// The location that the entry has for `page`.
    #[inline]
    pub(super) fn place(&self, id: u32, page: u64) -> u32 {
        self.places[id as usize * self.block_pages as usize + (page % self.block_pages) as usize]
    }

    /// Sets the location of `page` in the entry to `place`. Returns the previous location.
    pub(super) fn set_place(&mut self, id: u32, page: u64, place: u32) -> u32 {
        let at = id as usize * self.block_pages as usize + (page % self.block_pages) as usize;
        let before = std::mem::replace(&mut self.places[at], place);
        let entry = &mut self.entries[id as usize];
        entry.away = entry.away + u32::from(place != HOME) - u32::from(before != HOME);
        before
    }

    /// Pages of the block of an entry.
    #[inline]
    pub(super) fn pages(&self, id: u32) -> std::ops::Range<u64> {
        let first = self.get(id).block * self.block_pages;
        first..first + self.block_pages
    }

    /// The block was written: it becomes the newest of `zone`.
    pub(super) fn note_written(&mut self, id: u32, zone: u8) {
        self.forget_order(id);
        let newest = self.orders[usize::from(zone)].newest;
        let entry = self.get_mut(id);
        (entry.zone, entry.older, entry.newer) = (zone, newest, NONE);
        self.orders[usize::from(zone)].newest = id;
        if newest == NONE {
            self.orders[usize::from(zone)].oldest = id;
        } else {
            self.get_mut(newest).newer = id;
        }
    }

    /// Removes the block from its zone's order.
    pub(super) fn forget_order(&mut self, id: u32) {
        let Entry { zone, older, newer, .. } = *self.get(id);
        if zone == 0 {
            return;
        }
        let zone = usize::from(zone);
        if older == NONE {
            self.orders[zone].oldest = newer
        } else {
            self.get_mut(older).newer = newer
        }
        if newer == NONE {
            self.orders[zone].newest = older
        } else {
            self.get_mut(newer).older = older
        }
        self.get_mut(id).zone = 0;
    }

    /// The blocks of `zone`, the one written longest ago first.
    pub(super) fn oldest_first(&self, zone: usize) -> impl Iterator<Item = u32> + '_ {
        let some = |id: u32| (id != NONE).then_some(id);
        std::iter::successors(some(self.orders[zone].oldest), move |&id| some(self.get(id).newer))
    }

    /// All entries in use.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let is_used = |&id: &u32| self.table.get(self.get(id).block) == id;
        (0..self.entries.len() as u32).filter(is_used)
    }

    pub(super) fn bytes(&self) -> u64 {
        let entries = self.entries.len() as u64 * size_of::<Entry>() as u64;
        entries + size_of_val(&self.places[..]) as u64 + self.table.bytes() + self.filter.bytes()
    }
}
