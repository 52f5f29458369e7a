//! The hybrid: WOW's write groups and SIW's short queues, as many groups at a time as the load asks for.
//!
//! Source: paper 003, section 4, which wishes for "a hybrid approach that switches between WOW and SIW adaptively to the
//! workload"; all of it is ours. What it takes from each is what each gains by (docs/paper-003.md). From WOW: writes are
//! acknowledged at once whatever parity will take, and a group leaves as a whole, so that its SSDs stay in step. From SIW:
//! little is on its way, a whole group or as many parts of groups, so that reads find short queues. Where SIW's elements
//! wait for each other to collect together, here groups leave in bursts, from half-way between the thresholds down to the
//! low one: a collection that one write makes due is met by the next write of the burst, not by a read. Where the cache was
//! full, ever more is on its way, up to WOW's groups.

use stripewise_base::Nanos;

use super::CacheSection;
use super::law::Filling;
use super::rings::Rings;

/// When groups leave the ring.
#[derive(Debug)]
pub(super) struct Hybrid {
    /// Pages of a whole group, and the most groups on their way.
    group_pages: u32,
    most: u32,
    patience: Nanos,
    full_since: Option<Nanos>,
    is_burst: bool,
    /// The last burst, or this one, met a full cache: the next does not wait until it is worth it.
    was_full: bool,
}

impl Hybrid {
    /// Of groups of `group_pages` data pages.
    pub(super) fn new(section: &CacheSection, group_pages: u32) -> Self {
        Self {
            group_pages,
            most: section.outstanding,
            patience: section.patience.0.max(1),
            full_since: None,
            is_burst: false,
            was_full: false,
        }
    }

    /// The group that leaves `ring` now, while `leaving` pages are on their way.
    pub(super) fn next(
        &mut self,
        now: Nanos,
        rings: &mut Rings,
        ring: u32,
        filling: &Filling,
        leaving: u32,
    ) -> Option<u32> {
        let pages = self.rate(now, filling).saturating_mul(self.group_pages);
        let next = rings.next(ring)?;
        // Once it is full, the next group begins before the last has quite arrived.
        let fits = leaving + rings.unit(next).kept <= pages || self.full_since.is_some() && leaving < pages;
        let is_room = fits && rings.rings[ring as usize].leaving < self.most;
        is_room.then(|| rings.advance(ring)).flatten()
    }

    /// What may be on its way, in whole groups.
    fn rate(&mut self, now: Nanos, filling: &Filling) -> u32 {
        let begins = if self.was_full { !filling.is_low() } else { filling.is_half() };
        self.is_burst = if self.is_burst { !filling.is_low() } else { begins };
        if !self.is_burst {
            self.full_since = None;
            return 0;
        }
        if filling.is_full() {
            self.full_since.get_or_insert(now);
        }
        self.was_full = self.full_since.is_some();
        let times = self.full_since.map_or(0, |since| (now - since) / self.patience);
        (1 << times.min(16)).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::Law;
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn bursts_go_from_half_way_to_the_low_threshold_and_grow_after_the_cache_was_full() {
        let section = CacheSection::default();
        let law = Law::new(&section, 100);
        let mut hybrid = Hybrid::new(&section, 10);
        let mut rates = |steps: &[(Nanos, u32)]| -> Vec<u32> {
            let filling = |occupied| Filling { law, occupied, is_pressed: false };
            steps.iter().map(|&(ms, occupied)| hybrid.rate(ms * MS, &filling(occupied))).collect()
        };
        // A light load: half-way is 85 of 100 pages.
        assert_eq!(rates(&[(0, 80), (1, 84), (2, 85), (3, 82), (4, 80), (5, 84)]), [0, 0, 1, 1, 0, 0]);
        // Full at 90: twice as much for each 50 ms since, to the end of the burst, and no waiting for the next one.
        assert_eq!(
            rates(&[(10, 90), (59, 99), (60, 88), (110, 81), (160, 80), (170, 81)]),
            [1, 1, 2, 4, 0, 1]
        );
        assert_eq!(rates(&[(180, 80), (190, 84)]), [0, 0], "that one was light again");
        assert_eq!(rates(&[(200, 95), (10_000, 95)]), [1, 20], "no more than WOW's groups");
    }
}
