//! A counting Bloom filter: rejects most numbers that are not in a set without a lookup in the set, and supports removal.
//!
//! Source: paper 004, section 3.1, asks for "the bloom filter scheme"; entries of the map are deleted, so it must count. Ten
//! counters of four bits an entry and seven hashes, about 0.8 % false positives, are our choice (the known formula).

/// Counters for each number.
const COUNTERS_EACH: usize = 10;
/// Hashes of a number.
const HASHES: u64 = 7;
/// The limit of a counter, where it stays: its true count is unknown from then on.
const COUNTER_MAX: u8 = 15;

/// A superset of the numbers in a set of bounded size.
#[derive(Debug)]
pub(super) struct Filter {
    /// Two counters a byte.
    counters: Vec<u8>,
}

impl Filter {
    /// An empty filter for `count` numbers.
    pub(super) fn new(count: usize) -> Self {
        Self { counters: vec![0; (count * COUNTERS_EACH).next_power_of_two() / 2] }
    }

    /// The counters of `key`; some may coincide.
    #[inline]
    fn places(&self, key: u64) -> impl Iterator<Item = usize> + use<> {
        let (hash, mask) = (scatter(key), self.counters.len() * 2 - 1);
        // Double hashing: an odd step reaches every counter.
        let (first, step) = (hash & 0xFFFF_FFFF, hash >> 32 | 1);
        (0..HASHES).map(move |nth| first.wrapping_add(nth * step) as usize & mask)
    }

    #[inline]
    fn get(&self, place: usize) -> u8 {
        self.counters[place / 2] >> (place % 2 * 4) & 15
    }

    fn set(&mut self, place: usize, value: u8) {
        let (byte, shift) = (&mut self.counters[place / 2], place % 2 * 4);
        *byte = *byte & !(15 << shift) | value << shift;
    }

    /// Whether `key` may be in the set; false only if it is not in the set.
    #[inline]
    pub(super) fn may_have(&self, key: u64) -> bool {
        self.places(key).all(|place| self.get(place) > 0)
    }

    /// Adds `key`, which is not in the set.
    pub(super) fn add(&mut self, key: u64) {
        for place in self.places(key) {
            self.set(place, (self.get(place) + 1).min(COUNTER_MAX));
        }
    }

    /// Removes `key`, which is in the set.
    pub(super) fn remove(&mut self, key: u64) {
        for place in self.places(key) {
            if self.get(place) < COUNTER_MAX {
                self.set(place, self.get(place) - 1);
            }
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.counters.len() as u64
    }
}

/// Scatters a number over all 64 bits: the finishing steps of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[inline]
fn scatter(key: u64) -> u64 {
    let key = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let key = (key ^ key >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let key = (key ^ key >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    key ^ key >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_set_is_never_denied_and_little_else_is_affirmed() {
        const COUNT: u64 = 100_000;
        let mut filter = Filter::new(COUNT as usize);
        (0..COUNT).for_each(|key| filter.add(key * 3));
        assert!((0..COUNT).all(|key| filter.may_have(key * 3)));
        let affirmed = (0..COUNT).filter(|key| filter.may_have(key * 3 + 1)).count();
        // 0.8 % for exactly ten counters an entry; rounded up to a power of two there are 10.5.
        assert!((200..1_100).contains(&affirmed), "{affirmed} of {COUNT}");
    }

    #[test]
    fn what_left_the_set_is_forgotten_and_the_rest_is_kept() {
        let mut filter = Filter::new(1_000);
        (0..1_000).for_each(|key| filter.add(key));
        (0..500).for_each(|key| filter.remove(key));
        assert!((500..1_000).all(|key| filter.may_have(key)));
        let affirmed = (0..500).filter(|&key| filter.may_have(key)).count();
        assert!(affirmed < 10, "{affirmed} of 500 that left");
    }
}
