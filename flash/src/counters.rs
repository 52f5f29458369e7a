//! What members did, and what they are about to do.

use stripewise_base::Nanos;

use crate::spec::LEVELS;

/// What one member did since its counters were last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages read for whoever drives the member.
    pub read_pages: u64,
    /// Pages programmed for it.
    pub program_pages: u64,
    /// Reads that found no page mapped; they cost a command only and are not among `read_pages`.
    pub unmapped_reads: u64,
    /// Pages trimmed.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Pages moved by garbage collection, wear-levelling included; each is one more read and one more program.
    pub gc_move_pages: u64,
    /// Of these, pages moved by static wear-levelling.
    pub wear_move_pages: u64,
    /// Summary pages programmed.
    pub summary_pages: u64,
    /// Blocks erased; each is one garbage collection, or a block moved by wear-levelling.
    pub erase_blocks: u64,
    /// Of these, blocks erased by static wear-levelling.
    pub wear_erase_blocks: u64,
    /// Collections given up because every written block was full of valid or pinned pages.
    pub gc_stalls: u64,
    /// Times that programs began to wait for permission to collect.
    pub permission_waits: u64,
    /// How long they waited for it.
    pub permission_wait_ns: Nanos,
    /// Programs and erases that were suspended for reads; each time counts.
    pub suspends: u64,
    /// Page operations that joined another one's cell time on another plane.
    pub multi_plane_pages: u64,
    /// Cell time that they did not take for that; not part of `cell_busy_ns`.
    pub shared_cell_ns: Nanos,
    /// Page reads that needed each read level, those of garbage collection included; all 0 without `[ldpc]`.
    pub level_reads: [u64; LEVELS],
    /// Time with garbage collection active on at least one die, or holding it up.
    pub gc_busy_ns: Nanos,
    /// Cell time, summed over dies.
    pub cell_busy_ns: Nanos,
    /// Bus time, the host link not included.
    pub bus_busy_ns: Nanos,
}

impl Counters {
    /// Pages read in all.
    pub fn flash_read_pages(&self) -> u64 {
        self.read_pages + self.gc_move_pages
    }

    /// Retries of all reads: a read of level `l` (from 1) senses `l - 1` times more than once.
    pub fn read_retries(&self) -> u64 {
        (0..).zip(self.level_reads).map(|(retries, reads)| retries * reads).sum()
    }

    /// Pages programmed in all.
    pub fn flash_program_pages(&self) -> u64 {
        self.program_pages + self.gc_move_pages + self.summary_pages
    }
}

/// How often the blocks of a member were erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WearRange {
    /// Of the block that was erased least.
    pub least_erases: u32,
    /// Of the block that was erased most.
    pub most_erases: u32,
    /// Of all blocks together.
    pub total_erases: u64,
}

/// One block's collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Number of the member.
    pub member: u32,
    /// Plane within the member.
    pub plane: u32,
    /// Victim block within the plane.
    pub block: u32,
    /// Valid pages moved.
    pub moved_pages: u32,
    /// Start of the first move, or of the erase.
    pub start_ns: Nanos,
    /// End of the erase.
    pub end_ns: Nanos,
}

/// What one member would tell of itself at this instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Garbage collection is active on one of its dies, or holds one up.
    pub collecting: bool,
    /// Free pages that can take data.
    pub free_pages: u32,
    /// Operations in it.
    pub in_flight: u32,
}
