//! Counters of scrubs and of metadata writes.
//!
//! Source: the counted metadata is that of Rosenblum and Ousterhout, SOSP 1991, as in `durable.rs`.

/// Counters of a scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCounts {
    /// Pages read: data, parity and copies of summaries.
    pub pages: u64,
    /// Of those: pages that were unreadable or did not match their checksum.
    pub bad: u64,
    /// Stripes that were moved because a column was bad, and rewritten copies of summaries; in place: pages.
    pub repaired: u64,
    /// Host chunks that cannot be read: more of their stripe, or row in place, is gone than parity tolerates.
    pub lost: u64,
    /// Copies of metadata outside of segments and rows (superblocks, checkpoints, commit records, redo records, the table of
    /// checksums, the bitmap) that could not be read or did not have the expected content.
    pub metadata_damaged: u64,
    /// Of those: copies that were written again and read back.
    pub metadata_repaired: u64,
}

/// Pages of metadata written to members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataCounts {
    /// Copies of summaries.
    pub summaries: u64,
    /// Commit records.
    pub commits: u64,
    /// Headers and bodies of checkpoints.
    pub checkpoints: u64,
    /// Superblocks.
    pub superblocks: u64,
    /// Segments that were discarded on members; not pages.
    pub discarded: u64,
}

impl MetadataCounts {
    /// All pages written.
    pub fn pages(&self) -> u64 {
        self.summaries + self.commits + self.checkpoints + self.superblocks
    }
}
