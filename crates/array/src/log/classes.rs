//! Classes of chunks: a chunk's hotness and the mix of reads and writes of its block together determine where it is stored.
//!
//! A class is a stream of the log: its chunks wait together, fill segments of their own, and have a chunk size, which is the
//! number of consecutive chunks of a host's data on one member. Streams of hosts are numbered by tendency of their block first
//! and tier of hotness second. Live chunks of collection, the coldest of all, have one stream for each tendency, after those
//! of hosts.
//!
//! Source: paper 001, section III (streams by hotness) and paper 004, section 3 (zones by the mix of reads and writes, each
//! with a chunk size). Combining both into one class, and giving a class of a log a chunk size, is our own.

use stripewise_policy::mix::{Mix, MixSection};
use stripewise_scheme::Scheme;
use stripewise_scheme::placement::depths;

/// The streams of a log, and the access statistics of blocks.
#[derive(Debug)]
pub(crate) struct Classes {
    tiers: u32,
    tendencies: u32,
    /// For each stream the pages of a chunk.
    depths: Vec<u32>,
    /// For each block the accesses seen so far; empty where the mix is not used.
    mixes: Vec<Mix>,
    /// Pages of a block.
    block: u64,
    mix: MixSection,
}

impl Classes {
    /// The classes of `scheme`, over `pages` pages of `page_bytes`.
    pub(crate) fn new(scheme: &Scheme, pages: u64, page_bytes: u32) -> Self {
        let (tiers, tendencies) = (scheme.tiers(), scheme.elastic.classes.tendencies());
        let block = (scheme.elastic.block.0 / u64::from(page_bytes)).max(1);
        let blocks = if tendencies > 1 { pages.div_ceil(block) } else { 0 };
        let depths = depths(&scheme.elastic, tiers, page_bytes);
        Self {
            tiers,
            tendencies,
            depths,
            mixes: vec![Mix::default(); blocks as usize],
            block,
            mix: scheme.mix,
        }
    }

    /// Number of streams, including those of live chunks.
    pub(crate) fn streams(&self) -> usize {
        self.depths.len()
    }

    /// Number of streams of hosts, which come first.
    #[inline]
    pub(crate) fn hosts(&self) -> usize {
        (self.tiers * self.tendencies) as usize
    }

    /// Number of streams of live chunks.
    #[inline]
    pub(crate) fn relocation_streams(&self) -> u32 {
        self.tendencies
    }

    /// The coldest stream of hosts with the same tendency as `stream`.
    #[inline]
    pub(crate) fn coldest_of(&self, stream: usize) -> usize {
        let tendency = match stream.checked_sub(self.hosts()) {
            Some(tendency) => tendency,
            None => stream / self.tiers as usize,
        };
        tendency * self.tiers as usize
    }

    /// Consecutive pages of a member that one chunk of `stream` takes.
    #[inline]
    pub(crate) fn depth(&self, stream: usize) -> u32 {
        self.depths[stream]
    }

    /// Records that a read that begins at `first` reads `count` pages from `page` on.
    #[inline]
    pub(crate) fn note_read(&mut self, first: u64, page: u64, count: u64) {
        if self.mixes.is_empty() {
            return;
        }
        let mut begun = if page == first { page } else { page.next_multiple_of(self.block) };
        while begun < page + count {
            let block = begun / self.block;
            self.mixes[block as usize].note_read();
            begun = (block + 1) * self.block;
        }
    }

    /// The stream of `page`, of this tier, for a write that begins at `first`: each write counts once for each block that it
    /// touches.
    #[inline]
    pub(crate) fn write(&mut self, first: u64, page: u64, tier: u8) -> usize {
        if self.mixes.is_empty() {
            return tier.into();
        }
        if page == first || page.is_multiple_of(self.block) {
            self.mixes[(page / self.block) as usize].note_write();
        }
        self.tendency(page) * self.tiers as usize + usize::from(tier)
    }

    /// The stream of `page` when collection moves it as a live chunk.
    #[inline]
    pub(crate) fn relocation_stream(&self, page: u64) -> usize {
        self.hosts() + if self.mixes.is_empty() { 0 } else { self.tendency(page) }
    }

    #[inline]
    fn tendency(&self, page: u64) -> usize {
        self.mixes[(page / self.block) as usize].tendency(&self.mix) as usize
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.mixes.len() * size_of::<Mix>()) as u64
    }
}

/// Consecutive stripes of a stream across which its chunks are laid out, each chunk on one member.
///
/// Of the waiting pages, page `i` of a band of `c` stripes goes to stripe `i mod c`, as column `i / c`: the first stripe takes
/// every `c`-th waiting page, the next one every `(c - 1)`-th of the rest, and so on. Parity keeps its position throughout a
/// band, so a column is on the same member in all stripes of the band.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Band {
    /// The segment of the band.
    pub(crate) segment: u32,
    /// Number of its stripes that are still to be written.
    pub(crate) left: u32,
    /// Determines the position of parity.
    pub(crate) turn: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(text: &str) -> Classes {
        let text = format!("name = 'test'\n[placement]\npolicy = 'elastic'\n{text}");
        let scheme = Scheme::from_toml("test", &text).unwrap_or_else(|error| panic!("{error}"));
        Classes::new(&scheme, 64, 4096)
    }

    const BOTH: &str = "[hotness]\npolicy = 'direct'\n[elastic]\nclasses = 'hotness-and-mix'\n\
        chunks = ['32KiB', '8KiB', '4KiB']\n[mix]\nhistory = 4";

    #[test]
    fn hotness_alone_keeps_no_counts_and_has_one_stream_of_live_chunks() {
        let mut classes = classes("[hotness]\npolicy = 'direct'\ntiers = 3");
        assert_eq!((classes.hosts(), classes.streams(), classes.bytes()), (3, 4, 0));
        classes.note_read(0, 0, 64);
        assert_eq!((classes.write(5, 5, 2), classes.relocation_stream(5)), (2, 3));
        assert_eq!((0..4).map(|stream| classes.depth(stream)).collect::<Vec<_>>(), [1, 1, 1, 1]);
    }

    #[test]
    fn with_the_mix_each_tendency_has_a_stream_of_each_tier_and_one_of_live_chunks() {
        let mut classes = classes(BOTH);
        assert_eq!((classes.hosts(), classes.streams(), classes.relocation_streams()), (6, 9, 3));
        let depths: Vec<u32> = (0..9).map(|stream| classes.depth(stream)).collect();
        assert_eq!(depths, [8, 8, 2, 2, 1, 1, 8, 2, 1]);
        assert_eq!([0, 1, 2, 5, 6, 7, 8].map(|stream| classes.coldest_of(stream)), [0, 0, 2, 4, 0, 2, 4]);
        // Two bytes for each of eight blocks.
        assert_eq!(classes.bytes(), 16);
        // A block that is only written becomes write-intensive with the fourth write.
        let streams: Vec<usize> = (0..4).map(|_| classes.write(9, 9, 1)).collect();
        assert_eq!((streams, classes.relocation_stream(10)), (vec![1, 1, 1, 5], 8));
    }

    #[test]
    fn an_access_counts_once_for_each_block_that_it_touches() {
        let mut classes = classes(BOTH);
        // A write of pages 6 to 25 touches blocks 0 to 3, and so do three reads, however they are split.
        (6..26).for_each(|page| _ = classes.write(6, page, 0));
        for _ in 0..3 {
            classes.note_read(6, 6, 7);
            classes.note_read(6, 13, 13);
        }
        let mut expected = Mix::default();
        expected.note_write();
        (0..3).for_each(|_| expected.note_read());
        assert_eq!(classes.mixes[..4], [expected; 4]);
        assert_eq!(classes.mixes[4..], [Mix::default(); 4]);
    }
}
