//! Parity caching: updated chunks wait in a buffer, so that parity is updated once for many of them. When more than its
//! size are there, the least recently updated chunk leaves with all chunks of its row, as one update.
//!
//! Source: paper 001, sections II-A and V-F ("first caches updated data in buffer and then flushes to SSD RAID when buffer
//! becomes full"; its references 4, 10, 14 and 16). It does not say which data leaves: least recently updated first is
//! our choice, and so is the row as the unit that leaves.

use crate::holds::NONE;
use crate::memory::PageId;

/// A chunk that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    row: u64,
    pub(crate) member: u32,
    /// Sectors of its page that were written.
    pub(crate) sectors: u64,
    /// Their content.
    pub(crate) page: PageId,
    newer: u32,
    older: u32,
    /// The next chunk of the same row, or the next free one.
    next: u32,
}

/// The chunks that wait: a list by age, and a table of rows.
#[derive(Debug)]
pub(crate) struct ParityCaching {
    size: u32,
    count: u32,
    chunks: Vec<Chunk>,
    free: u32,
    newest: u32,
    oldest: u32,
    /// The first chunk of each row, by hash of the row: linear probing, gaps closed on removal.
    table: Vec<u32>,
}

impl ParityCaching {
    /// A buffer of `size` chunks, and of what one row may bring beyond that.
    pub(crate) fn new(size: u32, data: u32) -> Self {
        let most = size + data;
        let vacant =
            |next| Chunk { row: 0, member: 0, sectors: 0, page: NONE, newer: NONE, older: NONE, next };
        Self {
            size,
            count: 0,
            chunks: (1..=most).map(|next| vacant(if next < most { next } else { NONE })).collect(),
            free: 0,
            newest: NONE,
            oldest: NONE,
            table: vec![NONE; (most as usize * 2).next_power_of_two()],
        }
    }

    /// Whether there is room for the chunks of one row more.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.count <= self.size
    }

    /// The row of the least recently updated chunk.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<u64> {
        (self.oldest != NONE).then(|| self.chunks[self.oldest as usize].row)
    }

    /// The row that must leave, if there are too many chunks.
    #[inline]
    pub(crate) fn victim(&self) -> Option<u64> {
        if self.count > self.size { self.oldest() } else { None }
    }

    #[inline]
    fn home(&self, row: u64) -> usize {
        (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.table.len() - 1)
    }

    /// The place in the table that holds `row`, or the vacant one where it would go.
    #[inline]
    fn place(&self, row: u64) -> usize {
        let mut at = self.home(row);
        while self.table[at] != NONE && self.chunks[self.table[at] as usize].row != row {
            at = (at + 1) & (self.table.len() - 1);
        }
        at
    }

    /// The chunks of `row`.
    #[inline]
    fn of_row(&self, row: u64) -> impl Iterator<Item = u32> {
        let first = self.table[self.place(row)];
        std::iter::successors((first != NONE).then_some(first), |&id| {
            let next = self.chunks[id as usize].next;
            (next != NONE).then_some(next)
        })
    }

    /// The data members of `row` that are here, wholly or in part.
    #[inline]
    pub(crate) fn members(&self, row: u64) -> u64 {
        self.of_row(row).fold(0, |mask, id| mask | 1 << self.chunks[id as usize].member)
    }

    #[inline]
    fn find(&self, row: u64, member: u32) -> Option<u32> {
        self.of_row(row).find(|&id| self.chunks[id as usize].member == member)
    }

    /// What is here of a chunk.
    #[inline]
    pub(crate) fn get(&self, row: u64, member: u32) -> Option<&Chunk> {
        self.find(row, member).map(|id| &self.chunks[id as usize])
    }

    /// `sectors` of a chunk that is here are updated. Its page, if it is here.
    #[inline]
    pub(crate) fn update(&mut self, row: u64, member: u32, sectors: u64) -> Option<PageId> {
        let id = self.find(row, member)?;
        self.unlink(id);
        self.link_newest(id);
        let chunk = &mut self.chunks[id as usize];
        chunk.sectors |= sectors;
        Some(chunk.page)
    }

    /// Adds a chunk that is not here.
    pub(crate) fn insert(&mut self, row: u64, member: u32, sectors: u64, page: PageId) {
        let place = self.place(row);
        let id = self.free;
        let next = std::mem::replace(&mut self.table[place], id);
        let chunk = &mut self.chunks[id as usize];
        self.free = chunk.next;
        *chunk = Chunk { row, member, sectors, page, newer: NONE, older: NONE, next };
        self.link_newest(id);
        self.count += 1;
    }

    /// Takes a chunk of `row` out, if there is one left.
    pub(crate) fn take(&mut self, row: u64) -> Option<Chunk> {
        let place = self.place(row);
        let id = self.table[place];
        if id == NONE {
            return None;
        }
        self.unlink(id);
        let chunk = self.chunks[id as usize];
        self.table[place] = chunk.next;
        if chunk.next == NONE {
            self.close(place);
        }
        self.chunks[id as usize].next = self.free;
        self.free = id;
        self.count -= 1;
        Some(chunk)
    }

    /// Closes the gap of a removed row, so that searches need no tombstones.
    fn close(&mut self, mut gap: usize) {
        let mask = self.table.len() - 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let first = self.table[at];
            if first == NONE {
                return;
            }
            let home = self.home(self.chunks[first as usize].row);
            // It may fill the gap unless its home lies cyclically after it.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.table[gap] = first;
                self.table[at] = NONE;
                gap = at;
            }
        }
    }

    fn unlink(&mut self, id: u32) {
        let Chunk { newer, older, .. } = self.chunks[id as usize];
        if newer == NONE {
            self.newest = older;
        } else {
            self.chunks[newer as usize].older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            self.chunks[older as usize].newer = newer;
        }
    }

    fn link_newest(&mut self, id: u32) {
        let older = std::mem::replace(&mut self.newest, id);
        let chunk = &mut self.chunks[id as usize];
        (chunk.newer, chunk.older) = (NONE, older);
        if older == NONE {
            self.oldest = id;
        } else {
            self.chunks[older as usize].newer = id;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_row_of_the_least_recently_updated_chunk_leaves_with_all_its_chunks() {
        let mut cache = ParityCaching::new(3, 4);
        cache.insert(7, 0, 1, 0);
        cache.insert(8, 0, 1, 0);
        cache.insert(7, 2, 1, 0);
        assert_eq!(cache.update(7, 0, 2), Some(0));
        assert_eq!(
            (cache.oldest(), cache.victim()),
            (Some(8), None),
            "row 8 is the oldest, and there is room"
        );
        cache.insert(9, 1, 1, 0);
        assert!(!cache.has_room());
        assert_eq!(cache.victim(), Some(8));
        assert_eq!(cache.take(8).map(|chunk| chunk.member), Some(0));
        assert!(cache.take(8).is_none());
        assert_eq!((cache.oldest(), cache.members(7)), (Some(7), 0b101), "its chunk 2 is older than row 9");
        assert_eq!(cache.get(7, 0).map(|chunk| chunk.sectors), Some(3));
    }

    /// Chunks by age, oldest first: row, member, sectors.
    type Model = Vec<(u64, u32, u64)>;

    proptest! {
        #[test]
        fn it_agrees_with_a_list_by_age(steps in prop::collection::vec((0u64..12, 0u32..3, 0u32..8), 1..400)) {
            let mut cache = ParityCaching::new(9, 3);
            let mut model: Model = Vec::new();
            for (row, member, sector) in steps {
                let row = row * 0x1_0000_0001;
                let sectors = 1 << sector;
                match model.iter().position(|&(r, m, _)| (r, m) == (row, member)) {
                    Some(at) => {
                        let (_, _, before) = model.remove(at);
                        model.push((row, member, before | sectors));
                        prop_assert_eq!(cache.update(row, member, sectors), Some(member));
                    }
                    None => {
                        model.push((row, member, sectors));
                        prop_assert_eq!(cache.update(row, member, sectors), None);
                        cache.insert(row, member, sectors, member);
                    }
                }
                prop_assert_eq!(cache.victim(), (model.len() > 9).then(|| model[0].0));
                if let Some(victim) = cache.victim() {
                    let mut taken = Vec::new();
                    while let Some(chunk) = cache.take(victim) {
                        taken.push((victim, chunk.member, chunk.sectors));
                    }
                    let mut expected: Model = model.extract_if(.., |&mut (row, ..)| row == victim).collect();
                    taken.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(taken, expected);
                }
                for &(row, member, sectors) in &model {
                    prop_assert_eq!(cache.get(row, member).map(|chunk| chunk.sectors), Some(sectors));
                }
                prop_assert_eq!(cache.oldest(), model.first().map(|&(row, ..)| row));
                prop_assert_eq!(cache.has_room(), model.len() <= 9);
            }
        }
    }
}
