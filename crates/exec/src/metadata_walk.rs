//! How far a scrub of metadata is.

use crate::metadata_pieces::{PageRun, Piece};

/// Damaged copies that are repaired in one round; this bounds the list of them.
pub(crate) const ROUND: usize = 64;

/// Counters of a scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCounts {
    /// Pages read: data, parity and copies of summaries.
    pub pages: u64,
    /// Of those: pages that were unreadable or did not match their checksum.
    pub bad: u64,
    /// Of the bad pages: those whose content is readable again, because it was written again or elsewhere.
    pub repaired: u64,
    /// Of the bad pages: those that nothing depends on any more, because their stripe was moved, and that hold no content of
    /// hosts that counts. The rest of the bad pages stays as it is: its content is lost, or the array is read-only.
    pub obsolete: u64,
    /// Host chunks that cannot be read: more of their stripe, or row in place, is gone than parity tolerates.
    pub lost: u64,
    /// Copies of metadata outside of segments and rows (superblocks, checkpoints, commit records, redo records, the table of
    /// checksums, the bitmap) that could not be read or did not have the expected content.
    pub metadata_damaged: u64,
    /// Of those: copies that were written again and read back.
    pub metadata_repaired: u64,
}

/// Damaged and repaired copies of metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataScrubbed {
    /// Copies that could not be read or did not have the expected content.
    pub damaged: u64,
    /// Of those: copies that were written again and found whole when they were read back.
    pub repaired: u64,
}

/// State of the metadata scrub.
#[derive(Debug, Default)]
pub struct MetadataScrub {
    pub(crate) walk: Option<Walk>,
    /// Counts of the current scrub, or of the last one.
    pub found: MetadataScrubbed,
    /// Members of which a copy of the superblock was found damaged, one bit each, until a scrub verified their content: what
    /// overwrote the copy may have overwritten more.
    pub doubted: u64,
    /// Whether no member is doubted, as in programs that wrote transcripts up to format 2.
    pub believes: bool,
}

/// Progress of a scrub of metadata.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) stage: Doing,
    /// The next piece to read.
    pub(crate) next: Piece,
    /// Records of the journal from this one on are written during the scrub, and are not read.
    pub(crate) records_end: u64,
    /// Whether only superblocks are read, regardless of the allowance.
    pub(crate) is_closing: bool,
    /// The piece that is being read.
    pub(crate) reading: Option<Reading>,
    /// Damaged pieces of this round.
    pub(crate) damaged: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Copies are read.
    Look,
    /// The damaged copies are being written.
    Mend(Wanted),
    /// The damaged copies are read again, from this one on.
    Verify(usize),
}

/// Updates that must be written before damaged copies are read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// A version of the superblocks greater than this one.
    pub update: Option<u64>,
    /// A checkpoint greater than this one.
    pub checkpoint: Option<u64>,
    /// The table of checksums.
    pub table: bool,
    /// The bitmap.
    pub intent: bool,
    /// Zeros on pages of the journal that no record takes.
    pub vacant: bool,
    /// The journal is reclaimed up to and including this record.
    pub record: Option<u64>,
}

/// A piece that is being read, some pages at a time.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) piece: Piece,
    pub(crate) run: PageRun,
    pub(crate) bytes: Vec<u8>,
    /// The pages that are being read.
    pub(crate) wanted: u32,
    pub(crate) is_unreadable: bool,
    pub(crate) is_under_way: bool,
}

impl MetadataScrub {
    /// Whether a scrub of metadata is in progress.
    pub fn is_under_way(&self) -> bool {
        self.walk.is_some()
    }

    /// Ends the scrub; updates that it requested continue.
    pub fn stop(&mut self) {
        self.walk = None;
    }

    /// Begins a scrub; with `is_closing`, as the last work before the array is closed.
    pub fn begin(&mut self, is_closing: bool) {
        self.found = MetadataScrubbed::default();
        self.walk = Some(Walk {
            stage: Doing::Look,
            next: Piece::default(),
            records_end: u64::MAX,
            is_closing,
            reading: None,
            damaged: Vec::new(),
        });
    }
}

impl Reading {
    pub(crate) fn of(piece: Piece, run: PageRun) -> Self {
        Self { piece, run, bytes: Vec::new(), wanted: 0, is_unreadable: false, is_under_way: false }
    }
}
