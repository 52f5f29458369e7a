//! The areas of a member of an array in place: `docs/design/format.md`, "A member" and "In place".

use super::journal::{redo_entries_max, redo_header_pages};
use super::paged::{CHECKSUMS_AT, INTENT_AT};
use super::superblock::{Area, Superblock, superblock_pages};

/// The largest size of a journal, in bytes, if the scheme sets none.
const JOURNAL_BYTES_MAX: u64 = 16 << 20;

/// The share of a member that a journal takes, if the scheme sets none: one in `JOURNAL_PART`.
const JOURNAL_PART: u32 = 32;

/// Every journal has room for this number of records of the greatest size, so that the next record can be written while
/// the updates of others are done in place.
const RECORDS_MIN: u32 = 4;

/// The properties of an array in place that determine its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlaceShape {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a member.
    pub pages: u32,
    /// Columns of a group.
    pub columns: u32,
    /// Copies of metadata: one more than the parity chunks of a stripe.
    pub copies: u32,
    /// Pages of a chunk.
    pub chunk_pages: u32,
}

/// The areas of a member of an array in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InPlaceLayout {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Columns of a group.
    pub columns: u32,
    /// Copies of metadata.
    pub copies: u32,
    /// Pages of one copy of the superblock.
    pub superblock_pages: u32,
    /// The bitmap of regions under update; no pages without one.
    pub intent: Area,
    /// The table of checksums; no pages without a redo journal.
    pub table: Area,
    /// The redo journal; no pages without one.
    pub journal: Area,
    /// The content of hosts, with its parity.
    pub data: Area,
    /// Pages of the data that one bit of the bitmap represents; 0 without a bitmap.
    pub region_pages: u32,
}

/// The smallest number of pages of a journal over groups of `columns` columns.
pub fn journal_pages_min(columns: u32, page_bytes: u32) -> u32 {
    RECORDS_MIN * (redo_header_pages(columns, page_bytes) + redo_entries_max(columns))
}

impl InPlaceLayout {
    /// With a redo journal of `pages` pages, or of the default size. A member that is too small has no data.
    pub fn with_journal(shape: &InPlaceShape, pages: Option<u32>) -> Self {
        let bare = Self::bare(shape);
        let rule =
            (JOURNAL_BYTES_MAX / u64::from(shape.page_bytes)).min(u64::from(shape.pages / JOURNAL_PART));
        let journal = pages.unwrap_or((rule as u32).max(bare.journal_pages_min()));
        let room = shape.pages.saturating_sub(2 * bare.superblock_pages).saturating_sub(journal);
        // The table of a smaller area is no larger: shrink the data area until both fit.
        let mut data = room;
        loop {
            let excess = data.saturating_add(bare.table_area_pages(data)).saturating_sub(room);
            if data == 0 || excess == 0 {
                break;
            }
            data -= excess.div_ceil(2).min(data);
        }
        let data = data / shape.chunk_pages * shape.chunk_pages;
        let table = Area { first: bare.superblock_pages, pages: bare.table_area_pages(data) };
        let journal = Area { first: table.first + table.pages, pages: journal };
        let data = Area { first: journal.first + journal.pages, pages: data };
        Self { table, journal, data, ..bare }
    }

    /// With an intent bitmap.
    pub fn with_bitmap(shape: &InPlaceShape) -> Self {
        let bare = Self::bare(shape);
        let intent = Area { first: bare.superblock_pages, pages: bare.area_pages(1) };
        let first = intent.first + intent.pages;
        let room = shape.pages.saturating_sub(first + bare.superblock_pages);
        let data = Area { first, pages: room / shape.chunk_pages * shape.chunk_pages };
        let bits = (shape.page_bytes - INTENT_AT as u32) * 8;
        // Regions of whole chunks, so that a stripe has one bit.
        let region_pages = data.pages.div_ceil(bits).max(1).next_multiple_of(shape.chunk_pages);
        Self { intent, data, region_pages, ..bare }
    }

    fn bare(shape: &InPlaceShape) -> Self {
        Self {
            page_bytes: shape.page_bytes,
            columns: shape.columns,
            copies: shape.copies,
            superblock_pages: superblock_pages(shape.page_bytes),
            ..Self::default()
        }
    }

    /// The largest number of entries of a record.
    pub fn entries_max(&self) -> u32 {
        redo_entries_max(self.columns)
    }

    /// Pages of the header of a record.
    pub fn header_pages(&self) -> u32 {
        redo_header_pages(self.columns, self.page_bytes)
    }

    /// The smallest number of pages of a journal.
    pub fn journal_pages_min(&self) -> u32 {
        journal_pages_min(self.columns, self.page_bytes)
    }

    /// Adapts the layout to `superblock`: in an upgraded array, the owner may have the last page of the journal.
    pub fn as_upgraded(mut self, superblock: &Superblock) -> Self {
        let Area { first, pages } = self.journal;
        let has_last = pages > 0 && superblock.owner == Area { first: first + pages - 1, pages: 1 };
        self.journal.pages -= u32::from(has_last);
        self
    }

    /// The number of rows that a page of the table describes.
    pub fn rows_per_page(&self) -> u32 {
        (self.page_bytes - CHECKSUMS_AT as u32) / (4 * self.columns)
    }

    /// Pages of a group's table.
    pub fn table_pages(&self) -> u32 {
        self.data.pages.div_ceil(self.rows_per_page())
    }

    /// Pages of a member's area for the table of `data` pages.
    fn table_area_pages(&self, data: u32) -> u32 {
        self.area_pages(data.div_ceil(self.rows_per_page()))
    }

    /// Pages of a member's area for `pages` pages, each in two versions and all copies.
    fn area_pages(&self, pages: u32) -> u32 {
        let units = (u64::from(pages) * u64::from(self.copies)).div_ceil(self.columns.into());
        u32::try_from(units * 2).unwrap_or(u32::MAX)
    }

    /// The number of regions of a group; each has one bit of the bitmap.
    pub fn regions(&self) -> u32 {
        self.data.pages.div_ceil(self.region_pages.max(1))
    }

    /// The page of the bitmap's area that holds `version` of a group's page, on each of the group's columns.
    pub fn intent_page(&self, version: u64) -> u32 {
        (version % 2) as u32
    }

    /// Copy `copy` of page `number` of the table in `version`: the position of its column, and the page in the area.
    pub fn copy_at(&self, number: u32, copy: u32, version: u64) -> (u32, u32) {
        let unit = u64::from(number) * u64::from(self.copies) + u64::from(copy);
        let columns = u64::from(self.columns);
        ((unit % columns) as u32, (unit / columns * 2 + version % 2) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: InPlaceShape =
        InPlaceShape { page_bytes: 4096, pages: 1 << 18, columns: 5, copies: 2, chunk_pages: 16 };

    #[test]
    fn areas_lie_one_behind_the_other() {
        let layout = InPlaceLayout::with_journal(&SHAPE, None);
        // 16 MiB of journal; 202 rows of 5 checksums per page of the table, in 2 copies and 2 versions over 5 members.
        assert_eq!(layout.rows_per_page(), 202);
        assert_eq!(layout.journal.pages, 4096);
        assert_eq!(layout.table.first, 1);
        assert_eq!(layout.journal.first, 1 + layout.table.pages);
        assert_eq!(layout.data.first, layout.journal.first + 4096);
        let end = layout.data.first + layout.data.pages;
        assert!(end < 1 << 18 && end + 32 > 1 << 18, "room is left for a superblock, and little more: {end}");
        assert_eq!(layout.table.pages, layout.table_area_pages(layout.data.pages));
    }

    #[test]
    fn a_member_that_is_too_small_has_no_data() {
        assert_eq!(InPlaceLayout::with_journal(&InPlaceShape { pages: 130, ..SHAPE }, None).data.pages, 0);
        assert_eq!(InPlaceLayout::with_bitmap(&InPlaceShape { pages: 10, ..SHAPE }).data.pages, 0);
    }

    #[test]
    fn a_bitmap_has_a_bit_for_each_region() {
        let layout = InPlaceLayout::with_bitmap(&SHAPE);
        // 32,320 bits for 262,138 pages: 9 pages each, and whole chunks of 16.
        assert_eq!(layout.region_pages, 16);
        assert_eq!(layout.intent, Area { first: 1, pages: 2 });
    }

    proptest! {
        #[test]
        fn no_two_copies_share_a_place_and_copies_of_a_page_lie_apart(
            pages in 200..5000u32, columns in 3..=64u32, copies in 2..=3u32, bytes in 9..15u32,
        ) {
            let shape = InPlaceShape { page_bytes: 1 << bytes, pages, columns, copies, chunk_pages: 1 };
            let layout = InPlaceLayout::with_journal(&shape, Some(100));
            let mut seen = std::collections::BTreeSet::new();
            for number in 0..layout.table_pages() {
                let places: Vec<_> = (0..copies).map(|copy| layout.copy_at(number, copy, 0)).collect();
                let apart: std::collections::BTreeSet<_> = places.iter().map(|place| place.0).collect();
                prop_assert_eq!(apart.len() as u32, copies);
                for (position, page) in places {
                    prop_assert!(page + 1 < layout.table.pages);
                    prop_assert!(seen.insert((position, page)));
                }
            }
        }
    }
}
