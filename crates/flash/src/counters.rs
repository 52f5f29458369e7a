//! What members did so far, and their current state.

use stripewise_base::Nanos;

use crate::spec::LEVELS;

/// Activity of one member since its counters were last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Host pages read.
    pub read_pages: u64,
    /// Host pages programmed.
    pub program_pages: u64,
    /// Reads of unmapped pages. Each costs a command only and is not counted in `read_pages`.
    pub unmapped_reads: u64,
    /// Pages trimmed.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Pages moved by garbage collection, wear-levelling included; each adds one read and one program.
    pub gc_move_pages: u64,
    /// Of these, pages moved by static wear-levelling.
    pub wear_move_pages: u64,
    /// Summary pages programmed.
    pub summary_pages: u64,
    /// Blocks erased, each by garbage collection or after wear-levelling moved its pages.
    pub erase_blocks: u64,
    /// Of these, blocks erased by static wear-levelling.
    pub wear_erase_blocks: u64,
    /// Collections abandoned because every written block was full of valid or pinned pages.
    pub gc_stalls: u64,
    /// Number of times that programs began to wait for permission to collect.
    pub permission_waits: u64,
    /// Total time that programs waited for permission to collect.
    pub permission_wait_ns: Nanos,
    /// Suspensions of programs and erases for reads. An operation suspended twice counts twice.
    pub suspends: u64,
    /// Page operations that shared the cell time of an operation on another plane.
    pub multi_plane_pages: u64,
    /// Cell time saved by such sharing; not part of `cell_busy_ns`.
    pub shared_cell_ns: Nanos,
    /// Page reads by the read level that they needed, reads of garbage collection included; all 0 without `[ldpc]`.
    pub level_reads: [u64; LEVELS],
    /// Time during which garbage collection was active on at least one die, or held it back.
    pub gc_busy_ns: Nanos,
    /// Cell time, summed over dies.
    pub cell_busy_ns: Nanos,
    /// Bus time, the host link not included.
    pub bus_busy_ns: Nanos,
}

impl Counters {
    /// Total pages read.
    pub fn flash_read_pages(&self) -> u64 {
        self.read_pages + self.gc_move_pages
    }

    /// Retries of all reads: a read at level `l` (from 1) needs `l - 1` additional senses.
    pub fn read_retries(&self) -> u64 {
        (0..).zip(self.level_reads).map(|(retries, reads)| retries * reads).sum()
    }

    /// Total pages programmed.
    pub fn flash_program_pages(&self) -> u64 {
        self.program_pages + self.gc_move_pages + self.summary_pages
    }
}

/// Erase counts of the blocks of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WearRange {
    /// Erases of the least erased block.
    pub least_erases: u32,
    /// Erases of the most erased block.
    pub most_erases: u32,
    /// Erases of all blocks together.
    pub total_erases: u64,
}

/// The collection of one block.
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

/// State that one member reports at this instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Garbage collection is active on one of the member's dies, or holds one back.
    pub collecting: bool,
    /// Free pages that can take data.
    pub free_pages: u32,
    /// Operations inside the member.
    pub in_flight: u32,
}
