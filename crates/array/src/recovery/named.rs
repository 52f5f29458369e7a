//! Devices without superblocks: which members the user names for them, and what they turn out to be.

use std::fmt;

use stripewise_core::ids::MemberNo;
use stripewise_format::SUPERBLOCK_MEMBERS_MAX;

/// The number of pages that prove which member a device is.
pub const PAGES_PROVE: u64 = 8;

/// The members that the user names for offered devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedMembers([u16; SUPERBLOCK_MEMBERS_MAX]);

impl Default for NamedMembers {
    fn default() -> Self {
        Self::NONE
    }
}

impl NamedMembers {
    /// No member is named.
    pub const NONE: Self = Self([u16::MAX; SUPERBLOCK_MEMBERS_MAX]);

    /// Names the device at position `offered` as `member`. Returns false for a number that no member can have.
    pub fn name(&mut self, member: MemberNo, offered: u16) -> bool {
        let place = self.0.get_mut(member.index());
        place.map(|place| *place = offered).is_some()
    }

    pub(super) fn of(&self, offered: u16) -> Option<MemberNo> {
        self.0.iter().position(|&named| named == offered).map(MemberNo::at)
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The result for an offered device without a superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconstructed {
    /// The device's position among the offered devices.
    pub offered: u16,
    /// The member that the device is, if known.
    pub member: Option<MemberNo>,
    /// How the member was recognized, and the consequence.
    pub how: Reconstruction,
}

/// How a device without a superblock was recognized. Counts are numbers of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reconstruction {
    /// Pages prove which member it is, and no page is outdated: the device is used.
    Proven(u64),
    /// Pages (first count) prove which member it is, and others (second count) have wrong content. The device is used
    /// because the array cannot start without it: each of its pages is trusted only by its checksum.
    Needed(u64, u64),
    /// The same, but the array starts without the device: it is not used.
    Stale(u64, u64),
    /// The array continued without the member before it lost its superblocks: the device is not used.
    Failed(u64),
    /// The user names the member, and the array cannot start without it: the device is used.
    Named,
    /// The user names the member, nothing proves it, and the array starts without it: the device is not used.
    NotNeeded,
    /// Too few pages indicate a member.
    Unproven(u64),
    /// Pages indicate more than one member.
    Ambiguous(Vec<MemberNo>),
    /// The device is smaller than the array's members, or has another page size.
    TooSmall,
}

impl Reconstructed {
    /// Whether the device is used as the member and gets superblocks again.
    pub fn is_taken(&self) -> bool {
        matches!(self.how, Reconstruction::Proven(_) | Reconstruction::Needed(..) | Reconstruction::Named)
    }
}

impl fmt::Display for Reconstructed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let member = self.member.unwrap_or_default();
        match &self.how {
            Reconstruction::Proven(pages) => write!(
                f,
                "it is member {member}: {pages} pages have the checksums of that member and of no other; its superblocks are \
                 reconstructed"
            ),
            Reconstruction::Needed(pages, wrong) => write!(
                f,
                "it is member {member}: {pages} pages have the checksums of that member and of no other, {wrong} do not; the \
                 array cannot start without it, so its superblocks are reconstructed and its pages are trusted by checksum: \
                 scrub the array"
            ),
            Reconstruction::Stale(pages, wrong) => write!(
                f,
                "it is member {member}: {pages} pages have the checksums of that member and of no other, but {wrong} do not; the \
                 array starts without it: bring it back by `stripewise replace`"
            ),
            Reconstruction::Failed(pages) => write!(
                f,
                "it is member {member} by {pages} pages, and the array continued without that member; bring it back by \
                 `stripewise replace`"
            ),
            Reconstruction::Named => write!(
                f,
                "it is member {member} because it is named so, and nothing proves its content; its superblocks are \
                 reconstructed, as the array cannot start without it: check its data"
            ),
            Reconstruction::NotNeeded => write!(
                f,
                "it is named member {member}, nothing proves its content, and the array starts without it: bring it back by \
                 `stripewise replace`"
            ),
            Reconstruction::Unproven(pages) => write!(
                f,
                "it has no superblock, and {pages} pages show which member it is, where {PAGES_PROVE} are needed; if you know \
                 that it is one, name it"
            ),
            Reconstruction::Ambiguous(members) => write!(
                f,
                "it has no superblock, and its pages are those of several members: {members:?}; if you know which it is, name it"
            ),
            Reconstruction::TooSmall => f.write_str(
                "it has no superblock, and is smaller than the members of the array or has pages of another size",
            ),
        }
    }
}
