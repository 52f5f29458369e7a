//! The on-media format: everything on the members except for chunks, byte by byte. See `docs/design/format.md`.
//!
//! Each structure has one module that writes and reads it. Readers accept arbitrary bytes: they never panic, and report
//! what was wrong.

#![forbid(unsafe_code)]

mod chain;
pub mod checkpoint;
mod checksum;
mod commit;
mod describe;
pub mod dump;
mod error;
mod features;
mod fields;
pub mod in_place;
mod journal;
pub mod layout;
mod list;
mod owner;
mod paged;
mod stamp;
pub mod summary;
mod superblock;
#[cfg(test)]
mod testing;
mod uuid;
mod write_seq;

pub use checkpoint::{CheckpointHeader, SegmentEntry};
pub use checksum::crc32c;
pub use commit::Commit;
pub use error::{FormatError, Structure};
pub use features::{Bits, FEATURES, Feature, FeatureClass, Features};
pub use journal::{REDO_MAGIC, RedoEntry, RedoKind, RedoRecord, redo_entries_max, redo_header_pages};
pub use owner::{HOST_NAME_BYTES_MAX, Owner};
pub use paged::{CHECKSUMS_AT, ChecksumPage, INTENT_AT, IntentPage};
pub use stamp::Stamp;
pub use summary::{Entry, EntryRole, Summary, SummaryHeader, Tombstone};
pub use superblock::{
    Area, Copy, ENDED_MAX, EndedEpoch, FailReason, MemberRecord, MemberState, NAME_BYTES_MAX, Placement,
    SUPERBLOCK_BYTES, SUPERBLOCK_MEMBERS_MAX, Superblock, settings_bytes_max, superblock_pages,
};
pub use uuid::Uuid;
pub use write_seq::{
    EPOCHS_MAX, GENERATIONS_BEGIN_MAX, NUMBERS_BEGIN_MAX, NUMBERS_MAX, SEQUENCES_MAX, epoch_of, sequence_of,
    write_seq,
};

/// The version of the format that new arrays get. Arrays of version 1 are read and written as version 1 until they are
/// upgraded.
pub const VERSION: u16 = 2;
