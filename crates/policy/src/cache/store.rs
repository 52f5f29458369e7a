//! The pages of a write cache: found by row and column, and linked into lists by the policy that chooses the next ones to
//! leave.
//!
//! A page stays in the store until it is on its member, so that reads always find it. A chunk that is overwritten while an
//! older version is in flight is kept beside the older version, which belongs to the plan that writes it.
//!
//! Source: paper 003, section 3 (hits on strips and on write groups), figures 1 and 3.

use stripewise_core::ids::{NONE, PlanId, RowNo};
use stripewise_core::memory::PageId;
use stripewise_core::table::Table;

/// The page of one chunk of a row.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Its row.
    pub row: RowNo,
    /// A data column; or a parity column, where parity is computed before pages enter the cache.
    pub column: u32,
    /// Sectors of its page that were written.
    pub sectors: u64,
    /// Their content.
    pub page: PageId,
    /// Whether the parity of its row, in the cache or else on the members, covers it.
    pub is_covered: bool,
    /// Its stage of leaving the cache.
    pub stage: Stage,
    /// The unit with which it leaves.
    pub unit: u32,
    newer: u32,
    older: u32,
    /// The next chunk of the same row, or the next free one.
    next: u32,
}

/// The stage of a chunk that leaves the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It stays in the cache.
    Kept,
    /// It leaves as soon as there is a plan for it.
    Outgoing,
    /// This plan writes it.
    Carried(PlanId),
}

/// A list of chunks by age.
#[derive(Clone, Copy, Debug)]
pub struct List {
    newest: u32,
    /// The chunk that was written longest ago, or [`NONE`].
    pub oldest: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { newest: NONE, oldest: NONE };
}

/// All chunks.
#[derive(Debug)]
pub struct Store {
    chunks: Vec<Chunk>,
    free: u32,
    count: u32,
    /// The first chunk of each row.
    rows: Table,
}

impl Store {
    /// A store with room for `count` chunks before it grows.
    pub(crate) fn new(count: u32) -> Self {
        let rows = Table::new(count as usize);
        Self { chunks: Vec::with_capacity(count as usize), free: NONE, count: 0, rows }
    }

    /// Number of chunks.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The chunk with number `id`.
    #[inline]
    pub fn get(&self, id: u32) -> &Chunk {
        &self.chunks[id as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Chunk {
        &mut self.chunks[id as usize]
    }

    /// The chunks of `row`.
    #[inline]
    pub(crate) fn of_row(&self, row: RowNo) -> impl Iterator<Item = u32> {
        let first = self.rows.get(row.number());
        std::iter::successors((first != NONE).then_some(first), |&id| {
            let next = self.chunks[id as usize].next;
            (next != NONE).then_some(next)
        })
    }

    /// The columns of `row` for which `is_meant` returns true, as a mask.
    #[inline]
    pub fn columns(&self, row: RowNo, is_meant: impl Fn(&Chunk) -> bool) -> u64 {
        let meant = self.of_row(row).map(|id| self.get(id)).filter(|chunk| is_meant(chunk));
        meant.fold(0, |mask, chunk| mask | 1 << chunk.column)
    }

    /// The number of the chunk of `column` in `row`, if the cache has it.
    #[inline]
    pub fn find(&self, row: RowNo, column: u32) -> Option<u32> {
        self.of_row(row).find(|&id| self.chunks[id as usize].column == column)
    }

    /// All chunks, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter().filter(|chunk| chunk.unit != NONE)
    }

    /// Adds a chunk that is not in the store, to be linked into a list of `unit`.
    pub(crate) fn insert(&mut self, row: RowNo, column: u32, unit: u32) -> u32 {
        let next = self.rows.get(row.number());
        let chunk = Chunk {
            row,
            column,
            sectors: 0,
            page: NONE,
            is_covered: false,
            stage: Stage::Kept,
            unit,
            newer: NONE,
            older: NONE,
            next,
        };
        let id = self.free;
        let id = if id == NONE {
            self.chunks.push(chunk);
            self.chunks.len() as u32 - 1
        } else {
            self.free = self.chunks[id as usize].next;
            self.chunks[id as usize] = chunk;
            id
        };
        self.rows.put(row.number(), id);
        self.count += 1;
        id
    }

    /// Removes a chunk that is in no list.
    pub(crate) fn remove(&mut self, id: u32) {
        let Chunk { row, next, .. } = self.chunks[id as usize];
        let first = self.rows.get(row.number());
        if first == id {
            self.rows.put(row.number(), next);
        } else {
            let mut before = first;
            while self.chunks[before as usize].next != id {
                before = self.chunks[before as usize].next;
            }
            self.chunks[before as usize].next = next;
        }
        let chunk = &mut self.chunks[id as usize];
        (chunk.unit, chunk.next) = (NONE, self.free);
        self.free = id;
        self.count -= 1;
    }

    /// Links `id` into `list` as its newest.
    pub(crate) fn link(&mut self, list: &mut List, id: u32) {
        let older = std::mem::replace(&mut list.newest, id);
        let chunk = &mut self.chunks[id as usize];
        (chunk.newer, chunk.older) = (NONE, older);
        if older == NONE {
            list.oldest = id;
        } else {
            self.chunks[older as usize].newer = id;
        }
    }

    /// Removes `id` from `list`, in which it must be.
    pub(crate) fn unlink(&mut self, list: &mut List, id: u32) {
        let Chunk { newer, older, .. } = self.chunks[id as usize];
        if newer == NONE {
            list.newest = older;
        } else {
            self.chunks[newer as usize].older = older;
        }
        if older == NONE {
            list.oldest = newer;
        } else {
            self.chunks[older as usize].newer = newer;
        }
    }
}
