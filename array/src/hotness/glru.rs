//! GLRU: grouping-based lists of least recently updated chunks. A chunk belongs to list `chunk mod lists`; the few items of a
//! list count the writes of the chunks that were written last.
//!
//! Source: paper 001, section III-A and algorithm 1, printed: an item is a number of 32 bits and a counter of 4 that stops
//! at 15; the counter rises before it is compared; a chunk that has no item takes the place of the last one with probability
//! 0.5, and is cold whatever comes of that. Choices: while a list has room there is no coin toss; an item holds `chunk /
//! lists`, since the list says the rest, so that 32 bits tell 2^32 chunks *of each list* apart; a counter is halved to no less
//! than 1, for 0 marks a vacant item.

use stripewise_base::prng::Prng;
use stripewise_base::share::Share;

use super::{Decay, HotnessSection, Thresholds};

/// Where counters stop.
pub(super) const COUNTER_MAX: u8 = 15;

/// The hot data table.
#[derive(Clone, Debug)]
pub(super) struct Glru {
    lists: u64,
    items: usize,
    /// For each list its items, the most recently updated first: `chunk / lists`.
    numbers: Vec<u32>,
    /// Their counters, two a byte, the lower half first; each list begins a byte of its own. Vacant items, which have 0, are
    /// behind all others.
    counters: Vec<u8>,
    thresholds: Thresholds,
    replace: Share,
    coin: Prng,
    decay: Decay,
}

impl Glru {
    pub(super) fn new(section: &HotnessSection) -> Self {
        let (lists, items) = (section.lists as usize, section.items as usize);
        Self {
            lists: lists as u64,
            items,
            numbers: vec![0; lists * items],
            counters: vec![0; lists * items.div_ceil(2)],
            thresholds: Thresholds::new(section),
            replace: section.replace,
            coin: Prng::new(section.seed),
            decay: Decay::new(lists as u64, section.halve_every),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(&*self.numbers) + size_of_val(&*self.counters)) as u64
    }

    #[inline]
    pub(super) fn classify(&mut self, page: u64) -> u8 {
        let (list, number) = ((page % self.lists) as usize, (page / self.lists) as u32);
        let width = self.items.div_ceil(2);
        let numbers = &mut self.numbers[list * self.items..][..self.items];
        let counters = &mut self.counters[list * width..][..width];
        let last = self.items - 1;
        // Vacant items come last, so the first match is the chunk's own item if it has one.
        let found = numbers.iter().position(|&other| other == number);
        let tier = match found.map(|at| (at, counter(counters, at))) {
            Some((at, writes)) if writes > 0 => {
                let writes = COUNTER_MAX.min(writes + 1);
                to_head(numbers, counters, at, number, writes);
                self.thresholds.tier(writes)
            }
            _ => {
                let has_room = counter(counters, last) == 0;
                if has_room || self.coin.chance(self.replace.0.into(), Share::ALL.0.into()) {
                    to_head(numbers, counters, last, number, 1);
                }
                0
            }
        };
        self.decay.tick();
        while let Some(list) = self.decay.due() {
            halve(&mut self.counters[list * width..][..width]);
        }
        tier
    }

    /// The items of a list that are taken, the most recently updated first: chunk and counter.
    #[cfg(test)]
    pub(super) fn list(&self, list: u64) -> Vec<(u64, u8)> {
        let width = self.items.div_ceil(2);
        let numbers = &self.numbers[list as usize * self.items..][..self.items];
        let counters = &self.counters[list as usize * width..][..width];
        let items = numbers.iter().enumerate();
        items
            .map(|(at, &number)| (u64::from(number) * self.lists + list, counter(counters, at)))
            .filter(|&(_, writes)| writes > 0)
            .collect()
    }
}

#[inline]
fn counter(counters: &[u8], at: usize) -> u8 {
    counters[at / 2] >> (at % 2 * 4) & 0xF
}

/// Drops item `at`, moves those before it back by one, and puts an item at the head.
#[inline]
fn to_head(numbers: &mut [u32], counters: &mut [u8], at: usize, number: u32, writes: u8) {
    let mut carried = number;
    for place in &mut numbers[..=at] {
        carried = std::mem::replace(place, carried);
    }
    let mut carried = writes;
    for pair in &mut counters[..at / 2] {
        let [low, high] = [*pair & 0xF, *pair >> 4];
        *pair = low << 4 | carried;
        carried = high;
    }
    let pair = &mut counters[at / 2];
    // The upper half is the dropped item itself, or stays behind it.
    *pair = if at % 2 == 1 { *pair << 4 | carried } else { *pair & 0xF0 | carried };
}

/// Halves all counters of a list, none to less than 1.
fn halve(counters: &mut [u8]) {
    for pair in counters {
        let half = |writes: u8| if writes > 1 { writes / 2 } else { writes };
        *pair = half(*pair >> 4) << 4 | half(*pair & 0xF);
    }
}
