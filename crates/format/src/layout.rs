//! The areas of a member: `docs/design/format.md`, "A member".

use super::checkpoint::body_bytes;
use super::superblock::{Area, superblock_pages};

/// The number of commit records that a member has room for. A torn record must leave the previous one intact.
const COMMIT_PAGES: u32 = 8;

/// The areas of a member of an array with a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Pages of one copy of the superblock.
    pub superblock_pages: u32,
    /// The first checkpoint slot; the second follows it.
    pub checkpoint: Area,
    /// The ring of commit records.
    pub commits: Area,
    /// The segments.
    pub data: Area,
}

impl Layout {
    /// The layout of members of `pages` pages in `groups` groups. Segments take `rows` pages of each member and have at
    /// most `segment_chunks` chunks. Members that are too small have no data.
    pub fn of_log(page_bytes: u32, pages: u32, groups: u32, rows: u32, segment_chunks: u64) -> Self {
        let superblock_pages = superblock_pages(page_bytes);
        let segments = u64::from(pages / rows) * u64::from(groups);
        let body = body_bytes(segments as u32, segments * segment_chunks);
        let slot = 1 + body.div_ceil(page_bytes.into()) as u32;
        let checkpoint = Area { first: superblock_pages, pages: slot };
        let commits = Area { first: checkpoint.first + 2 * slot, pages: COMMIT_PAGES };
        // Segments are aligned like erase blocks of their size.
        let first = (commits.first + commits.pages).next_multiple_of(rows);
        let room = pages.saturating_sub(first + superblock_pages);
        Self { superblock_pages, checkpoint, commits, data: Area { first, pages: room / rows * rows } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_lie_one_behind_the_other_and_data_takes_whole_segments() {
        let layout = Layout::of_log(4096, 1 << 16, 1, 32, 128);
        assert_eq!((layout.superblock_pages, layout.checkpoint.first), (1, 1));
        // 2048 segments of 16 bytes, and one bit for each of 262,144 chunks: 64 KiB, 16 pages and the header.
        assert_eq!(layout.checkpoint.pages, 17);
        assert_eq!(layout.commits, Area { first: 35, pages: 8 });
        assert_eq!(layout.data, Area { first: 64, pages: (1 << 16) - 96 });
    }

    #[test]
    fn a_member_that_is_too_small_has_no_data() {
        assert_eq!(Layout::of_log(512, 32, 1, 16, 48).data.pages, 0);
    }
}
