//! Pinned old versions: physical pages that a newer version has replaced but that parity on flash still covers.
//!
//! A small open-addressing table with linear probing and backward-shift deletion (Knuth, TAOCP vol. 3, 6.4, algorithm
//! R), keyed by member and logical page. It grows by doubling and never shrinks, so it allocates nothing once it has
//! reached its largest size.

/// The pinned version of a page: its physical page plus one, or 0 if the page was not mapped.
pub(crate) type Version = u32;

#[derive(Clone, Debug)]
pub(crate) struct Pins {
    /// Key and version; key 0 marks a vacant place. The length is a power of two.
    places: Vec<(u64, Version)>,
    held: usize,
}

/// The key of a page. Never 0, because pages count from 1 in keys.
fn key(member: u32, page: u32) -> u64 {
    u64::from(member) << 32 | (u64::from(page) + 1)
}

impl Pins {
    pub(crate) fn new() -> Self {
        Self { places: vec![(0, 0); 64], held: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.held
    }

    /// Member, page and version of every pin, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32, Version)> {
        let held = self.places.iter().filter(|place| place.0 != 0);
        held.map(|&(key, version)| ((key >> 32) as u32, key as u32 - 1, version))
    }

    fn home(&self, key: u64) -> usize {
        // Fibonacci hashing: the high bits of the product depend on all bits of the key.
        let shift = 64 - self.places.len().trailing_zeros();
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
    }

    /// The place that holds `key`, or the vacant place where it would be inserted.
    fn find(&self, key: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = self.home(key);
        while self.places[at].0 != 0 && self.places[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    pub(crate) fn get(&self, member: u32, page: u32) -> Option<Version> {
        if self.held == 0 {
            return None;
        }
        let key = key(member, page);
        let (found, version) = self.places[self.find(key)];
        (found == key).then_some(version)
    }

    /// Adds a pin, or replaces the existing pin of the page.
    pub(crate) fn set(&mut self, member: u32, page: u32, version: Version) {
        let key = key(member, page);
        let at = self.find(key);
        if self.places[at].0 == key {
            self.places[at].1 = version;
            return;
        }
        self.places[at] = (key, version);
        self.held += 1;
        if self.held * 2 > self.places.len() {
            let doubled = vec![(0, 0); self.places.len() * 2];
            for (key, version) in std::mem::replace(&mut self.places, doubled) {
                if key != 0 {
                    let at = self.find(key);
                    self.places[at] = (key, version);
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, member: u32, page: u32) -> Option<Version> {
        let key = key(member, page);
        let mut hole = self.find(key);
        let (found, version) = self.places[hole];
        if found != key {
            return None;
        }
        self.held -= 1;
        let mask = self.places.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let (key, _) = self.places[at];
            if key == 0 {
                break;
            }
            // An entry may fill the hole unless its home lies cyclically after the hole.
            let home = self.home(key);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.places[hole] = self.places[at];
                hole = at;
            }
        }
        self.places[hole] = (0, 0);
        Some(version)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_table_behaves_like_a_map(steps in prop::collection::vec((0u8..3, 0u32..4, 0u32..80, 1u32..9), 0..600)) {
            let (mut pins, mut model) = (Pins::new(), BTreeMap::new());
            for (what, member, page, version) in steps {
                match what {
                    0 => {
                        pins.set(member, page, version);
                        model.insert((member, page), version);
                    }
                    1 => prop_assert_eq!(pins.remove(member, page), model.remove(&(member, page))),
                    _ => {}
                }
                prop_assert_eq!(pins.get(member, page), model.get(&(member, page)).copied());
                prop_assert_eq!(pins.len(), model.len());
            }
            for ((member, page), version) in &model {
                prop_assert_eq!(pins.get(*member, *page), Some(*version));
            }
        }
    }
}
