//! The known content of slots, and who learns it.

use super::addresses::NOWHERE;
use stripewise_format::{Entry, EntryRole};

/// The known content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// The chunk; [`NOWHERE`] if there is none, or it is unknown.
    pub(crate) chunk: u64,
    /// Its write sequence number; 0 if unknown.
    pub(crate) write_seq: u64,
    /// The checksum of the page (parity has one too), if known.
    pub(crate) checksum: Option<u32>,
}

impl Content {
    pub(crate) const UNKNOWN: Self = Self { chunk: NOWHERE, write_seq: 0, checksum: None };
}

impl Content {
    /// The content of a slot according to its summary entry.
    pub(crate) fn of(entry: Entry) -> Self {
        let checksum = Some(entry.checksum);
        match entry.role {
            EntryRole::Data => Self { chunk: entry.chunk, write_seq: entry.write_seq, checksum },
            EntryRole::P | EntryRole::Q => Self { checksum, ..Self::UNKNOWN },
            EntryRole::Skipped | EntryRole::Copy | EntryRole::Vain => Self::UNKNOWN,
        }
    }
}

/// The operations that walk over segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walker {
    Collection,
    Rebuild,
    Scrub,
}

impl Walker {
    pub(crate) const ALL: [Self; 3] = [Self::Collection, Self::Rebuild, Self::Scrub];
}

/// The content of the batch at which a walker is.
#[derive(Debug, Default)]
pub(crate) struct BatchContents {
    /// The first slot that `contents` describe, and the generation of its segment at that time.
    pub(crate) first: u64,
    pub(crate) generation: u32,
    pub(crate) contents: Vec<Content>,
    /// The first copy of the summary that is being read.
    pub(crate) requested: Option<u64>,
}
