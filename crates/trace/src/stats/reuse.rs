//! How soon a page is written again, and how evenly page writes fall on the members of an array, in fixed memory.

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use super::PAGE_BYTES;
use super::pages::hash;

/// Distances in page writes up to which [`Reuse`] counts.
pub const DISTANCES: [u64; 3] = [6, 64, 1024];
/// Numbers of members over which [`Balance`] spreads pages.
pub const MEMBERS: [usize; 2] = [6, 8];
/// Numbers of page writes over which [`Balance`] looks: 10^2 to 10^5, each a multiple of the one before.
pub const SPANS: [u64; 4] = [100, 1_000, 10_000, 100_000];

/// How soon pages are written again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reuse {
    /// Share of the page writes whose page is among those of the 6 page writes before.
    pub within_6: f64,
    /// The same, of the 64 before.
    pub within_64: f64,
    /// The same, of the 1,024 before.
    pub within_1024: f64,
}

/// How unevenly page writes fall on members, if page p of 4 KiB lies on member p mod K; volumes lie over one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// Members K.
    pub members: u32,
    /// Page writes in a row.
    pub page_writes: u64,
    /// Whole runs of that many.
    pub runs: u64,
    /// Coefficient of variation of the members' page writes (standard deviation over mean), mean of all runs. Chance
    /// alone gives about sqrt((K - 1) / page_writes).
    pub cv: f64,
}

#[derive(Clone, Copy)]
struct Place {
    volume: u32,
    page: u64,
}

/// The last 1,024 page writes, and the last write to each of their pages.
#[derive(Default)]
struct LastWrites {
    ring: Vec<Place>,
    /// For each page in the ring, the number of its last write.
    last: HashTable<u64>,
    written: u64,
    within: [u64; DISTANCES.len()],
}

const HELD: u64 = DISTANCES[DISTANCES.len() - 1];

impl LastWrites {
    fn add(&mut self, place: Place) {
        let number = self.written;
        self.written += 1;
        let at = |number: u64| (number % HELD) as usize;
        let hash_of = |place: Place| hash(place.volume, place.page);
        let Self { ring, last, within, .. } = self;
        let same = |ring: &[Place], number: u64| {
            let held = ring[at(number)];
            held.volume == place.volume && held.page == place.page
        };
        // Before the ring forgets the oldest write: it is the 1,024th before this one.
        let mut again = false;
        let found = last.find_mut(hash_of(place), |&number| same(ring, number));
        if let Some(held) = found {
            let distance = number - *held;
            for (count, most) in within.iter_mut().zip(DISTANCES) {
                *count += u64::from(distance <= most);
            }
            *held = number;
            again = true;
        }
        if let Some(&oldest) = ring.get(at(number)) {
            let forgotten = last.find_entry(hash_of(oldest), |&held| held + HELD == number);
            if let Ok(entry) = forgotten {
                entry.remove();
            }
            ring[at(number)] = place;
        } else {
            ring.push(place);
        }
        if !again {
            last.insert_unique(hash_of(place), number, |&number| hash_of(ring[at(number)]));
        }
    }
}

/// Page writes of each member in one run, and the sum of the runs' coefficients.
#[derive(Clone, Copy)]
struct Spread<const K: usize> {
    counts: [u64; K],
    cv_sum: f64,
    runs: u64,
}

/// Runs of several lengths over K members: a run that is complete is added to the next longer one.
#[derive(Clone, Copy)]
struct Members<const K: usize>([Spread<K>; SPANS.len()]);

impl<const K: usize> Default for Members<K> {
    fn default() -> Self {
        Self([Spread { counts: [0; K], cv_sum: 0.0, runs: 0 }; SPANS.len()])
    }
}

impl<const K: usize> Members<K> {
    /// Adds a page write, the `written`th, counted from 1.
    #[inline]
    fn add(&mut self, page: u64, written: u64) {
        self.0[0].counts[(page % K as u64) as usize] += 1;
        for (at, span) in SPANS.into_iter().enumerate() {
            if !written.is_multiple_of(span) {
                break;
            }
            let run = std::mem::replace(&mut self.0[at].counts, [0; K]);
            if let Some(longer) = self.0.get_mut(at + 1) {
                longer.counts.iter_mut().zip(run).for_each(|(sum, count)| *sum += count);
            }
            // K squares of at most 10^5 each: exact. The variance over the mean's square is K q / s^2 - 1.
            let squares: u64 = run.iter().map(|count| count * count).sum();
            let excess = K as u64 * squares - span * span;
            self.0[at].cv_sum += libm::sqrt(excess as f64) / span as f64;
            self.0[at].runs += 1;
        }
    }

    fn summary(&self) -> impl Iterator<Item = Balance> {
        self.0.iter().zip(SPANS).filter(|(spread, _)| spread.runs > 0).map(|(spread, page_writes)| Balance {
            members: K as u32,
            page_writes,
            runs: spread.runs,
            cv: spread.cv_sum / spread.runs as f64,
        })
    }
}

/// Collects [`Reuse`] and [`Balance`].
#[derive(Default)]
pub(super) struct PageWrites {
    last: LastWrites,
    members: (Members<{ MEMBERS[0] }>, Members<{ MEMBERS[1] }>),
}

impl PageWrites {
    /// Adds the pages of a write, in ascending order.
    pub(super) fn add(&mut self, volume: u32, offset: u64, bytes: u32) {
        let Some(last_byte) = u64::from(bytes).checked_sub(1) else { return };
        for page in offset / PAGE_BYTES..=offset.saturating_add(last_byte) / PAGE_BYTES {
            self.last.add(Place { volume, page });
            self.members.0.add(page, self.last.written);
            self.members.1.add(page, self.last.written);
        }
    }

    pub(super) fn reuse(&self) -> Reuse {
        let share = |count: u64| count as f64 / self.last.written.max(1) as f64;
        let [within_6, within_64, within_1024] = self.last.within.map(share);
        Reuse { within_6, within_64, within_1024 }
    }

    pub(super) fn balance(&self) -> Vec<Balance> {
        self.members.0.summary().chain(self.members.1.summary()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pages: impl IntoIterator<Item = u64>) -> PageWrites {
        let mut writes = PageWrites::default();
        pages.into_iter().for_each(|page| writes.add(0, page * PAGE_BYTES, 4096));
        writes
    }

    #[test]
    fn distances_are_counted_in_page_writes_and_their_limits_belong_to_them() {
        // Page 0 returns after 6 page writes, then after 7, page 100 after one.
        let pages = [0, 1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10, 11, 0, 100, 100];
        let reuse = written(pages).reuse();
        assert_eq!(reuse, Reuse { within_6: 2.0 / 16.0, within_64: 3.0 / 16.0, within_1024: 3.0 / 16.0 });
        for (pages, share) in [(1024, 1024.0 / 2048.0), (1025, 0.0)] {
            let reuse = written((0..pages).chain(0..1024)).reuse();
            assert_eq!((reuse.within_64, reuse.within_1024), (0.0, share), "{pages}");
        }
    }

    #[test]
    fn memory_holds_no_more_than_the_longest_distance() {
        let mut writes = written((0..50_000).map(|n| n * n % 7919));
        writes.add(0, 0, 64 << 20);
        assert_eq!(writes.last.ring.len(), 1024);
        assert!(writes.last.last.len() <= 1024 && writes.last.last.capacity() < 8192);
    }

    #[test]
    fn volumes_and_pages_of_one_write_are_apart() {
        let mut writes = PageWrites::default();
        writes.add(0, 4095, 2); // pages 0 and 1
        writes.add(1, 0, 4096);
        writes.add(0, 0, 4096);
        assert_eq!(writes.reuse().within_6, 0.25);
    }

    #[test]
    fn members_that_take_turns_are_even_and_one_that_takes_all_is_not() {
        // One of K takes all: variance m^2 (K - 1), so cv = sqrt(K - 1), in every run.
        let all = written((0..1_000).map(|n| 24 * n)).balance();
        let expected = [(6, 100, 10), (6, 1_000, 1), (8, 100, 10), (8, 1_000, 1)];
        for (balance, (members, page_writes, runs)) in all.iter().zip(expected) {
            assert_eq!((balance.members, balance.page_writes, balance.runs), (members, page_writes, runs));
            assert!((balance.cv - f64::from(members - 1).sqrt()).abs() < 1e-12);
        }
        assert_eq!(all.len(), 4);
        // 100 pages in turn over 6 members: four take 17, two take 16. Mean 100/6, squares 1668: cv^2 = 0.0008.
        let turns = written(0..100).balance();
        assert!((turns[0].cv - 0.0008f64.sqrt()).abs() < 1e-12, "{turns:?}");
    }
}
