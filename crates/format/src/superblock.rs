//! The superblock of a member: the array's properties, the place of every area, the members, and how earlier epochs ended.

mod block;
mod check;
mod codec;
mod places;
#[cfg(test)]
pub(super) mod tests;

use super::{FeatureClass, Features, FormatError};
pub use block::{
    Area, Copy, ENDED_MAX, EndedEpoch, FailReason, MemberRecord, MemberState, NAME_BYTES_MAX, Placement,
    SUPERBLOCK_BYTES, SUPERBLOCK_MEMBERS_MAX, Superblock, superblock_pages,
};

/// The largest length of a scheme's settings, in bytes, in `version` of the format for an array with this number of
/// members.
pub const fn settings_bytes_max(version: u16, members: usize) -> usize {
    codec::settings_place(version, members).1
}

impl Copy {
    /// The copy that the bytes of a superblock claim to be.
    pub fn of(superblock: &[u8]) -> Option<Self> {
        codec::copy_of(superblock)
    }
}

impl Superblock {
    /// Whether the array uses a feature that allows this program to read it, but not to write it.
    pub fn is_read_only(&self) -> bool {
        !self.features.unknown(FeatureClass::ReadOnly).is_empty()
    }

    /// Whether both are the same version, though of different members. The number alone does not decide that: a version
    /// that did not take effect may be on members that were absent when the next version got the same number.
    pub fn is_version_of(&self, other: &Self) -> bool {
        let &Self { number, uuid, own_bytes, .. } = other;
        self.update == other.update && Self { number, uuid, own_bytes, ..self.clone() } == *other
    }

    /// Whether the array records servings, why members failed, and whether they are whole: the feature `serving-chain`.
    pub fn has_chain(&self) -> bool {
        self.version > 1 && self.features.compatible & Features::SERVING_CHAIN != 0
    }

    /// Makes this the superblock of member `number` of the same array, whose back copy begins at page `back`.
    pub fn assign(&mut self, number: u16, back: u32) {
        self.number = number;
        self.uuid = self.members[usize::from(number)].uuid;
        let own_pages = u64::from(back) + u64::from(superblock_pages(self.page_bytes));
        self.own_bytes = if self.has_chain() { own_pages * u64::from(self.page_bytes) } else { 0 };
    }

    /// The page at which the back copy begins on a member of `pages` pages that grew since it joined, if this is a
    /// superblock of that member. `None` if the member did not grow, or if its size was not recorded.
    pub fn back_before_growth(&self, pages: u32) -> Option<u32> {
        let span = superblock_pages(self.page_bytes);
        let own = u32::try_from(self.own_bytes / u64::from(self.page_bytes.max(1))).ok()?;
        (2 * span..pages).contains(&own).then(|| own - span)
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
