//! Which pages a trace touches, how often, and whether a write meets data that was written before.
//!
//! Memory grows with the touched extents, not with the trace: some 150 bytes for every extent of 16 pages (64 KiB)
//! that holds a touched page, and nothing for the rest of the address space. It is bounded: when a trace touches more
//! extents than [`MOST_EXTENTS`], half of them, chosen by a hash of their place, are no longer counted, and so on.
//! The counts then describe a sample of the address space.
//!
//! Source of the sampling: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS", FAST
//! 2015.

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

/// The page in which footprint, updates and skew are counted, in bytes.
pub const PAGE_BYTES: u64 = 4096;

const EXTENT_PAGES: usize = 16;

/// Most extents that are counted: 128 GiB of them, in 300 MiB of memory.
pub(super) const MOST_EXTENTS: usize = 1 << 21;

struct Extent {
    volume: u32,
    number: u64,
    reads: [u32; EXTENT_PAGES],
    writes: [u32; EXTENT_PAGES],
}

/// The state of the pages that a write touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Pages that the write touches.
    pub(super) pages: u64,
    /// Those of them that are counted.
    pub(super) seen: u64,
    /// Those of the counted ones that an earlier write of the trace touched.
    pub(super) before: u64,
}

/// Pages touched so far, with the reads and writes of each.
pub(super) struct Pages {
    index: HashTable<u32>,
    extents: Vec<Extent>,
    last: usize,
    most: usize,
    /// One extent in two to this power is counted.
    thinned: u32,
}

impl Default for Pages {
    fn default() -> Self {
        Self::with_most(MOST_EXTENTS)
    }
}

/// Lengths of the runs of adjacent touched pages of 4 KiB, by the end of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExtentLengths {
    /// Number of runs.
    pub extents: u64,
    /// Mean length in pages.
    pub mean_pages: f64,
    /// Half of the runs are at most this long, in pages.
    pub median_pages: u64,
    /// Nine in ten are at most this long.
    pub p90_pages: u64,
    /// The longest.
    pub max_pages: u64,
    /// Mean of the natural logarithm of the length in pages.
    pub mean_ln: f64,
    /// Its standard deviation: the two parameters of a log-normal law.
    pub sd_ln: f64,
}

/// Totals over all touched pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    pub(super) read: u64,
    pub(super) written: u64,
    pub(super) any: u64,
    pub(super) read_8k: u64,
    pub(super) written_8k: u64,
    pub(super) any_8k: u64,
    pub(super) page_reads: u64,
    pub(super) page_reads_of_written: u64,
    /// Accesses of each touched page, in no meaningful order.
    pub(super) accesses: Vec<u32>,
}

impl Pages {
    /// Pages of at most `most` extents.
    pub(super) fn with_most(most: usize) -> Self {
        Self { index: HashTable::new(), extents: Vec::new(), last: 0, most, thinned: 0 }
    }

    /// Counts a read of `bytes` bytes at `offset`.
    pub(super) fn read(&mut self, volume: u32, offset: u64, bytes: u32) {
        self.visit(volume, offset, bytes, |extent, range| {
            for reads in &mut extent.reads[range] {
                *reads = reads.saturating_add(1);
            }
        });
    }

    /// Counts a write and returns how many of its pages had been written before.
    pub(super) fn write(&mut self, volume: u32, offset: u64, bytes: u32) -> Written {
        let mut found = Written::default();
        self.visit(volume, offset, bytes, |extent, range| {
            for writes in &mut extent.writes[range] {
                found.seen += 1;
                found.before += u64::from(*writes > 0);
                *writes = writes.saturating_add(1);
            }
        });
        if bytes > 0 {
            let last = offset.saturating_add(u64::from(bytes) - 1) / PAGE_BYTES;
            found.pages = last - offset / PAGE_BYTES + 1;
        }
        found
    }

    fn visit(
        &mut self,
        volume: u32,
        offset: u64,
        bytes: u32,
        mut each: impl FnMut(&mut Extent, std::ops::Range<usize>),
    ) {
        let Some(last_byte) = u64::from(bytes).checked_sub(1) else { return };
        let mut page = offset / PAGE_BYTES;
        let last = offset.saturating_add(last_byte) / PAGE_BYTES;
        while page <= last {
            let number = page / EXTENT_PAGES as u64;
            let end = last.min((number + 1) * EXTENT_PAGES as u64 - 1);
            let at = |page: u64| (page % EXTENT_PAGES as u64) as usize;
            if let Some(extent) = self.extent(volume, number) {
                each(extent, at(page)..at(end) + 1);
            }
            page = end + 1;
        }
    }

    /// The extent of that place, if it is counted.
    fn extent(&mut self, volume: u32, number: u64) -> Option<&mut Extent> {
        let same = |extent: &Extent| extent.volume == volume && extent.number == number;
        let is = |at: usize| self.extents.get(at).is_some_and(same);
        if is(self.last) {
            return self.extents.get_mut(self.last);
        }
        // Extents that were first touched in sequence are adjacent in the table.
        if is(self.last + 1) {
            self.last += 1;
        } else {
            let hash_here = hash(volume, number);
            if !is_counted(hash_here, self.thinned) {
                return None;
            }
            let found = self.index.find(hash_here, |&at| same(&self.extents[at as usize]));
            self.last = found.map_or(self.extents.len(), |&at| at as usize);
            if self.last == self.extents.len() {
                while self.extents.len() >= self.most {
                    self.thin();
                    self.last = self.extents.len();
                    if !is_counted(hash_here, self.thinned) {
                        return None;
                    }
                }
                let extents = &mut self.extents;
                let at = u32::try_from(extents.len()).expect("4 G extents are 2 TB of counters");
                let (reads, writes) = ([0; EXTENT_PAGES], [0; EXTENT_PAGES]);
                extents.push(Extent { volume, number, reads, writes });
                let rehash = |&at: &u32| hash(extents[at as usize].volume, extents[at as usize].number);
                self.index.insert_unique(hash_here, at, rehash);
            }
        }
        self.extents.get_mut(self.last)
    }

    /// Halves the number of counted extents, and drops the others.
    #[cold]
    fn thin(&mut self) {
        self.thinned += 1;
        let thinned = self.thinned;
        self.extents.retain(|extent| is_counted(hash(extent.volume, extent.number), thinned));
        self.index.clear();
        let extents = &self.extents;
        let hash_at = |&at: &u32| hash(extents[at as usize].volume, extents[at as usize].number);
        for at in 0..extents.len() as u32 {
            self.index.insert_unique(hash_at(&at), at, hash_at);
        }
    }

    /// One extent in this many is counted.
    pub(super) fn one_in(&self) -> u64 {
        1 << self.thinned
    }

    /// Extents that hold a touched page.
    #[cfg(test)]
    pub(super) fn extents(&self) -> usize {
        self.extents.len()
    }

    /// Totals over all pages touched so far. They are estimates where not every extent was counted, except for
    /// `accesses`.
    pub(super) fn totals(&self) -> Touched {
        let mut totals = self.counted();
        let Touched { read, written, any, read_8k, written_8k, any_8k, .. } = &mut totals;
        for count in [read, written, any, read_8k, written_8k, any_8k] {
            *count = count.saturating_mul(self.one_in());
        }
        totals
    }

    /// Lengths of the runs of adjacent touched pages. Where not every extent is counted they mean nothing.
    pub(super) fn lengths(&self) -> ExtentLengths {
        let mut order: Vec<u32> = (0..self.extents.len() as u32).collect();
        let place = |at: &u32| (self.extents[*at as usize].volume, self.extents[*at as usize].number);
        order.sort_unstable_by_key(place);
        let mut lengths: Vec<u64> = Vec::new();
        let mut next = None;
        for extent in order.iter().map(|&at| &self.extents[at as usize]) {
            let counts = extent.reads.iter().zip(&extent.writes).zip(0u64..);
            for (_, at) in counts.filter(|((reads, writes), _)| **reads > 0 || **writes > 0) {
                let page = (extent.volume, extent.number * EXTENT_PAGES as u64 + at);
                match lengths.last_mut() {
                    Some(length) if next == Some(page) => *length += 1,
                    _ => lengths.push(1),
                }
                next = Some((page.0, page.1 + 1));
            }
        }
        lengths.sort_unstable();
        let count = lengths.len();
        let upto =
            |percent: usize| lengths.get((count * percent).div_ceil(100).max(1) - 1).copied().unwrap_or(0);
        let logs = lengths.iter().map(|&length| libm::log(length as f64));
        let (sum, squares) = logs.fold((0.0, 0.0), |(sum, squares), ln| (sum + ln, squares + ln * ln));
        let mean_ln = sum / count.max(1) as f64;
        ExtentLengths {
            extents: count as u64,
            mean_pages: lengths.iter().sum::<u64>() as f64 / count.max(1) as f64,
            median_pages: upto(50),
            p90_pages: upto(90),
            max_pages: upto(100),
            mean_ln,
            sd_ln: libm::sqrt((squares / count.max(1) as f64 - mean_ln * mean_ln).max(0.0)),
        }
    }

    fn counted(&self) -> Touched {
        let mut totals = Touched::default();
        for extent in &self.extents {
            let (mut read_pair, mut written_pair) = (0, 0);
            for (at, (&reads, &writes)) in extent.reads.iter().zip(&extent.writes).enumerate() {
                totals.read += u64::from(reads > 0);
                totals.written += u64::from(writes > 0);
                if reads > 0 || writes > 0 {
                    totals.any += 1;
                    totals.accesses.push(reads.saturating_add(writes));
                }
                totals.page_reads += u64::from(reads);
                totals.page_reads_of_written += if writes > 0 { u64::from(reads) } else { 0 };
                (read_pair, written_pair) = (read_pair | reads, written_pair | writes);
                if at % 2 == 1 {
                    totals.read_8k += u64::from(read_pair > 0);
                    totals.written_8k += u64::from(written_pair > 0);
                    totals.any_8k += u64::from(read_pair > 0 || written_pair > 0);
                    (read_pair, written_pair) = (0, 0);
                }
            }
        }
        totals
    }
}

/// Whether an extent of this hash is counted, when one in two to the power of `thinned` is. These bits are separate
/// from those by which the index finds its places.
fn is_counted(hash: u64, thinned: u32) -> bool {
    (hash >> 32) & ((1 << thinned) - 1) == 0
}

/// A fixed hash (the finaliser of SplitMix64), so that the result does not depend on a process' random state.
pub(super) fn hash(volume: u32, number: u64) -> u64 {
    let mut z = number ^ u64::from(volume).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_counts_the_pages_that_were_written_before_and_reads_do_not_make_it_an_update() {
        let mut pages = Pages::default();
        pages.read(0, 0, 8192);
        assert_eq!(pages.write(0, 0, 8192), Written { pages: 2, seen: 2, before: 0 });
        // Bytes 4096-512 .. 4096+512 lie on both pages, byte 8192 on a third.
        assert_eq!(pages.write(0, 3584, 1024), Written { pages: 2, seen: 2, before: 2 });
        assert_eq!(pages.write(0, 4096, 4097), Written { pages: 2, seen: 2, before: 1 });
        assert_eq!(pages.write(1, 0, 4096), Written { pages: 1, seen: 1, before: 0 }, "volumes are apart");
    }

    #[test]
    fn footprints_are_counted_in_pages_of_4_and_8_kib() {
        let mut pages = Pages::default();
        pages.write(0, 4096, 8192); // 4 KiB pages 1 and 2: 8 KiB pages 0 and 1
        pages.read(0, 0, 4096); // page 0
        pages.read(0, 1 << 40, 1); // far away
        let totals = pages.totals();
        assert_eq!((totals.read, totals.written, totals.any), (2, 2, 4));
        assert_eq!((totals.read_8k, totals.written_8k, totals.any_8k), (2, 2, 3));
        assert_eq!((totals.page_reads, totals.page_reads_of_written), (2, 0));
        assert_eq!(totals.accesses, [1, 1, 1, 1]);
    }

    #[test]
    fn adjacent_pages_are_one_extent_across_counters_and_not_across_volumes() {
        let mut pages = Pages::default();
        assert_eq!(pages.lengths(), ExtentLengths::default());
        pages.write(0, 15 * 4096, 8192); // pages 15 and 16
        pages.read(0, 17 * 4096, 1); // page 17
        pages.write(0, 19 * 4096, 4096);
        pages.write(1, 18 * 4096, 4096);
        pages.write(1, 0, 40 * 4096);
        let found = pages.lengths();
        assert_eq!((found.extents, found.median_pages, found.p90_pages, found.max_pages), (3, 3, 40, 40));
        assert!((found.mean_pages - 44.0 / 3.0).abs() < 1e-12);
        let lns = [1.0, 3.0, 40.0].map(f64::ln);
        let mean = lns.iter().sum::<f64>() / 3.0;
        let variance = lns.iter().map(|ln| (ln - mean) * (ln - mean)).sum::<f64>() / 3.0;
        assert!((found.mean_ln - mean).abs() < 1e-12 && (found.sd_ln - variance.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_request_across_extents_touches_every_page_once() {
        let mut pages = Pages::default();
        let bytes = 1000 * PAGE_BYTES as u32;
        assert_eq!(pages.write(7, 63 * PAGE_BYTES, bytes), Written { pages: 1000, seen: 1000, before: 0 });
        assert_eq!(pages.write(7, 63 * PAGE_BYTES, bytes), Written { pages: 1000, seen: 1000, before: 1000 });
        assert_eq!(pages.totals().accesses, vec![2; 1000]);
    }

    #[test]
    fn the_end_of_the_address_space_is_no_trap() {
        let mut pages = Pages::default();
        assert_eq!(pages.write(0, u64::MAX, u32::MAX), Written { pages: 1, seen: 1, before: 0 });
        assert_eq!(pages.write(0, 5, 0), Written::default());
    }

    #[test]
    fn beyond_the_most_extents_memory_stays_and_totals_are_estimates() {
        let (most, touched) = (4096, 300_000u64);
        let mut pages = Pages::with_most(most);
        // Each extent twice: first one page is written, then that page and another.
        for (bytes, before) in [(4096, 0), (8192, 1)] {
            for extent in 0..touched {
                let written = pages.write(0, extent << 16, bytes);
                assert_eq!(
                    written.pages,
                    u64::from(bytes) / PAGE_BYTES,
                    "pages of a write are counted exactly"
                );
                assert!(pages.extents() <= most);
                if pages.one_in() == 128 && written.seen > 0 && bytes == 8192 {
                    assert_eq!(written.before, before);
                }
            }
        }
        assert_eq!(pages.one_in(), 128, "300,000 extents go into 4096 at one in 128");
        let share = pages.totals().written as f64 / (2.0 * touched as f64);
        assert!((share - 1.0).abs() < 0.05, "{share} of the true footprint");
        assert_eq!(pages.extents.capacity(), most, "no room is made for more");
    }
}
