//! HCA: the hotness computation algorithm. The hotness of chunk C of file F is
//!
//! ```text
//! H(C) = W(F) / N(F) + W(C) / Age(C)
//! ```
//!
//! with W the writes of a file and of a chunk, N the chunks of a file and Age the time between a chunk's last two writes.
//! A chunk goes to the group whose similarity S, the mean hotness of its chunks, is nearest to the chunk's own hotness.
//!
//! Source: paper 001, section V-G, after its reference 25 (DSN 2015). Printed: both formulas, the nearest group, 10 bytes for
//! each chunk of which 8 are its access time and 2 its write count. Choices:
//! - An aligned extent represents a file, since block traces name no files.
//! - Age counts write requests, at least 1; before a chunk's second write its second term is 0.
//! - Hotness is a number of 16 integer and 16 binary places, each term rounded down. Similarities are compared exactly, as
//!   fractions; of two groups equally near, the one that was opened first is taken.
//! - A chunk's old hotness is removed from its group before the chunk is assigned again, so that S is the mean over the
//!   chunks that the group has. That requires the old hotness and the group of each chunk, and the 10 bytes have room for
//!   both: 32 bits of time, 32 of hotness, 14 of count (which stops at 16383), 2 of group. Ages of 2^32 requests and more
//!   wrap around.
//! - A group opens when a chunk arrives whose hotness is above twice the similarity of the hottest open group; a group
//!   that has lost its last chunk is closed.
//! - The tier of a chunk is the rank of its group by similarity, so that tier 0 is the coldest even if groups have
//!   overtaken each other.

use stripewise_base::huge::Huge;

use super::{HotnessSection, TIERS_MAX};

/// Binary places of a hotness value.
const PLACES: u32 = 16;
/// The value at which the count of a chunk's writes stops: 14 bits.
const COUNT_MAX: u16 = (1 << 14) - 1;

/// The groups, and the state of every chunk.
#[derive(Clone, Debug)]
pub(super) struct Hca {
    pages: u64,
    /// The base-2 logarithm of the number of chunks of a file.
    file_shift: u32,
    /// Write requests so far, modulo 2^32.
    now: u32,
    /// For each chunk: time (low, high half), hotness (low, high half), count and group.
    chunks: Huge<[u16; 5]>,
    /// The number of writes of each file.
    files: Huge<u32>,
    groups: [Group; TIERS_MAX as usize],
    tiers: usize,
}

/// A group of chunks of similar hotness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// The sum of the hotness of the chunks, in units of 2^-16.
    pub hotness: u64,
    /// The number of chunks; a group without chunks is closed.
    pub chunks: u64,
}

/// A chunk that has been written.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    time: u32,
    hotness: u32,
    count: u16,
    group: usize,
}

impl Chunk {
    #[inline]
    fn unpack([time_low, time_high, hotness_low, hotness_high, rest]: [u16; 5]) -> Self {
        let join = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
        Self {
            time: join(time_low, time_high),
            hotness: join(hotness_low, hotness_high),
            count: rest & COUNT_MAX,
            group: usize::from(rest >> 14),
        }
    }

    #[inline]
    fn pack(self) -> [u16; 5] {
        let (low, high) = (|word: u32| word as u16, |word: u32| (word >> 16) as u16);
        let rest = self.count | (self.group as u16) << 14;
        [low(self.time), high(self.time), low(self.hotness), high(self.hotness), rest]
    }
}

impl Group {
    /// Compares the distance of `hotness` from this group's similarity with its distance from `other`'s; both groups are
    /// open.
    #[inline]
    fn is_nearer(&self, hotness: u32, other: &Self) -> bool {
        let distance = |group: &Self| group.hotness.abs_diff(u64::from(hotness) * group.chunks);
        u128::from(distance(self)) * u128::from(other.chunks)
            < u128::from(distance(other)) * u128::from(self.chunks)
    }

    /// Whether the group's similarity is below that of `other`; both are open.
    #[inline]
    fn is_colder(&self, other: &Self) -> bool {
        u128::from(self.hotness) * u128::from(other.chunks)
            < u128::from(other.hotness) * u128::from(self.chunks)
    }
}

impl Hca {
    pub(crate) fn new(section: &HotnessSection, pages: u64, page_bytes: u32) -> Self {
        let file_pages = (section.extent.0 / u64::from(page_bytes)).max(1);
        Self {
            pages,
            file_shift: file_pages.ilog2(),
            now: 0,
            chunks: Huge::zeroed(pages as usize),
            files: Huge::zeroed(pages.div_ceil(file_pages) as usize),
            groups: [Group::default(); TIERS_MAX as usize],
            tiers: section.tiers as usize,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.chunks.bytes() + self.files.bytes()) as u64
    }

    /// A write request begins.
    #[inline]
    pub(super) fn tick(&mut self) {
        self.now = self.now.wrapping_add(1);
    }

    #[inline]
    pub(crate) fn classify(&mut self, page: u64) -> u8 {
        let mut chunk = Chunk::unpack(self.chunks[page as usize]);
        if chunk.count > 0 {
            let group = &mut self.groups[chunk.group];
            group.hotness -= u64::from(chunk.hotness);
            group.chunks -= 1;
        }
        chunk.count = COUNT_MAX.min(chunk.count + 1);
        chunk.hotness = self.hotness(page, &chunk);
        chunk.time = self.now;
        chunk.group = self.assign(chunk.hotness);
        let group = &mut self.groups[chunk.group];
        group.hotness += u64::from(chunk.hotness);
        group.chunks += 1;
        self.chunks[page as usize] = chunk.pack();
        self.rank(chunk.group)
    }

    /// The hotness of a chunk whose current write is included in its count but not yet in its time.
    #[inline]
    fn hotness(&mut self, page: u64, chunk: &Chunk) -> u32 {
        let file = page >> self.file_shift;
        let writes = &mut self.files[file as usize];
        *writes = writes.saturating_add(1);
        let writes = u64::from(*writes) << PLACES;
        // The last file may be shorter than the others.
        let left = self.pages - (file << self.file_shift);
        let of_file = if left >> self.file_shift > 0 { writes >> self.file_shift } else { writes / left };
        let age = self.now.wrapping_sub(chunk.time).max(1);
        let of_chunk = if chunk.count > 1 { (u32::from(chunk.count) << PLACES) / age } else { 0 };
        u32::try_from(of_file + u64::from(of_chunk)).unwrap_or(u32::MAX)
    }

    /// The group that a chunk of this hotness goes to.
    #[inline]
    fn assign(&self, hotness: u32) -> usize {
        let groups = &self.groups[..self.tiers];
        let (mut nearest, mut hottest, mut closed) = (None::<usize>, None::<usize>, None);
        for (at, group) in groups.iter().enumerate() {
            if group.chunks == 0 {
                closed = closed.or(Some(at));
                continue;
            }
            if nearest.is_none_or(|other| group.is_nearer(hotness, &groups[other])) {
                nearest = Some(at);
            }
            if hottest.is_none_or(|other| groups[other].is_colder(group)) {
                hottest = Some(at);
            }
        }
        let is_far_above =
            |group: &Group| u128::from(hotness) * u128::from(group.chunks) > 2 * u128::from(group.hotness);
        match (nearest, closed) {
            (Some(nearest), None) => nearest,
            (Some(_), Some(closed)) if hottest.is_some_and(|at| is_far_above(&groups[at])) => closed,
            (Some(nearest), Some(_)) => nearest,
            (None, closed) => closed.unwrap_or(0),
        }
    }

    /// The number of open groups that are colder than group `at`; of equal groups, the first is the coldest.
    #[inline]
    fn rank(&self, at: usize) -> u8 {
        let own = &self.groups[at];
        let below = self.groups[..self.tiers].iter().enumerate().filter(|&(other, group)| {
            group.chunks > 0 && (group.is_colder(own) || (other < at && !own.is_colder(group)))
        });
        below.count() as u8
    }

    #[cfg(test)]
    pub(super) fn groups(&self) -> &[Group] {
        &self.groups[..self.tiers]
    }
}
