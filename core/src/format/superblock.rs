//! The superblock of a member: the array's properties, the place of every area, the members, and how earlier epochs ended.

mod check;
mod codec;
mod places;
#[cfg(test)]
pub(super) mod tests;

use serde::Serialize;
use stripewise_code::Kind;

use super::{FeatureClass, Features, FormatError, Uuid};
use crate::geometry::{Level, Membership, Rotation};

/// Bytes of a superblock, for every page size.
pub const SUPERBLOCK_BYTES: usize = 4096;

/// The largest number of members in a superblock.
pub const SUPERBLOCK_MEMBERS_MAX: usize = 64;

/// The largest number of ended epochs in a superblock.
pub const ENDED_MAX: usize = 8;

/// The largest length of a name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// The largest length of a scheme's settings, in bytes, in `version` of the format for an array with this number of
/// members.
pub const fn settings_bytes_max(version: u16, members: usize) -> usize {
    codec::settings_place(version, members).1
}

/// Pages that a superblock takes.
pub const fn superblock_pages(page_bytes: u32) -> u32 {
    (SUPERBLOCK_BYTES as u32).div_ceil(page_bytes)
}

/// Which of the two superblocks of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Copy {
    /// The copy on the first pages.
    Front,
    /// The copy on the last pages.
    Back,
}

impl Copy {
    /// The copy that the bytes of a superblock claim to be.
    pub fn of(superblock: &[u8]) -> Option<Self> {
        codec::copy_of(superblock)
    }
}

/// Where written chunks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// To the end of a log.
    Log,
    /// To their place on the members.
    InPlace,
}

/// Consecutive pages of a member. An area that the array does not have starts at page 0 and has no pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Area {
    /// The first page.
    pub first: u32,
    /// The number of pages.
    pub pages: u32,
}

/// How a past epoch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EndedEpoch {
    /// The epoch.
    pub epoch: u32,
    /// The last batch of the epoch that counts.
    pub last: u64,
}

/// The state of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    /// The member is up to date.
    Active,
    /// The member is lost, or lacks everything written since it failed.
    Failed,
    /// The member is being rebuilt.
    Rebuilding,
}

/// The array's record of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemberRecord {
    /// The identifier of the member.
    pub uuid: Uuid,
    /// The state of the member.
    pub state: MemberState,
    /// For a failed or rebuilding member: the epoch in which it failed.
    pub failed_epoch: u32,
    /// For a failed or rebuilding member: the last batch before it failed.
    pub failed_batch: u64,
    /// For a rebuilding member: the number of completed segments (log) or rows (in place).
    pub cursor: u64,
}

impl MemberRecord {
    /// The member fails in `epoch`, with everything up to `batch` on it. A member that was being rebuilt has no more than
    /// at its first failure.
    pub fn fail(&mut self, epoch: u32, batch: u64) {
        if self.state == MemberState::Active {
            (self.failed_epoch, self.failed_batch) = (epoch, batch);
        }
        (self.state, self.cursor) = (MemberState::Failed, 0);
    }
}

/// A member's description of itself and of its array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Superblock {
    /// The array.
    pub array: Uuid,
    /// The identifier of this member.
    pub uuid: Uuid,
    /// The number of this member in the array, from 0.
    pub number: u16,
    /// The version of the array's format, 1 or 2.
    pub version: u16,
    /// The features of the array that not every program knows.
    pub features: Features,
    /// Increases with each change.
    pub update: u64,
    /// The epoch that this superblock began; 0 before the first.
    pub epoch: u32,
    /// From version 2, for a log: all batches up to this one are durable on each member that this superblock calls active.
    pub horizon: u64,
    /// From version 2: the array was stopped cleanly, and nothing was written since.
    pub is_clean: bool,
    /// Where written chunks go.
    pub placement: Placement,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a member that the array uses.
    pub pages: u32,
    /// Redundancy.
    pub level: Level,
    /// The parity code; `None` without parity.
    pub code: Option<Kind>,
    /// The number of parity groups; without parity, one for each member.
    pub groups: u16,
    /// The number of members of a group.
    pub members_of_group: u16,
    /// Which members form a group.
    pub membership: Membership,
    /// How parity rotates from stripe to stripe, in place.
    pub rotation: Rotation,
    /// Pages of a chunk.
    pub chunk_pages: u32,
    /// Log: pages of a segment on each member. In place: stripes after which parity rotates.
    pub segment_rows: u32,
    /// The number of pages that hosts see.
    pub capacity: u64,
    /// Slot 0 of checkpoints; slot 1 follows it and has the same length.
    pub checkpoint: Area,
    /// The ring of commit records.
    pub commits: Area,
    /// Data and parity.
    pub data: Area,
    /// The redo journal.
    pub journal: Area,
    /// The table of checksums.
    pub table: Area,
    /// The intent bitmap.
    pub bitmap: Area,
    /// Pages of the data that one bit of the bitmap represents.
    pub bitmap_pages: u32,
    /// From version 2: the page that names the host serving the array; an empty area if there is none.
    pub owner: Area,
    /// Past epochs, oldest first; at most [`ENDED_MAX`].
    pub ended: Vec<EndedEpoch>,
    /// The name of the array; at most [`NAME_BYTES_MAX`] bytes.
    pub name: String,
    /// The name of the scheme that the array was created with; at most [`NAME_BYTES_MAX`] bytes.
    pub scheme: String,
    /// The settings of that scheme that differ from their defaults, as TOML (`Scheme::to_settings`); at most
    /// [`settings_bytes_max`] bytes. In version 1, empty if they did not fit.
    pub settings: String,
    /// All members, in order; at most [`SUPERBLOCK_MEMBERS_MAX`].
    pub members: Vec<MemberRecord>,
}

impl Superblock {
    /// Whether the array uses a feature that allows this program to read it, but not to write it.
    pub fn is_read_only(&self) -> bool {
        !self.features.unknown(FeatureClass::ReadOnly).is_empty()
    }

    /// Whether both are the same version, though of different members. The number alone does not decide that: a version
    /// that did not take effect may be on members that were absent when the next version got the same number.
    pub fn is_version_of(&self, other: &Self) -> bool {
        self.update == other.update
            && Self { number: other.number, uuid: other.uuid, ..self.clone() } == *other
    }

    /// The number of segments of a log.
    pub fn segments(&self) -> u32 {
        self.data.pages / self.segment_rows * u32::from(self.groups)
    }

    /// The first page between the two superblocks that belongs to no area, if there is one.
    pub fn free_page(&self) -> Option<u32> {
        places::free_page(self)
    }

    /// Gives the owner a page: a page that belongs to no area or, if all members of `pages` pages are larger than the
    /// array needs, the page after the used pages. Otherwise the owner gets no page.
    pub fn place_owner(&mut self, pages: u32) {
        let first = self.free_page().or_else(|| places::page_behind(self, pages));
        self.owner = first.map_or(Area::default(), |first| Area { first, pages: 1 });
    }

    /// Gives the owner the last page of the redo journal, if the owner has no page yet and the journal is longer than
    /// necessary. That page must hold no record of this epoch.
    pub fn take_journal_page(&mut self) {
        places::take_journal_page(self);
    }

    /// The page of the owner on a member of `pages` pages. `None` if that page lies after the pages that the array uses
    /// and the member is only as large as the array needs.
    pub fn owner_page(&self, pages: u32) -> Option<u32> {
        places::owner_page(self, pages)
    }

    /// Writes the superblock as `copy` over `into`, which has at least [`SUPERBLOCK_BYTES`].
    ///
    /// # Panics
    /// `into` is shorter, or [`Self::check`] finds an error.
    pub fn encode(&self, copy: Copy, into: &mut [u8]) {
        codec::encode(self, copy, into);
    }

    /// Parses the superblock at the beginning of the bytes. The result passes [`Self::check`].
    ///
    /// # Errors
    /// There is no superblock, or one that this program does not know.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        codec::parse(bytes)
    }

    /// Checks that the superblock describes a possible array: every count within its bounds, every area inside the member
    /// and apart from the others, every name no longer than its place.
    ///
    /// # Errors
    /// The first invalid field.
    pub fn check(&self) -> Result<(), FormatError> {
        check::check(self)
    }
}
