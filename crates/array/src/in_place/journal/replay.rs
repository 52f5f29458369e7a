//! The state of a replay of the journal on a member that returns.

use stripewise_core::ids::MemberNo;
use stripewise_format::{RedoEntry, RedoKind, RedoRecord};

/// A change that a record makes to the member.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) entry: RedoEntry,
    /// The number of its image in the record; `None` for zeros.
    pub(crate) image: Option<u32>,
}

impl Change {
    /// What `record` changes on `member`.
    pub(crate) fn all_of(record: RedoRecord, member: MemberNo) -> Vec<Self> {
        let mut images = 0;
        let mut changes = Vec::new();
        for entry in record.entries {
            let image = entry.kind.has_image().then_some(images);
            images += u32::from(entry.kind.has_image());
            if entry.member == member && matches!(entry.kind, RedoKind::Image | RedoKind::Zeros) {
                changes.push(Self { entry, image });
            }
        }
        changes
    }

    /// Whether `record` changes something on `member` without an image of it.
    pub(crate) fn lacks_image(record: &RedoRecord, member: MemberNo) -> bool {
        record.entries.iter().any(|entry| entry.member == member && entry.kind == RedoKind::Missing)
    }
}

/// The progress of a replay.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// The record that is being replayed.
    pub(crate) number: u64,
    /// Members whose copy of the record cannot be used, one bit each.
    pub(crate) bad: u64,
    /// The member whose copy is read.
    pub(crate) keeper: MemberNo,
    /// The changes of the record; `None` before its header is read.
    pub(crate) changes: Option<Vec<Change>>,
    /// The number of these changes that are done.
    pub(crate) done: usize,
    /// The content of the next changes, to be written.
    pub(crate) contents: Vec<Box<[u8]>>,
    /// Whether some change could not be replayed.
    pub(crate) is_partial: bool,
}

impl Replay {
    /// Begins with record `number`.
    pub(crate) fn from(number: u64, is_partial: bool) -> Self {
        Self { number, is_partial, ..Self::default() }
    }
}
