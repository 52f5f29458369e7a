//! GLRU: grouping-based lists of least recently updated chunks. A chunk belongs to list `chunk mod lists`; the few items
//! of a list count the writes of the chunks that were written last.
//!
//! Source: paper 001, section III-A and algorithm 1, printed: an item is a number of 32 bits and a counter of 4 bits that
//! stops at 15; the counter rises before it is compared; a chunk without an item replaces the last item with probability
//! 0.5, and is cold whether or not it does. Choices: while a list has room, no coin is tossed; an item holds `chunk /
//! lists`, since the list implies the rest, so that 32 bits distinguish 2^32 chunks *of each list*; halving leaves a
//! counter at 1 or more, because 0 marks a vacant item.

use stripewise_base::prng::Prng;
use stripewise_base::share::Share;

use super::HotnessSection;
use super::counting::{Decay, Thresholds};

/// The value at which counters stop.
pub(crate) const COUNTER_MAX: u8 = 15;

/// The number of items that are searched and moved at once.
const WIDTH: usize = 8;

/// Eight neighbours of a list, the most recently updated first: 36 bits each, as printed.
#[derive(Clone, Copy, Debug, Default)]
struct Items {
    /// `chunk / lists`.
    numbers: [u32; WIDTH],
    /// Counters, the first item's in the lowest 4 bits. Vacant items have counter 0 and follow all others.
    counters: u32,
}

/// The hot data table.
#[derive(Clone, Debug)]
pub(super) struct Glru {
    lists: u64,
    items: usize,
    /// Each list as a sequence of groups of eight items; the last group may have unused items.
    table: Vec<Items>,
    thresholds: Thresholds,
    replace: Share,
    coin: Prng,
    decay: Decay,
}

impl Glru {
    pub(crate) fn new(section: &HotnessSection) -> Self {
        let (lists, items) = (u64::from(section.lists), section.items as usize);
        Self {
            lists,
            items,
            table: vec![Items::default(); lists as usize * items.div_ceil(WIDTH)],
            thresholds: Thresholds::new(section),
            replace: section.replace,
            coin: Prng::new(section.seed),
            decay: Decay::new(lists, section.halve_every),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(&*self.table) as u64
    }

    #[inline]
    pub(crate) fn classify(&mut self, page: u64) -> u8 {
        let (list, number) = ((page % self.lists) as usize, (page / self.lists) as u32);
        let width = self.items.div_ceil(WIDTH);
        let list = &mut self.table[list * width..][..width];
        let tier = if let Some((at, writes)) = find(list, number) {
            let writes = COUNTER_MAX.min(writes + 1);
            to_head(list, at + 1, number, writes);
            self.thresholds.tier(writes)
        } else {
            let last = self.items - 1;
            let has_room = list[last / WIDTH].counter(last % WIDTH) == 0;
            let gets_in = has_room || self.coin.chance(self.replace.0.into(), Share::ALL.0.into());
            // The outcome of the coin is unpredictable, so the list is walked in both cases, without a branch.
            to_head(list, if gets_in { self.items } else { 0 }, number, 1);
            0
        };
        self.decay.tick();
        while let Some(list) = self.decay.due() {
            self.table[list * width..][..width].iter_mut().for_each(Items::halve);
        }
        tier
    }

    /// The occupied items of a list, the most recently updated first: chunk and counter.
    #[cfg(test)]
    pub(super) fn list(&self, list: u64) -> Vec<(u64, u8)> {
        let width = self.items.div_ceil(WIDTH);
        let items = &self.table[list as usize * width..][..width];
        let all = items.iter().flat_map(|items| (0..WIDTH).map(|at| (items.numbers[at], items.counter(at))));
        all.filter(|item| item.1 > 0)
            .map(|(number, writes)| (u64::from(number) * self.lists + list, writes))
            .collect()
    }
}

impl Items {
    #[inline]
    fn counter(&self, at: usize) -> u8 {
        (self.counters >> (4 * at)) as u8 & 0xF
    }

    /// Halves all counters, but not below 1: in each group of 4 bits, 1 stays if halving would leave 0.
    fn halve(&mut self) {
        const ONES: u32 = 0x1111_1111;
        let half = self.counters >> 1 & 0x7777_7777;
        let above_zero = (half | half >> 1 | half >> 2) & ONES;
        self.counters = half | (self.counters & ONES & !above_zero);
    }
}

/// The position and counter of the item with `number`, if it has one.
#[inline]
fn find(list: &[Items], number: u32) -> Option<(usize, u8)> {
    for (group, items) in list.iter().enumerate() {
        let mut matches = 0u32;
        for (at, &other) in items.numbers.iter().enumerate() {
            matches |= u32::from(other == number) << at;
        }
        if matches != 0 {
            // Vacant items come last, so the first match is the number's own item, if it has one.
            let at = matches.trailing_zeros() as usize;
            let writes = items.counter(at);
            return (writes > 0).then_some((group * WIDTH + at, writes));
        }
    }
    None
}

/// Moves the first `moved` items of a list back by one place, so that the last of them drops out, and puts a new item at
/// the head. If `moved` is 0, nothing happens.
#[inline]
fn to_head(list: &mut [Items], mut moved: usize, number: u32, writes: u8) {
    let (mut number, mut writes) = (number, u32::from(writes));
    for items in list {
        let here = moved.min(WIDTH);
        let before = *items;
        for at in 0..WIDTH {
            let back = if at == 0 { number } else { before.numbers[at - 1] };
            items.numbers[at] = if at < here { back } else { before.numbers[at] };
        }
        let mask = ((1u64 << (4 * here)) - 1) as u32;
        items.counters = (before.counters & !mask) | ((before.counters << 4 | writes) & mask);
        (number, writes) = (before.numbers[WIDTH - 1], before.counters >> 28);
        moved -= here;
        if moved == 0 {
            return;
        }
    }
}
