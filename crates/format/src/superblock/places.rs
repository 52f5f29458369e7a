//! The pages that the areas of an array take, and the pages that remain for the owner.

use super::{Area, Superblock, superblock_pages};
use crate::in_place::journal_pages_min;

/// The name of the owner's area.
pub(super) const OWNER: &str = "page of the owner";

/// First page, page after the last one, and name of each area. An area that the array does not have is 0 to 0.
pub(crate) fn areas(block: &Superblock) -> [(u64, u64, &'static str); 7] {
    [
        ("checkpoint", block.checkpoint, 2),
        ("ring of commit records", block.commits, 1),
        ("data", block.data, 1),
        ("redo journal", block.journal, 1),
        ("table of checksums", block.table, 1),
        ("intent bitmap", block.bitmap, 1),
        (OWNER, block.owner, 1),
    ]
    .map(|(name, Area { first, pages }, slots)| {
        let first = u64::from(first);
        (first, first + u64::from(pages) * slots, name)
    })
}

/// Implements [`Superblock::free_page`].
pub(crate) fn free_page(block: &Superblock) -> Option<u32> {
    let span = superblock_pages(block.page_bytes);
    let mut taken = areas(block);
    taken.sort_unstable();
    let taken = taken.iter().filter(|(first, end, _)| first < end);
    // Areas lie apart from each other.
    let free =
        taken.fold(u64::from(span), |free, &(first, end, _)| if first > free { free } else { end.max(free) });
    let is_between = free < u64::from(block.pages.saturating_sub(span));
    is_between.then_some(free as u32)
}

/// The page after the pages that the array uses, on members of which the smallest has `pages` pages.
pub(super) fn page_behind(block: &Superblock, pages: u32) -> Option<u32> {
    (pages > block.pages).then(|| block.pages - superblock_pages(block.page_bytes))
}

/// Implements [`Superblock::take_journal_page`].
pub(crate) fn take_journal_page(block: &mut Superblock) {
    let journal = &mut block.journal;
    if block.owner.pages > 0
        || journal.pages <= journal_pages_min(block.members_of_group.into(), block.page_bytes)
    {
        return;
    }
    journal.pages -= 1;
    block.owner = Area { first: journal.first + journal.pages, pages: 1 };
}

/// Implements [`Superblock::owner_page`].
pub(super) fn owner_page(block: &Superblock, pages: u32) -> Option<u32> {
    let Area { first, pages: 1 } = block.owner else { return None };
    // The last pages hold the back copy, however many pages the array uses.
    (first < pages.saturating_sub(superblock_pages(block.page_bytes))).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::tests::of_five;
    use super::*;

    #[test]
    fn the_owner_gets_the_first_page_that_no_area_has() {
        // Superblock 0, checkpoints 1 to 8, commit records 9 to 16, data 256 to 16127.
        let mut block = of_five();
        assert_eq!(block.free_page(), Some(17));
        block.commits.pages = 256 - 9;
        assert_eq!(block.free_page(), Some(16128));
        block.data.pages = 16384 - 1 - 256;
        assert_eq!(block.free_page(), None);
        block.commits.first += 1;
        assert_eq!(block.free_page(), Some(9));
    }

    #[test]
    fn without_a_free_page_the_owner_is_behind_what_the_array_uses_where_all_members_are_larger() {
        let full = Superblock {
            version: 2,
            commits: Area { first: 9, pages: 256 - 9 },
            data: Area { first: 256, pages: 16384 - 1 - 256 },
            segment_rows: 1,
            checkpoint: Area { first: 1, pages: 4 },
            ..of_five()
        };
        let mut block = full.clone();
        block.place_owner(16384);
        assert_eq!(block.owner, Area::default());
        block.place_owner(16385);
        assert_eq!(block.owner, Area { first: 16383, pages: 1 });
        assert_eq!(block.owner_page(16385), Some(16383));
        assert_eq!(block.owner_page(16384), None, "the back copy of a smaller member is there");
        assert_eq!(full.owner_page(16385), None);
    }
}
