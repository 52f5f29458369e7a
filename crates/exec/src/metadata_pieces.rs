//! The copies of metadata that members should have: how each is named, located and verified.

use stripewise_core::ids::MemberNo;
use stripewise_format::{Copy, SUPERBLOCK_BYTES, Superblock, superblock_pages};

/// Number of kinds of metadata.
pub(crate) const KINDS: usize = 7;

/// A kind of metadata; kinds are read in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A superblock.
    #[default]
    Superblock,
    /// A checkpoint of a log.
    Checkpoint,
    /// A commit record of a log.
    Commit,
    /// A page of the table of checksums.
    Table,
    /// A page of the bitmap of regions under update.
    Intent,
    /// A record of the redo journal.
    Record,
    /// A page of the redo journal that no record takes. It only must be readable.
    Vacant,
}

impl Kind {
    /// The next kind; the last one stays.
    pub fn next(self) -> Self {
        match self {
            Self::Superblock => Self::Checkpoint,
            Self::Checkpoint => Self::Commit,
            Self::Commit => Self::Table,
            Self::Table => Self::Intent,
            Self::Intent => Self::Record,
            Self::Record | Self::Vacant => Self::Vacant,
        }
    }
}

/// A copy of a structure, by its number among those of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Its kind.
    pub kind: Kind,
    /// Its number.
    pub nth: u64,
}

/// Consecutive pages, and the version of the structure that they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// The member.
    pub member: MemberNo,
    /// The first page.
    pub first: u32,
    /// The number of pages.
    pub pages: u32,
    /// Changes when the copy is written again.
    pub version: u64,
}

/// The current location of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceLocation {
    /// On these pages.
    At(PageRun),
    /// The piece need not exist.
    Nowhere,
    /// The piece may be being written.
    Busy,
    /// There are no more pieces of this kind.
    Over,
}

/// The pages of the `nth` copy of a superblock; the second copy of a member lies at `back`.
pub fn superblock_run(block: &Superblock, nth: u64, back: u32) -> PageRun {
    PageRun {
        member: MemberNo::new((nth / 2) as u16),
        first: if nth.is_multiple_of(2) { 0 } else { back },
        pages: superblock_pages(block.page_bytes),
        version: block.update,
    }
}

/// Whether a superblock belongs to its place. Accepts a later version than the last one that is on all members: the loss
/// of a member may have interrupted its update.
pub fn is_superblock(block: &Superblock, nth: u64, bytes: &[u8]) -> bool {
    let bytes = &bytes[..SUPERBLOCK_BYTES];
    let copy = if nth.is_multiple_of(2) { Copy::Front } else { Copy::Back };
    let number = (nth / 2) as u16;
    let uuid = block.members[usize::from(number)].uuid;
    let is_its = |found: &Superblock| {
        (found.array, found.uuid, found.number) == (block.array, uuid, number)
            && (found.page_bytes, found.pages) == (block.page_bytes, block.pages)
            && (found.update > block.update || found.is_version_of(block))
    };
    Copy::of(bytes) == Some(copy) && Superblock::parse(bytes).is_ok_and(|found| is_its(&found))
}
