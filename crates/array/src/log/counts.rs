//! Counters of a log, and of its metadata writes.
//!
//! Source: the counted metadata is that of Rosenblum and Ousterhout, SOSP 1991, as in `durable.rs`.

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

/// Counters of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Stripes written.
    pub stripes: u64,
    /// Of those: stripes with fewer chunks than the working members have room for.
    pub short_stripes: u64,
    /// Data chunks of hosts in them.
    pub data: u64,
    /// Parity chunks in them.
    pub parity: u64,
    /// Segments that were collected.
    pub collected: u64,
    /// Valid chunks that collection rewrote: paper 001's cost of collection (section II-B).
    pub moved: u64,
    /// Parity chunks of stripes that collection wrote.
    pub moved_parity: u64,
    /// Chunks that were overwritten in controller memory: writes that the members never see.
    pub absorbed: u64,
    /// Chunks that were rewritten elsewhere because a member could not return them to a host.
    pub healed: u64,
}

impl LogCounts {
    /// The counts since `base`.
    pub fn since(&self, base: &Self) -> Self {
        Self {
            stripes: self.stripes - base.stripes,
            short_stripes: self.short_stripes - base.short_stripes,
            data: self.data - base.data,
            parity: self.parity - base.parity,
            collected: self.collected - base.collected,
            moved: self.moved - base.moved,
            moved_parity: self.moved_parity - base.moved_parity,
            absorbed: self.absorbed - base.absorbed,
            healed: self.healed - base.healed,
        }
    }
}

/// Counters of a stream since the array was assembled, and its current state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Whether collection fills it, rather than hosts.
    pub is_of_relocations: bool,
    /// Data chunks that it wrote.
    pub chunks: u64,
    /// Segments that it opened; 0 for live chunks that go to the coldest stream of hosts.
    pub opened: u64,
    /// Whether a segment of the stream is open now.
    pub is_open: bool,
    /// Chunks that wait in memory for a stripe.
    pub waiting: u32,
}
