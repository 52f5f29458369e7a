//! The hybrid: each write by the one of WOW and SIW that costs its host less.
//!
//! Source: paper 003, section 4, which wishes for "a hybrid approach that switches between WOW and SIW adaptively to the
//! workload"; all of it is ours. Where parity can be made of what is in memory, as for writes of whole rows, it is made
//! first, and strips leave as under SIW. Where it would take reads of the elements, for which SIW's host waits, the write is
//! acknowledged as under WOW, and leaves with its write group. No threshold says which, and both share one memory: what
//! the workload writes decides, row by row.

use stripewise_base::Nanos;

use super::law::Filling;
use super::rings::Rings;
use super::siw::Siw;
use super::wow::Wow;
use super::{Cache, CacheCounts, CacheSection, Departure};

/// When strips leave the rings of the elements, and groups the ring behind those.
#[derive(Debug)]
pub(super) struct Hybrid {
    pub(super) strips: Siw,
    groups: Wow,
    group_ring: u32,
}

impl Hybrid {
    pub(super) fn new(section: &CacheSection, elements: u32) -> Self {
        let (strips, groups) = (Siw::new(section, elements), Wow::new(section.outstanding));
        Self { strips, groups, group_ring: elements }
    }

    pub(super) fn next(
        &mut self,
        now: Nanos,
        rings: &mut Rings,
        filling: &Filling,
        counts: &mut CacheCounts,
    ) -> Departure {
        match self.groups.next(rings, self.group_ring, filling) {
            Some(group) => Departure::Unit(group),
            None => self.strips.next(now, rings, filling, counts),
        }
    }
}

/// Whether a write of `row` has its parity made first. Of one row either all that is in the cache is covered by parity or
/// nothing is: a row goes on as it began, until it is written as a whole.
pub(super) fn makes_parity_first(cache: &Cache, row: u64, whole: bool) -> bool {
    if whole || cache.absorbing.contains(&row) {
        return true;
    }
    cache.covered(row) != 0
}
