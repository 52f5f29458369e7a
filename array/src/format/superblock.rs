//! The superblock of a member: what the array is, where everything lies, who its members are, how its epochs ended.

mod check;
mod codec;
mod places;
#[cfg(test)]
pub(super) mod tests;

use serde::Serialize;
use stripewise_code::Kind;

use super::{FeatureClass, Features, FormatError, Uuid};
use crate::geometry::{Level, Membership, Rotation};

/// Bytes of a superblock, whatever the size of pages is.
pub const SUPERBLOCK_BYTES: usize = 4096;

/// The most members that a superblock names.
pub const SUPERBLOCK_MEMBERS_MAX: usize = 64;

/// The most ended epochs that a superblock keeps.
pub const ENDED_MAX: usize = 8;

/// The most bytes of a name.
pub const NAME_BYTES_MAX: usize = 64;

/// The most bytes of a scheme's settings in `version` of the format, of an array with this number of members.
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
    /// That on the first pages.
    Front,
    /// That on the last pages.
    Back,
}

impl Copy {
    /// Which of the two the bytes of a superblock say that they are.
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
    /// Where they were.
    InPlace,
}

/// Pages of a member, one behind the other. What an array does not have has none, from page 0 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Area {
    /// The first page.
    pub first: u32,
    /// How many.
    pub pages: u32,
}

/// How an epoch ended that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EndedEpoch {
    /// The epoch.
    pub epoch: u32,
    /// Its last batch that counts.
    pub last: u64,
}

/// What became of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    /// It holds what it should.
    Active,
    /// It is lost, or misses what was written since it failed.
    Failed,
    /// It is being filled.
    Rebuilding,
}

/// A member, as all members of the array know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its identifier.
    #[serde(rename = "element")]
    pub uuid: Uuid,
    /// What became of it.
    pub state: MemberState,
    /// Of a failed or rebuilt one: the epoch in which it failed.
    pub failed_epoch: u32,
    /// Of a failed or rebuilt one: the last batch before it failed.
    pub failed_batch: u64,
    /// Of one being rebuilt: segments (log) or rows (in place) that are done.
    pub cursor: u64,
}

impl Member {
    /// It is lost in `epoch`, with everything up to `batch` on it. One that was being filled has no more than when it failed
    /// before.
    pub(crate) fn fail(&mut self, epoch: u32, batch: u64) {
        if self.state == MemberState::Active {
            (self.failed_epoch, self.failed_batch) = (epoch, batch);
        }
        (self.state, self.cursor) = (MemberState::Failed, 0);
    }
}

/// What a member says of itself and of its array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Superblock {
    /// The array.
    pub array: Uuid,
    /// The identifier of this member.
    #[serde(rename = "element")]
    pub uuid: Uuid,
    /// This member's number in the array, from 0 on.
    pub number: u16,
    /// The version of the format that the array has, 1 or 2.
    pub version: u16,
    /// What the array uses that not every program knows.
    pub features: Features,
    /// Greater with each change.
    pub update: u64,
    /// The epoch that this superblock began; 0 before the first.
    pub epoch: u32,
    /// From version 2 on, of a log: all batches up to this one are durable on each member that this superblock calls active.
    pub horizon: u64,
    /// From version 2 on: the array was stopped cleanly, and nothing was written since.
    pub is_clean: bool,
    /// Where written chunks go.
    pub placement: Placement,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a member that the array uses.
    pub pages: u32,
    /// Redundancy.
    pub level: Level,
    /// The parity code; none without parity.
    pub code: Option<Kind>,
    /// Parity groups; without parity one for each member.
    pub groups: u16,
    /// Members of a group.
    pub members_of_group: u16,
    /// Which members form a group.
    pub membership: Membership,
    /// How parity moves from stripe to stripe, in place.
    pub rotation: Rotation,
    /// Pages of a chunk.
    pub chunk_pages: u32,
    /// Log: pages of a segment on each member. In place: stripes after which parity moves on.
    pub segment_rows: u32,
    /// Pages that hosts see.
    pub capacity: u64,
    /// Slot 0 of checkpoints; slot 1 is as long and lies behind it.
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
    /// Pages of the data that one bit of the bitmap stands for.
    pub bitmap_pages: u32,
    /// From version 2 on: the page that names the host which serves the array; no page where there is none.
    pub owner: Area,
    /// Epochs that are over, oldest first; at most [`ENDED_MAX`].
    pub ended: Vec<EndedEpoch>,
    /// What people call the array; at most [`NAME_BYTES_MAX`].
    pub name: String,
    /// The scheme that it was created with; at most [`NAME_BYTES_MAX`].
    pub scheme: String,
    /// What of that scheme has not its default, as TOML (`Scheme::to_settings`); at most [`settings_bytes_max`]. In version 1 it
    /// is empty where it did not fit.
    pub settings: String,
    /// All members, in order; at most [`SUPERBLOCK_MEMBERS_MAX`].
    pub members: Vec<Member>,
}

impl Superblock {
    /// Whether it uses something past which this program can read, but not write.
    pub fn is_read_only(&self) -> bool {
        !self.features.unknown(FeatureClass::ReadOnly).is_empty()
    }

    /// Whether both are the same version, though of different members. Its number does not tell: a version that did not take
    /// effect may be on members that were absent when the next got that number.
    pub(crate) fn is_version_of(&self, other: &Self) -> bool {
        self.update == other.update
            && Self { number: other.number, uuid: other.uuid, ..self.clone() } == *other
    }

    /// Segments of the array, of a log.
    pub fn segments(&self) -> u32 {
        self.data.pages / self.segment_rows * u32::from(self.groups)
    }

    /// The first page between the two superblocks that no area has, where there is one.
    pub fn free_page(&self) -> Option<u32> {
        places::free_page(self)
    }

    /// Gives the owner a page: one that no area has, or, where members of `pages` pages are all larger than what the array uses,
    /// the page behind that. None where there is no such page.
    pub(crate) fn place_owner(&mut self, pages: u32) {
        let first = self.free_page().or_else(|| places::page_behind(self, pages));
        self.owner = first.map_or(Area::default(), |first| Area { first, pages: 1 });
    }

    /// Gives the owner the last page of the redo journal, where it has no page yet and the journal is longer than it must be. No
    /// record of this epoch may be there.
    pub(crate) fn take_journal_page(&mut self) {
        places::take_journal_page(self);
    }

    /// The page of the owner on a member of `pages` pages. A member that is only as large as the array needs has none where
    /// that lies behind what the array uses.
    pub fn owner_page(&self, pages: u32) -> Option<u32> {
        places::owner_page(self, pages)
    }

    /// Writes it as `copy` over `into`, at least [`SUPERBLOCK_BYTES`].
    ///
    /// # Panics
    /// When `into` is shorter, or [`Self::check`] finds an error.
    pub fn encode(&self, copy: Copy, into: &mut [u8]) {
        codec::encode(self, copy, into);
    }

    /// The superblock that these bytes begin with. It holds what [`Self::check`] asks for.
    ///
    /// # Errors
    /// When there is none, or one that this program does not know.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        codec::parse(bytes)
    }

    /// Whether it describes an array that can be: every count in its bounds, every area inside the member and apart from the
    /// others, every name no longer than its place.
    ///
    /// # Errors
    /// The first field that does not hold.
    pub fn check(&self) -> Result<(), FormatError> {
        check::check(self)
    }
}
