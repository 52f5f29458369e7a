//! STOW: WOW with separate rings for sequential and for random writes, each with an adaptive share of the cache.
//!
//! Source: Gill, Ko, Debnath and Belluomini, "STOW: A Spatially and Temporally Optimized Write Caching Algorithm", ATC 2009,
//! of which only the abstract is known to us: sequential and random writes are in two lists whose shares adapt continuously,
//! and the rate of destaging is controlled. The law by which the shares change is ours: each ring is charged for the groups
//! that left too early, namely a sequential group before it was whole, or a random group that is written again soon after.

use stripewise_core::bits::Bits;

use super::law::Filling;
use super::rings::{Rings, Writer};
use super::wow::Wow;

/// The ring of random writes, and that of sequential writes.
pub(super) const RANDOM: u32 = 0;
pub(super) const SEQUENTIAL: u32 = 1;

/// Number of parts of the cache, one of which is reassigned at a time.
const PARTS: u32 = 64;

/// Shares and departures of the two rings.
#[derive(Debug)]
pub(super) struct Stow {
    queues: [Wow; 2],
    /// Number of pages that sequential writes may hold before they leave first.
    share: u32,
    size: u32,
    group_pages: u32,
    /// The random groups that left last, in order, and as a set.
    left: Vec<u32>,
    oldest: usize,
    is_left: Bits,
}

impl Stow {
    /// A policy for a cache of `size` pages, with `groups` groups of `group_pages` data pages.
    pub(crate) fn new(outstanding: u32, size: u32, groups: u64, group_pages: u32) -> Self {
        Self {
            queues: [Wow::new(outstanding), Wow::new(outstanding)],
            share: size / 2,
            size,
            group_pages,
            left: vec![u32::MAX; (size / PARTS).max(1) as usize],
            oldest: 0,
            is_left: Bits::new(groups as usize),
        }
    }

    /// The ring for a write of `group` by `writer`: the ring that has the group, else the ring chosen by the writer.
    pub(crate) fn ring(&mut self, rings: &Rings, group: u64, writer: Writer) -> u32 {
        let is_in = |ring| rings.find(ring, group) != stripewise_core::ids::NONE;
        match (is_in(RANDOM), is_in(SEQUENTIAL)) {
            (true, _) => RANDOM,
            (false, true) => SEQUENTIAL,
            _ if writer.is_sequential => SEQUENTIAL,
            _ => {
                if self.is_left.next(group as usize) == Some(group as usize) {
                    self.is_left.clear(group as usize);
                    self.share = self.share.saturating_sub(self.size / PARTS);
                }
                RANDOM
            }
        }
    }

    /// The group that leaves now; `pages` has the number of pages of each ring.
    pub(crate) fn next(&mut self, rings: &mut Rings, pages: &[u32], filling: &Filling) -> Option<u32> {
        let first = if pages[SEQUENTIAL as usize] > self.share { SEQUENTIAL } else { RANDOM };
        let first = if rings.rings[first as usize].is_empty() { 1 - first } else { first };
        let unit = self.queues[first as usize].next(rings, first, filling)?;
        let (position, kept) = (rings.position(unit), rings.unit(unit).kept);
        if first == SEQUENTIAL {
            if kept < self.group_pages {
                self.share = (self.share + self.size / PARTS).min(self.size);
            }
        } else {
            let before = std::mem::replace(&mut self.left[self.oldest], position);
            self.oldest = (self.oldest + 1) % self.left.len();
            if before != u32::MAX {
                self.is_left.clear(before as usize);
            }
            self.is_left.set(position as usize);
        }
        Some(unit)
    }
}
