//! The hybrid: WOW's write groups and SIW's short queues, with as many groups at a time as the load requires.
//!
//! Source: paper 003, section 4, which wishes for "a hybrid approach that switches between WOW and SIW adaptively to the
//! workload"; all of it is ours. It takes from each policy the source of that policy's gains
//! (docs/evidence/paper-003.md). From WOW:
//! writes are acknowledged at once, whatever time parity takes, and a group leaves as a whole, so that its SSDs stay in step.
//! From SIW: little is in flight, one group, so that reads find short queues. SIW's members wait for each other to collect
//! together; here groups leave in bursts, from half-way between the thresholds down to the low one: a collection that one
//! write makes due delays the next write of the burst, not a read. The recent time for which the cache was full shows whether
//! that is enough; if not, more and more is in flight, up to WOW's number of groups.

use stripewise_base::Nanos;

use super::CacheSection;
use super::law::Filling;
use super::rings::Rings;

/// The policy by which groups leave the ring.
#[derive(Debug)]
pub(super) struct Hybrid {
    /// Pages of a whole group, and the most groups in flight.
    group_pages: u32,
    most: u32,
    patience: Nanos,
    /// The recent time for which the cache was full; [`Self::weigh`] defines "recent".
    load: Nanos,
    weighed: Nanos,
    is_full: bool,
    is_burst: bool,
    /// Whether this burst, or between bursts the last one, met a full cache.
    is_heavy: bool,
}

impl Hybrid {
    /// A policy for groups of `group_pages` data pages.
    pub(crate) fn new(section: &CacheSection, group_pages: u32) -> Self {
        Self {
            group_pages,
            most: section.outstanding,
            patience: section.patience.0.max(1),
            load: 0,
            weighed: 0,
            is_full: false,
            is_burst: false,
            is_heavy: false,
        }
    }

    /// The group that leaves `ring` now, while `leaving` pages are in flight.
    pub(crate) fn next(
        &mut self,
        now: Nanos,
        rings: &mut Rings,
        ring: u32,
        filling: &Filling,
        leaving: u32,
    ) -> Option<u32> {
        let (groups, whole) = self.rate(now, filling);
        let is_room =
            rings.rings[ring as usize].leaving < groups && leaving < whole.saturating_mul(self.group_pages);
        is_room.then(|| rings.advance(ring)).flatten()
    }

    /// The number of groups that may be in flight, and the number of whole groups that their pages may amount to before the
    /// next begins.
    fn rate(&mut self, now: Nanos, filling: &Filling) -> (u32, u32) {
        self.weigh(now - self.weighed);
        (self.weighed, self.is_full) = (now, filling.is_full());
        if !self.is_burst {
            let has_load = self.is_heavy || self.load > 0;
            self.is_burst = if has_load { !filling.is_low() } else { filling.is_half() };
            self.is_heavy &= !self.is_burst;
        }
        self.is_burst &= !filling.is_low();
        self.is_heavy |= self.is_full;
        match (self.is_burst, self.is_heavy || self.load > 0) {
            (false, _) => (0, 0),
            (true, false) => (1, 1),
            (true, true) => (self.most, (1 << (self.load / self.patience).min(16)).min(self.most)),
        }
    }

    /// Updates the load after `time`: it grows while the cache is full, and falls while it is not, half as fast during a burst
    /// and twice as fast between bursts (choices). So the load persists where the cache is full for a third of the time and
    /// has no pauses. It is at most one `patience` for each of the most groups, which bounds how long it is remembered.
    fn weigh(&mut self, time: Nanos) {
        if self.is_full {
            let most = self.patience.saturating_mul(self.most.into());
            self.load = self.load.saturating_add(time).min(most);
        } else {
            self.load = self.load.saturating_sub(if self.is_burst { time / 2 } else { time * 2 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::Law;
    use super::*;

    const MS: Nanos = 1_000_000;

    /// The rates at these milliseconds and pages held, of 100: groups, and the number of whole groups that they may amount to.
    fn rates(hybrid: &mut Hybrid, steps: &[(Nanos, u32)]) -> Vec<(u32, u32)> {
        let law = Law::new(&CacheSection::default(), 100);
        let filling = |occupied| Filling { law, occupied, is_pressed: false };
        steps.iter().map(|&(ms, occupied)| hybrid.rate(ms * MS, &filling(occupied))).collect()
    }

    #[test]
    fn under_a_light_load_one_group_leaves_after_another_from_half_way_to_the_low_threshold() {
        let mut hybrid = Hybrid::new(&CacheSection::default(), 10);
        // Half-way is 85 of 100 pages.
        let found = rates(&mut hybrid, &[(0, 80), (1, 84), (2, 85), (3, 82), (4, 80), (5, 84)]);
        assert_eq!(found, [(0, 0), (0, 0), (1, 1), (1, 1), (0, 0), (0, 0)]);
    }

    #[test]
    fn the_destages_in_flight_double_for_each_patience_that_the_cache_was_full_and_halve_when_it_is_not() {
        let mut hybrid = Hybrid::new(&CacheSection::default(), 10);
        // Full at 90 for 50 ms, and not for 50 ms, which subtract half of that; then full for 100 ms, in addition to 24.5.
        let steps = [(10, 90), (59, 99), (60, 88), (110, 88), (111, 90), (211, 85)];
        assert_eq!(rates(&mut hybrid, &steps), [(20, 1), (20, 1), (20, 2), (20, 1), (20, 1), (20, 4)]);
        // The burst ends with 119.5 ms, of which 10 ms between bursts subtract 20; the next burst does not wait for half-way.
        assert_eq!(rates(&mut hybrid, &[(221, 80), (231, 81), (241, 80)]), [(0, 0), (20, 2), (0, 0)]);
        assert_eq!(rates(&mut hybrid, &[(300, 80), (301, 84)]), [(0, 0); 2], "it is forgotten");
        // No more than WOW's number of groups; half a second between bursts clears any load.
        assert_eq!(rates(&mut hybrid, &[(400, 95), (10_000, 95)]), [(20, 1), (20, 20)]);
        assert_eq!(rates(&mut hybrid, &[(10_001, 80), (10_501, 81)]), [(0, 0), (1, 1)]);
    }

    #[test]
    fn a_burst_that_met_a_full_cache_continues_with_many_small_groups_and_the_next_begins_at_once() {
        let mut hybrid = Hybrid::new(&CacheSection::default(), 10);
        let steps = [(0, 90), (10, 85), (40, 85), (41, 80), (42, 81), (43, 80), (44, 81)];
        let found = rates(&mut hybrid, &steps);
        assert_eq!(found, [(20, 1), (20, 1), (20, 1), (0, 0), (1, 1), (0, 0), (0, 0)]);
    }
}
