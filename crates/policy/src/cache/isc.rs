//! ISC: each member has its own cache, which writes its pages back by address, independently of the others.
//!
//! Source: paper 003, section 4 and figure 4(b) ("individual SSD has its own write cache and the total amount of write cache
//! is the same"). How such a cache chooses is not printed: a ring of pages with recency bits and linear thresholds of its own
//! is our choice.

use super::law::Law;
use super::rings::Rings;

/// The policy by which pages leave the rings of members.
#[derive(Debug)]
pub(super) struct Isc {
    outstanding: u32,
    law: Law,
    /// The ring that is tried first next time.
    turn: u32,
}

impl Isc {
    pub(crate) fn new(outstanding: u32, law: Law) -> Self {
        Self { outstanding, law, turn: 0 }
    }

    /// The page that leaves now; `pages` has the number of pages of each ring.
    pub(crate) fn next(&mut self, rings: &mut Rings, pages: &[u32]) -> Option<u32> {
        let count = rings.rings.len() as u32;
        for step in 0..count {
            let ring = (self.turn + step) % count;
            let rate = self.law.rate(pages[ring as usize], self.outstanding);
            if rings.rings[ring as usize].leaving < rate
                && let Some(page) = rings.advance(ring)
            {
                self.turn = (ring + 1) % count;
                return Some(page);
            }
        }
        None
    }
}
