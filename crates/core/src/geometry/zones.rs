//! Zones: parts of the same members, each with its own chunk size.
//!
//! Every member gives each zone a run of its pages. The array's pages, and its rows, go through the zones one after the
//! other: the first zone has the first ones. Inside a zone, everything works as in a separate array.
//!
//! Source: paper 004, section 3.1 (figure 3).

use super::{Geometry, Place, RowPiece};
use crate::ids::RowNo;

/// A zone after the first one, with its start in each of the three ways of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Pages of one chunk.
    pub chunk_pages: u32,
    /// The first page of the zone on every member.
    pub member_page: u32,
    /// The first row of the zone.
    pub row: RowNo,
    /// The first page of the array in the zone.
    pub page: u64,
    /// The stripes of the zone.
    pub stripes: u64,
}

impl Zone {
    /// The number of `row`, counted from the first row of the zone.
    #[inline]
    fn row_inside(&self, row: RowNo) -> RowNo {
        RowNo::new(row.number() - self.row.number())
    }
}

impl Geometry {
    /// This geometry, which spans the first `member_pages` of each member, followed by more zones. Each zone has its chunk
    /// and its share of each member, in pages; the chunk must divide the share.
    #[must_use]
    pub fn with_zones(mut self, member_pages: u32, zones: &[(u32, u32)]) -> Self {
        let mut member_page = member_pages;
        for &(chunk_pages, pages) in zones {
            debug_assert!(pages.is_multiple_of(chunk_pages), "a zone is made of whole chunks");
            let stripes = u64::from(pages / chunk_pages) * u64::from(self.groups);
            let zone =
                Zone { chunk_pages, member_page, row: RowNo::new(self.rows()), page: self.pages(), stripes };
            self.zones.push(zone);
            member_page += pages;
        }
        self
    }

    /// Pages of the array in its first zone; all pages if there is only one zone.
    #[inline]
    pub fn first_zone_pages(&self) -> u64 {
        self.stripes * u64::from(self.data) * u64::from(self.chunk_pages)
    }

    /// Rows of the first zone.
    #[inline]
    pub fn first_zone_rows(&self) -> u64 {
        self.stripes * u64::from(self.chunk_pages)
    }

    /// The pages of the array in each zone.
    pub fn zones(&self) -> impl Iterator<Item = std::ops::Range<u64>> + '_ {
        let ends = self.zones.iter().map(|zone| zone.page).chain(std::iter::once(self.pages()));
        let starts = std::iter::once(0).chain(self.zones.iter().map(|zone| zone.page));
        starts.zip(ends).map(|(start, end)| start..end)
    }

    /// Pages of a chunk, for each zone.
    pub fn chunks(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(self.chunk_pages).chain(self.zones.iter().map(|zone| zone.chunk_pages))
    }

    /// The number of the zone that contains the array's `page`.
    #[inline]
    pub fn zone_of(&self, page: u64) -> usize {
        self.zones.iter().take_while(|zone| zone.page <= page).count()
    }

    /// The zone after the first one that contains `row`, and an array of that zone alone.
    fn part_of_row(&self, row: RowNo) -> (&Zone, Self) {
        let zone =
            self.zones.iter().rfind(|zone| zone.row <= row).expect("rows behind the first zone have one");
        (zone, self.part(zone))
    }

    /// An array of `zone` alone.
    fn part(&self, zone: &Zone) -> Self {
        Self { chunk_pages: zone.chunk_pages, stripes: zone.stripes, zones: Vec::new(), ..*self }
    }

    /// The place of a row after the first zone.
    pub(super) fn place_behind(&self, row: RowNo) -> Place {
        let (zone, part) = self.part_of_row(row);
        let place = part.place(zone.row_inside(row));
        Place { page: place.page + zone.member_page, ..place }
    }

    /// [`Geometry::array_page`] for a row after the first zone.
    pub(super) fn array_page_behind(&self, row: RowNo, column: u32) -> u64 {
        let (zone, part) = self.part_of_row(row);
        zone.page + part.array_page(zone.row_inside(row), column)
    }

    /// [`Geometry::slot`] for a page after the first zone.
    pub fn slot_behind(&self, page: u64) -> (RowNo, u32) {
        let zone = &self.zones[self.zone_of(page) - 1];
        let (row, column) = self.part(zone).slot(page - zone.page);
        (zone.row.after(row.number()), column)
    }

    /// For pages `page..end` in one zone after the first, after `given` rows of the current stripe were returned: the next
    /// row, and the page after the stripe if that row is the stripe's last one.
    pub(super) fn piece_behind(&self, page: u64, end: u64, given: u32) -> (RowPiece, Option<u64>) {
        let zone = &self.zones[self.zone_of(page) - 1];
        let part = self.part(zone);
        let (piece, next) = part.piece(page - zone.page, end - zone.page, given);
        (RowPiece { row: zone.row.after(piece.row.number()), ..piece }, next.map(|next| next + zone.page))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Level, Membership, Rotation, RowCursor, Shape};
    use super::*;

    /// Four members of 24 pages each: 8 for chunks of 4 pages, 8 for chunks of 2, 8 for chunks of 1.
    fn zoned(level: Level, groups: u32, membership: Membership) -> Geometry {
        let shape = Shape {
            level,
            members: 8,
            groups,
            chunk_bytes: 4 * 4096,
            page_bytes: 4096,
            member_pages: 8,
            rotation: Rotation::LeftSymmetric,
            rotate_every: 1,
            membership,
        };
        Geometry::new(&shape).unwrap().with_zones(8, &[(2, 8), (1, 8)])
    }

    fn all() -> [Geometry; 4] {
        [
            zoned(Level::Raid0, 1, Membership::Contiguous),
            zoned(Level::Raid5, 1, Membership::Contiguous),
            zoned(Level::Raid6, 2, Membership::Contiguous),
            zoned(Level::Raid5, 2, Membership::LongestCodeInterval),
        ]
    }

    #[test]
    fn every_page_has_one_home_and_every_home_one_page() {
        for geometry in all() {
            let mut used = vec![false; 8 * 24];
            for row in geometry.all_rows() {
                for column in 0..geometry.columns {
                    let place = geometry.place(row);
                    let at = geometry.member(place, column).index() * 24 + place.page as usize;
                    assert!(!std::mem::replace(&mut used[at], true), "two members at {at}");
                }
                for column in 0..geometry.data {
                    let page = geometry.array_page(row, column);
                    assert_eq!(geometry.slot(page), (row, column), "page {page}");
                }
            }
            assert!(used.into_iter().all(|is_used| is_used));
        }
    }

    #[test]
    fn runs_are_cut_by_the_chunk_of_their_zone() {
        let geometry = zoned(Level::Raid5, 1, Membership::Contiguous);
        // Seven data chunks per stripe: 56 pages in each zone.
        assert_eq!(geometry.zones().collect::<Vec<_>>(), [0..56, 56..112, 112..168]);
        let columns = |page| {
            let mut cursor = RowCursor::new(page, 4);
            let mut rows = Vec::new();
            while let Some(piece) = cursor.next(&geometry) {
                rows.push((piece.row.number(), piece.first..=piece.last));
            }
            rows
        };
        assert_eq!(columns(0), [(0, 0..=0), (1, 0..=0), (2, 0..=0), (3, 0..=0)]);
        assert_eq!(columns(56), [(8, 0..=1), (9, 0..=1)]);
        assert_eq!(columns(112), [(16, 0..=3)]);
        assert_eq!(columns(112 + 5), [(16, 5..=6), (17, 0..=1)]);
    }

    #[test]
    fn a_run_inside_a_zone_has_the_rows_of_its_pages() {
        for geometry in all() {
            for zone in geometry.zones() {
                for start in zone.clone() {
                    for end in start + 1..=zone.end.min(start + 20) {
                        let mut found = Vec::new();
                        let mut cursor = RowCursor::new(start, end - start);
                        while let Some(piece) = cursor.next(&geometry) {
                            found.extend(
                                (piece.first..=piece.last).map(|m| geometry.array_page(piece.row, m)),
                            );
                        }
                        found.sort_unstable();
                        assert_eq!(found, (start..end).collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
