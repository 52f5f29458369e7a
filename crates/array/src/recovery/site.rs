//! The members of an array before it serves.

use stripewise_core::geometry::Geometry;
use stripewise_core::ids::MemberNo;
use stripewise_core::media::{At, Media};
use stripewise_format::in_place::InPlaceLayout;
use stripewise_format::{FailReason, MemberState, Structure, Superblock, Uuid};

use super::error::AssembleError;
use super::report::DamagedCopy;
use super::superblocks::write_and_flush;

/// Pages that are read or written in one round. It bounds the memory for a round, whatever the size of members.
pub(super) const ROUND_PAGES: usize = 1024;

/// The members of an array in place, before it serves.
pub(super) struct Site<'a> {
    pub(super) media: &'a mut dyn Media,
    pub(super) geometry: &'a Geometry,
    pub(super) layout: InPlaceLayout,
    pub(super) array: Uuid,
    pub(super) epoch: u32,
    /// For each member of the array, its position among the offered devices.
    pub(super) positions: Vec<Option<u16>>,
    pub(super) pages_read: u64,
}

impl Site<'_> {
    pub(super) fn page_bytes(&self) -> usize {
        self.layout.page_bytes as usize
    }

    /// Page `page` of `member` of the array, if the member is present.
    pub(super) fn at(&self, member: MemberNo, page: u32) -> Option<At> {
        Some(At { member: self.positions[member.index()]?, page })
    }

    /// Describes the copy of a structure at `at` as damaged.
    pub(super) fn damaged(&self, at: At, structure: Structure) -> DamagedCopy {
        let member = self.positions.iter().position(|&position| position == Some(at.member));
        DamagedCopy { member: MemberNo::at(member.unwrap_or_default()), page: at.page, structure }
    }

    /// Reads a round of pages; `None` for pages that cannot be read.
    pub(super) fn read(&mut self, at: &[At]) -> Vec<Option<Vec<u8>>> {
        self.pages_read += at.len() as u64;
        let mut pages = vec![None; at.len()];
        self.media.read(at, &mut |nth, content| pages[nth] = content.ok().map(<[u8]>::to_vec));
        pages
    }

    /// Writes pages in rounds, and flushes their members.
    pub(super) fn write(&mut self, at: &[At], pages: &[impl AsRef<[u8]>]) -> Result<(), AssembleError> {
        for (at, pages) in at.chunks(ROUND_PAGES).zip(pages.chunks(ROUND_PAGES)) {
            write_and_flush(self.media, at, pages)?;
        }
        Ok(())
    }

    /// Treats the members in the mask `missing` as absent: the array has continued without them.
    pub(super) fn leave_out(&mut self, missing: u64) {
        for member in MemberNo::first(self.geometry.members) {
            if member.is_in(missing) {
                self.positions[member.index()] = None;
            }
        }
    }

    /// Marks absent members as failed in `superblock`. Returns whether any of them was not yet marked.
    pub(super) fn fail_absent(&self, superblock: &mut Superblock) -> bool {
        let absent = (0..self.positions.len()).filter(|&number| self.positions[number].is_none());
        absent.fold(false, |is_new, number| {
            let was_known = superblock.members[number].state == MemberState::Failed;
            superblock.fail_member(number, 0, FailReason::Gone);
            is_new || !was_known
        })
    }

    /// Refuses to continue if more members of a group are absent than its parity tolerates.
    pub(super) fn check_enough(&self) -> Result<(), AssembleError> {
        let tolerates = self.geometry.tolerance() as usize;
        for group in 0..self.geometry.groups {
            let is_gone = |member: &MemberNo| self.positions[member.index()].is_none();
            let gone: Vec<MemberNo> = self.geometry.group(group).filter(is_gone).collect();
            if gone.len() > tolerates {
                return Err(AssembleError::Refused(format!(
                    "too few members: {gone:?} of group {group} are absent, or the array continued without them, and its parity \
                     tolerates {tolerates}; offer those that are missing"
                )));
            }
        }
        Ok(())
    }
}

/// The number of pages of the smallest device that `media` offers.
pub(super) fn smallest(media: &dyn Media) -> u32 {
    (0..media.count()).map(|member| media.size(member).0).min().unwrap_or(0)
}
