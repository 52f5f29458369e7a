//! A small hash table from numbers to numbers. It uses open addressing and closes gaps on removal, so searches need no
//! tombstones.

use crate::ids::NONE;

/// A table of values by key; [`NONE`] means no value.
#[derive(Debug)]
pub struct Table {
    slots: Vec<(u64, u32)>,
    count: usize,
}

impl Table {
    /// A table that holds `count` values before it grows.
    pub fn new(count: usize) -> Self {
        Self { slots: vec![(0, NONE); (count.max(8) * 2).next_power_of_two()], count: 0 }
    }

    /// The number of values.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The memory that the table takes, in bytes.
    pub fn bytes(&self) -> u64 {
        size_of_val(&self.slots[..]) as u64
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (self.slots.len() - 1)
    }

    /// The place that holds `key`, or the vacant place where it would go.
    #[inline]
    fn place(&self, key: u64) -> usize {
        let mut at = self.home(key);
        while self.slots[at].1 != NONE && self.slots[at].0 != key {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// The value of `key`, or [`NONE`].
    #[inline]
    pub fn get(&self, key: u64) -> u32 {
        self.slots[self.place(key)].1
    }

    /// Sets the value of `key`, which may be [`NONE`], and returns the previous one.
    pub fn put(&mut self, key: u64, value: u32) -> u32 {
        let place = self.place(key);
        let before = std::mem::replace(&mut self.slots[place], (key, value)).1;
        match (before, value) {
            (NONE, NONE) => {}
            (NONE, _) => {
                self.count += 1;
                if self.count * 2 > self.slots.len() {
                    self.grow();
                }
            }
            (_, NONE) => {
                self.count -= 1;
                self.close(place);
            }
            _ => {}
        }
        before
    }

    fn grow(&mut self) {
        let vacant = vec![(0, NONE); self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, vacant) {
            if slot.1 != NONE {
                let place = self.place(slot.0);
                self.slots[place] = slot;
            }
        }
    }

    /// Closes the gap of a removed key.
    fn close(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.1 == NONE {
                return;
            }
            // The entry may fill the gap unless its home lies cyclically after the gap.
            if (at.wrapping_sub(self.home(slot.0)) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.slots[gap] = slot;
                self.slots[at].1 = NONE;
                gap = at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_map(steps in prop::collection::vec((0u64..64, 0u32..4), 1..400)) {
            let (mut table, mut model) = (Table::new(1), BTreeMap::new());
            for (key, value) in steps {
                let key = key * 0x1_0000_0001;
                let value = if value == 0 { NONE } else { value };
                let before = model.insert(key, value).unwrap_or(NONE);
                prop_assert_eq!(table.put(key, value), before);
                for (&key, &value) in &model {
                    prop_assert_eq!(table.get(key), value);
                }
            }
        }
    }
}
