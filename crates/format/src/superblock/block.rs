//! The fields of a superblock, and their bounds.

use serde::{Deserialize, Serialize};
use stripewise_code::Kind;
use stripewise_core::geometry::{Level, Membership, Rotation};

use crate::{Features, Uuid};

/// Bytes of a superblock, for every page size.
pub const SUPERBLOCK_BYTES: usize = 4096;

/// The largest number of members in a superblock.
pub const SUPERBLOCK_MEMBERS_MAX: usize = 64;

/// The largest number of ended epochs in a superblock.
pub const ENDED_MAX: usize = 8;

/// The largest length of a name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

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

/// Why a member is not active. It decides how much of its content counts when it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailReason {
    /// Not recorded: by a program that does not know the feature `serving-chain`. The member is in doubt.
    #[default]
    Unknown,
    /// Its content was found damaged, or it could not be read. The member is in doubt: nothing of its content counts.
    Damage,
    /// It stopped answering, failed a write or a flush, or was unplugged.
    Gone,
    /// The operator failed or replaced it.
    #[serde(rename = "asked")]
    Requested,
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
    /// For a failed or rebuilding member, with the feature `serving-chain`: why it failed.
    pub reason: FailReason,
    /// With the feature `serving-chain`: everything that the member should have was once known to be on it, and nothing
    /// was left out since. Otherwise an active member is in doubt until a scrub has verified all of its content.
    pub is_whole: bool,
    /// For a failed or rebuilding member, with the feature `serving-chain`: the serving in which it failed.
    pub left_serving: u64,
}

impl MemberRecord {
    /// A member that has been up to date since the array was created.
    pub fn active(uuid: Uuid) -> Self {
        Self {
            uuid,
            state: MemberState::Active,
            failed_epoch: 0,
            failed_batch: 0,
            cursor: 0,
            reason: FailReason::Unknown,
            is_whole: false,
            left_serving: 0,
        }
    }

    /// The member is rebuilt, and takes part again; `is_whole` if nothing is known to be missing on it.
    pub fn rebuilt(&mut self, is_whole: bool) {
        *self = Self { is_whole, ..Self::active(self.uuid) };
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
    /// With the feature `serving-chain`: a random number that identifies the last assembly for writing, so that copies of
    /// an array that were served separately can be distinguished. 0: the array was served by a program without the feature.
    pub serving: u64,
    /// The serving before that one.
    pub predecessor: u64,
    /// With the feature `serving-chain`: bytes of this member when it joined; 0 if they are not recorded. Each member's own.
    pub own_bytes: u64,
    /// With the feature `serving-chain`: the update that the last complete scrub without a loss began at; 0: none.
    pub verified_to: u64,
    /// With the feature `serving-chain`: the segments (log) or rows (in place) that an interrupted scrub has done.
    pub scrub_cursor: u64,
    /// Past epochs, oldest first; at most [`ENDED_MAX`].
    pub ended: Vec<EndedEpoch>,
    /// The name of the array; at most [`NAME_BYTES_MAX`] bytes.
    pub name: String,
    /// The name of the scheme that the array was created with; at most [`NAME_BYTES_MAX`] bytes.
    pub scheme: String,
    /// The settings of that scheme that differ from their defaults, as TOML (`Scheme::to_settings`); at most
    /// `settings_bytes_max` bytes. In version 1, empty if they did not fit.
    pub settings: String,
    /// All members, in order; at most [`SUPERBLOCK_MEMBERS_MAX`].
    pub members: Vec<MemberRecord>,
}
