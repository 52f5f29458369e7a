//! The table of checksums in memory, and which of its pages are newer than their copies on the members.

use stripewise_core::ids::NONE;
use stripewise_format::in_place::InPlaceLayout;
use stripewise_format::{ChecksumPage, Uuid, crc32c};

/// The CRC-32C of every page of data and parity.
#[derive(Debug)]
pub(crate) struct Checksums {
    rows_per_page: u32,
    columns: u32,
    data_pages: u32,
    /// The number of pages of a group's table.
    group_pages: u32,
    /// The checksum of a page of zeros.
    of_zeros: u32,
    /// The checksums by group, row and position; empty if there are no bytes.
    values: Vec<u32>,
    /// The version of each page, by group and number, that is on the members or being written to them.
    versions: Vec<u64>,
    /// Pages that are newer in memory, each once, and their position in the list.
    changed: Vec<u32>,
    place: Vec<u32>,
}

impl Checksums {
    /// The checksum of parity that its member does not have: the old content does not match it.
    pub(crate) const UNKNOWN: u32 = 0xBAD0_5EED;

    /// The table of an array of zeros, in version 1.
    pub(crate) fn new(layout: &InPlaceLayout, groups: u32, carries_data: bool) -> Self {
        let group_pages = layout.table_pages();
        let pages = (group_pages * groups) as usize;
        let entries = layout.data.pages as usize * layout.columns as usize * groups as usize;
        let of_zeros = crc32c(&vec![0; layout.page_bytes as usize]);
        Self {
            rows_per_page: layout.rows_per_page(),
            columns: layout.columns,
            data_pages: layout.data.pages,
            group_pages,
            of_zeros,
            values: vec![of_zeros; if carries_data { entries } else { 0 }],
            versions: vec![1; pages],
            changed: Vec::new(),
            place: vec![NONE; pages],
        }
    }

    #[inline]
    fn index(&self, group: u32, page: u32, position: u32) -> usize {
        (group as usize * self.data_pages as usize + page as usize) * self.columns as usize
            + position as usize
    }

    /// The checksum of `page` of the data, in the column of `group` at `position`.
    #[inline]
    pub(crate) fn get(&self, group: u32, page: u32, position: u32) -> u32 {
        self.values[self.index(group, page, position)]
    }

    /// Whether the checksum of some page is [`Self::UNKNOWN`].
    pub(crate) fn has_unknown(&self) -> bool {
        self.values.contains(&Self::UNKNOWN)
    }

    /// Changes a checksum.
    pub(crate) fn set(&mut self, group: u32, page: u32, position: u32, checksum: u32) {
        if !self.values.is_empty() {
            let index = self.index(group, page, position);
            self.values[index] = checksum;
        }
        self.mark(group * self.group_pages + page / self.rows_per_page);
    }

    /// Marks a page as newer in memory.
    pub(crate) fn mark(&mut self, page: u32) {
        if self.place[page as usize] == NONE {
            self.place[page as usize] = self.changed.len() as u32;
            self.changed.push(page);
        }
    }

    /// Pages that are newer in memory than on the members.
    pub(crate) fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// The group of a page of the table, and the page's number in the group's table.
    pub(crate) fn locate(&self, page: u32) -> (u32, u32) {
        (page / self.group_pages, page % self.group_pages)
    }

    /// Begins to write a page that is newer in memory; returns its new version.
    pub(crate) fn begin_write(&mut self, page: u32) -> u64 {
        let place = std::mem::replace(&mut self.place[page as usize], NONE);
        if place != NONE {
            self.changed.swap_remove(place as usize);
            if let Some(&moved) = self.changed.get(place as usize) {
                self.place[moved as usize] = place;
            }
        }
        self.versions[page as usize] += 1;
        self.versions[page as usize]
    }

    /// The rows of the page's group that a page of the table describes.
    pub(crate) fn rows(&self, page: u32) -> std::ops::Range<u32> {
        let (_, number) = self.locate(page);
        let first = number * self.rows_per_page;
        first..(first + self.rows_per_page).min(self.data_pages)
    }

    fn range(&self, page: u32) -> std::ops::Range<usize> {
        let (group, _) = self.locate(page);
        let rows = self.rows(page);
        self.index(group, rows.start, 0)..self.index(group, rows.end, 0)
    }

    /// A checksum that no page is known to have; a page of zeros does not have it.
    pub(crate) fn of_nothing(&self) -> u32 {
        !self.of_zeros
    }

    /// Writes a page of the table over `into`, in its current version.
    pub(crate) fn encode(&self, page: u32, array: Uuid, epoch: u32, into: &mut [u8]) {
        let (group, number) = self.locate(page);
        let head = ChecksumPage { array, epoch, version: self.versions[page as usize], group, number };
        head.encode(&self.values[self.range(page)], into);
    }

    /// Loads a page that was read from a member, with the version that it has there.
    pub(crate) fn load(&mut self, page: u32, head: &ChecksumPage, bytes: &[u8]) {
        let range = self.range(page);
        for (value, read) in self.values[range].iter_mut().zip(ChecksumPage::checksums(bytes)) {
            *value = read;
        }
        self.versions[page as usize] = head.version;
    }

    /// The version of a page that is on the members or being written to them.
    pub(crate) fn version(&self, page: u32) -> u64 {
        self.versions[page as usize]
    }

    /// The greatest version of any page.
    pub(crate) fn greatest_version(&self) -> u64 {
        self.versions.iter().copied().max().unwrap_or(0)
    }

    /// The number of pages of the table, of all groups.
    pub(crate) fn pages(&self) -> u32 {
        self.versions.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stripewise_format::in_place::InPlaceShape;

    proptest! {
        #[test]
        fn what_was_set_is_there_and_survives_its_pages(
            columns in 3..9u32,
            groups in 1..4u32,
            sets in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()), 1..40),
        ) {
            let shape = InPlaceShape { page_bytes: 512, pages: 400, columns, copies: 2, chunk_pages: 1 };
            let layout = InPlaceLayout::with_journal(&shape, None);
            let mut table = Checksums::new(&layout, groups, true);
            let mut written = Checksums::new(&layout, groups, true);
            let mut model = std::collections::BTreeMap::new();
            for (group, page, position, checksum) in sets {
                let at = (group % groups, page % layout.data.pages, position % columns);
                table.set(at.0, at.1, at.2, checksum);
                model.insert(at, checksum);
            }
            let array = Uuid([3; 16]);
            while let Some(&page) = table.changed().first() {
                prop_assert_eq!(table.begin_write(page), 2);
                let mut bytes = vec![0; 512];
                table.encode(page, array, 5, &mut bytes);
                let head = ChecksumPage::parse(&bytes).unwrap();
                prop_assert_eq!((head.group, head.number), table.locate(page));
                written.load(page, &head, &bytes);
            }
            for (at, checksum) in model {
                prop_assert_eq!(table.get(at.0, at.1, at.2), checksum);
            }
            prop_assert_eq!(table.values, written.values);
            prop_assert_eq!(table.versions, written.versions);
        }
    }
}
