//! The damaged spots of a member: errors near each other, within a minute, count once.

use std::collections::{BTreeMap, VecDeque};

use stripewise_base::Nanos;

/// Errors this close to each other belong to one damaged spot: a bad erase block or a few bad tracks.
const SPOT_BYTES: u64 = 1 << 20;
/// How long a spot is remembered from when it was counted. A later error there counts again.
pub(super) const SPOT_TIME_NS: Nanos = 60_000_000_000;
/// The number of spots that are remembered: far beyond every sensible limit within a minute.
pub(super) const SPOTS_MAX: usize = 4096;

/// The spots of the last minute.
///
/// Every remembered spot was counted. While [`SPOTS_MAX`] of them are remembered, errors in other places count no spot: the
/// member is far beyond its limit by then, and a known spot is never forgotten early, so that no spot counts twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Spots {
    /// When each remembered spot was counted.
    known: BTreeMap<u64, Nanos>,
    /// The same, the oldest first.
    order: VecDeque<u64>,
}

impl Spots {
    /// Notes an error at `page`, of `page_bytes`. Returns whether it counts as another spot.
    pub(super) fn note(&mut self, now: Nanos, page: u32, page_bytes: u32) -> bool {
        let is_over = |since: &Nanos| now.saturating_sub(*since) >= SPOT_TIME_NS;
        while let Some(oldest) = self.order.front().filter(|spot| self.known.get(spot).is_none_or(is_over)) {
            self.known.remove(oldest);
            self.order.pop_front();
        }
        let spot = u64::from(page) * u64::from(page_bytes) / SPOT_BYTES;
        if self.known.contains_key(&spot) || self.known.len() == SPOTS_MAX {
            return false;
        }
        self.known.insert(spot, now);
        self.order.push_back(spot);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Without a bound: all spots ever counted, with their time.
    #[derive(Default)]
    struct Model(Vec<(u64, Nanos)>);

    impl Model {
        fn note(&mut self, now: Nanos, spot: u64) -> bool {
            let is_new = !self.0.iter().any(|&(other, at)| other == spot && now - at < SPOT_TIME_NS);
            if is_new {
                self.0.push((spot, now));
            }
            is_new
        }
    }

    proptest! {
        #[test]
        fn spots_count_as_if_all_were_remembered(
            errors in prop::collection::vec((0..20_000_000_000u64, 0..40u32), 1..300),
        ) {
            let (mut spots, mut model, mut now) = (Spots::default(), Model::default(), 0);
            for (passed, spot) in errors {
                now += passed / 10;
                prop_assert_eq!(spots.note(now, spot * 256 + spot % 256, 4096), model.note(now, spot.into()));
                prop_assert!(spots.known.len() == spots.order.len());
            }
        }
    }

    #[test]
    fn a_few_spots_that_fail_in_turns_count_once_each_in_a_minute() {
        let mut spots = Spots::default();
        let counted = (0..27).filter(|&nth| spots.note(nth.into(), nth % 9 * 256, 4096)).count();
        assert_eq!(counted, 9, "nine places, three times");
        assert!(spots.note(SPOT_TIME_NS, 0, 4096), "it fails again a minute later");
        assert!(!spots.note(SPOT_TIME_NS, 256, 4096), "this one was counted a nanosecond later");
    }

    #[test]
    fn more_spots_than_are_remembered_are_not_counted() {
        let mut spots = Spots::default();
        let pages = (0..SPOTS_MAX as u32 + 100).map(|spot| spot * 256);
        assert_eq!(pages.clone().filter(|&page| spots.note(0, page, 4096)).count(), SPOTS_MAX);
        assert_eq!(pages.filter(|&page| spots.note(1, page, 4096)).count(), 0, "none is forgotten early");
        assert!(spots.note(SPOT_TIME_NS, u32::MAX, 4096));
        assert_eq!(spots.known.len(), 1);
    }
}
